"""The number of clusters: plateaus, prices, and rows without structure."""

import pytest
import torch
import torch.nn.functional as F

from brgcl.method.centering import smooth_rows
from brgcl.method.graph import adjacency_from_edges
from brgcl.tasks.metrics import ari
from brgcl.tasks.number_of_clusters import (
    explained_by_null,
    explained_share,
    first_of_main_number,
    gaussian_rows,
    has_plateau,
    longest_plateau,
    number_of_clusters,
    permuted_columns,
    stability_of_path,
)


def groups(num_clusters, size=40, spread=0.04, dim=24, seed=0):
    generator = torch.Generator().manual_seed(seed)
    centers = F.normalize(torch.randn(num_clusters, dim, generator=generator), dim=1)
    label = torch.arange(num_clusters).repeat_interleave(size)
    rows = centers[label] + spread * torch.randn(len(label), dim, generator=generator)
    return F.normalize(rows - rows.mean(0), dim=1), label


@pytest.mark.parametrize("num_clusters", [2, 3, 7, 15, 30])
def test_groups_that_are_apart_make_a_plateau(num_clusters):
    h, label = groups(num_clusters)
    found = number_of_clusters(h)
    assert (found.num_clusters, found.rule) == (num_clusters, "plateau")
    assert torch.equal(
        found.assignment[:, None] == found.assignment,
        label[:, None] == label,
    )
    assert str(num_clusters) in str(found)


@pytest.mark.parametrize("seed", range(3))
def test_rows_without_groups_are_one_cluster(seed):
    """Even though their covariance is far from round."""
    generator = torch.Generator().manual_seed(seed)
    scale = torch.linspace(2, 0.1, 16)
    h = F.normalize(torch.randn(800, 16, generator=generator) * scale, dim=1)
    found = number_of_clusters(h)
    assert (found.num_clusters, found.rule) == (1, "no structure")
    assert "no structure" in str(found)
    assert max(found.numbers) > 1  # some price would have split them


def test_a_price_is_obeyed():
    h, _ = groups(6)
    assert number_of_clusters(h, price=0.9).num_clusters == 1
    assert number_of_clusters(h, price=0.05).rule == "price"


def test_permuted_columns_have_no_groups():
    h, _ = groups(7, dim=200)
    found = number_of_clusters(h, prices=(0.05, 0.03))
    assert (found.numbers, found.null_numbers) == ((7, 7), (1, 1))


def test_permuting_keeps_every_column():
    h, _ = groups(3)
    mixed = permuted_columns(h, torch.Generator().manual_seed(0))
    assert torch.equal(mixed.sort(0).values, h.sort(0).values)
    assert not torch.equal(mixed, h)


def test_gaussian_rows_have_the_directions_of_the_rows():
    generator = torch.Generator().manual_seed(0)
    h = F.normalize(
        torch.randn(4000, 3, generator=generator) * torch.tensor([3.0, 1.0, 0.2]), dim=1
    )
    rows = gaussian_rows(h, generator)
    assert torch.allclose(rows.norm(dim=1), torch.ones(4000), atol=1e-5)
    assert rows.var(0).argsort().tolist() == h.var(0).argsort().tolist()


def test_the_share_between_clusters_by_hand():
    h = torch.tensor([[1.0, 0.0], [3.0, 0.0], [-1.0, 0.0], [-3.0, 0.0]])
    # scatter 20; the two means at 2 and -2 leave 4
    assert explained_share(h, torch.tensor([0, 0, 1, 1])) == pytest.approx(16 / 20)
    assert explained_share(h, torch.zeros(4, dtype=torch.long)) == pytest.approx(0)


def test_gaussian_rows_split_as_theory_says():
    """The best split of a Gaussian saves 2/pi of the variance along its widest direction."""
    generator = torch.Generator().manual_seed(1)
    h = torch.randn(5000, 2, generator=generator) * torch.tensor([1.0, 0.01]) * 0.01
    h = h + torch.tensor([1.0, 0.0])  # far from the origin, unit length changes little
    share = explained_by_null(h, 2, generator)
    assert 0 < share <= 1


@pytest.mark.parametrize(
    ("numbers", "span"),
    [([1, 1, 1], None), ([2, 2, 3], (0, 1)), ([1, 4, 4], (1, 2)), ([2, 3, 4], (0, 0))],
)
def test_plateaus(numbers, span):
    assert longest_plateau([0.1, 0.05, 0.025], numbers) == span


def test_groups_that_are_apart_are_stable():
    h, _ = groups(5)
    stable = stability_of_path(h, [0.05], torch.Generator().manual_seed(0), num_halves=3)
    assert stable[0] == pytest.approx(1.0)


def test_the_same_seed_gives_the_same_answer():
    h, _ = groups(4, spread=0.3)
    assert (
        number_of_clusters(h, seed=1).explained_null == number_of_clusters(h, seed=1).explained_null
    )


def ring(num_nodes):
    """Row-stochastic adjacency of a ring with self-loops."""
    nodes = torch.arange(num_nodes)
    edges = torch.stack([nodes, nodes.roll(1)])
    return adjacency_from_edges(torch.cat([edges, edges.flip(0)], 1), num_nodes).transition


def test_rows_are_averaged_only_where_groups_are_not_apart():
    h, label = groups(5, size=60)  # groups lie side by side on the ring
    apart = number_of_clusters(h, transition=ring(len(h)))
    assert torch.equal(apart.assignment, number_of_clusters(h).assignment)
    blurred, _ = groups(5, size=60, spread=0.4)
    assert not has_plateau(blurred)
    found = number_of_clusters(blurred, transition=ring(len(h)))
    smoothed = number_of_clusters(smooth_rows(blurred, ring(len(h))))
    assert torch.equal(found.assignment, smoothed.assignment)
    assert ari(found.assignment, label) > ari(number_of_clusters(blurred).assignment, label)


def test_the_number_found_on_a_sample_holds_for_all_rows(monkeypatch):
    h, label = groups(4, size=300)
    monkeypatch.setattr("brgcl.tasks.number_of_clusters.MAX_ROWS", 200)
    found = number_of_clusters(h)
    assert found.num_clusters == 4
    assert ari(found.assignment, label) == 1
    assert torch.allclose(found.centers[found.assignment[0]], h[label == label[0]].mean(0))


def test_a_sample_of_rows_finds_the_clusters_that_all_rows_join(monkeypatch):
    h, label = groups(5, size=100)
    monkeypatch.setattr("brgcl.tasks.number_of_clusters.MANY_ROWS", 120)
    found = number_of_clusters(h)
    assert found.num_clusters == 5
    assert ari(found.assignment, label) == 1
    for k in range(5):  # centres are means of all rows of a cluster
        torch.testing.assert_close(found.centers[k], h[found.assignment == k].mean(0))


def random_edges(label, degree, generator):
    """Row-stochastic adjacency of random edges between nodes of the same label."""
    ends = []
    for group in label.unique():
        nodes = (label == group).nonzero().squeeze(1)
        picked = torch.randint(len(nodes), (2, degree * len(nodes)), generator=generator)
        ends.append(nodes[picked])
    edges = torch.cat(ends, 1).unique(dim=1)
    edges = edges[:, edges[0] != edges[1]]
    both = torch.cat([edges, edges.flip(0)], 1).unique(dim=1)
    return adjacency_from_edges(both, len(label)).transition


def test_neighbours_show_groups_that_rows_do_not():
    generator = torch.Generator().manual_seed(0)
    h, label = groups(6, spread=1.0)
    assert number_of_clusters(h).rule == "no structure"
    found = number_of_clusters(h, transition=random_edges(label, 10, generator))
    assert (found.num_clusters, found.rule) == (6, "plateau")
    assert ari(found.assignment, label) == 1


def test_neighbours_show_no_groups_where_there_are_none():
    generator = torch.Generator().manual_seed(0)
    h = F.normalize(torch.randn(400, 24, generator=generator), dim=1)
    anyone = random_edges(torch.zeros(400, dtype=torch.long), 5, generator)
    assert number_of_clusters(h, transition=anyone).rule == "no structure"


def test_one_cluster_more_of_forty_does_not_end_a_plateau():
    prices = [0.1 / 2**step for step in range(6)]
    assert longest_plateau(prices, [20, 39, 40, 39, 40, 60]) == (1, 4)
    assert longest_plateau(prices, [1, 7, 8, 7, 8, 9]) == (1, 1)  # of few it does
    assert first_of_main_number(prices, [20, 39, 40, 40, 39, 60], (1, 4)) == 2
