"""Cluster nodes by their representations: K-means, or clusters whose number is inferred."""

import logging
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from brgcl.errors import InputError
from brgcl.method.centering import center_rows, smooth_rows
from brgcl.method.dpmeans import Clustering
from brgcl.tasks.checks import check_num_clusters, check_representations, transition_of
from brgcl.tasks.number_of_clusters import has_plateau, number_of_clusters

if TYPE_CHECKING:
    from torch_geometric.data import Data

log = logging.getLogger(__name__)


def cluster(
    z: Any,
    num_clusters: int | None = None,
    *,
    graph: "Data | None" = None,
    price: float | None = None,
    stability: bool = False,
    seed: int = 0,
    normalize: bool = True,
) -> Clustering:
    """Cluster nodes by their representations.

    Args:
        z: Node representations: a tensor, an array or a DataFrame, `(N, D)`.
        num_clusters: Number of clusters `K` for K-means; `None` infers it (`number_of_clusters`).
        graph: Graph over which the rows are averaged first. They are not averaged if they form
            well-separated groups (`has_plateau`), which averaging could only blur.
        price: If K is not given, the share of the scatter that a cluster must explain. `None`
            looks for a number that does not depend on the price, and uses 0.03 if there is none.
        stability: If K is not given, also compare the clusters of random halves.
        seed: Random seed.
        normalize: Scale each row of `z` to unit length first. If K is not given, also subtract
            the mean row and scale again.

    Returns:
        The clusters. If K is not given, a `ClusterNumber`, which also says how K was found.

    Raises:
        InputError: `z` is not a finite matrix, `num_clusters` or `price` is out of range, or the
            graph has another number of nodes.

    Example:
        >>> z = torch.eye(5).repeat(20, 1)
        >>> print(cluster(z))
        5 clusters, the same at every price from 0.002 to 0.100
    """
    h = check_representations(z, normalize=normalize)
    if num_clusters is None and normalize:
        h = center_rows(h, h.mean(0))
    transition = None if graph is None else transition_of(graph, len(h))
    if num_clusters is not None:
        if transition is not None and not has_plateau(h):
            h = smooth_rows(h, transition)
        return kmeans(h, num_clusters, seed=seed, normalize=normalize)
    if price is not None and not 0 < price < 1:
        raise InputError(f"price must be in (0, 1), got {price}")
    return number_of_clusters(h, transition=transition, price=price, stability=stability, seed=seed)


def kmeans(
    z: Any,
    num_clusters: int,
    *,
    seed: int = 0,
    n_init: int = 20,
    normalize: bool = True,
) -> Clustering:
    """Cluster nodes into a given number of clusters by K-means, the best of several starts.

    It runs in one thread, so that the same seed gives the same clusters. With several threads, the
    order of additions would change the last digits.

    Args:
        z: Node representations: a tensor, an array or a DataFrame, `(N, D)`.
        num_clusters: Number of clusters `K`, from 1 to N.
        seed: Seed of the random starts.
        n_init: Number of starts; the one with the lowest inertia is kept.
        normalize: Scale each row of `z` to unit length first.

    Returns:
        The clusters, with centres in float32. If `z` has fewer than `num_clusters` distinct rows,
        there are fewer clusters, and a warning is logged.

    Raises:
        InputError: `z` is not a finite matrix, or `num_clusters` or `n_init` is out of range.
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
            "z has only %d distinct rows; number of clusters: %d instead of %d",
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
