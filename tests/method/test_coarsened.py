"""Coarsened DP-means: a price that means the same at any number of nodes."""

import itertools

import pytest
import torch

from brgcl.method.coarsened import cluster_path, coarsened_dp_means, two_means


def blobs(num_clusters, size=40, spread=0.05, dim=8, seed=0):
    """Rows around random unit vectors, and the cluster of each."""
    generator = torch.Generator().manual_seed(seed)
    centers = torch.nn.functional.normalize(
        torch.randn(num_clusters, dim, generator=generator), dim=1
    )
    label = torch.arange(num_clusters).repeat_interleave(size)
    noise = torch.randn(len(label), dim, generator=generator)
    return centers[label] + spread * noise, label


def objective(h, label, price):
    """The slow reference: squared distances to the means, and the price of each cluster."""
    h = (h - h.mean(0)).double()
    within = sum((h[label == k] - h[label == k].mean(0)).square().sum() for k in label.unique())
    return float(within + price * h.square().sum() * len(label.unique()))


def same_partition(a, b):
    return torch.equal(a[:, None] == a[None], b[:, None] == b[None])


@pytest.mark.parametrize("num_clusters", [1, 2, 3, 5, 8])
def test_planted_clusters_are_found(num_clusters):
    h, label = blobs(num_clusters)
    price = 0.3 if num_clusters == 1 else 0.02
    found = coarsened_dp_means(h, price)
    assert found.num_clusters == num_clusters
    assert same_partition(found.assignment, label)


def test_the_objective_is_what_the_docstring_says():
    h, _ = blobs(5, spread=0.4, seed=3)
    found = coarsened_dp_means(h, 0.02)
    assert found.objective == pytest.approx(objective(h, found.assignment, 0.02), rel=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_the_objective_never_rises(seed):
    h, _ = blobs(6, spread=0.5, seed=seed)
    trace = coarsened_dp_means(h, 0.01).trace
    assert all(later <= earlier * (1 + 1e-6) for earlier, later in itertools.pairwise(trace))


def test_more_nodes_of_the_same_kind_change_nothing():
    """Unlike the price of plain DP-means, this one is a share of the scatter."""
    h, _ = blobs(4, spread=0.3, seed=1)
    once, thrice = coarsened_dp_means(h, 0.03), coarsened_dp_means(h.repeat(3, 1), 0.03)
    assert once.num_clusters == thrice.num_clusters
    assert same_partition(once.assignment, thrice.assignment[: len(h)])


def test_scaling_and_shifting_change_nothing():
    h, _ = blobs(4, spread=0.3, seed=2)
    plain, moved = coarsened_dp_means(h, 0.03), coarsened_dp_means(5 * h + 7, 0.03)
    assert same_partition(plain.assignment, moved.assignment)


def test_a_price_of_all_the_scatter_leaves_one_cluster():
    h, _ = blobs(4)
    assert coarsened_dp_means(h, 1.0).num_clusters == 1


def test_a_cap_is_said():
    h, _ = blobs(6)
    found = coarsened_dp_means(h, 0.01, max_clusters=3)
    assert (found.num_clusters, found.capped) == (3, True)
    assert not coarsened_dp_means(h, 0.01).capped


def test_lower_prices_give_at_least_as_many_clusters():
    h, _ = blobs(7, spread=0.4, seed=4)
    numbers = [found.num_clusters for found in cluster_path(h, [0.2, 0.1, 0.05, 0.02, 0.01])]
    assert numbers == sorted(numbers)
    assert numbers[-1] > numbers[0]


def test_the_path_has_the_order_of_its_prices():
    h, _ = blobs(3)
    low, high = cluster_path(h, [0.01, 0.9])
    assert (low.num_clusters, high.num_clusters) == (3, 1)


@pytest.mark.parametrize("seed", range(4))
def test_the_saving_of_a_split_is_exact(seed):
    h = torch.randn(30, 4, generator=torch.Generator().manual_seed(seed))
    saving, half = two_means(h)
    one = torch.zeros(30, dtype=torch.long)
    assert saving == pytest.approx(objective(h, one, 0) - objective(h, half.long(), 0), rel=1e-5)


def test_the_best_split_of_two_blobs_is_the_obvious_one():
    h, label = blobs(2)
    assert same_partition(two_means(h)[1].long(), label)


@pytest.mark.parametrize("h", [torch.ones(1, 3), torch.ones(5, 3), torch.zeros(2, 3)])
def test_equal_rows_are_not_split(h):
    assert two_means(h)[0] == 0
    assert coarsened_dp_means(h, 0.01).num_clusters == 1


def test_the_input_is_left_alone():
    h, _ = blobs(3)
    before = h.clone()
    coarsened_dp_means(h, 0.02)
    assert torch.equal(h, before)
