"""Clusters and confidence of nodes that training never saw, from the centres that it found.

A new node joins the nearest centre of the reported clusters. Rows are compared where these were
found: as they are, or averaged over the neighbourhood where that was done in training. Confidence
is that of training, on the graph of the new nodes.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

from brgcl.config import BRGCLConfig
from brgcl.method.centering import smooth_rows, uncenter_rows
from brgcl.method.confidence import confidence, confident_nodes, propagate
from brgcl.method.dpmeans import Clustering, cluster_sums, pseudo_labels
from brgcl.tasks.checks import transition_of

ROUNDING = 1e-3


@dataclass(frozen=True)
class Assigned:
    """What is known of the nodes of a graph by a model that was fitted before.

    Attributes:
        representations: Rows as `BRGCL.transform` gives them, `(N, D)`.
        cluster: Reported cluster of each node, `(N,)`.
        confidence: Confidence of each node in its cluster, in [0, 1], `(N,)`.
        confident: Mask of confident nodes, `(N,)`.
    """

    representations: Tensor
    cluster: Tensor
    confidence: Tensor
    confident: Tensor


def assign_nodes(
    z: Tensor,
    graph: Data,
    clusters: Clustering,
    config: BRGCLConfig,
    *,
    trained: Tensor,
    mean: Tensor,
    gamma: float,
) -> Assigned:
    """Give each node to its nearest centre, and say how far its neighbourhood agrees.

    Args:
        z: Representations of the nodes, `(N, D)`.
        graph: Their graph.
        clusters: The reported clusters of the training graph.
        config: Settings of the training.
        trained: Representations of the training graph, `(M, D)`.
        mean: Mean row of the training graph before centring, `(D,)`.
        gamma: Threshold on -log confidence at the end of training.
    """
    transition = transition_of(graph, len(z))
    rows = z
    if config.reported == "prototypes":
        rows = uncenter_rows(z, mean) if config.center else z
    elif not _found_on(trained, clusters):
        rows = smooth_rows(z, transition)
    _, label, _ = pseudo_labels(rows, clusters.centers, float("inf"))
    soft = propagate(
        label, clusters.num_clusters, transition, config.alpha, config.propagation_steps
    )
    own = confidence(soft, label)
    return Assigned(z, label, own, confident_nodes(own, gamma))


def _found_on(rows: Tensor, clusters: Clustering) -> bool:
    """Whether the centres are the means of these rows, not of rows averaged over the graph."""
    sums, counts = cluster_sums(rows, clusters.assignment, clusters.num_clusters)
    means = sums / counts.clamp_min(1)[:, None]
    return bool(torch.allclose(means, clusters.centers, atol=ROUNDING))
