"""Pseudo labels and their number: the Dirichlet-process mixture in its small-variance limit.

The paper's mixture has Gaussian components of covariance sigma·I with means from N(0, rho·I) under
a Dirichlet process of concentration alpha. As sigma goes to 0 with
xi = 2 sigma log((1 + rho/sigma)^(D/2) / alpha) held fixed, Gibbs sampling becomes DP-means
(Kulis & Jordan 2012), which lowers

    objective = sum_i |h_i - c_{z_i}|² + xi K

One round: assign, open at most one cluster (at the farthest point, if it lies beyond xi), move
the centres to their means, drop empty clusters, merge two clusters when that pays. No step
raises the objective.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

ROWS = 65_536  # rows at once, so that no step takes a copy of all of them


@dataclass(frozen=True)
class Clustering:
    """A partition and how it was reached.

    Attributes:
        assignment: Cluster of each node in `0..K-1`, `(N,)`.
        centers: Mean of each cluster, `(K, D)`.
        objective: Sum of squared distances, plus xi · K for DP-means.
        trace: The objective in each round.
        capped: Whether another cluster would have been opened but for `max_clusters`.
    """

    assignment: Tensor
    centers: Tensor
    objective: float
    trace: tuple[float, ...]
    capped: bool

    @property
    def num_clusters(self) -> int:
        """K."""
        return self.centers.shape[0]

    def cpu(self) -> "Clustering":
        """Copy to the memory of the processor."""
        return replace(self, assignment=self.assignment.cpu(), centers=self.centers.cpu())


def pseudo_labels(
    h: Tensor, centers: Tensor, xi: float, squares: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Label each node with its nearest centre, or with a new one beyond xi, Eq. (4).

    Args:
        h: Representations, `(N, D)`.
        centers: Centres, `(K, D)`.
        xi: Squared distance from which a new cluster is cheaper.
        squares: `row_squares(h)`, where they are known.

    Returns:
        Labels in `0..K`, where K asks for a new cluster; the nearest centre in `0..K-1`; and the
        squared distance to it; each `(N,)`.
    """
    distance, nearest = _nearest(h, centers, row_squares(h) if squares is None else squares)
    return torch.where(distance > xi, centers.shape[0], nearest), nearest, distance


def dp_means(
    h: Tensor,
    xi: float,
    *,
    centers: Tensor | None = None,
    max_clusters: int = 64,
    max_rounds: int = 300,
) -> Clustering:
    """Cluster representations without knowing the number of clusters.

    Args:
        h: Representations, `(N, D)`.
        xi: Price of a cluster, a squared distance.
        centers: Where to start, `(K, D)`; by default the mean of all points.
        max_clusters: No cluster is opened beyond this number.
        max_rounds: Stop after so many rounds even if the partition still changes.
    """
    if centers is None:
        centers = h.mean(0, keepdim=True)
    squares = row_squares(h)
    total = torch.stack([rows.double().pow(2).sum() for rows in torch.split(h, ROWS)]).sum()
    previous: Tensor | None = None
    trace: list[float] = []
    capped = False
    for _ in range(max_rounds):
        K = centers.shape[0]
        wanted, label, distance = pseudo_labels(h, centers, xi, squares)
        farthest = int(distance.argmax())  # of all nodes that want a new cluster, it gets one
        beyond = int(wanted[farthest]) == K
        capped = beyond and max_clusters <= K
        opened = beyond and not capped
        if opened:
            label[farthest] = K
        sums, counts = cluster_sums(h, label, K + opened)
        label, sums, counts = _drop_empty(label, sums, counts)
        label, sums, counts, merged = merge_clusters(label, sums, counts, xi)
        centers = sums / counts[:, None]
        within = total - (sums.double().pow(2).sum(1) / counts.double()).sum()
        trace.append(float(within.clamp_min(0)) + xi * centers.shape[0])
        settled = previous is not None and torch.equal(label, previous)
        if settled and not opened and not merged:
            break
        previous = label
    return Clustering(label, centers, trace[-1], tuple(trace), capped)


def k_means(h: Tensor, centers: Tensor, *, max_rounds: int = 300) -> Clustering:
    """Cluster with a given number of clusters (Lloyd), for comparison with `dp_means`.

    Args:
        h: Representations, `(N, D)`.
        centers: Where to start, `(K, D)`; a cluster that loses all points vanishes.
        max_rounds: Stop after so many rounds even if the partition still changes.
    """
    squares = row_squares(h)
    previous: Tensor | None = None
    trace: list[float] = []
    for _ in range(max_rounds):
        distance, label = _nearest(h, centers, squares)
        trace.append(float(distance.double().sum()))
        sums, counts = cluster_sums(h, label, centers.shape[0])
        label, sums, counts = _drop_empty(label, sums, counts)
        centers = sums / counts[:, None]
        if previous is not None and torch.equal(label, previous):
            break
        previous = label
    return Clustering(label, centers, trace[-1], tuple(trace), capped=False)


def farthest_first(h: Tensor, num_clusters: int) -> Tensor:
    """Choose starting centres for `k_means`: the mean's farthest point, then ever the farthest."""
    centers, squares = h.mean(0, keepdim=True), row_squares(h)
    chosen: list[Tensor] = []
    for _ in range(num_clusters):
        distance, _ = _nearest(h, torch.stack(chosen) if chosen else centers, squares)
        chosen.append(h[distance.argmax()])
    return torch.stack(chosen)


def cluster_sums(h: Tensor, label: Tensor, num_clusters: int) -> tuple[Tensor, Tensor]:
    """Sum and count the rows of each cluster, `(K, D)` and `(K,)`."""
    counts = torch.bincount(label, minlength=num_clusters).to(h.dtype)
    sums = h.new_zeros(num_clusters, h.shape[1])
    for rows, own in zip(torch.split(h, ROWS), torch.split(label, ROWS), strict=True):
        member = torch.zeros(len(rows), num_clusters, dtype=h.dtype, device=h.device)
        member.scatter_(1, own[:, None], 1)
        sums += member.T @ rows
    return sums, counts


def row_squares(h: Tensor) -> Tensor:
    """Squared length of each row, `(N,)`."""
    return torch.cat([rows.square().sum(1) for rows in torch.split(h, ROWS)])


def _nearest(h: Tensor, centers: Tensor, squares: Tensor) -> tuple[Tensor, Tensor]:
    """Squared distance to, and index of, the nearest centre: one product against K centres."""
    found = []
    of_centers = centers.square().sum(1)[None, :]
    for rows, own in zip(torch.split(h, ROWS), torch.split(squares, ROWS), strict=True):
        scores = torch.addmm(of_centers, rows, centers.T, alpha=-2)  # (n, K)
        best, label = scores.min(1)
        found.append(((best + own).clamp_min_(0), label))
    distances, labels = zip(*found, strict=True)
    return torch.cat(distances), torch.cat(labels)


def _drop_empty(label: Tensor, sums: Tensor, counts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    alive = counts > 0
    if bool(alive.all()):
        return label, sums, counts
    return (alive.cumsum(0) - 1)[label], sums[alive], counts[alive]


def merge_clusters(
    label: Tensor, sums: Tensor, counts: Tensor, xi: float
) -> tuple[Tensor, Tensor, Tensor, bool]:
    """Merge the cheapest pair while n1 n2 / (n1 + n2) |c1 - c2|² < xi: the objective falls."""
    K = counts.numel()
    target = torch.arange(K, device=label.device)
    sums, counts = sums.clone(), counts.clone()
    merged = False
    while int((counts > 0).sum()) > 1:
        centers = sums / counts.clamp_min(1)[:, None]
        gap = torch.cdist(centers, centers).pow(2)
        cost = gap / (1 / counts[:, None] + 1 / counts[None, :])
        dead = counts == 0
        cost[dead] = torch.inf
        cost[:, dead] = torch.inf
        cost.fill_diagonal_(torch.inf)
        best = int(cost.argmin())
        if not bool(cost.flatten()[best] < xi):
            break
        first, second = divmod(best, K)
        sums[first] += sums[second]
        counts[first] += counts[second]
        sums[second], counts[second] = 0, 0
        target[target == second] = first
        merged = True
    if not merged:
        return label, sums, counts, False
    return (*_drop_empty(target[label], sums, counts), True)
