"""What a node's attributes say, in few columns: its own, and those around it.

    own       X V, rows at unit length        V = the first right singular vectors of X
    around    rows of X V spread over the graph, cut to their first principal components

X is as sparse as it is and is only multiplied (Halko, Martinsson & Tropp, Finding Structure with
Randomness, SIAM Review 2011).
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from brgcl.method.confidence import propagate_from
from brgcl.method.sparse import Matrix

OWN_COLUMNS, AROUND_COLUMNS = 256, 64
SPARE, ROUNDS = 16, 4  # of the iteration: columns beyond those that are kept, and rounds
SPREAD = {"alpha": 0.05, "T": 17}  # as far as the floor `smooth` looks


def attribute_rows(x: Matrix, transition: Matrix) -> tuple[Tensor, Tensor]:
    """Represent nodes by their own attributes, `(N, <= 256)`, and by those around, `(N, <= 64)`.

    Args:
        x: Scaled attributes, `(N, F)`.
        transition: Row-stochastic adjacency with self-loops, `(N, N)`.
    """
    own = leading_rows(x, OWN_COLUMNS)
    return F.normalize(own, dim=1), rows_around(own, transition)


def rows_around(own: Tensor, transition: Matrix) -> Tensor:
    """Spread rows over the graph, and cut them to unit rows of few columns, `(N, <= 64)`."""
    around = propagate_from(own, transition, SPREAD["alpha"], int(SPREAD["T"]))
    return F.normalize(principal_rows(around, AROUND_COLUMNS), dim=1)


def leading_rows(x: Matrix, columns: int) -> Tensor:
    """X V, `(N, columns)`, for the first right singular vectors V of X; X itself if narrower."""
    if x.shape[1] <= columns:
        return x.dense
    width = min(columns + SPARE, *x.shape)
    start = torch.randn(x.shape[1], width, generator=torch.Generator().manual_seed(0))
    basis = _basis(x @ start.to(x.data.device))
    for _ in range(ROUNDS):
        basis = _basis(x @ _basis(x.transposed_product(basis)))
    v, _, _ = torch.linalg.svd(x.transposed_product(basis).double(), full_matrices=False)
    rows: Tensor = x @ v[:, :columns].to(basis.dtype).contiguous()
    return rows


def principal_rows(rows: Tensor, columns: int) -> Tensor:
    """Rows on their first principal components, `(N, columns)`; all of them if D is small."""
    centred = rows - rows.mean(0)
    if rows.shape[1] <= columns:
        return centred
    _, vectors = torch.linalg.eigh((centred.T @ centred).double())  # smallest first
    kept: Tensor = centred @ vectors[:, -columns:].to(rows.dtype)
    return kept


def _basis(columns: Tensor) -> Tensor:
    basis: Tensor = torch.linalg.qr(columns).Q
    return basis
