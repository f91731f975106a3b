import pytest
import torch

from brgcl.baselines.shared import learned_edges as module
from brgcl.baselines.shared.learned_edges import (
    Candidates,
    among,
    both_ways,
    distinct,
    most_similar,
    without,
)

# Pairs (target, source) of five nodes; node 3 receives nothing, node 4 sends nothing.
PAIRS = torch.tensor([[0, 0, 1, 2, 4, 4], [1, 2, 2, 0, 0, 3]])
GIVEN = Candidates.from_keys(PAIRS[0] * 5 + PAIRS[1], 5)


def rng(seed=0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def dense(weight):
    return torch.zeros(5, 5, dtype=weight.dtype).index_put((PAIRS[0], PAIRS[1]), weight)


def test_the_pattern_and_its_transpose_hold_the_same_pairs():
    weight = torch.arange(1.0, 7)
    assert torch.equal(GIVEN.matrix(weight).to_dense(), dense(weight))
    assert torch.equal(GIVEN.transposed(weight).to_dense(), dense(weight).T)


def test_the_weighted_product_equals_a_dense_one_with_its_gradients():
    weight = torch.rand(6, generator=rng(), requires_grad=True)
    h = torch.randn(5, 3, generator=rng(1), requires_grad=True)
    upstream = torch.randn(5, 3, generator=rng(2))
    found = torch.autograd.grad(GIVEN.product(weight, h), (weight, h), upstream)
    wanted = torch.autograd.grad(dense(weight) @ h, (weight, h), upstream)
    assert torch.allclose(GIVEN.product(weight, h), dense(weight) @ h)
    for one, two in zip(found, wanted, strict=True):
        assert torch.allclose(one, two, atol=1e-6)


def test_inner_products_equal_gathered_ones_with_their_gradient():
    z = torch.randn(5, 4, generator=rng(), requires_grad=True)
    upstream = torch.randn(6, generator=rng(1))
    found, wanted = GIVEN.inner_products(z), (z[PAIRS[0]] * z[PAIRS[1]]).sum(1)
    assert torch.allclose(found, wanted)
    (one,), (two,) = (torch.autograd.grad(s, z, upstream) for s in (found, wanted))
    assert torch.allclose(one, two, atol=1e-6)


def test_some_pairs_can_be_kept_alone():
    keep = torch.tensor([False, True, True, False, True, False])
    weight = torch.arange(1.0, 7)
    some = GIVEN.kept(keep)
    assert torch.equal(some.matrix(weight[keep]).to_dense(), dense(weight * keep))
    assert torch.equal(some.transposed(weight[keep]).to_dense(), dense(weight * keep).T)
    assert GIVEN.kept(torch.zeros(6, dtype=torch.bool)).col.numel() == 0


def test_no_pairs_are_a_zero_matrix():
    nothing = Candidates.from_keys(torch.empty(0, dtype=torch.long), 3)
    z = torch.ones(3, 2, requires_grad=True)
    weight = nothing.inner_products(z)
    assert weight.shape == (0,)
    product = nothing.product(weight, z)
    assert torch.equal(product, torch.zeros(3, 2))
    product.sum().backward()
    assert torch.equal(z.grad, torch.zeros(3, 2))


@pytest.mark.parametrize("tile", [1, 7, 1000])
def test_the_search_by_tiles_equals_one_over_all(tile, monkeypatch):
    monkeypatch.setattr(module, "TILE", tile)
    scores = torch.rand(9, 5, generator=rng())
    found = most_similar(lambda part: scores[part], 9, 5, 3)
    assert torch.equal(found, scores.topk(3, dim=1).indices)
    assert most_similar(lambda part: scores[part], 9, 5, 8).shape == (9, 5)
    assert most_similar(lambda part: scores[part, :0], 9, 0, 3).shape == (9, 0)
    assert most_similar(lambda part: scores[:0][part], 0, 5, 3).shape == (0, 3)


def test_keys_are_sorted_distinct_mirrored_and_left_out():
    keys = torch.tensor([7, 3, 7, 1])
    assert distinct(keys).tolist() == [1, 3, 7]
    assert distinct(keys[:0]).tolist() == []
    # with 4 nodes: 1 = (0, 1), 4 = (1, 0), 11 = (2, 3), 14 = (3, 2), 5 = (1, 1)
    assert both_ways(torch.tensor([1, 11, 4, 5]), 4).tolist() == [1, 4, 5, 11, 14]
    assert without(keys, torch.tensor([3, 9])).tolist() == [7, 7, 1]
    assert without(keys, torch.tensor([], dtype=torch.long)).tolist() == keys.tolist()
    assert among(keys, torch.tensor([3, 9])).tolist() == [False, True, False, False]
