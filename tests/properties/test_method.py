import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from brgcl.method.confidence import confidence, confident_nodes, propagate, threshold
from brgcl.method.dpmeans import dp_means, k_means, pseudo_labels
from brgcl.method.encoder import Encoder
from brgcl.method.graph import adjacency_from_edges
from brgcl.method.node_loss import decorrelation_loss, node_loss
from brgcl.method.prototypes import prototype_loss, robust_prototypes
from brgcl.method.sparse import Matrix

quick = settings(deadline=None, max_examples=25)

seeds = st.integers(0, 2**31)
objectives = st.sampled_from(["exp", "abs"])


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(generator, *shape):
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


@st.composite
def clouds(draw, min_points=1):
    """Points in float64: spread out, in clumps, or on a coarse grid with many repeats."""
    generator = seeded(draw(seeds))
    N, D = draw(st.integers(min_points, 40)), draw(st.integers(1, 4))
    h = draw(st.floats(0.1, 5)) * normal(generator, N, D)
    shape = draw(st.sampled_from(["cloud", "clumps", "grid"]))
    if shape == "clumps":
        h = 0.1 * h + normal(generator, 3, D)[torch.randint(0, 3, (N,), generator=generator)]
    return h.round() if shape == "grid" else h


@st.composite
def graphs(draw):
    """Transition matrix of a random graph, its number of nodes, and a generator."""
    generator = seeded(draw(seeds))
    N = draw(st.integers(2, 15))
    pairs = torch.combinations(torch.arange(N))
    pairs = pairs[torch.rand(len(pairs), generator=generator) < draw(st.floats(0, 0.6))].T
    edge_index = torch.cat([pairs, pairs.flip(0)], dim=1)
    return edge_index, N, generator


def same_partition(first, second):
    return torch.equal(first[:, None] == first, second[:, None] == second)


# DP-means


@quick
@given(h=clouds(), xi=st.floats(0.01, 20), start=st.sampled_from(["mean", "points", "far"]))
def test_the_objective_of_dp_means_never_rises(h, xi, start):
    centers = {"mean": None, "points": h[: max(1, len(h) // 2)], "far": torch.cat([h, 50 + h])}
    found = dp_means(h, xi, centers=centers[start], max_clusters=100)
    scale = max(1.0, found.trace[0])
    rises = [after - before for before, after in zip(found.trace, found.trace[1:], strict=False)]
    assert max(rises, default=0.0) <= 1e-9 * scale


@quick
@given(h=clouds(), xi=st.floats(0.01, 20), cap=st.integers(1, 50))
def test_the_result_of_dp_means_is_what_it_says(h, xi, cap):
    found = dp_means(h, xi, max_clusters=cap)
    label, K = found.assignment, found.num_clusters
    assert 1 <= K <= min(cap, len(h))
    assert torch.equal(label.unique(), torch.arange(K))  # no cluster is empty
    means = torch.stack([h[label == k].mean(0) for k in range(K)])
    torch.testing.assert_close(found.centers, means, rtol=1e-9, atol=1e-9)
    within = (h - means[label]).pow(2).sum().item()
    assert found.objective == pytest.approx(within + xi * K, rel=1e-9, abs=1e-9)
    distance = (h - found.centers[label]).pow(2).sum(1)
    assert found.capped == bool(distance.max() > xi * (1 + 1e-12))
    if found.capped:
        assert found.num_clusters == cap


@quick
@given(h=clouds(), xi=st.floats(0.01, 20))
def test_dp_means_rests_at_a_fixed_point(h, xi):
    found = dp_means(h, xi, max_clusters=100)
    _, _, distance = pseudo_labels(h, found.centers, xi)
    own = (h - found.centers[found.assignment]).pow(2).sum(1)
    torch.testing.assert_close(own, distance, rtol=1e-9, atol=1e-9)
    again = dp_means(h, xi, centers=found.centers, max_clusters=100)
    assert again.objective == pytest.approx(found.objective, rel=1e-9)
    assert again.num_clusters == found.num_clusters


@quick
@given(h=clouds())
def test_a_huge_price_gives_one_cluster(h):
    xi = 1 + 2 * (h - h.mean(0)).pow(2).sum().item()
    assert dp_means(h, xi, centers=h, max_clusters=100).num_clusters == 1


@quick
@given(h=clouds())
def test_a_tiny_price_gives_each_distinct_point_its_own_cluster(h):
    h = h.round()
    found = dp_means(h, 1e-6, max_clusters=100)
    distinct, which = h.unique(dim=0, return_inverse=True)
    assert found.num_clusters == len(distinct)
    assert same_partition(found.assignment, which)


@quick
@given(seed=seeds, xi=st.floats(0.5, 10))
def test_permuting_points_permutes_their_clusters(seed, xi):
    generator = seeded(seed)
    h = normal(generator, 30, 3)
    order = torch.randperm(30, generator=generator)
    found, shuffled = dp_means(h, xi), dp_means(h[order], xi)
    assert same_partition(shuffled.assignment, found.assignment[order])


@quick
@given(h=clouds(min_points=3))
def test_the_sum_of_squares_of_k_means_never_rises(h):
    found = k_means(h, h[:3])
    scale = max(1.0, found.trace[0])
    assert all(
        after <= before + 1e-9 * scale
        for before, after in zip(found.trace, found.trace[1:], strict=False)
    )


# Losses


@quick
@given(
    seed=seeds,
    N=st.integers(2, 30),
    objective=objectives,
    tau=st.floats(0.005, 2),
    tile_rows=st.integers(1, 40),
    m=st.integers(2, 30),
)
def test_permuting_nodes_leaves_the_node_loss(seed, N, objective, tau, tile_rows, m):
    generator = seeded(seed)
    h1, h2 = normal(generator, N, 4), normal(generator, N, 4)
    order = torch.randperm(N, generator=generator)
    negatives = torch.randperm(N, generator=generator)[: min(m, N)]
    options = {"objective": objective, "tau": tau}
    loss = node_loss(h1, h2, negatives=negatives, **options)
    shuffled = node_loss(
        h1[order],
        h2[order],
        negatives=torch.argsort(order)[negatives],
        tile_bytes=tile_rows * len(negatives) * 8,
        **options,
    )
    torch.testing.assert_close(shuffled, loss, rtol=1e-10, atol=1e-10)


@quick
@given(seed=seeds, N=st.integers(2, 30), objective=objectives, twice=st.booleans())
def test_equal_similarities_give_the_log_of_the_count(seed, N, objective, twice):
    row = normal(seeded(seed), 1, 4)
    loss = node_loss(
        row.repeat(N, 1), 3 * row.repeat(N, 1), objective=objective, positive_twice=twice
    )
    assert loss.item() == pytest.approx(math.log(N + twice), abs=1e-10)


@quick
@given(seed=seeds, N=st.integers(2, 30))
def test_the_exp_loss_does_not_tell_the_views_apart(seed, N):
    generator = seeded(seed)
    h1, h2 = normal(generator, N, 4), normal(generator, N, 4)
    torch.testing.assert_close(node_loss(h1, h2), node_loss(h2, h1), rtol=1e-10, atol=1e-10)


@quick
@given(seed=seeds, name=st.sampled_from(["exp", "abs", "decorrelation", "prototypes"]))
def test_a_small_gradient_step_lowers_each_loss(seed, name):
    generator = seeded(seed)
    h1, h2 = (normal(generator, 20, 4).requires_grad_() for _ in range(2))
    label = torch.randint(0, 3, (20,), generator=generator)
    prototypes = normal(generator, 3, 4)
    loss_of = {
        "exp": node_loss,
        "abs": lambda a, b: node_loss(a, b, objective="abs"),
        "decorrelation": decorrelation_loss,
        "prototypes": lambda a, b: prototype_loss(a + b, label, prototypes, 0.4),
    }[name]
    loss = loss_of(h1, h2)
    d1, d2 = torch.autograd.grad(loss, (h1, h2))
    step = 1e-6 / torch.cat([d1, d2]).norm()  # too small to jump over a kink of |c|
    assert loss_of(h1 - step * d1, h2 - step * d2) < loss


# Confidence and prototypes


@quick
@given(graph=graphs(), K=st.integers(1, 5), alpha=st.floats(0.01, 1), T=st.integers(1, 15))
def test_soft_labels_are_distributions_and_confidence_lies_between_0_and_1(graph, K, alpha, T):
    edge_index, N, generator = graph
    P = adjacency_from_edges(edge_index, N).transition
    label = torch.randint(0, K, (N,), generator=generator)
    soft = propagate(label, K, P, alpha, T)
    assert soft.min() >= 0
    torch.testing.assert_close(soft.sum(1), torch.ones(N))
    own = confidence(soft, label)
    assert 0 <= own.min() <= own.max() <= 1
    assert own.min() >= (alpha if T > 1 else 1) - 1e-6  # the teleport keeps that much


@quick
@given(graph=graphs(), gamma=st.floats(0, 1))
def test_a_lower_threshold_trusts_fewer_nodes(graph, gamma):
    edge_index, N, generator = graph
    label = torch.randint(0, 2, (N,), generator=generator)
    P = adjacency_from_edges(edge_index, N).transition
    own = confidence(propagate(label, 2, P, 0.1, 10), label)
    assert not (confident_nodes(own, gamma / 2) & ~confident_nodes(own, gamma)).any()


@quick
@given(graph=graphs(), K=st.integers(1, 4))
def test_permuting_nodes_permutes_confidence_and_leaves_the_prototypes(graph, K):
    edge_index, N, generator = graph
    order = torch.randperm(N, generator=generator)
    h, label = normal(generator, N, 3), torch.randint(0, K, (N,), generator=generator)
    trusted = torch.rand(N, generator=generator) < 0.5
    found = []
    for edges, nodes in ((edge_index, torch.arange(N)), (order.argsort()[edge_index], order)):
        P = adjacency_from_edges(edges, N, dtype=torch.float64).transition
        own = confidence(propagate(label[nodes], K, P, 0.1, 10), label[nodes])
        found.append((own, robust_prototypes(h[nodes], label[nodes], trusted[nodes], K)))
    (own, prototypes), (moved, again) = found
    torch.testing.assert_close(moved, own[order], rtol=1e-9, atol=1e-11)
    torch.testing.assert_close(again, prototypes, rtol=1e-9, atol=1e-11)


@quick
@given(epoch=st.integers(0, 500), num_epochs=st.integers(1, 300), gamma0=st.floats(0, 1))
def test_the_threshold_lies_between_its_floor_and_one(epoch, num_epochs, gamma0):
    value = threshold(epoch, num_epochs, gamma0)
    assert 1 - gamma0 <= value <= 1
    assert value >= threshold(epoch + 1, num_epochs, gamma0)


@quick
@given(seed=seeds, N=st.integers(1, 25), K=st.integers(1, 4), share=st.floats(0, 1))
def test_untrusted_nodes_cannot_move_prototypes(seed, N, K, share):
    generator = seeded(seed)
    h = normal(generator, N, 3)
    label = torch.randint(0, K, (N,), generator=generator)
    trusted = torch.rand(N, generator=generator) < share
    before = robust_prototypes(h, label, trusted, K)
    moved = torch.where(trusted[:, None], h, h + 100 * normal(generator, N, 3))
    after = robust_prototypes(moved, label, trusted, K)
    for k in range(K):
        members = label == k
        if (members & trusted).any():
            torch.testing.assert_close(after[k], before[k], rtol=1e-10, atol=1e-10)
            torch.testing.assert_close(before[k], h[members & trusted].mean(0))
        elif members.any():  # deserted: the plain mean
            torch.testing.assert_close(after[k], moved[members].mean(0))


# Encoder


@quick
@given(graph=graphs())
def test_permuting_nodes_permutes_representations(graph):
    edge_index, N, generator = graph
    encoder = Encoder(5, hidden=6, dim=3, generator=generator).double()
    x = normal(generator, N, 5)
    order = torch.randperm(N, generator=generator)
    A = adjacency_from_edges(edge_index, N, dtype=torch.float64).normalized
    B = adjacency_from_edges(torch.argsort(order)[edge_index], N, dtype=torch.float64).normalized
    torch.testing.assert_close(
        encoder(Matrix(x[order]), B), encoder(Matrix(x), A)[order], rtol=1e-9, atol=1e-11
    )
