import pytest
import torch
from torch_geometric.data import Data

from brgcl.baselines import s2gc_features
from brgcl.baselines.s2gc_features import (
    S2GCFeaturesConfig,
    fit,
    intra_distance,
    loopless_adjacency,
    reduce,
)
from brgcl.baselines.shared import inputs
from brgcl.errors import InputError

# Two triangles with a bridge, 2-3, and a node apart, 6.
ENDS = torch.tensor([[0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5]])
EDGES = torch.cat([ENDS, ENDS.flip(0)], dim=1)
EDGES = EDGES[:, (EDGES[0] * 7 + EDGES[1]).argsort()]
X = torch.randn(7, 4, generator=torch.Generator().manual_seed(1))


def dense_adjacency(weight=None):
    A = torch.zeros(7, 7)
    A[EDGES[0], EDGES[1]] = torch.ones(EDGES.shape[1]) if weight is None else weight
    degree = A.sum(1)
    scale = torch.where(degree > 0, degree.rsqrt(), 0)
    return scale[:, None] * A * scale


def run(report=None, **settings) -> torch.Tensor:
    config = S2GCFeaturesConfig(**{"num_clusters": 2, "dim": 2, **settings})
    generator = torch.Generator().manual_seed(0)
    return fit(Data(x=X, edge_index=EDGES), None, config, generator, report).representations


def same_up_to_rotation(one, two):
    return torch.allclose(one @ one.T, two @ two.T, atol=1e-4)


def mean_of_powers(power):
    A = dense_adjacency()
    return sum(torch.linalg.matrix_power(A, k) @ X for k in range(1, power + 1)) / power


def projected(m, dim):
    """Rows on the first right singular vectors, at unit length; a slow reference."""
    _, _, vh = torch.linalg.svd(m.double(), full_matrices=False)
    rows = m.double() @ vh[:dim].T
    length = rows.norm(dim=1, keepdim=True)
    return (rows / torch.where(length > 0, length, 1)).float()


# The parts


@pytest.mark.parametrize("weighted", [False, True])
def test_the_operator_has_no_loops_and_bears_isolated_nodes(weighted):
    low, high = EDGES.min(0).values, EDGES.max(0).values
    weight = (low + 2.0 * high + 1) if weighted else None  # equal for both directions
    graph = Data(x=X, edge_index=EDGES, edge_weight=weight)
    found = loopless_adjacency(graph).data.to_dense()
    assert torch.allclose(found, dense_adjacency(weight), atol=1e-6)
    assert found.diagonal().abs().sum() == 0
    assert found[6].abs().sum() == 0


@pytest.mark.parametrize("shape", [(40, 30), (30, 40)])
def test_reduction_is_that_of_the_singular_value_decomposition(shape):
    generator = torch.Generator().manual_seed(0)
    m = torch.randn(*shape, generator=generator) @ torch.diag(0.7 ** torch.arange(shape[1]))
    assert same_up_to_rotation(reduce(m, 5), projected(m, 5))


def test_reduction_keeps_to_the_rank_and_leaves_rows_of_zeros():
    m = torch.tensor([[3.0, 4.0], [0, 0], [-1, 0]])
    z = reduce(m, 16)
    assert z.shape == (3, 2)
    assert torch.allclose(z.norm(dim=1), torch.tensor([1.0, 0, 1]))
    assert torch.allclose(z @ z.T, torch.tensor([[1, 0, -0.6], [0, 0, 0], [-0.6, 0, 1]]), atol=1e-5)


def test_the_distance_has_the_value_computed_by_hand():
    z = torch.tensor([[0.0, 0], [2, 0], [5, 5], [5, 5], [5, 8]])
    # cluster 0: mean square 2, mean (1, 0): 1. cluster 2: squares 50, 50, 89, mean (5, 6): 2
    assert intra_distance(z, torch.tensor([0, 0, 2, 2, 2])) == pytest.approx(2 / 2 * (1 + 2))


def test_the_distance_is_the_mean_over_pairs_of_a_cluster():
    z = torch.randn(9, 3, generator=torch.Generator().manual_seed(0))
    c = torch.tensor([0, 0, 0, 0, 1, 1, 1, 1, 1])
    pairs = [torch.cdist(z[c == k], z[c == k]).square().mean() for k in (0, 1)]
    assert intra_distance(z, c) == pytest.approx(float(sum(pairs) / 2), rel=1e-5)


# The choice of the power


@pytest.mark.parametrize(
    ("distances", "power"),
    [([5, 4, 3, 6, 0], 3), ([1, 2, 0, 0, 0], 1), ([5, 4, 3, 2, 1], 5), ([5, 5, 4, 4, 6], 4)],
)
def test_the_power_is_the_last_one_before_the_distance_rises(monkeypatch, distances, power):
    left = iter(distances)
    monkeypatch.setattr(s2gc_features, "intra_distance", lambda z, c: next(left))
    said = []
    z = run(report=lambda *state: said.append(state), repeats=1, max_power=5)
    assert same_up_to_rotation(z, projected(mean_of_powers(power), 2))
    assert said == [(k, 5, f"distance {distances[k - 1]:.4f}") for k in range(1, power + 1)]


def test_the_distance_is_a_mean_over_runs_of_k_means(monkeypatch):
    left = iter([4, 6, 1, 10, 0, 0])  # means 5, 5.5, 0
    monkeypatch.setattr(s2gc_features, "intra_distance", lambda z, c: next(left))
    z = run(repeats=2, max_power=3)
    assert same_up_to_rotation(z, projected(mean_of_powers(1), 2))


def test_the_distance_is_measured_on_a_sample(monkeypatch):
    sizes = []

    def distance(z, assignment):
        sizes.append((len(z), int(assignment.max()) + 1))
        return 0.0

    monkeypatch.setattr(s2gc_features, "intra_distance", distance)
    run(max_nodes=4, max_power=2, repeats=1)
    assert sizes == [(4, 2)] * 2
    sizes.clear()
    assert run(max_nodes=1, max_power=1, repeats=1).shape == (7, 2)
    assert sizes == [(1, 1)]  # no more clusters than nodes


def test_more_clusters_than_distinct_rows_are_borne():
    graph = Data(x=X, edge_index=torch.empty(2, 0, dtype=torch.long))
    config = S2GCFeaturesConfig(num_clusters=3, max_power=2)
    found = fit(graph, None, config, torch.Generator().manual_seed(0)).representations
    assert torch.equal(found, torch.zeros(7, 4))


# Errors


def test_what_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr(inputs, "MOST_BYTES", 100)
    with pytest.raises(InputError, match=r"s2gc-features would need .* fewer attributes"):
        run()
