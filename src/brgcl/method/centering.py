"""What is done to representations after the encoder, and how many directions they use.

All rows of a trained encoder share a large component, which says nothing about any node. Without
it, cosines and distances between rows tell nodes apart better. For clusters, rows are also averaged
over the neighbourhood.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from brgcl.method.confidence import ENTRIES, propagate_from
from brgcl.method.sparse import Matrix

ROUNDING = 1e-5  # a row this close to the mean is the mean, up to rounding


def center_rows(h: Tensor, mean: Tensor) -> Tensor:
    """Subtract a mean row and give rows unit length again; a row at the mean becomes 0.

    Args:
        h: Rows of unit length, `(N, D)`.
        mean: Mean row of the training graph, `(D,)`.

    Example:
        >>> center_rows(torch.tensor([[0.6, 0.8], [0.6, -0.8]]), torch.tensor([0.6, 0.0]))
        tensor([[ 0.,  1.],
                [ 0., -1.]])
    """
    return F.normalize(h - mean, dim=1, eps=ROUNDING)


def uncenter_rows(z: Tensor, mean: Tensor) -> Tensor:
    """Undo `center_rows` for rows of unit length: h = mean + t z with the t > 0 that gives |h| = 1.

    A row at the mean, which is 0 after centring, becomes the mean scaled to unit length.

    Args:
        z: Centred rows, of unit length or 0, `(N, D)`.
        mean: The mean row that was subtracted, shorter than 1, `(D,)`.

    Example:
        >>> uncenter_rows(torch.tensor([[0.0, 1.0]]), torch.tensor([0.6, 0.0]))
        tensor([[0.6000, 0.8000]])
    """
    along = (z @ mean)[:, None]
    room = (1 - mean.square().sum()).clamp_min(0)
    return F.normalize(mean + (along.square().add(room).sqrt() - along) * z, dim=1)


def smooth_rows(z: Tensor, transition: Matrix, *, alpha: float = 0.1, T: int = 6) -> Tensor:
    """Spread rows over the graph as pseudo labels are spread, and give them unit length again.

    Args:
        z: Representations, `(N, D)`.
        transition: Row-stochastic adjacency with self-loops, `(N, N)`.
        alpha: Share of its own row that a node keeps in each step.
        T: Number of steps, of which the first is the start.
    """
    width = max(1, ENTRIES // len(z))
    if width >= z.shape[1]:
        return F.normalize(propagate_from(z, transition, alpha, T), dim=1)
    smooth = torch.empty_like(z)
    for first in range(0, z.shape[1], width):  # columns do not mix
        columns = z[:, first : first + width].contiguous()
        smooth[:, first : first + width] = propagate_from(columns, transition, alpha, T)
    return F.normalize(smooth, dim=1, out=smooth)


def effective_rank(h: Tensor, max_rows: int = 2000) -> float:
    """Number of directions that unit rows use: exp(entropy of the shares of variance).

    The shares are the eigenvalues of the D x D covariance, divided by their sum (Roy & Vetterli
    2007, on squared singular values). It lies between 1 and D; equal rows have 0, and so have rows
    that are not finite.

    Args:
        h: Representations, `(N, D)`; they are scaled to unit length here.
        max_rows: Rows looked at, evenly spaced, so that the cost does not grow with N.

    Example:
        >>> round(effective_rank(torch.cat([torch.eye(3), -torch.eye(3)])), 3)
        3.0
    """
    h = F.normalize(h.detach()[:: max(1, -(-len(h) // max_rows))], dim=1)
    h = h - h.mean(0)
    if not float(h.square().sum()) > ROUNDING**2 * len(h):  # also where rows are not finite
        return 0.0
    variance = torch.linalg.eigvalsh(h.T @ h).double().clamp_min(0)
    share = variance / variance.sum()
    return float(torch.special.entr(share).sum().exp())
