"""Clusters of nodes from their representations: K-means, or DP-means where K is not known."""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits
from torch import Tensor

from brgcl.errors import InputError
from brgcl.method.dpmeans import dp_means


@dataclass(frozen=True)
class Clusters:
    """A partition of the nodes.

    Attributes:
        assignment: Cluster of each node in `0..K-1`, `(N,)`.
        centers: Mean representation of each cluster, `(K, D)`; of unit-length rows when they were
            normalised.
        inertia: Sum of the squared distances of the nodes to their centres.
    """

    assignment: Tensor
    centers: Tensor
    inertia: float

    @property
    def num_clusters(self) -> int:
        """The number of clusters, `K`."""
        return self.centers.shape[0]


def cluster(
    z: Tensor | NDArray[Any],
    num_clusters: int | None = None,
    *,
    seed: int = 0,
    xi: float = 0.5,
    normalize: bool = True,
) -> Clusters:
    """Cluster nodes by their representations.

    Args:
        z: Node representations, `(N, D)`.
        num_clusters: `K`, for K-means; `None` lets DP-means find it (it stops opening clusters at
            64).
        seed: Fixes the random starts of K-means; DP-means has none.
        xi: Price of a cluster for DP-means, on the scale of squared distances: a higher one gives
            fewer clusters. K-means does not read it.
        normalize: Scale each row of `z` to unit length first, which is the scale that the default
            `xi` is meant for.

    Returns:
        The clusters, with centres in float32.

    Raises:
        InputError: `z` is no finite matrix, or `num_clusters` or `xi` is out of range.

    Example:
        >>> z = torch.tensor([[1.0, 0.0], [2.0, 0.1], [0.0, 1.0], [0.1, 3.0]])
        >>> cluster(z, xi=0.2).num_clusters
        2
    """
    if num_clusters is not None:
        return kmeans(z, num_clusters, seed=seed, normalize=normalize)
    if not xi > 0:  # written so that NaN fails too
        raise InputError(f"xi must be above 0, got {xi}")
    h = _prepared(z, normalize)
    found = dp_means(h, xi)
    inertia = (h - found.centers[found.assignment]).double().square().sum()
    return Clusters(found.assignment, found.centers, float(inertia))


def kmeans(
    z: Tensor | NDArray[Any],
    num_clusters: int,
    *,
    seed: int = 0,
    n_init: int = 20,
    normalize: bool = True,
) -> Clusters:
    """Cluster nodes into a given number of clusters by K-means, the best of several starts.

    One thread does the work, since the order in which several add up their parts would show in the
    last digits: the same seed gives the same clusters.

    Args:
        z: Node representations, `(N, D)`.
        num_clusters: `K`, from 1 to N.
        seed: Fixes the random starts.
        n_init: Number of starts; the one with the lowest inertia is kept.
        normalize: Scale each row of `z` to unit length first.

    Returns:
        The clusters, with centres in float32.

    Raises:
        InputError: `z` is no finite matrix, or `num_clusters` or `n_init` is out of range.
    """
    h = _prepared(z, normalize)
    if not 1 <= num_clusters <= len(h):
        raise InputError(
            f"num_clusters must be in 1..{len(h)}, the number of nodes, got {num_clusters}"
        )
    if n_init < 1:
        raise InputError(f"n_init must be at least 1, got {n_init}")
    with threadpool_limits(limits=1):
        found = KMeans(num_clusters, n_init=n_init, random_state=seed).fit(h.cpu().numpy())
    return Clusters(
        torch.from_numpy(found.labels_).long().to(h.device),
        torch.from_numpy(found.cluster_centers_).float().to(h.device),
        float(found.inertia_),
    )


def _prepared(z: Tensor | NDArray[Any], normalize: bool) -> Tensor:
    """Check `z`; return it in float32, with rows of unit length if asked (a zero row stays)."""
    h = torch.as_tensor(z).detach().float()
    if h.ndim != 2 or h.shape[0] == 0:
        raise InputError(f"z must have shape (N, D) with at least one node, got {tuple(h.shape)}")
    bad = (~h.isfinite().all(1)).nonzero()
    if len(bad):
        raise InputError(
            f"z has {len(bad)} rows with NaN or infinite entries, the first at node {int(bad[0])}"
        )
    return F.normalize(h, dim=1) if normalize else h
