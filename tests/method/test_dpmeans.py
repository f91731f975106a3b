import itertools

import pytest
import torch

from brgcl.method.dpmeans import cluster_sums, dp_means, farthest_first, k_means, pseudo_labels


def points(*rows):
    return torch.tensor(rows, dtype=torch.float64)


def blobs(num_blobs=4, size=15, spread=0.1, D=3, seed=0, dtype=torch.float64):
    """Well separated blobs, shuffled, and which blob each point came from."""
    generator = torch.Generator().manual_seed(seed)
    centers = 10 * torch.eye(num_blobs, max(D, num_blobs), dtype=dtype)
    blob = torch.arange(num_blobs).repeat(size)[
        torch.randperm(num_blobs * size, generator=generator)
    ]
    noise = torch.randn(len(blob), centers.shape[1], generator=generator, dtype=dtype)
    return centers[blob] + spread * noise, blob


def same_partition(first, second):
    return torch.equal(first[:, None] == first, second[:, None] == second)


def slow_objective(h, assignment, xi):
    total = 0.0
    for k in assignment.unique():
        members = h[assignment == k]
        total += ((members - members.mean(0)) ** 2).sum().item() + xi
    return total


# Eq. (4)


def test_pseudo_labels_by_hand():
    h = points([0.0, 0], [1, 0], [2.9, 0], [0, 5], [10, 0])
    centers = points([0.0, 0], [3, 0])
    label, nearest, distance = pseudo_labels(h, centers, xi=2.0)
    assert label.tolist() == [0, 0, 1, 2, 2]  # 2 = K asks for a new cluster
    assert nearest.tolist() == [0, 0, 1, 0, 1]
    torch.testing.assert_close(distance, torch.tensor([0.0, 1, 0.01, 25, 49]).double())


def test_a_point_exactly_at_xi_stays():
    label, _, distance = pseudo_labels(points([2.0, 0]), points([0.0, 0]), xi=4.0)
    assert label.tolist() == [0]
    assert distance.tolist() == [4.0]


@pytest.mark.parametrize("xi", [0.3, 1.0, 4.0, 50.0])
def test_pseudo_labels_are_the_arg_min_over_k_plus_one_choices(xi):
    generator = torch.Generator().manual_seed(3)
    h = torch.randn(80, 4, generator=generator, dtype=torch.float64)
    centers = torch.randn(6, 4, generator=generator, dtype=torch.float64)
    label, _, distance = pseudo_labels(h, centers, xi)
    for i in range(80):
        choices = [((h[i] - c) ** 2).sum().item() for c in centers] + [xi]
        best = min(range(7), key=choices.__getitem__)
        assert label[i].item() == best
        assert min(distance[i].item(), xi) == pytest.approx(choices[best], rel=1e-10)


# DP-means


@pytest.mark.parametrize("seed", range(4))
def test_separated_blobs_are_found_exactly(seed):
    h, blob = blobs(seed=seed)
    found = dp_means(h, xi=4.0)
    assert found.num_clusters == 4
    assert same_partition(found.assignment, blob)
    assert not found.capped
    for k in range(4):
        torch.testing.assert_close(found.centers[k], h[found.assignment == k].mean(0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_type_follows_the_points(dtype):
    assert dp_means(blobs(dtype=dtype)[0], xi=4.0).centers.dtype == dtype


def test_the_objective_is_the_sum_of_squares_plus_the_price_of_clusters():
    h, _ = blobs(spread=1.5)
    for xi in (1.0, 5.0, 40.0):
        found = dp_means(h, xi)
        assert found.objective == pytest.approx(slow_objective(h, found.assignment, xi), rel=1e-9)
        assert found.objective == found.trace[-1]


def test_a_huge_price_buys_one_cluster():
    h, _ = blobs()
    found = dp_means(h, xi=1e6)
    assert found.num_clusters == 1
    torch.testing.assert_close(found.centers[0], h.mean(0))
    assert found.trace == (found.objective,) * len(found.trace)


def test_a_tiny_price_buys_a_cluster_for_each_distinct_point():
    h = points([0.0, 0], [1, 0], [0, 0], [5, 5], [1, 0], [1, 0], [-2, 3])
    found = dp_means(h, xi=1e-6, max_clusters=100)
    assert found.num_clusters == 4
    assert same_partition(found.assignment, torch.tensor([0, 1, 0, 2, 1, 1, 3]))
    assert found.objective == pytest.approx(4e-6, abs=1e-9)


def test_equal_points_are_one_cluster():
    found = dp_means(points([2.0, 1]).repeat(9, 1), xi=0.01)
    assert found.assignment.tolist() == [0] * 9
    assert found.objective == pytest.approx(0.01, abs=1e-12)


def test_a_single_point():
    found = dp_means(points([3.0, 4]), xi=0.5)
    assert found.assignment.tolist() == [0]
    assert found.centers.tolist() == [[3, 4]]
    assert found.objective == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("xi", [0.5, 3.0, 20.0])
def test_a_warm_start_at_the_solution_changes_nothing(seed, xi):
    h, _ = blobs(spread=1.0, seed=seed)
    found = dp_means(h, xi)
    again = dp_means(h, xi, centers=found.centers)
    assert torch.equal(again.assignment, found.assignment)
    torch.testing.assert_close(again.centers, found.centers)
    assert again.trace == pytest.approx([found.objective] * len(again.trace), rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_a_solution_is_a_fixed_point_of_pseudo_labels(seed):
    h, _ = blobs(spread=1.0, seed=seed)
    found = dp_means(h, 3.0)
    label, _, _ = pseudo_labels(h, found.centers, 3.0)
    assert torch.equal(label, found.assignment)


def test_no_merge_pays_at_a_solution():
    h, _ = blobs(spread=1.5)
    xi = 8.0
    found = dp_means(h, xi)
    assert found.num_clusters > 2
    for first, second in itertools.combinations(range(found.num_clusters), 2):
        joined = torch.where(found.assignment == second, first, found.assignment)
        assert slow_objective(h, joined, xi) >= found.objective - 1e-9


def test_clusters_that_cost_more_than_they_save_are_merged():
    h, blob = blobs(num_blobs=2)
    halves = torch.stack([h[blob == 0][:7].mean(0), h[blob == 0][7:].mean(0), h[blob == 1].mean(0)])
    found = dp_means(h, xi=4.0, centers=halves)
    assert found.num_clusters == 2
    assert same_partition(found.assignment, blob)


def test_a_merge_happens_exactly_when_it_pays():
    # two pairs at distance 2: n1 n2 / (n1 + n2) * 4 = 4
    h = points([0.0], [0], [2], [2])
    centers = points([0.0], [2])
    assert dp_means(h, xi=3.99, centers=centers).num_clusters == 2
    assert dp_means(h, xi=4.01, centers=centers).num_clusters == 1


def test_a_starting_centre_without_points_vanishes():
    h, blob = blobs(num_blobs=2)
    start = torch.cat([h[blob == 0].mean(0)[None], 100 + h[:1], h[blob == 1].mean(0)[None]])
    found = dp_means(h, xi=4.0, centers=start)
    assert found.num_clusters == 2
    assert same_partition(found.assignment, blob)


def test_one_cluster_is_opened_per_round():
    h, _ = blobs(num_blobs=4)
    assert [dp_means(h, xi=4.0, max_rounds=rounds).num_clusters for rounds in (1, 2, 3, 4, 9)] == [
        2,
        3,
        4,
        4,
        4,
    ]


@pytest.mark.parametrize(("cap", "capped"), [(1, True), (3, True), (4, False), (9, False)])
def test_the_cap_is_respected_and_reported(cap, capped):
    h, _ = blobs(num_blobs=4)
    found = dp_means(h, xi=4.0, max_clusters=cap)
    assert found.num_clusters == min(cap, 4)
    assert found.capped is capped


@pytest.mark.parametrize("seed", range(5))
def test_permuting_the_points_permutes_the_labels(seed):
    h, _ = blobs(spread=1.0, seed=seed)
    order = torch.randperm(len(h), generator=torch.Generator().manual_seed(seed))
    found, shuffled = dp_means(h, 3.0), dp_means(h[order], 3.0)
    assert same_partition(shuffled.assignment, found.assignment[order])
    assert shuffled.objective == pytest.approx(found.objective, rel=1e-10)


def test_inputs_are_left_alone():
    h, _ = blobs()
    centers = h[:3].clone()
    copies = h.clone(), centers.clone()
    dp_means(h, 4.0, centers=centers)
    k_means(h, centers)
    assert torch.equal(h, copies[0])
    assert torch.equal(centers, copies[1])


# K-means


def slow_lloyd(h, centers, rounds):
    centers = [c.clone() for c in centers]
    for _ in range(rounds):
        label = [
            min(range(len(centers)), key=lambda k: ((row - centers[k]) ** 2).sum().item())
            for row in h
        ]
        for k in range(len(centers)):
            members = [row for row, z in zip(h, label, strict=True) if z == k]
            if members:
                centers[k] = torch.stack(members).mean(0)
    return torch.tensor(label), torch.stack(centers)


@pytest.mark.parametrize("seed", range(3))
def test_k_means_equals_a_slow_lloyd(seed):
    h, _ = blobs(spread=3.0, seed=seed)
    start = h[:5]
    found = k_means(h, start)
    label, centers = slow_lloyd(h, start, rounds=40)
    assert torch.equal(found.assignment, label)
    torch.testing.assert_close(found.centers, centers)
    assert found.objective == pytest.approx(((h - centers[label]) ** 2).sum().item(), rel=1e-10)
    assert list(found.trace) == sorted(found.trace, reverse=True)


def test_a_k_means_cluster_that_loses_all_points_vanishes():
    h, _ = blobs(num_blobs=2)
    start = torch.cat([h[:2], 1000 + h[:1]])
    found = k_means(h, start)
    assert found.num_clusters == 2
    torch.testing.assert_close(found.centers, k_means(h, start[:2]).centers)


def test_farthest_first_starts_at_one_point_of_each_blob():
    h, blob = blobs(num_blobs=4)
    start = farthest_first(h, 4)
    origin = [blob[(h == row).all(1)].item() for row in start]
    assert sorted(origin) == [0, 1, 2, 3]


def test_farthest_first_by_hand():
    h = points([0.0], [1], [2], [9], [5])  # mean 3.4: farthest is 9, then 0, then 5
    assert farthest_first(h, 3).tolist() == [[9], [0], [5]]


def test_cluster_sums_by_hand():
    h = points([1.0, 2], [3, 4], [5, 6])
    sums, counts = cluster_sums(h, torch.tensor([2, 0, 2]), 4)
    assert sums.tolist() == [[3, 4], [0, 0], [6, 8], [0, 0]]
    assert counts.tolist() == [1, 0, 2, 0]


@pytest.mark.parametrize("rows", [1, 7, 60])
def test_rows_in_blocks_give_the_same_clusters(monkeypatch, rows):
    h, _ = blobs()
    expected = dp_means(h, 1.0)
    monkeypatch.setattr("brgcl.method.dpmeans.ROWS", rows)
    found = dp_means(h, 1.0)
    assert torch.equal(found.assignment, expected.assignment)
    torch.testing.assert_close(found.centers, expected.centers)
    assert found.objective == pytest.approx(expected.objective)
