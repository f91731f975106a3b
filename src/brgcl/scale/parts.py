"""A graph by parts: nodes in the order of their parts, attributes and edges where they lie."""

import itertools
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch_geometric.data import Data

from brgcl.method.attributes import Preparation
from brgcl.method.sparse import Matrix, csr_tensor, is_sparse, row_entries, take_rows
from brgcl.scale.partition import partition

ENTRIES = 1 << 22  # entries of the adjacency that are moved at once


@dataclass(frozen=True)
class PartGraph:
    """A graph whose nodes are numbered part by part.

    Any tensor may be memory-mapped (`data.graph_folder.map_array`); none is copied as a whole.

    Attributes:
        crow: Start of each node's neighbours, `(N + 1,)`.
        col: Neighbours of each node, both directions of an edge, no self-loops, `(2E,)`.
        weight: Positive weight of each entry of `col`, `(2E,)`; None when all are 1.
        starts: First node of each part and, last, N, `(P + 1,)`.
        x: Attributes as they were given, dense or CSR, `(N, F)`.
        preparation: How attributes are scaled.
        given: Row of `x` of each node, `(N,)`; None when rows are in the order of the parts.
    """

    crow: Tensor
    col: Tensor
    weight: Tensor | None
    starts: Tensor
    x: Tensor
    preparation: Preparation
    given: Tensor | None = None

    @property
    def num_nodes(self) -> int:
        """N."""
        return self.crow.numel() - 1

    @property
    def num_parts(self) -> int:
        """P."""
        return self.starts.numel() - 1

    @property
    def mean_degree(self) -> float:
        """Mean number of neighbours."""
        return self.col.numel() / self.num_nodes

    @cached_property
    def degree(self) -> Tensor:
        """Sum of the weights of each node's edges, self-loop included, `(N,)`."""
        if self.weight is None:
            return (self.crow.diff() + 1).to(torch.float32)
        sums = torch.ones(self.num_nodes)
        for rows in self.blocks():
            inside = slice(int(self.crow[rows.start]), int(self.crow[rows.stop]))
            row = torch.repeat_interleave(self.crow[rows.start : rows.stop + 1].diff())
            sums[rows].index_add_(0, row, self.weight[inside].float())
        return sums

    @cached_property
    def transition(self) -> Matrix:
        """Row-stochastic adjacency with self-loops, D^-1 (A + I), `(N, N)`."""
        N = self.num_nodes
        index = torch.int32 if self.col.numel() + N < 2**31 else torch.long
        crow = self.crow + torch.arange(N + 1)
        col = torch.empty(self.col.numel() + N, dtype=index)
        value = torch.empty(col.numel())
        for rows in self.blocks():
            nodes = torch.arange(rows.start, rows.stop)
            _, ends, weight = rows_with_loops(self, nodes)
            inside = slice(int(crow[rows.start]), int(crow[rows.stop]))
            per_row = crow[rows.start : rows.stop + 1].diff()
            col[inside] = ends.to(index)
            value[inside] = weight if weight is not None else 1.0
            value[inside] /= self.degree[rows].repeat_interleave(per_row)
        return Matrix(csr_tensor(crow.to(index), col, value, (N, N)))

    def beginning(self, num_parts: int) -> tuple[Matrix, Matrix]:
        """Attributes of the first parts, and the transition of these nodes among themselves."""
        n = int(self.starts[num_parts])
        nodes = torch.arange(n)
        starts, ends, weight = rows_with_loops(self, nodes)
        row, inside = nodes.repeat_interleave(starts.diff()), ends < n
        row, ends = row[inside], ends[inside]
        value = torch.ones(len(row)) if weight is None else weight[inside]
        crow = torch.zeros(n + 1, dtype=torch.long)
        crow[1:] = torch.bincount(row, minlength=n).cumsum(0)
        total = torch.zeros(n).index_add_(0, row, value)
        transition = Matrix(csr_tensor(crow, ends, value / total[row], (n, n)))
        return self.attributes(nodes), transition

    def attributes(self, nodes: Tensor) -> Matrix:
        """Scaled attributes of some nodes, `(n, F)`."""
        rows = nodes if self.given is None else self.given[nodes]
        return self.preparation.apply(take_rows(self.x, rows))

    def blocks(self, entries: int = ENTRIES) -> list[slice]:
        """Ranges of nodes with about so many entries of the adjacency.

        A node counts for 64 entries at least, or for a quarter of the attributes it has.
        """
        stored = (self.x.values() if is_sparse(self.x) else self.x).numel()
        per_node = max(64, stored // (4 * self.num_nodes))
        size = self.crow + per_node * torch.arange(self.num_nodes + 1)
        most = torch.arange(entries, int(size[-1]) + entries, entries)
        ends = torch.searchsorted(size, most, right=True) - 1
        borders = sorted({0, *ends.tolist(), self.num_nodes})
        return [slice(a, b) for a, b in itertools.pairwise(borders)]

    def as_given(self, values: Tensor) -> Tensor:
        """Values of each node in the order of the rows of `x`."""
        if self.given is None:
            return values
        result = torch.empty_like(values)
        result[self.given] = values
        return result


def split_graph(
    data: Data, preparation: Preparation, num_parts: int, *, seed: int = 0
) -> PartGraph:
    """Find the parts of a checked graph and order its edges by them; attributes stay in place.

    Args:
        data: A canonical graph (see `check_graph`).
        preparation: How attributes are scaled.
        num_parts: P.
        seed: Seed of the parts.
    """
    N, (row, col), weight = data.x.shape[0], data.edge_index, data.get("edge_weight")
    crow = torch.zeros(N + 1, dtype=torch.long)
    crow[1:] = torch.bincount(row, minlength=N).cumsum(0)
    part = partition(crow, col, min(num_parts, N), seed=seed)
    starts = torch.zeros(int(part.max()) + 2, dtype=torch.long)
    starts[1:] = torch.bincount(part).cumsum(0)
    given = torch.argsort(part, stable=True)
    del part
    user = PartGraph(crow, col, weight, starts, data.x, preparation)
    if torch.equal(given, torch.arange(N)):
        return user
    place = torch.empty(N, dtype=torch.int32)
    place[given] = torch.arange(N, dtype=torch.int32)
    counts = crow.diff()[given]
    moved = torch.zeros(N + 1, dtype=torch.long)
    moved[1:] = counts.cumsum(0)
    ordered = PartGraph(
        moved,
        torch.empty(col.numel(), dtype=torch.int32),
        None if weight is None else torch.empty(col.numel()),
        starts,
        data.x,
        preparation,
        given,
    )
    for rows in ordered.blocks():
        inside = slice(int(moved[rows.start]), int(moved[rows.stop]))
        entries = row_entries(crow, given[rows])[1]
        ordered.col[inside] = place[col[entries]]
        if weight is not None and ordered.weight is not None:
            ordered.weight[inside] = weight[entries].float()
    return ordered


def rows_with_loops(graph: PartGraph, nodes: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
    """Neighbours of some nodes, each node itself first.

    Returns:
        Row starts, `(n + 1,)`; neighbours, int64; their weights, 1 for the node itself, or None.
    """
    counts, entries = row_entries(graph.crow, nodes)
    starts = torch.zeros(len(nodes) + 1, dtype=torch.long)
    starts[1:] = (counts + 1).cumsum(0)
    ends = torch.empty(int(starts[-1]), dtype=torch.long)
    others = torch.ones(len(ends), dtype=torch.bool)
    others[starts[:-1]] = False
    ends[starts[:-1]] = nodes
    ends[others] = graph.col[entries].long()
    if graph.weight is None:
        return starts, ends, None
    weight = torch.ones(len(ends))
    weight[others] = graph.weight[entries].float()
    return starts, ends, weight
