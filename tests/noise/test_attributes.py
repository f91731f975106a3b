from itertools import pairwise

import pytest
import torch

from brgcl.errors import InputError
from brgcl.noise import ATTRIBUTE_NOISE, corrupt_attributes
from brgcl.noise import attributes as module


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def corrupt(x, kind, level, seed=0, **options):
    return corrupt_attributes(x, kind, level, generator=seeded(seed), **options)


def numbered(num_nodes=12, num_features=10):
    """Every cell has its own value, so that one can see where it went."""
    return torch.arange(1.0, num_nodes * num_features + 1).reshape(num_nodes, num_features)


def bag_of_words(num_nodes=40, num_features=30):
    x = torch.rand(num_nodes, num_features, generator=seeded(5))
    return x * (x > 0.8)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", ATTRIBUTE_NOISE)
def test_level_zero_changes_nothing(kind, sparse):
    x = bag_of_words()
    noisy = corrupt(x.to_sparse_csr() if sparse else x, kind, 0.0)
    assert torch.equal(noisy.x.to_dense(), x)
    assert (noisy.realised, noisy.changed) == (0, 0)


@pytest.mark.parametrize("kind", ATTRIBUTE_NOISE)
def test_input_is_not_modified_and_layout_and_dtype_are_kept(kind):
    x = bag_of_words().double()
    for given in (x.clone(), x.to_sparse_csr()):
        noisy = corrupt(given, kind, 0.5)
        assert torch.equal(given.to_dense(), x)
        assert not torch.equal(noisy.x.to_dense(), x)
        assert (noisy.x.layout, noisy.x.dtype, noisy.x.shape) == (given.layout, x.dtype, x.shape)


@pytest.mark.parametrize("kind", ATTRIBUTE_NOISE)
@pytest.mark.parametrize("nodes", [None, torch.tensor([3, 4, 8, 20, 21, 33])])
def test_dense_and_csr_get_the_same_draw_in_any_number_of_blocks(kind, nodes, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_CELLS", 70)  # two rows at a time
    x = bag_of_words()
    dense = corrupt(x, kind, 0.5, nodes=nodes)
    sparse = corrupt(x.to_sparse_csr(), kind, 0.5, nodes=nodes)
    assert torch.equal(sparse.x.to_dense(), dense.x)
    assert (sparse.realised, sparse.changed) == (dense.realised, dense.changed)


@pytest.mark.parametrize("kind", ATTRIBUTE_NOISE)
def test_csr_stores_no_zeros_and_sorted_columns(kind):
    x = bag_of_words().to_sparse_csr()
    x.values()[::7] = 0  # zeros that the input stores
    noisy = corrupt(x, kind, 0.6).x
    assert (noisy.values() != 0).all()
    crow, col = noisy.crow_indices(), noisy.col_indices()
    for start, end in pairwise(crow.tolist()):
        assert (col[start:end].diff() > 0).all()


@pytest.mark.parametrize("kind", ATTRIBUTE_NOISE)
def test_the_same_seed_gives_the_same_draw_and_another_seed_another(kind):
    x = numbered()
    first = corrupt(x, kind, 0.5).x
    assert torch.equal(first, corrupt(x, kind, 0.5).x)
    assert not torch.equal(first, corrupt(x, kind, 0.5, seed=1).x)


@pytest.mark.parametrize("kind", ATTRIBUTE_NOISE)
def test_nodes_out_of_scope_keep_their_rows(kind):
    x = numbered()
    mask = torch.zeros(12, dtype=torch.bool)
    mask[[1, 2, 5, 7]] = True
    noisy = corrupt(x, kind, 0.5, nodes=mask)
    assert torch.equal(noisy.x[~mask], x[~mask])
    assert noisy.changed > 0
    assert noisy.changed == (noisy.x != x).any(1).sum().item() / 4
    by_index = corrupt(x, kind, 0.5, nodes=torch.tensor([7, 2, 1, 5, 5]))
    assert torch.equal(by_index.x, noisy.x)


def test_within_permutes_values_at_the_chosen_number_of_positions():
    x = numbered(200, 10)
    noisy = corrupt(x, "within", 0.59)
    assert torch.equal(noisy.x.sort(1).values, x)
    moved = (noisy.x != x).sum(1)
    assert moved.max() == 5  # floor(0.59 * 10)
    assert noisy.realised == 0.5
    # on average one of the five stays where it is
    assert abs(moved.float().mean() - 4) < 5 / 200**0.5
    # every position moves, in either direction
    assert ((noisy.x != x).float().mean(0) > 0.2).all()


def test_within_draws_each_node_alone():
    noisy = corrupt(torch.arange(10.0).expand(50, 10), "within", 0.5).x
    assert len(noisy.unique(dim=0)) > 40


def test_column_permutes_whole_columns_across_nodes():
    x = numbered(50, 10)
    noisy = corrupt(x, "column", 0.3)
    touched = (noisy.x != x).any(0)
    assert touched.sum() == 3
    assert torch.equal(noisy.x.sort(0).values, x)
    assert noisy.realised == 0.3
    # each column has a permutation of its own: the node that a value came from differs
    source = ((noisy.x - 1) // 10)[:, touched]
    assert not torch.equal(source[:, 0], source[:, 1])


def test_column_moves_values_among_the_scoped_nodes_only():
    x, nodes = numbered(), torch.tensor([0, 4, 9])
    noisy = corrupt(x, "column", 0.99, nodes=nodes).x
    assert torch.equal(noisy[nodes].sort(0).values, x[nodes])


def test_cell_takes_the_chosen_number_of_positions_from_one_other_node():
    x = numbered(100, 10)
    noisy = corrupt(x, "cell", 0.3)
    source = ((noisy.x - 1) // 10).long()  # the node that each value came from
    assert torch.equal((noisy.x - 1) % 10, (x - 1) % 10)  # values stay in their column
    donors = []
    for node in range(100):
        foreign = source[node][source[node] != node]
        assert len(foreign) == 3
        assert len(foreign.unique()) == 1
        donors.append(int(foreign[0]))
    assert len(set(donors)) > 50
    assert noisy.realised == 0.3
    assert noisy.changed == 1


def test_cell_donors_need_not_be_in_scope():
    x = numbered(100, 10)
    noisy = corrupt(x, "cell", 0.9, nodes=torch.tensor([0, 1])).x
    assert ((noisy[:2] - 1) // 10).max() > 1


def test_rows_exchange_without_a_fixed_point():
    x = numbered(50, 4)
    noisy = corrupt(x, "rows", 0.4)
    source = ((noisy.x - 1) // 4).long()
    assert (source == source[:, :1]).all()
    assert torch.equal(source[:, 0].sort().values, torch.arange(50))
    assert (source[:, 0] != torch.arange(50)).sum() == 20
    assert noisy.realised == noisy.changed == 0.4


def test_one_node_has_nobody_to_exchange_rows_with():
    noisy = corrupt(numbered(4, 2), "rows", 0.3)
    assert torch.equal(noisy.x, numbered(4, 2))
    assert noisy.realised == 0


def test_the_share_is_rounded_down_but_not_by_floating_point():
    assert corrupt(numbered(3, 100), "column", 0.29).realised == 0.29
    assert corrupt(numbered(3, 10), "column", 0.39).realised == 0.3


def test_an_empty_scope_changes_nothing():
    noisy = corrupt(numbered(), "within", 0.5, nodes=torch.zeros(12, dtype=torch.bool))
    assert torch.equal(noisy.x, numbered())
    assert (noisy.realised, noisy.changed) == (0, 0)


def test_changed_does_not_count_values_that_came_back():
    x = torch.ones(5, 4)
    noisy = corrupt(x, "cell", 0.5)
    assert (noisy.realised, noisy.changed) == (0.5, 0)


@pytest.mark.parametrize(
    ("x", "kind", "options", "message"),
    [
        (numbered(), "whitin", {}, "unknown attribute noise 'whitin'; did you mean 'within'"),
        (numbered(), "cell", {"level": 1.4}, r"noise level must be in \[0, 1\), got 1.4"),
        (numbered(1, 4), "cell", {}, "only 1 node"),
        (numbered().to_sparse(), "cell", {}, "must be dense or CSR, got torch.sparse_coo"),
        (torch.ones(3), "cell", {}, r"shape \(N, F\), got \(3,\)"),
        (numbered(), "cell", {"nodes": torch.ones(3, dtype=torch.bool)}, "x has 12 rows"),
        (numbered(), "cell", {"nodes": torch.tensor([12])}, r"in 0\.\.11, got 12"),
        (numbered(), "cell", {"nodes": torch.ones(12)}, "a mask or a one-dimensional tensor"),
    ],
)
def test_wrong_input_is_named(x, kind, options, message):
    with pytest.raises(InputError, match=message):
        corrupt(x, kind, **({"level": 0.5} | options))
