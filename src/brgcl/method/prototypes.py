"""Robust prototypes and the contrast of nodes to them."""

import torch
import torch.nn.functional as F
from torch import Tensor

from brgcl.method.dpmeans import ROWS, cluster_sums


def robust_prototypes(h: Tensor, label: Tensor, trusted: Tensor, num_clusters: int) -> Tensor:
    """Mean representation of the trusted nodes of each cluster (Algorithm 1, line 11).

    In a cluster that has trusted nodes, moving an untrusted one leaves the prototype where it was.

    Args:
        h: Representations, `(N, D)`.
        label: Cluster of each node in `0..K-1`, `(N,)`.
        trusted: Mask of confident nodes, `(N,)`.
        num_clusters: `K`.

    Returns:
        Prototypes, `(K, D)`.

    Deviation: a cluster without any trusted node keeps its plain mean (see docs/deviations.md).
    """
    deserted = torch.bincount(label[trusted], minlength=num_clusters) == 0  # (K,)
    counted = trusted | deserted[label]
    sums, counts = h.new_zeros(num_clusters, h.shape[1]), h.new_zeros(num_clusters)
    for rows, own, here in zip(*(torch.split(t, ROWS) for t in (h, label, counted)), strict=True):
        some = cluster_sums(rows[here], own[here], num_clusters)
        sums, counts = sums + some[0], counts + some[1]
    return sums / counts.clamp_min(1)[:, None]


def prototype_loss(h: Tensor, label: Tensor, prototypes: Tensor, tau: float) -> Tensor:
    """Contrast each node with the prototypes of all clusters, Eq. (2).

    Args:
        h: Representations, `(N, D)`.
        label: Cluster of each node, the numerator's k, `(N,)`.
        prototypes: Prototypes, constants of the loss, `(K, D)`.
        tau: Temperature.
    """
    return F.cross_entropy(h @ prototypes.T / tau, label)
