import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric.data import Data

from brgcl.errors import InputError
from brgcl.tasks.checks import check_num_clusters
from brgcl.tasks.cluster import cluster, kmeans
from brgcl.tasks.metrics import clustering_accuracy


def three_directions(num_nodes=90, spread=0.05):
    """Points near three axes, at lengths from 1 to 10: blobs only once rows have unit length."""
    generator = torch.Generator().manual_seed(0)
    truth = torch.arange(num_nodes) % 3
    z = torch.eye(3)[truth] + spread * torch.randn(num_nodes, 3, generator=generator)
    return z * (1 + 9 * torch.rand(num_nodes, 1, generator=generator)), truth


def test_kmeans_finds_the_directions():
    z, truth = three_directions()
    found = kmeans(z, 3)
    assert clustering_accuracy(found.assignment, truth) == 1
    assert found.assignment.dtype == torch.int64
    assert found.centers.dtype == torch.float32
    assert found.num_clusters == 3


def test_centers_and_objective_belong_to_the_unit_rows():
    z, _ = three_directions()
    found = kmeans(z, 3)
    unit = z / z.norm(dim=1, keepdim=True)
    means = torch.stack([unit[found.assignment == k].mean(0) for k in range(3)])
    torch.testing.assert_close(found.centers, means)
    distance = (unit - means[found.assignment]).square().sum()
    assert found.objective == pytest.approx(float(distance), rel=1e-4)


def test_without_normalising_lengths_matter():
    z = torch.tensor([[1.0, 0.0], [1.1, 0.0], [0.0, 1.0], [9.0, 0.0], [9.1, 0.0]])
    assert len(kmeans(z, 2, normalize=False).assignment[:3].unique()) == 1
    assert len(kmeans(z, 2).assignment[[0, 1, 3, 4]].unique()) == 1


def test_the_same_seed_gives_the_same_clusters_and_leaves_z_alone():
    z = torch.randn(200, 8, generator=torch.Generator().manual_seed(0))
    before = z.clone()
    first, second = kmeans(z, 10, seed=3, n_init=1), kmeans(z, 10, seed=3, n_init=1)
    assert torch.equal(first.assignment, second.assignment)
    assert torch.equal(first.centers, second.centers)
    assert not torch.equal(first.assignment, kmeans(z, 10, seed=4, n_init=1).assignment)
    assert torch.equal(z, before)


def test_more_starts_lower_the_objective():
    z = torch.randn(200, 8, generator=torch.Generator().manual_seed(0))
    assert kmeans(z, 10, n_init=10).objective < kmeans(z, 10, n_init=1).objective


def test_cluster_with_a_number_is_kmeans():
    z, _ = three_directions()
    assert torch.equal(cluster(z, 3, seed=1).assignment, kmeans(z, 3, seed=1).assignment)


def test_cluster_without_a_number_finds_it_and_says_why():
    z, truth = three_directions()
    found = cluster(z)
    assert (found.num_clusters, found.capped) == (3, False)
    assert found.num_clusters_null == found.null_numbers[found.prices.index(found.price)]
    assert clustering_accuracy(found.assignment, truth) == 1
    assert "3 clusters" in str(found)


def test_a_higher_price_gives_fewer_clusters():
    z, _ = three_directions()
    assert cluster(z, price=0.9).num_clusters == 1
    assert cluster(z, price=0.05).num_clusters == 3


def test_a_graph_moves_nodes_to_the_cluster_of_their_neighbours(monkeypatch):
    """A node in the middle of two groups joins the one that its edges lead to."""
    monkeypatch.setattr("brgcl.tasks.cluster.has_plateau", lambda h: False)
    z = torch.tensor([[1.0, 0.1]] * 10 + [[0.1, 1.0]] * 10 + [[1.0, 1.0]])
    for friends in (range(10), range(10, 20)):
        edges = torch.tensor([[20] * 10, list(friends)])
        graph = Data(x=z, edge_index=torch.cat([edges, edges.flip(0)], 1))
        label = cluster(z, 2, graph=graph).assignment
        assert label[20] == label[friends[0]]


def test_a_graph_does_not_blur_groups_that_are_apart():
    z, _ = three_directions()
    edges = torch.stack([torch.arange(89), torch.arange(1, 90)])  # each joins two groups
    graph = Data(x=z, edge_index=torch.cat([edges, edges.flip(0)], 1))
    assert torch.equal(cluster(z, 3, graph=graph).assignment, cluster(z, 3).assignment)


def test_arrays_and_zero_rows_are_fine():
    z = np.array([[0.0, 0.0], [0.0, 2.0], [0.0, 3.0]])
    assert kmeans(z, 2).assignment.tolist() in ([0, 1, 1], [1, 0, 0])


@pytest.mark.parametrize(
    ("z", "options", "message"),
    [
        (torch.ones(3, 2), {"num_clusters": 0}, r"must be in 1\.\.3, the number of nodes, got 0"),
        (torch.ones(3, 2), {"num_clusters": 4}, r"must be in 1\.\.3, the number of nodes, got 4"),
        (torch.ones(3, 2), {"num_clusters": 2.5}, "num_clusters must be an integer, got 2.5"),
        (torch.ones(3, 2), {"num_clusters": "2"}, "num_clusters must be an integer, got '2'"),
        (torch.ones(3, 2), {"num_clusters": True}, "num_clusters must be an integer, got True"),
        (torch.ones(3), {}, r"shape \(N, D\) with N, D > 0, got \(3,\)"),
        (torch.ones(0, 2), {}, r"N, D > 0, got \(0, 2\)"),
        (
            torch.tensor([[1.0], [torch.nan]]),
            {},
            "NaN or infinite values in 1 rows, the first at row 1",
        ),
        (torch.ones(3, 2), {"price": 0.0}, r"price must be in \(0, 1\), got 0.0"),
    ],
)
def test_wrong_input_is_named(z, options, message):
    """Defect 29: `num_clusters=2.5` reached scikit-learn."""
    with pytest.raises(InputError, match=message):
        cluster(z, **options)


def test_kmeans_needs_a_start():
    with pytest.raises(InputError, match="n_init must be at least 1, got 0"):
        kmeans(torch.ones(3, 2), 1, n_init=0)


def test_fewer_distinct_rows_than_clusters_give_fewer_clusters_and_one_message(caplog):
    """Defect 47: scikit-learn's own warning was shown."""
    z = torch.tensor([[1.0, 0.0], [0.0, 1.0]]).repeat(4, 1)
    found = kmeans(z, 5)  # a warning would be an error here
    assert found.num_clusters == 2
    assert found.assignment.tolist() in ([0, 1] * 4, [1, 0] * 4)
    torch.testing.assert_close(found.centers[found.assignment], z)
    assert caplog.messages == ["z has only 2 distinct rows; number of clusters: 2 instead of 5"]


def test_a_number_of_clusters_can_be_checked_before_training():
    """Defect 20: `-k 500` was refused only after training."""
    assert check_num_clusters(np.int64(3), 5) == 3
    with pytest.raises(InputError, match=r"in 1\.\.120, the number of nodes, got 500"):
        check_num_clusters(500, 120)


def test_a_data_frame_is_clustered_like_its_values():
    z, _ = three_directions()
    frame = pd.DataFrame(z.numpy(), columns=["a", "b", "c"])
    assert torch.equal(cluster(frame, 3).assignment, cluster(z, 3).assignment)
