"""Confidence of a node: does its neighbourhood agree with its pseudo label?"""

import torch
from torch import Tensor

from brgcl.method.sparse import Matrix

ENTRIES = 1 << 25  # of soft labels that are held at once


def propagate(label: Tensor, num_clusters: int, transition: Matrix, alpha: float, T: int) -> Tensor:
    """Spread one-hot pseudo labels over the graph, Eq. (5).

    Z⁽¹⁾ = Z and Z⁽ᵗ⁺¹⁾ = (1 - alpha) Ã Z⁽ᵗ⁾ + alpha Z for t = 1..T-1. With a row-stochastic Ã
    every row stays a distribution.

    Args:
        label: Pseudo labels in `0..K-1`, `(N,)`.
        num_clusters: K.
        transition: Row-stochastic adjacency with self-loops, `(N, N)`.
        alpha: Teleport probability.
        T: Number of steps, of which the first is the one-hot start.

    Returns:
        Soft labels, `(N, K)`.
    """
    dtype, device = transition.data.dtype, label.device
    start = torch.zeros(label.numel(), num_clusters, dtype=dtype, device=device)
    start.scatter_(1, label[:, None], 1)
    return propagate_from(start, transition, alpha, T)


def propagate_from(start: Tensor, transition: Matrix, alpha: float, T: int) -> Tensor:
    """Spread any start matrix `(N, K)` over the graph in T - 1 updates."""
    soft = start
    for _ in range(T - 1):
        soft = (transition @ soft).mul_(1 - alpha).add_(start, alpha=alpha)
    return soft


def confidence(soft: Tensor, label: Tensor) -> Tensor:
    """Soft label that each node gives to its own pseudo label, `(N,)`, in [0, 1].

    Minus its logarithm is the paper's cross-entropy phi(z, z̃).
    """
    return soft.gather(1, label[:, None]).squeeze(1).clamp(0, 1)  # rounding may pass 1


def own_confidence(
    label: Tensor, num_clusters: int, transition: Matrix, alpha: float, T: int
) -> Tensor:
    """Confidence of each node in its pseudo label, `(N,)`: `propagate`, then `confidence`.

    Clusters do not mix, so those of a large graph are spread a few at a time.

    Args:
        label: Pseudo labels in `0..K-1`, `(N,)`.
        num_clusters: K.
        transition: Row-stochastic adjacency with self-loops, `(N, N)`.
        alpha: Teleport probability.
        T: Number of steps, of which the first is the one-hot start.
    """
    width = max(1, ENTRIES // max(1, label.numel()))
    if width >= num_clusters:
        return confidence(propagate(label, num_clusters, transition, alpha, T), label)
    own = torch.empty(label.numel(), dtype=transition.data.dtype, device=label.device)
    for first in range(0, num_clusters, width):
        here = (label >= first) & (label < first + width)
        moved = torch.where(here, label - first, width)  # the others share a column
        soft = propagate(moved, width + 1, transition, alpha, T)
        own[here] = confidence(soft, moved)[here]
    return own


def confident_nodes(own: Tensor, gamma: float) -> Tensor:
    """Mask of the nodes whose cross-entropy lies below the threshold, Eq. (6).

    A node belongs to the set T_k of its own pseudo label k, so one mask holds all sets.

    Args:
        own: Confidence of each node, `(N,)`.
        gamma: Threshold on -log confidence.
    """
    return own.log() > -gamma


def threshold(epoch: int, num_epochs: int, gamma0: float) -> float:
    """Threshold on the cross-entropy, falling from 1 to 1 - gamma0 over training, Eq. (7).

    Args:
        epoch: Current epoch t, from 1 to `num_epochs`.
        num_epochs: t_max.
        gamma0: Final fall of the threshold.
    """
    return 1 - min(gamma0, gamma0 * epoch / num_epochs)
