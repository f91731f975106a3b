"""Clusters of nodes from their representations: K-means, or DP-means where K is not known."""

import logging
import warnings
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from brgcl.errors import InputError
from brgcl.method.dpmeans import Clustering, dp_means
from brgcl.tasks.checks import check_num_clusters, check_representations

log = logging.getLogger(__name__)


def cluster(
    z: Any,
    num_clusters: int | None = None,
    *,
    seed: int = 0,
    xi: float = 0.5,
    normalize: bool = True,
) -> Clustering:
    """Cluster nodes by their representations.

    Args:
        z: Node representations: a tensor, an array or a DataFrame, `(N, D)`.
        num_clusters: `K`, for K-means; `None` lets DP-means find it (it stops opening clusters at
            64).
        seed: Fixes the random starts of K-means; DP-means has none.
        xi: Price of a cluster for DP-means, on the scale of squared distances: a higher one gives
            fewer clusters. K-means does not read it.
        normalize: Scale each row of `z` to unit length first, which is the scale that the default
            `xi` is meant for.

    Returns:
        The clusters, with centres in float32; they are means of unit-length rows if rows were
        scaled.

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
    return dp_means(check_representations(z, normalize=normalize), xi)


def kmeans(
    z: Any,
    num_clusters: int,
    *,
    seed: int = 0,
    n_init: int = 20,
    normalize: bool = True,
) -> Clustering:
    """Cluster nodes into a given number of clusters by K-means, the best of several starts.

    One thread does the work, since the order in which several add up their parts would show in the
    last digits: the same seed gives the same clusters.

    Args:
        z: Node representations: a tensor, an array or a DataFrame, `(N, D)`.
        num_clusters: `K`, from 1 to N.
        seed: Fixes the random starts.
        n_init: Number of starts; the one with the lowest inertia is kept.
        normalize: Scale each row of `z` to unit length first.

    Returns:
        The clusters, with centres in float32; fewer than `num_clusters` where `z` has fewer
        distinct rows, which is logged as a warning.

    Raises:
        InputError: `z` is no finite matrix, or `num_clusters` or `n_init` is out of range.
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    h = check_representations(z, normalize=normalize)
    num_clusters = check_num_clusters(num_clusters, len(h))
    if n_init < 1:
        raise InputError(f"n_init must be at least 1, got {n_init}")
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # too few distinct rows: see below
        model = KMeans(num_clusters, n_init=n_init, random_state=seed).fit(h.cpu().numpy())
    used, assignment = np.unique(model.labels_, return_inverse=True)
    if len(used) < num_clusters:
        log.warning(
            "z has only %d distinct rows: %d clusters were made instead of %d",
            len(used),
            len(used),
            num_clusters,
        )
    return Clustering(
        assignment=torch.from_numpy(assignment).long().to(h.device),
        centers=torch.from_numpy(model.cluster_centers_[used]).float().to(h.device),
        objective=float(model.inertia_),
        trace=(float(model.inertia_),),
        capped=False,
    )
