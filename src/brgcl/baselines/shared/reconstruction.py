"""Reconstruction of a graph from inner products: the loss that graph autoencoders share.

With a code z_i per node, scores s_ij = z_i · z_j and targets t = A + I, over all N² pairs,

    loss = norm mean_ij [ weight t_ij softplus(-s_ij) + (1 - t_ij) softplus(s_ij) ]
    weight = (N² - 2E) / 2E          norm = N² / (2 (N² - 2E))

which is a cross-entropy in which edges and non-edges count alike (Kipf & Welling 2016). Sorted by
what is dense and what is sparse, the same is

    [ sum_ij softplus(s_ij) + sum_{t_ij = 1} (weight softplus(-s_ij) - softplus(s_ij)) ]
    / (2 (N² - 2E))

The first sum is taken a tile of rows at a time, or estimated from m columns drawn at random as
N/m times their sum; the second runs over the edges. No N x N matrix is held: value and gradient
come out of one sweep.
"""

from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from brgcl.method.graph import Adjacency
from brgcl.method.sparse import csr_tensor

EXACT_UP_TO = 10_000  # nodes; beyond, an epoch over all pairs takes half a second and more
SAMPLED = 512  # columns
TILE_BYTES = 1 << 21  # larger tiles do not stay in a CPU's cache
EDGES_PER_BLOCK = 1 << 18


def num_columns(num_negatives: int | Literal["auto"] | None, num_nodes: int) -> int | None:
    """Resolve the setting "auto": all nodes while that is quick, a sample beyond."""
    if num_negatives == "auto":
        return None if num_nodes <= EXACT_UP_TO else SAMPLED
    return num_negatives


def reconstruction_loss(z: Tensor, adjacency: Adjacency, columns: Tensor | None = None) -> Tensor:
    """Weighted cross-entropy of all pairs of nodes, differentiable in the codes.

    Args:
        z: Codes, `(N, D)`.
        adjacency: The graph with self-loops, whose entries are the targets; a weight on an edge
            does not change its target, which is 1.
        columns: Distinct nodes that stand for all in the sum over pairs, `(m,)`; None takes all.
    """
    loss: Tensor = _Reconstruction.apply(z, adjacency, columns)  # type: ignore[no-untyped-call]
    return loss


def softplus(s: Tensor) -> Tensor:
    """log(1 + exp(s)), by a function that is quicker than torch's own of this name on a CPU."""
    return -F.logsigmoid(-s)


class _Reconstruction(torch.autograd.Function):
    """Value and gradient in one go; backward only scales what forward found."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, adjacency: Adjacency, columns: Tensor | None) -> Tensor:
        N, edges = z.shape[0], 2 * adjacency.num_edges
        value, dz = _all_pairs(z) if columns is None else _sampled_pairs(z, columns)
        weight = (N * N - edges) / max(edges, 1)  # without edges no weight balances anything
        more, dmore = _targets(z, adjacency, weight)
        factor = 1 / (2 * (N * N - edges))
        ctx.save_for_backward(dz.add_(dmore).mul_(factor))
        return z.new_tensor((value + more) * factor)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (dz,) = ctx.saved_tensors
        return gradient * dz, None, None


def _tiles(rows: int, columns: int) -> list[slice]:
    step = max(1, TILE_BYTES // (4 * columns))
    return [slice(start, min(start + step, rows)) for start in range(0, rows, step)]


def _all_pairs(z: Tensor) -> tuple[float, Tensor]:
    """Sum of softplus(z_i · z_j) over all pairs, and its gradient 2 sigmoid(Z Z') Z.

    A tile is multiplied with the nodes from its first one on: pairs within the tile are met in
    both orders, those with later nodes in one, so that the latter count twice.
    """
    N = z.shape[0]
    value, dz = 0.0, torch.zeros_like(z)
    for tile in _tiles(N, N):
        rows = tile.stop - tile.start
        s = z[tile] @ z[tile.start :].T
        once, twice = softplus(s).tensor_split([rows], dim=1)
        value += float(once.sum() + 2 * twice.sum())
        s.sigmoid_()
        dz[tile].addmm_(s, z[tile.start :], alpha=2)
        dz[tile.stop :].addmm_(s[:, rows:].T, z[tile], alpha=2)
    return value, dz


def _sampled_pairs(z: Tensor, columns: Tensor) -> tuple[float, Tensor]:
    """N/m times the sum of softplus(z_i · z_j) over all nodes i and m columns j."""
    N, v = z.shape[0], z[columns]
    scale = N / len(columns)
    value, dz, dv = 0.0, torch.zeros_like(z), torch.zeros_like(v)
    for tile in _tiles(N, len(columns)):
        s = z[tile] @ v.T
        value += scale * float(softplus(s).sum())
        s.sigmoid_()
        dz[tile].addmm_(s, v, alpha=scale)
        dv.addmm_(s.T, z[tile], alpha=scale)
    return value, dz.index_add_(0, columns, dv)


def _targets(z: Tensor, adjacency: Adjacency, weight: float) -> tuple[float, Tensor]:
    """Sum of weight softplus(-s) - softplus(s) over edges, both ways, and self-loops."""
    row, col = (torch.split(end, EDGES_PER_BLOCK) for end in (adjacency.row, adjacency.col))
    s = torch.cat([(z[i] * z[j]).sum(1) for i, j in zip(row, col, strict=True)])
    value = float((weight * softplus(-s) - softplus(s)).sum(dtype=torch.float64))
    slope = -weight * (-s).sigmoid() - s.sigmoid()
    slopes = csr_tensor(adjacency.crow, adjacency.col, slope, (z.shape[0],) * 2)
    return value, 2 * (slopes @ z)  # symmetric: i pulls j as j pulls i
