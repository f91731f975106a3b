import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from brgcl.noise import (
    ATTRIBUTE_NOISE,
    EDGE_NOISE,
    LABEL_NOISE,
    NoiseSpec,
    corrupt_attributes,
    corrupt_edges,
    flip_labels,
    link_density,
    parse_noise,
    transition_matrix,
)
from brgcl.tasks.metrics import accuracy, clustering_accuracy

quick = settings(deadline=None, max_examples=60)

levels = st.floats(0, 0.99)
seeds = st.integers(0, 2**31)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@st.composite
def graphs(draw):
    """Number of nodes, canonical edge_index over 1 to half of the pairs, and a seed."""
    num_nodes = draw(st.integers(5, 15))
    pairs = torch.triu_indices(num_nodes, num_nodes, offset=1)
    share = draw(st.floats(0.05, 0.4))
    seed = draw(seeds)
    chosen = pairs[:, torch.rand(pairs.shape[1], generator=seeded(seed)) < share]
    chosen = torch.cat([pairs[:, :1], chosen[:, chosen.sum(0) > 1]], dim=1)
    chosen = chosen[:, : pairs.shape[1] // 2]
    both = torch.cat([chosen, chosen.flip(0)], dim=1)
    return num_nodes, both[:, (both[0] * num_nodes + both[1]).argsort()], seed


@quick
@given(
    st.sampled_from([kind for kind in LABEL_NOISE if kind != "instance"]),
    levels,
    st.integers(2, 8),
    seeds,
)
def test_rows_of_a_transition_matrix_sum_to_one(kind, level, num_classes, seed):
    links = torch.rand(num_classes, num_classes, generator=seeded(seed)) + 0.01
    T = transition_matrix(kind, level, num_classes, generator=seeded(seed), class_links=links)
    assert (T >= 0).all()
    torch.testing.assert_close(T.sum(1), torch.ones(num_classes, dtype=T.dtype))
    torch.testing.assert_close(T.diagonal(), torch.full((num_classes,), 1 - level).to(T))


@quick
@given(graphs(), st.integers(2, 4))
def test_link_density_does_not_depend_on_directions_or_the_order_of_nodes(graph, num_classes):
    num_nodes, edge_index, seed = graph
    labels = torch.randint(-1, num_classes, (num_nodes,), generator=seeded(seed))
    density = link_density(labels, edge_index, num_classes)
    assert torch.equal(density, density.T)
    order = torch.randperm(num_nodes, generator=seeded(seed))
    place = order.argsort()  # where each node went
    moved = link_density(labels[order], place[edge_index], num_classes)
    torch.testing.assert_close(moved, density)


@quick
@given(st.sampled_from(LABEL_NOISE), levels, st.integers(2, 5), seeds, st.booleans())
def test_flips_leave_unlabelled_nodes_and_the_input_alone(kind, level, num_classes, seed, exact):
    labels = torch.randint(-1, num_classes, (40,), generator=seeded(seed))
    before = labels.clone()
    everyone = torch.arange(40) % num_classes
    complete = torch.ones(40, 40).nonzero().T
    noisy = flip_labels(
        labels,
        kind,
        level,
        num_classes=num_classes,
        generator=seeded(seed),
        exact=exact and kind != "instance",
        edge_index=complete,
        reference=everyone,
        x=torch.eye(40),
    )
    assert torch.equal(labels, before)
    assert torch.equal(noisy.labels == -1, labels == -1)
    assert torch.equal(noisy.flipped, noisy.labels != labels)
    assert ((noisy.labels >= -1) & (noisy.labels < num_classes)).all()
    if level == 0:
        assert not noisy.flipped.any()
    if exact and kind != "instance":
        for c in range(num_classes):
            member = labels == c
            assert noisy.flipped[member].sum() == round(level * int(member.sum()))


@quick
@given(
    st.sampled_from(ATTRIBUTE_NOISE),
    levels,
    st.tuples(st.integers(2, 12), st.integers(1, 12)),
    seeds,
)
def test_attribute_noise_only_moves_values(kind, level, shape, seed):
    x = torch.randint(0, 4, shape, generator=seeded(seed)).float()
    before = x.clone()
    nodes = torch.rand(shape[0], generator=seeded(seed)) < 0.7
    noisy = corrupt_attributes(x, kind, level, generator=seeded(seed), nodes=nodes)
    sparse = corrupt_attributes(x.to_sparse_csr(), kind, level, generator=seeded(seed), nodes=nodes)
    assert torch.equal(x, before)
    assert torch.equal(sparse.x.to_dense(), noisy.x)
    assert torch.equal(noisy.x[~nodes], x[~nodes])
    assert noisy.realised <= level + 1e-9
    if level == 0:
        assert torch.equal(noisy.x, x)
    if kind == "within":
        assert torch.equal(noisy.x.sort(1).values, x.sort(1).values)
    if kind in ("column", "rows"):
        assert torch.equal(noisy.x.sort(0).values, x.sort(0).values)
    if kind == "cell":
        assert ((noisy.x != x).sum(1) <= level * shape[1] + 1e-6).all()


@quick
@given(graphs(), st.sampled_from(EDGE_NOISE), st.floats(0, 0.8))
def test_edge_noise_keeps_graphs_undirected_sorted_and_simple(graph, kind, level):
    num_nodes, edge_index, seed = graph
    before = edge_index.clone()
    noisy = corrupt_edges(edge_index, kind, level, num_nodes=num_nodes, generator=seeded(seed))
    assert torch.equal(edge_index, before)
    row, col = noisy.edge_index
    number = row * num_nodes + col
    assert (number.diff() > 0).all()
    assert (row != col).all()
    assert torch.equal((col * num_nodes + row).sort().values, number)
    old = edge_index[0] * num_nodes + edge_index[1]
    count = round(level * (len(old) // 2))
    assert torch.isin(old, number, invert=True).sum() == (0 if kind == "add" else 2 * count)
    assert torch.isin(number, old, invert=True).sum() == (0 if kind == "remove" else 2 * count)


@quick
@given(
    st.sampled_from(LABEL_NOISE + ATTRIBUTE_NOISE + EDGE_NOISE),
    st.floats(0, 1, exclude_max=True),
    st.sampled_from(["all", "train"]),
)
def test_a_noise_is_read_back_from_its_text(kind, level, scope):
    spec = NoiseSpec(kind, level, scope if kind in ATTRIBUTE_NOISE else "all")
    assert parse_noise(str(spec), [kind]) == spec


@quick
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30), seeds)
def test_clustering_accuracy_ignores_names_and_is_at_least_accuracy(pairs, seed):
    clusters, truth = np.array(pairs).T
    rename = np.random.default_rng(seed).permutation(5)
    assert clustering_accuracy(rename[clusters], truth) == clustering_accuracy(clusters, truth)
    assert clustering_accuracy(rename[truth], truth) == 1
    assert clustering_accuracy(clusters, truth) >= accuracy(clusters, truth)
