"""The graph as the method sees it: attributes, undirected edges, and the operators made of them."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from brgcl.method.sparse import Matrix, csr_tensor


@dataclass(frozen=True)
class Adjacency:
    """The undirected adjacency with self-loops, A + I, in CSR order.

    Both directions of an undirected edge carry the same number in `edge`, so that a mask over
    edges drops both at once; a self-loop carries the number E.

    Attributes:
        crow: Start of each row, `(N + 1,)`.
        row: Row of each entry, `(M,)` with M = 2E + N.
        col: Column of each entry, `(M,)`.
        edge: Undirected edge of each entry, in `0..E`, `(M,)`.
        weight: Weight of each undirected edge and, last, of the self-loops, `(E + 1,)`;
            None when all are 1.
        dtype: Type of the operators' values.
    """

    crow: Tensor
    row: Tensor
    col: Tensor
    edge: Tensor
    weight: Tensor | None
    dtype: torch.dtype = torch.float32

    @property
    def num_nodes(self) -> int:
        """N."""
        return self.crow.numel() - 1

    @property
    def num_edges(self) -> int:
        """E, each undirected edge counted once, self-loops not counted."""
        return (self.col.numel() - self.num_nodes) // 2

    @cached_property
    def normalized(self) -> Matrix:
        """Symmetrically normalised adjacency with self-loops, D^-1/2 (A + I) D^-1/2."""
        return self.normalized_without(None)

    @cached_property
    def transition(self) -> Matrix:
        """Row-stochastic adjacency with self-loops, D^-1 (A + I)."""
        shape = (self.num_nodes, self.num_nodes)
        if self.weight is None:
            value = self.crow.diff().to(self.dtype).reciprocal()[self.row]
        else:
            weight = self.weight[self.edge]
            value = weight / self._row_sums(self.row, weight)[self.row]
        return Matrix(csr_tensor(self.crow, self.col, value, shape))

    def normalized_without(self, keep: Tensor | None) -> Matrix:
        """Normalise what is left when some undirected edges are dropped.

        One pass over the stored entries: they stay in order, so nothing is sorted again.

        Args:
            keep: Mask of surviving edges, `(E + 1,)`, its last element (the self-loops) True;
                None keeps all.
        """
        crow, row, col, edge = self.crow, self.row, self.col, self.edge
        if keep is not None:
            kept = keep[edge]
            crow = torch.cat([crow.new_zeros(1), kept.cumsum(0)])[crow]
            index = kept.nonzero().squeeze(1)
            row, col, edge = row[index], col[index], edge[index]
        if self.weight is None:
            scale = crow.diff().to(self.dtype).rsqrt()
            value = scale[row] * scale[col]
        else:
            weight = self.weight[edge]
            scale = self._row_sums(row, weight).rsqrt()
            value = weight * scale[row] * scale[col]
        return Matrix(csr_tensor(crow, col, value, (self.num_nodes,) * 2), symmetric=True)

    def _row_sums(self, row: Tensor, value: Tensor) -> Tensor:
        return value.new_zeros(self.num_nodes).index_add_(0, row, value)


@dataclass(frozen=True)
class Graph:
    """Prepared attributes, `(N, F)`, and the adjacency of the same nodes; no labels."""

    x: Matrix
    adjacency: Adjacency


def adjacency_from_edges(
    edge_index: Tensor,
    num_nodes: int,
    edge_weight: Tensor | None = None,
    *,
    dtype: torch.dtype = torch.float32,
) -> Adjacency:
    """Build the adjacency from a canonical edge list; done once, O(E log E).

    Args:
        edge_index: Both directions of every edge, without loops or repeats, `(2, 2E)`.
        num_nodes: N.
        edge_weight: Positive weights, equal for both directions, `(2E,)`, or None.
        dtype: Type of the operators' values.
    """
    N, E = num_nodes, edge_index.shape[1] // 2
    nodes = torch.arange(N, device=edge_index.device)
    row = torch.cat([edge_index[0], nodes])
    col = torch.cat([edge_index[1], nodes])
    order = torch.argsort(row * N + col)
    low, high = edge_index.min(0).values, edge_index.max(0).values
    _, number = torch.unique(low * N + high, return_inverse=True)
    edge = torch.cat([number, torch.full_like(nodes, E)])
    crow = torch.zeros(N + 1, dtype=torch.long, device=row.device)
    crow[1:] = torch.bincount(row, minlength=N).cumsum(0)
    weight = None
    if edge_weight is not None:
        weight = torch.ones(E + 1, dtype=dtype, device=row.device)
        weight[number] = edge_weight.to(dtype)
    return Adjacency(crow, row[order], col[order], edge[order], weight, dtype)
