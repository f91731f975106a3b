"""The clusters that are reported: DP-means whose price does not depend on the number of nodes.

DP-means (`dpmeans.py`) pays a fixed price for a cluster, while the scatter that a cluster saves
grows with the number of nodes: on a large graph every price is cheap. Tempering the likelihood to
a fixed effective sample, as coarsened posteriors do (Miller & Dunson 2019), makes the price a share
of the whole scatter,

    objective = sum_i |h_i - c_{z_i}|² + price · scatter · K,    scatter = sum_i |h_i - mean|²

so that a cluster pays for itself if it explains at least `price` of the scatter, at any N. The
paper's xi in 0.1..0.5 is ten times this price. Clusters are opened by the best two-means split,
moved, and merged; no step raises the objective.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from brgcl.method.dpmeans import Clustering, cluster_sums, k_means, merge_clusters

Splits = dict[bytes, tuple[float, Tensor]]  # by members, so that none is computed twice


def coarsened_dp_means(
    h: Tensor,
    price: float,
    *,
    start: Clustering | None = None,
    max_clusters: int = 200,
    max_rounds: int = 1000,
    splits: Splits | None = None,
) -> Clustering:
    """Cluster rows; a cluster has to explain a share `price` of their scatter.

    Each round opens the cluster whose best split saves most, if it saves more than the price, then
    moves all centres (Lloyd) and merges what is cheaper together. It ends when neither pays.

    Args:
        h: Representations, `(N, D)`.
        price: Price of a cluster, a share of the scatter.
        start: Clusters to start from, e.g. those of a higher price; by default one cluster.
        max_clusters: No cluster is opened beyond this number.
        max_rounds: Stop after so many rounds in any case.
        splits: Best splits of clusters that are known from another price, and are kept here for
            the next one.
    """
    h = h - h.mean(0)
    scatter = float(h.double().square().sum())
    cost = price * scatter
    label = h.new_zeros(len(h), dtype=torch.long) if start is None else start.assignment
    sums, counts = cluster_sums(h, label, int(label.max()) + 1)
    centers = sums / counts[:, None]
    splits = {} if splits is None else splits
    trace: list[float] = []
    capped = False
    for _ in range(max_rounds):
        gain, parent, half = _best_split(h, label, len(centers), splits)
        opened = gain > cost
        capped = opened and len(centers) >= max_clusters
        opened = opened and not capped
        if opened:
            members = (label == parent).nonzero().squeeze(1)
            label = label.clone()
            label[members[half]] = len(centers)
            sums, counts = cluster_sums(h, label, len(centers) + 1)
            centers = sums / counts[:, None]
        moved = k_means(h, centers)
        label = moved.assignment
        sums, counts = cluster_sums(h, label, moved.num_clusters)
        label, sums, counts, merged = merge_clusters(label, sums, counts, cost)
        centers = sums / counts[:, None]
        within = scatter - float((sums.double().square().sum(1) / counts.double()).sum())
        objective = max(within, 0.0) + cost * len(centers)
        if trace and objective > trace[-1] - 1e-9 * scatter:  # nothing was gained: a round trip
            opened = merged = False
        trace.append(objective)
        if not opened and not merged:
            break
    return Clustering(label, centers, trace[-1], tuple(trace), capped)


def cluster_path(
    h: Tensor, prices: Sequence[float], *, max_clusters: int = 200
) -> list[Clustering]:
    """Clusters at each price, from the highest price down, each from the last one's clusters."""
    found: dict[float, Clustering] = {}
    last: Clustering | None = None
    splits: Splits = {}
    for price in sorted(prices, reverse=True):
        last = coarsened_dp_means(h, price, start=last, max_clusters=max_clusters, splits=splits)
        found[price] = last
    return [found[price] for price in prices]


def two_means(h: Tensor, max_rounds: int = 30) -> tuple[float, Tensor]:
    """Split rows in two along their widest direction, then by Lloyd's rounds.

    Args:
        h: Rows of one cluster, `(n, D)`.
        max_rounds: Limit on the rounds.

    Returns:
        What the split saves, n1 n2 / (n1 + n2) |c1 - c2|², and the mask of one half, `(n,)`.
    """
    n = len(h)
    if n < 2:
        return 0.0, torch.zeros(n, dtype=torch.bool, device=h.device)
    h = h - h.mean(0)
    side = h @ _widest_direction(h) > 0
    total = h.sum(0)
    for _ in range(max_rounds):
        n1 = int(side.sum())
        if n1 in (0, n):
            return 0.0, torch.zeros(n, dtype=torch.bool, device=h.device)
        first = side.to(h.dtype) @ h
        c1, c2 = first / n1, (total - first) / (n - n1)
        moved = h @ (c1 - c2) > (c1.square().sum() - c2.square().sum()) / 2
        if torch.equal(moved, side):
            break
        side = moved
    n1 = int(side.sum())
    if n1 in (0, n):
        return 0.0, torch.zeros(n, dtype=torch.bool, device=h.device)
    first = side.to(h.dtype) @ h
    gap = first / n1 - (total - first) / (n - n1)
    return n1 * (n - n1) / n * float(gap.double().square().sum()), side


def _widest_direction(h: Tensor, rounds: int = 20) -> Tensor:
    """First principal direction of centred rows by power iteration, O(n D) a round."""
    start = h[h.square().sum(1).argmax()]
    direction = start
    for _ in range(rounds):
        direction = h.T @ (h @ direction)
        length = torch.linalg.vector_norm(direction)
        if not length > 0:
            return start
        direction = direction / length
    return direction


def _best_split(
    h: Tensor, label: Tensor, num_clusters: int, known: Splits
) -> tuple[float, int, Tensor]:
    """The split of a cluster that saves most: its saving, the cluster, and the mask of a half."""
    best: tuple[float, int, Tensor] = (0.0, 0, label.new_zeros(0, dtype=torch.bool))
    kept = {}
    for cluster in range(num_clusters):
        members = (label == cluster).nonzero().squeeze(1)
        key = members.cpu().numpy().tobytes()
        kept[key] = known.get(key) or two_means(h[members])
        if kept[key][0] > best[0]:
            best = (kept[key][0], cluster, kept[key][1])
    known.clear()
    known.update(kept)
    return best
