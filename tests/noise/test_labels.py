import math

import pytest
import torch

from brgcl.errors import InputError
from brgcl.noise import (
    LABEL_NOISE,
    flip_labels,
    link_density,
    similar_partners,
    transition_matrix,
)

# 0-1 within class 0; 1-2 joins classes 0 and 1; 2-3 and 2-4 join classes 1 and 2
EDGES = torch.tensor([[0, 1, 1, 2, 2, 3, 2, 4], [1, 0, 2, 1, 3, 2, 4, 2]])
CLASSES = torch.tensor([0, 0, 1, 2, 2])


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def flip(labels, kind, level, seed=0, num_classes=3, **options):
    return flip_labels(
        labels, kind, level, num_classes=num_classes, generator=seeded(seed), **options
    )


def cycle_of_classes(num_nodes: int, num_classes: int = 3):
    """Labels 0, 1, 2, 0, 1, ... on a ring, with attributes that differ between nodes."""
    labels = torch.arange(num_nodes) % num_classes
    ring = torch.stack([torch.arange(num_nodes), (torch.arange(num_nodes) + 1) % num_nodes])
    x = torch.randn(num_nodes, 4, generator=seeded(9))
    return labels, {"edge_index": ring, "x": x}


def test_symmetric_matrix_spreads_the_level_evenly():
    expected = torch.tensor([[0.7, 0.15, 0.15], [0.15, 0.7, 0.15], [0.15, 0.15, 0.7]])
    torch.testing.assert_close(transition_matrix("symmetric", 0.3, 3), expected.double())


def test_pair_matrix_moves_each_class_to_the_one_before():
    expected = torch.tensor([[0.6, 0, 0.4], [0.4, 0.6, 0], [0, 0.4, 0.6]], dtype=torch.float64)
    torch.testing.assert_close(transition_matrix("pair", 0.4, 3), expected)


def test_random_matrix_has_uneven_rows_that_differ_between_seeds():
    T = transition_matrix("random", 0.4, 4, generator=seeded(0))
    torch.testing.assert_close(T.diagonal(), torch.full((4,), 0.6, dtype=torch.float64))
    torch.testing.assert_close(T.sum(1), torch.ones(4, dtype=torch.float64))
    assert len(T[0, 1:].unique()) == 3
    assert not torch.equal(T, transition_matrix("random", 0.4, 4, generator=seeded(1)))


def test_partner_matrix_has_one_wrong_class_per_row_and_reaches_all_of_them():
    seen = set()
    for seed in range(40):
        T = transition_matrix("partner", 0.4, 3, generator=seeded(seed))
        wrong = (T == 0.4).nonzero().tolist()
        assert [i for i, _ in wrong] == [0, 1, 2]
        assert all(i != j for i, j in wrong)
        seen |= {(i, j) for i, j in wrong}
    assert len(seen) == 6


def test_similar_partner_is_the_class_with_the_densest_links():
    # densities up to a factor: (0, 1): 1 / (2 * 1), (1, 2): 2 / (1 * 2), (0, 2): none
    density = link_density(CLASSES, EDGES, 3)
    torch.testing.assert_close(density[1, 2] / density[0, 1], torch.tensor(2.0).double())
    assert density[0, 2] == 0
    assert similar_partners(density).tolist() == [1, 2, 1]
    T = transition_matrix("similar", 0.25, 3, class_links=density)
    expected = torch.tensor([[0.75, 0.25, 0], [0, 0.75, 0.25], [0, 0.25, 0.75]])
    torch.testing.assert_close(T, expected.double())


def test_similar_partner_counts_density_and_not_edges():
    # class 0 has two edges to the three nodes of class 2, and one to the only node of class 1
    edges = torch.tensor([[0, 0, 0], [1, 2, 3]])
    assert similar_partners(link_density(torch.tensor([0, 1, 2, 2, 2]), edges, 3))[0] == 1


def test_similar_partner_leaves_unlabelled_nodes_out_and_says_when_there_is_none():
    labels = torch.tensor([0, -1, 1, 2, 2])
    assert similar_partners(link_density(labels, EDGES, 3)).tolist() == [-1, 2, 1]


def test_binary_symmetric_and_pair_are_the_same():
    assert torch.equal(transition_matrix("pair", 0.3, 2), transition_matrix("symmetric", 0.3, 2))


@pytest.mark.parametrize("kind", LABEL_NOISE)
def test_level_zero_changes_nothing(kind):
    labels, options = cycle_of_classes(30)
    noisy = flip(labels, kind, 0.0, **options)
    assert torch.equal(noisy.labels, labels)
    assert noisy.labels is not labels
    assert not noisy.flipped.any()
    assert noisy.realised == 0


@pytest.mark.parametrize(
    ("kind", "exact"),
    [(kind, False) for kind in LABEL_NOISE]
    + [(kind, True) for kind in LABEL_NOISE if kind != "instance"],
)
def test_unlabelled_nodes_stay_and_flipped_is_what_changed(kind, exact):
    labels, options = cycle_of_classes(300)
    reference = labels.clone()
    labels[::4] = -1
    before = labels.clone()
    noisy = flip(labels, kind, 0.5, exact=exact, reference=reference, **options)
    assert torch.equal(labels, before)
    assert (noisy.labels[::4] == -1).all()
    assert torch.equal(noisy.flipped, noisy.labels != before)
    assert ((noisy.labels >= 0) == (before >= 0)).all()
    assert noisy.labels.max() < 3
    assert noisy.realised == int(noisy.flipped.sum()) / 225 > 0


@pytest.mark.parametrize("kind", LABEL_NOISE)
def test_the_same_seed_gives_the_same_draw_and_another_seed_another(kind):
    labels, options = cycle_of_classes(300)
    first = flip(labels, kind, 0.4, **options)
    assert torch.equal(first.labels, flip(labels, kind, 0.4, **options).labels)
    assert not torch.equal(first.labels, flip(labels, kind, 0.4, seed=1, **options).labels)


@pytest.mark.parametrize("kind", [kind for kind in LABEL_NOISE if kind != "instance"])
def test_observed_labels_follow_the_matrix(kind):
    labels, options = cycle_of_classes(30_000)
    noisy = flip(labels, kind, 0.3, **options)
    # five standard deviations of a share of 10,000 draws
    for i in range(3):
        share = torch.bincount(noisy.labels[labels == i], minlength=3) / 10_000
        assert (share - noisy.transition[i]).abs().max() < 5 * math.sqrt(0.25 / 10_000)
        assert torch.equal(share > 0, noisy.transition[i] > 0)
    assert abs(noisy.realised - 0.3) < 5 * math.sqrt(0.21 / 30_000)


def test_exact_flips_the_rounded_share_of_every_class():
    labels = torch.tensor([0] * 10 + [1] * 7 + [2] * 3 + [-1] * 5)
    noisy = flip(labels, "symmetric", 0.3, exact=True)
    counts = [int(noisy.flipped[labels == c].sum()) for c in range(3)]
    assert counts == [3, 2, 1]
    assert noisy.realised == 6 / 20


def test_nodes_flipped_at_a_low_level_are_flipped_at_a_higher_one():
    labels, _ = cycle_of_classes(500)
    low, high = flip(labels, "symmetric", 0.2), flip(labels, "symmetric", 0.5)
    assert low.flipped.any()
    assert high.flipped[low.flipped].all()
    assert high.flipped.sum() > low.flipped.sum()


def test_the_draw_of_a_node_does_not_depend_on_who_else_is_labelled():
    labels, _ = cycle_of_classes(500)
    part = labels.clone()
    part[100:] = -1
    assert torch.equal(
        flip(labels, "symmetric", 0.4).labels[:100], flip(part, "symmetric", 0.4).labels[:100]
    )


def test_reference_decides_the_similar_class():
    labels = torch.tensor([0, -1, -1, -1, -1])
    noisy = flip(labels, "similar", 0.99, edge_index=EDGES, reference=CLASSES)
    assert noisy.labels.tolist() == [1, -1, -1, -1, -1]


def test_instance_rate_is_a_truncated_normal_around_the_level():
    labels, options = cycle_of_classes(40_000)
    assert abs(flip(labels, "instance", 0.4, **options).realised - 0.4) < 5 * math.sqrt(
        0.25 / 40_000
    )
    # cut at 0, the mean of Normal(0.05, 0.1^2) is 0.05 + 0.1 phi(0.5) / Phi(0.5) = 0.1009, while
    # clipping to [0, 1] would give 0.0698
    low = flip(labels, "instance", 0.05, **options).realised
    assert abs(low - 0.1009) < 0.008


def test_instance_target_depends_on_attributes_and_class():
    # two kinds of attributes, far from the origin: softmax saturates, so a group has one target
    x = torch.tensor([[30.0, 0.0, 0.0], [0.0, 30.0, 0.0]]).repeat(200, 1)
    labels = torch.zeros(400, dtype=torch.long)
    targets = set()
    for seed in range(20):
        noisy = flip(labels, "instance", 0.5, seed=seed, num_classes=4, x=x)
        assert noisy.transition is None
        group = [noisy.labels[k::2][noisy.flipped[k::2]].mode().values.item() for k in (0, 1)]
        targets.add(tuple(group))
    assert any(a != b for a, b in targets)
    assert all(0 not in pair for pair in targets)


def test_instance_draw_is_the_same_for_dense_and_csr():
    labels, options = cycle_of_classes(200)
    x = options["x"] * (options["x"] > 0)
    dense = flip(labels, "instance", 0.4, x=x)
    sparse = flip(labels, "instance", 0.4, x=x.to_sparse_csr())
    assert dense.flipped.any()
    assert torch.equal(dense.labels, sparse.labels)


def test_nothing_labelled_is_nothing_flipped():
    noisy = flip(torch.full((4,), -1), "symmetric", 0.5)
    assert noisy.labels.tolist() == [-1] * 4
    assert noisy.realised == 0


def test_one_class_is_fine_only_without_noise():
    labels = torch.zeros(3, dtype=torch.long)
    assert flip(labels, "symmetric", 0.0, num_classes=1).realised == 0
    with pytest.raises(InputError, match="at least 2 classes, got 1"):
        flip(labels, "symmetric", 0.1, num_classes=1)


@pytest.mark.parametrize("level", [1.4, 1.0, -0.1, math.nan])
def test_a_level_outside_the_range_is_refused(level):
    with pytest.raises(InputError, match=rf"noise level must be in \[0, 1\), got {level}"):
        flip(CLASSES, "symmetric", level)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "symetric"}, "unknown label noise 'symetric'; did you mean 'symmetric'"),
        ({"kind": "similar"}, "pass edge_index"),
        ({"kind": "instance"}, "pass x"),
        ({"kind": "instance", "x": torch.ones(4, 2)}, r"each of the 5 labels, got \(4, 2\)"),
        ({"kind": "instance", "x": torch.ones(5, 2).to_sparse()}, "dense or CSR, got torch.sparse"),
        ({"kind": "instance", "x": torch.ones(5, 2), "exact": True}, "exact=True is not defined"),
        ({"kind": "similar", "edge_index": EDGES[:, :2]}, "class 0 shares no edge"),
        ({"kind": "similar", "edge_index": EDGES + 1}, "names node 5 but there are 5 labels"),
        ({"kind": "similar", "edge_index": EDGES[0]}, r"shape \(2, E\)"),
        (
            {"kind": "similar", "edge_index": EDGES, "reference": CLASSES[:4]},
            "reference has 4 entries but labels has 5",
        ),
        ({"labels": CLASSES.float()}, "one-dimensional int64 tensor, got torch.float32"),
        ({"labels": CLASSES + 1}, r"must be in -1\.\.2, got 3 at node 3"),
    ],
)
def test_wrong_input_is_named(options, message):
    given = {"labels": CLASSES, "kind": "symmetric"} | options
    with pytest.raises(InputError, match=message):
        flip(given.pop("labels"), given.pop("kind"), 0.4, **given)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("random", {}, "pass a generator"),
        ("partner", {}, "pass a generator"),
        ("similar", {}, "needs class_links"),
        ("similar", {"class_links": torch.ones(2, 2)}, r"shape \(3, 3\), got \(2, 2\)"),
        ("instance", {}, "no transition matrix"),
    ],
)
def test_a_matrix_without_what_it_needs_is_refused(kind, options, message):
    with pytest.raises(InputError, match=message):
        transition_matrix(kind, 0.4, 3, **options)
