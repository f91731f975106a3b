"""What a node's attributes say, in few columns: its own, and those around it.

    own       X V, rows at unit length        V = the first right singular vectors of X
    around    rows of X V spread over the graph, cut to their first principal components

Spreading is linear, so the rows around are S X M - o at unit length, where S spreads and the matrix
M and the row o are learned once. They take the attributes of any other graph to the same columns.
So does X M - o for a node's own, with another M and o.

X is as sparse as it is and is only multiplied (Halko, Martinsson & Tropp, Finding Structure with
Randomness, SIAM Review 2011).
"""

from dataclasses import dataclass
from functools import cached_property

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


@dataclass(frozen=True)
class AttributeProjection:
    """What takes the attributes of any graph to rows of few columns.

    Attributes:
        matrix: M, `(F, <= 256)`.
        offset: o, `(<= 256,)`.
        around: Whether rows are spread over the graph; else they are the nodes' own.
    """

    matrix: Tensor
    offset: Tensor
    around: bool

    def apply(self, x: Matrix, transition: Matrix) -> Tensor:
        """Rows of the nodes, `(N, <= 256)`; attributes are scaled as those it was learned on."""
        rows: Tensor = x @ self.matrix
        return F.normalize((spread(rows, transition) if self.around else rows) - self.offset, dim=1)


class AttributeViews:
    """What the attributes of a graph say, each part computed once, when it is asked for.

    Args:
        x: Scaled attributes, `(N, F)`.
        transition: Row-stochastic adjacency with self-loops, `(N, N)`.
    """

    def __init__(self, x: Matrix, transition: Matrix) -> None:
        self.x, self.transition = x, transition

    @cached_property
    def own(self) -> Tensor:
        """Centred unit rows of a node's own attributes, `(N, <= 256)`."""
        return F.normalize(self._leading - self._leading.mean(0), dim=1)

    @cached_property
    def around(self) -> Tensor:
        """Unit rows of the attributes around, `(N, <= 64)`."""
        centred = self._spread - self._spread.mean(0)
        return F.normalize(centred if self._axes is None else centred @ self._axes, dim=1)

    def projection(self, *, around: bool) -> AttributeProjection:
        """What gives `around`, or else `own`, on another graph."""
        matrix = self._directions
        if matrix is None:
            matrix = torch.eye(self.x.shape[1]).to(self._leading)
        if not around:
            return AttributeProjection(matrix, self._leading.mean(0), around)
        mean = self._spread.mean(0)
        if self._axes is not None:
            matrix, mean = matrix @ self._axes, mean @ self._axes
        return AttributeProjection(matrix, mean, around)

    @cached_property
    def _directions(self) -> Tensor | None:
        return leading_directions(self.x, OWN_COLUMNS)

    @cached_property
    def _leading(self) -> Tensor:
        return self.x.dense if self._directions is None else self.x @ self._directions

    @cached_property
    def _spread(self) -> Tensor:
        return spread(self._leading, self.transition)

    @cached_property
    def _axes(self) -> Tensor | None:
        return principal_axes(self._spread, AROUND_COLUMNS)


def rows_around(own: Tensor, transition: Matrix) -> Tensor:
    """Spread rows over the graph, and cut them to unit rows of few columns, `(N, <= 64)`."""
    return F.normalize(principal_rows(spread(own, transition), AROUND_COLUMNS), dim=1)


def spread(rows: Tensor, transition: Matrix) -> Tensor:
    """Average rows widely over the graph."""
    return propagate_from(rows, transition, SPREAD["alpha"], int(SPREAD["T"]))


def leading_rows(x: Matrix, columns: int) -> Tensor:
    """X V, `(N, columns)`, for the first right singular vectors V of X; X itself if narrower."""
    directions = leading_directions(x, columns)
    if directions is None:
        return x.dense
    rows: Tensor = x @ directions
    return rows


def leading_directions(x: Matrix, columns: int) -> Tensor | None:
    """The first right singular vectors V of X, `(F, columns)`; None if X is narrower."""
    if x.shape[1] <= columns:
        return None
    width = min(columns + SPARE, *x.shape)
    start = torch.randn(x.shape[1], width, generator=torch.Generator().manual_seed(0))
    basis = _basis(x @ start.to(x.data.device))
    for _ in range(ROUNDS):
        basis = _basis(x @ _basis(x.transposed_product(basis)))
    v, _, _ = torch.linalg.svd(x.transposed_product(basis).double(), full_matrices=False)
    directions: Tensor = v[:, :columns].to(basis.dtype).contiguous()
    return directions


def principal_rows(rows: Tensor, columns: int) -> Tensor:
    """Rows on their first principal components, `(N, columns)`; all of them if D is small."""
    centred, axes = rows - rows.mean(0), principal_axes(rows, columns)
    return centred if axes is None else centred @ axes


def principal_axes(rows: Tensor, columns: int) -> Tensor | None:
    """The first principal axes of rows, `(D, columns)`; None if D is small."""
    if rows.shape[1] <= columns:
        return None
    centred = rows - rows.mean(0)
    _, vectors = torch.linalg.eigh((centred.T @ centred).double())  # smallest first
    axes: Tensor = vectors[:, -columns:].to(rows.dtype)
    return axes


def _basis(columns: Tensor) -> Tensor:
    basis: Tensor = torch.linalg.qr(columns).Q
    return basis
