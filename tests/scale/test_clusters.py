import pytest
import torch
import torch.nn.functional as F

from brgcl.config import BRGCLConfig
from brgcl.method.confidence import own_confidence
from brgcl.method.dpmeans import cluster_sums
from brgcl.method.prototypes import robust_prototypes
from brgcl.scale.clusters import RunningClusters, local_confidence
from brgcl.scale.halo import HaloFinder
from brgcl.scale.train import part_nodes


def rows(seed=0):
    generator = torch.Generator().manual_seed(seed)
    centers = torch.eye(5)[:3].repeat_interleave(100, 0)
    return F.normalize(centers + 0.05 * torch.randn(300, 5, generator=generator), dim=1)


def epoch(clusters, parts, h, config, num_batches=3):
    """What the steps of an epoch do to clusters, with rows that stay as they are."""
    for batch in torch.arange(6).chunk(num_batches):
        core = part_nodes(parts, batch)
        halo = HaloFinder(parts, 2).find(core)
        if clusters.num_clusters == 0:
            clusters.begin(h[core], config)
        label, sums, proposal = clusters.step_sums(h[core], halo, 0.7, config)
        clusters.labels[core] = label.int()
        clusters.add(sums, [proposal], config)
    return clusters.close(config)


def test_an_epoch_of_steps_ends_at_the_means_of_all_nodes(parts):
    config, h = BRGCLConfig(prototypes="all", normalize_prototypes=False), rows()
    clusters = RunningClusters(300, 5)
    for _ in range(4):
        epoch(clusters, parts, h, config)
    assert clusters.num_clusters == 3
    label = clusters.labels.long()
    sums, counts = cluster_sums(h, label, 3)
    torch.testing.assert_close(clusters.centers, sums / counts[:, None])
    torch.testing.assert_close(clusters.prototypes, clusters.centers)
    assert len({tuple(label[i : i + 100].tolist()) for i in (0, 100, 200)}) == 3
    assert all(len(label[i : i + 100].unique()) == 1 for i in (0, 100, 200))


def test_prototypes_are_means_of_confident_nodes(parts):
    config, h = BRGCLConfig(), rows()
    clusters = RunningClusters(300, 5)
    for _ in range(4):
        epoch(clusters, parts, h, config, num_batches=1)
    label = clusters.labels.long()
    own = own_confidence(label, 3, parts.transition, config.alpha, config.propagation_steps)
    expected = robust_prototypes(h, label, own.log() > -0.7, 3)
    torch.testing.assert_close(clusters.prototypes, F.normalize(expected, dim=1))


def test_the_confidence_of_a_whole_graph_is_exact(parts):
    label = torch.arange(300) % 4
    halo = HaloFinder(parts, 2).find(torch.arange(300))
    config = BRGCLConfig()
    found = local_confidence(halo, label.int(), 4, config)
    expected = own_confidence(label, 4, parts.transition, config.alpha, config.propagation_steps)
    torch.testing.assert_close(found, expected)


def test_unknown_labels_count_for_nothing(parts):
    core = part_nodes(parts, torch.tensor([2]))
    halo = HaloFinder(parts, 2).find(core)
    label = torch.full((len(halo.nodes),), -1, dtype=torch.int32)
    label[: len(core)] = 0
    own = local_confidence(halo, label, 2, BRGCLConfig())
    torch.testing.assert_close(own, torch.ones(len(core)))


def test_proposals_that_are_near_each_other_open_one_cluster():
    config = BRGCLConfig(xi=0.5, max_prototypes=3)
    clusters = RunningClusters(10, 2)
    clusters.centers = clusters.prototypes = torch.tensor([[1.0, 0.0]])
    clusters.clear()
    zero = [torch.zeros(1, 2), torch.zeros(1), torch.zeros(1, 2), torch.zeros(1)]
    far = [[2.0, 0.0, 1.0, 0.0, 1.0], [1.9, 0.0, 1.0, 0.1, 0.9], [4.0, 0.0, 0.0, -1.0, 0.0]]
    clusters.add(zero, [torch.tensor(p) for p in far], config)
    assert clusters.centers.tolist() == [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]
    assert clusters.counts.tolist() == [-2.0, 1.0, 1.0]
    assert clusters.trusted_counts.tolist() == [-1.0, 0.0, 1.0]
    clusters.add([torch.zeros(3, 2), torch.zeros(3)] * 2, [torch.tensor(far[0])], config)
    assert clusters.num_clusters == 3  # the cap


@pytest.mark.parametrize("clustering", ["dp-means", "kmeans"])
def test_clusters_that_lost_their_nodes_vanish_and_close_ones_merge(clustering):
    config = BRGCLConfig(clustering=clustering)
    clusters = RunningClusters(6, 2)
    clusters.centers = clusters.prototypes = torch.tensor(
        [[1.0, 0.0], [0.0, 1.0], [0.9, 0.1], [-1.0, 0.0]]
    )
    clusters.clear()
    clusters.labels = torch.tensor([0, 2, 3, 3, -1, 0], dtype=torch.int32)
    clusters.counts += torch.tensor([2.0, 0.0, 1.0, 2.0])
    clusters.sums += clusters.centers * clusters.counts[:, None]
    clusters.close(config)
    if clustering == "kmeans":
        assert clusters.labels.tolist() == [0, 1, 2, 2, -1, 0]
    else:
        assert clusters.labels.tolist() == [0, 0, 1, 1, -1, 0]
        torch.testing.assert_close(clusters.centers[0], torch.tensor([2.9, 0.1]) / 3)
