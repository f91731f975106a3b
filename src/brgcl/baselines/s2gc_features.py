"""S2GC features: attributes averaged over all steps of a walk, reduced to few dimensions.

    M_k = (A X + A² X + ... + A^k X) / k          A = D^-1/2 A D^-1/2, without self-loops
    Z_k = rows of M_k V at unit length            V = the first `dim` right singular vectors of M_k

The power k is the last one before the distance inside clusters rises: K-means on Z_k gives
clusters c, and

    distance = 2/K sum_c (mean_c |z|² - |mean_c z|²)

averaged over some runs of K-means. No label is read, but K, the number of clusters, is told.
"""

import warnings
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from sklearn.exceptions import ConvergenceWarning
from torch import Generator, Tensor
from torch_geometric.data import Data

from brgcl.baselines.shared.inputs import check_memory, seeded
from brgcl.config import Count, Scaling, Settings, setting
from brgcl.contract import Fitted, Hook, Labels, Method
from brgcl.method.inputs import scale
from brgcl.method.sparse import Matrix, csr_tensor, is_sparse
from brgcl.tasks.cluster import kmeans


@dataclass(frozen=True)
class S2GCFeaturesConfig(Settings):
    """Settings of S2GC features."""

    num_clusters: Count = setting(
        7,
        "Clusters K in the distance that chooses the power; the authors use the number of classes.",
    )
    dim: Count = setting(16, "Dimension of the representations.")
    max_power: Count = setting(60, "Largest power that is tried.")
    repeats: Count = setting(
        10, "Runs of K-means, each the best of 10 starts, over which the distance is averaged."
    )
    max_nodes: Count = setting(
        5000, "Nodes, drawn at random, on which the distance is measured at most."
    )
    attributes: Literal["auto"] | Scaling = setting(
        "none", "Scaling of attributes: none = as given; auto = as in brgcl."
    )


def loopless_adjacency(graph: Data) -> Matrix:
    """D^-1/2 A D^-1/2 without self-loops, `(N, N)`; the row of an isolated node is empty."""
    N, (row, col) = graph.num_nodes, graph.edge_index
    weight = graph.get("edge_weight")
    value = torch.ones(len(row)) if weight is None else weight.float()
    scale = torch.zeros(N).index_add_(0, row, value).rsqrt()  # infinite only where no edge ends
    crow = torch.zeros(N + 1, dtype=torch.long)
    crow[1:] = torch.bincount(row, minlength=N).cumsum(0)
    return Matrix(csr_tensor(crow, col, value * scale[row] * scale[col], (N, N)), symmetric=True)


def reduce(m: Tensor, dim: int) -> Tensor:
    """Project the rows of `m` on its first right singular vectors and give them unit length.

    Args:
        m: A matrix, `(N, F)`.
        dim: Number of singular vectors, cut to min(N, F).

    Returns:
        The projected rows, `(N, dim)`. A row of zeros stays one.
    """
    dim = min(dim, *m.shape)
    *_, v = torch.svd_lowrank(m, q=min(dim + 8, *m.shape), niter=4)  # 8 to spare, for accuracy
    return F.normalize(m @ v[:, :dim], dim=1)


def intra_distance(z: Tensor, assignment: Tensor) -> float:
    """Mean squared distance between two nodes of a cluster, averaged over clusters.

    Args:
        z: Representations, `(N, D)`.
        assignment: Cluster of each node, `(N,)`; empty clusters do not count.
    """
    member = F.one_hot(assignment).to(z.dtype)  # (N, K)
    count = member.sum(0)
    member, count = member[:, count > 0], count[count > 0, None]
    squares = (member.T @ z.square()) / count
    return float(2 * (squares - (member.T @ z / count).square()).sum() / len(count))


def fit(
    graph: Data,
    labels: Labels,
    config: S2GCFeaturesConfig,
    generator: Generator,
    report: Hook = None,
) -> Fitted:
    """Raise the power until the distance inside clusters rises; `labels` are not read."""
    check_memory("s2gc-features", 3 * 4.0 * graph.x.numel(), "use fewer attributes")
    step = scale(graph.x, config.attributes).data
    step = step.to_dense() if is_sparse(step) else step
    adjacency, total = loopless_adjacency(graph), torch.zeros_like(step)
    sample = torch.randperm(len(step), generator=generator)[: config.max_nodes]
    K = min(config.num_clusters, len(sample))
    least, found = torch.inf, torch.empty(0)
    with seeded(generator), warnings.catch_warnings():
        # fewer distinct rows than clusters, as in a graph without edges, are no reason to warn
        warnings.simplefilter("ignore", ConvergenceWarning)
        for power in range(1, config.max_power + 1):
            step = adjacency @ step
            total += step
            z = reduce(total, config.dim)  # of k M_k: unit rows do not depend on the factor k
            runs = (
                kmeans(z[sample], K, seed=run, n_init=10, normalize=False)
                for run in range(config.repeats)
            )
            distances = [intra_distance(z[sample], run.assignment) for run in runs]
            distance = sum(distances) / len(distances)
            if distance > least:
                break
            least, found = distance, z
            if report is not None:
                report(power, config.max_power, f"distance {distance:.4f}")
    return Fitted(found)


METHOD = Method(
    name="s2gc-features",
    fit=fit,
    Config=S2GCFeaturesConfig,
    kind="representation",
    citation="Zhu & Koniusz, Simple Spectral Graph Convolution, ICLR 2021, as its code clusters "
    "nodes",
    cost="time O(E F + N F D) per power; memory O(E + N F)",
    source="The authors' code",
    sources={
        "num_clusters": "The authors' code: the number of classes, here that of cora",
        "attributes": "The authors' code takes attributes as given",
    },
    ours={"max_nodes": "on large graphs the distance is measured on a sample"},
    presets={
        "citeseer": {"num_clusters": 6},
        "pubmed": {"num_clusters": 3},
        "coauthor-cs": {"num_clusters": 15},
        "ogbn-arxiv": {"num_clusters": 40},
    },
    deviations=(
        "The method is given the number of classes, as by the authors, and uses it only to "
        "choose the power.",
        "On other graphs this number is 7 by default.",
        "The singular vectors come from a randomised iteration.",
        "Above 5,000 nodes, the distance is measured on 5,000 random nodes.",
    ),
    oracle="the number of classes (num_clusters), which chooses the power",
)
