import pytest
import torch

from brgcl.method.graph import adjacency_from_edges


def random_edges(N, share, seed, weighted):
    """Canonical edges among all nodes but the last two, shuffled, with weights."""
    generator = torch.Generator().manual_seed(seed)
    pairs = torch.combinations(torch.arange(N - 2))
    pairs = pairs[torch.rand(len(pairs), generator=generator) < share].T  # (2, E)
    weight = 0.2 + torch.rand(pairs.shape[1], generator=generator, dtype=torch.float64)
    order = torch.randperm(2 * pairs.shape[1], generator=generator)
    edge_index = torch.cat([pairs, pairs.flip(0)], dim=1)[:, order]
    return edge_index, weight.repeat(2)[order] if weighted else None


def dense(edge_index, N, weight=None):
    A = torch.zeros(N, N, dtype=torch.float64)
    A[edge_index[0], edge_index[1]] = torch.ones(()).double() if weight is None else weight
    return A + torch.eye(N, dtype=torch.float64)


def dense_normalized(A):
    d = A.sum(1) ** -0.5
    return d[:, None] * A * d[None, :]


CASES = pytest.mark.parametrize(
    ("seed", "weighted"), [(0, False), (1, False), (2, True), (3, True)]
)


@CASES
def test_operators_equal_the_dense_formulas(seed, weighted):
    edge_index, weight = random_edges(14, 0.3, seed, weighted)
    adjacency = adjacency_from_edges(edge_index, 14, weight, dtype=torch.float64)
    A = dense(edge_index, 14, weight)
    assert adjacency.num_nodes == 14
    assert adjacency.num_edges == edge_index.shape[1] // 2
    normalized, transition = (
        adjacency.normalized.data.to_dense(),
        adjacency.transition.data.to_dense(),
    )
    torch.testing.assert_close(normalized, dense_normalized(A), rtol=1e-12, atol=1e-15)
    torch.testing.assert_close(normalized, normalized.T, rtol=1e-14, atol=0)
    torch.testing.assert_close(transition, A / A.sum(1, keepdim=True), rtol=1e-12, atol=1e-15)
    torch.testing.assert_close(transition.sum(1), torch.ones(14).double())


@CASES
def test_an_isolated_node_keeps_its_own_attributes(seed, weighted):
    edge_index, weight = random_edges(14, 0.3, seed, weighted)
    adjacency = adjacency_from_edges(edge_index, 14, weight, dtype=torch.float64)
    for operator in (adjacency.normalized, adjacency.transition):
        assert torch.equal(operator.data.to_dense()[12:], torch.eye(14).double()[12:])


@CASES
def test_dropping_edges_equals_building_the_graph_without_them(seed, weighted):
    edge_index, weight = random_edges(14, 0.4, seed, weighted)
    adjacency = adjacency_from_edges(edge_index, 14, weight, dtype=torch.float64)
    generator = torch.Generator().manual_seed(seed)
    keep = torch.rand(adjacency.num_edges + 1, generator=generator) < 0.5
    keep[-1] = True
    # the pair behind each edge number
    pair = {
        int(e): {int(i), int(j)}
        for e, i, j in zip(adjacency.edge, adjacency.row, adjacency.col, strict=True)
        if e < adjacency.num_edges
    }
    survivors = [pair[e] for e in keep[:-1].nonzero().squeeze(1).tolist()]
    left = torch.tensor([set(ends) in survivors for ends in edge_index.T.tolist()])
    assert 0 < left.sum() < len(left)
    fresh = adjacency_from_edges(
        edge_index[:, left], 14, None if weight is None else weight[left], dtype=torch.float64
    )
    dropped = adjacency.normalized_without(keep)
    torch.testing.assert_close(
        dropped.data.to_dense(), fresh.normalized.data.to_dense(), rtol=1e-12, atol=1e-15
    )
    assert dropped.data.values().numel() == 2 * int(keep[:-1].sum()) + 14


def test_both_directions_of_an_edge_carry_one_number_and_loops_the_last():
    edge_index, _ = random_edges(14, 0.4, 5, False)
    adjacency = adjacency_from_edges(edge_index, 14)
    E = adjacency.num_edges
    loops = adjacency.row == adjacency.col
    assert (adjacency.edge[loops] == E).all()
    assert loops.sum() == 14
    counts = torch.bincount(adjacency.edge[~loops], minlength=E)
    assert (counts == 2).all()
    for e in range(E):
        there, back = zip(
            adjacency.row[adjacency.edge == e].tolist(),
            adjacency.col[adjacency.edge == e].tolist(),
            strict=True,
        )
        assert there == back[::-1]


def test_entries_are_in_row_order_with_rising_columns():
    edge_index, _ = random_edges(14, 0.4, 6, False)
    adjacency = adjacency_from_edges(edge_index, 14)
    key = adjacency.row * 14 + adjacency.col
    assert (key.diff() > 0).all()
    assert torch.equal(torch.repeat_interleave(adjacency.crow.diff()), adjacency.row)


def test_dropping_every_edge_leaves_the_identity():
    edge_index, _ = random_edges(14, 0.4, 7, False)
    adjacency = adjacency_from_edges(edge_index, 14)
    keep = torch.zeros(adjacency.num_edges + 1, dtype=torch.bool)
    keep[-1] = True
    assert torch.equal(adjacency.normalized_without(keep).data.to_dense(), torch.eye(14))


@pytest.mark.parametrize("weight", [None, torch.empty(0)])
def test_a_graph_without_edges_has_identity_operators(weight):
    adjacency = adjacency_from_edges(torch.empty(2, 0, dtype=torch.long), 4, weight)
    assert adjacency.num_edges == 0
    assert torch.equal(adjacency.normalized.data.to_dense(), torch.eye(4))
    assert torch.equal(adjacency.transition.data.to_dense(), torch.eye(4))


def test_the_operators_are_single_precision_unless_told():
    adjacency = adjacency_from_edges(torch.tensor([[0, 1], [1, 0]]), 2)
    assert adjacency.normalized.data.dtype == torch.float32
    torch.testing.assert_close(adjacency.normalized.data.to_dense(), torch.full((2, 2), 0.5))
