import itertools
import math

import pytest
import torch
import torch.nn.functional as F

from brgcl.baselines.shared import reconstruction
from brgcl.baselines.shared.reconstruction import num_columns, reconstruction_loss
from brgcl.method.graph import adjacency_from_edges

# Two triangles with a bridge, 2-3, and a node apart, 6.
ENDS = torch.tensor([[0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5]])
EDGES = torch.cat([ENDS, ENDS.flip(0)], dim=1)
GRAPH = adjacency_from_edges(EDGES, 7)
Z = torch.randn(7, 3, generator=torch.Generator().manual_seed(0))


def dense_loss(z):
    """The formula of the authors' code, with all pairs at once."""
    target = torch.eye(7)
    target[EDGES[0], EDGES[1]] = 1
    edges = EDGES.shape[1]
    weight = torch.tensor((49 - edges) / edges)
    norm = 49 / (2 * (49 - edges))
    return norm * F.binary_cross_entropy_with_logits(z @ z.T, target, pos_weight=weight)


def value_and_gradient(loss, z):
    z = z.clone().requires_grad_()
    value = loss(z)
    value.backward()
    return value.detach(), z.grad


def test_codes_of_zero_have_the_loss_computed_by_hand():
    pair = adjacency_from_edges(torch.tensor([[0, 1], [1, 0]]), 2)
    # weight (4 - 2)/2 = 1: (4 log 2 + 4 (1 - 1) log 2) / (2 · 2)
    assert reconstruction_loss(torch.zeros(2, 1), pair) == pytest.approx(math.log(2))
    path = adjacency_from_edges(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), 3)
    # weight (9 - 4)/4 = 1.25: (9 log 2 + 7 · 0.25 log 2) / (2 · 5)
    assert reconstruction_loss(torch.zeros(3, 2), path) == pytest.approx(1.075 * math.log(2))


@pytest.mark.parametrize("tile_bytes", [1, 4 * 7 * 3, 1 << 21])
def test_tiles_equal_the_dense_formula(monkeypatch, tile_bytes):
    monkeypatch.setattr(reconstruction, "TILE_BYTES", tile_bytes)
    value, gradient = value_and_gradient(lambda z: reconstruction_loss(z, GRAPH), Z)
    expected, dense_gradient = value_and_gradient(dense_loss, Z)
    assert torch.allclose(value, expected, rtol=1e-6)
    assert torch.allclose(gradient, dense_gradient, atol=1e-6)


def test_blocks_of_edges_change_nothing(monkeypatch):
    whole = value_and_gradient(lambda z: reconstruction_loss(z, GRAPH), Z)
    monkeypatch.setattr(reconstruction, "EDGES_PER_BLOCK", 4)
    blocks = value_and_gradient(lambda z: reconstruction_loss(z, GRAPH), Z)
    assert all(torch.allclose(one, two) for one, two in zip(whole, blocks, strict=True))


def test_a_factor_on_the_loss_reaches_the_gradient():
    _, once = value_and_gradient(lambda z: reconstruction_loss(z, GRAPH), Z)
    _, thrice = value_and_gradient(lambda z: 3 * reconstruction_loss(z, GRAPH), Z)
    assert torch.allclose(3 * once, thrice)


@pytest.mark.parametrize("tile_bytes", [1, 1 << 21])
def test_a_sample_is_right_on_average(monkeypatch, tile_bytes):
    """The mean over all samples of two columns is the exact loss, and so is its gradient."""
    monkeypatch.setattr(reconstruction, "TILE_BYTES", tile_bytes)
    found = [
        value_and_gradient(lambda z, c=c: reconstruction_loss(z, GRAPH, torch.tensor(c)), Z)
        for c in itertools.combinations(range(7), 2)
    ]
    values, gradients = (torch.stack(part) for part in zip(*found, strict=True))
    expected, dense_gradient = value_and_gradient(dense_loss, Z)
    assert values.std() > 0.01
    assert torch.allclose(values.mean(), expected, rtol=1e-5)
    assert torch.allclose(gradients.mean(0), dense_gradient, atol=1e-6)


def test_a_sample_of_all_nodes_is_exact():
    whole = value_and_gradient(lambda z: reconstruction_loss(z, GRAPH), Z)
    order = torch.tensor([3, 1, 6, 0, 2, 5, 4])
    sample = value_and_gradient(lambda z: reconstruction_loss(z, GRAPH, order), Z)
    assert all(torch.allclose(one, two, atol=1e-6) for one, two in zip(whole, sample, strict=True))


def test_targets_of_weighted_edges_are_one():
    low, high = EDGES.min(0).values, EDGES.max(0).values
    weighted = adjacency_from_edges(EDGES, 7, 1.0 + low + high)
    assert torch.equal(reconstruction_loss(Z, weighted), reconstruction_loss(Z, GRAPH))


def test_large_codes_and_no_edges_give_finite_numbers():
    bare = adjacency_from_edges(torch.empty(2, 0, dtype=torch.long), 7)
    for graph, z in ((GRAPH, 1000 * Z), (bare, Z)):
        value, gradient = value_and_gradient(lambda z, g=graph: reconstruction_loss(z, g), z)
        assert bool(value.isfinite())
        assert bool(gradient.isfinite().all())


def test_pairs_are_sampled_beyond_a_limit():
    assert num_columns("auto", 10_000) is None
    assert num_columns("auto", 10_001) == 512
    assert num_columns(None, 10**6) is None
    assert num_columns(8, 100) == 8
