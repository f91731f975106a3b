"""Any edge list -> its canonical form: undirected, sorted, without repeats and self-loops."""

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from brgcl.errors import InputError

log = logging.getLogger("brgcl")

UNEQUAL = 1e-6  # relative difference of two weights from which it is more than rounding
NO_EDGES = "the graph has no edges: only the attributes can tell nodes apart"


@dataclass
class EdgeChanges:
    """What was done to an edge list to make it canonical, in numbers of edges.

    Attributes:
        loops: Self-loops that were removed.
        repeats: Edges that stood twice or more often in the same direction.
        unequal: Edges with different weights in their two directions.
        one_way: Edges given in one direction only.
        entries: Entries that are left, two for each edge.
    """

    loops: int = 0
    repeats: int = 0
    unequal: int = 0
    one_way: int = 0
    entries: int = 0

    def tell(self, *, weighted: bool) -> None:
        """Log what was done."""
        if self.loops:
            log.warning("%d self-loops removed", self.loops)
        if self.repeats:
            log.warning("%d repeated edges %s", self.repeats, "summed" if weighted else "merged")
        if self.unequal:
            unequal = "%d edges have different weights in their two directions: the larger counts"
            log.warning(unequal, self.unequal)
        if self.one_way:
            log.info("%d edges given in one direction only: read as undirected", self.one_way)
        if self.entries == 0:
            log.warning(NO_EDGES)


def canonical_edges(
    edge_index: Tensor | None, edge_weight: Tensor | None, num_nodes: int, *, announce: bool = True
) -> tuple[Tensor, Tensor | None]:
    """Check an edge list and make it undirected, sorted by (row, column), each pair once.

    Weights of parallel edges in one direction add up. Of the two directions of an edge the larger
    weight counts: an edge that is listed in both keeps its weight, however it was rounded.

    Linear in the number of edges: scipy's CSR conversions are bucket sorts. A list that is
    canonical already is returned as it is.

    Args:
        edge_index: Ends of each edge, any integer type, `(2, E)`.
        edge_weight: Positive weights, `(E,)`; they come back as float32.
        num_nodes: `N`.
        announce: Whether to log what was fixed.
    """
    edge_index = _checked_index(edge_index, num_nodes)
    weight = None if edge_weight is None else _checked_weight(edge_weight, edge_index.shape[1])
    if _is_canonical(edge_index, weight, num_nodes):
        if announce and edge_index.shape[1] == 0:
            log.warning(NO_EDGES)
        return edge_index, None if weight is None else weight.to(torch.float32)
    row, col = edge_index.cpu().numpy()
    value = np.ones(len(row)) if weight is None else weight.cpu().double().numpy()
    proper = row != col
    directed = scipy.sparse.coo_array(
        (value[proper], (row[proper], col[proper])), shape=(num_nodes, num_nodes)
    ).tocsr()  # repeated entries are summed here
    if weight is None:
        directed.data[:] = 1
    reverse = directed.T.tocsr()
    undirected = directed.maximum(reverse)
    undirected.sort_indices()
    if announce:
        changes = EdgeChanges(
            loops=int((~proper).sum()),
            repeats=int(proper.sum()) - directed.nnz,
            unequal=_num_unequal(directed, reverse),
            one_way=undirected.nnz - directed.nnz,
            entries=undirected.nnz,
        )
        changes.tell(weighted=weight is not None)
    device = edge_index.device
    edges = torch.from_numpy(np.stack(undirected.tocoo().coords).astype(np.int64))
    if weight is None:
        return edges.to(device), None
    weight = torch.from_numpy(undirected.data.astype(np.float32))
    return edges.to(device), _checked_weight(weight, len(weight)).to(device)


def _checked_index(edge_index: Tensor | None, num_nodes: int) -> Tensor:
    if edge_index is None:
        raise InputError(
            "the graph has no edge_index; give a (2, edges) integer tensor, "
            "torch.empty(2, 0, dtype=torch.long) for none"
        )
    if not isinstance(edge_index, Tensor) or edge_index.ndim != 2 or edge_index.shape[0] != 2:
        shape = (
            tuple(edge_index.shape) if hasattr(edge_index, "shape") else type(edge_index).__name__
        )
        hint = "; transpose it" if shape[-1:] == (2,) else ""
        raise InputError(f"edge_index must be a tensor of shape (2, edges), got {shape}{hint}")
    if edge_index.is_floating_point() or edge_index.is_complex() or edge_index.dtype == torch.bool:
        raise InputError(f"edge_index must hold integers, got {edge_index.dtype}; use .long()")
    edge_index = edge_index.long()
    outside = torch.nonzero((edge_index < 0) | (edge_index >= num_nodes))
    if len(outside):
        end, edge = outside[0].tolist()
        raise InputError(
            f"edge_index[{end}, {edge}] is {int(edge_index[end, edge])} but nodes are numbered "
            f"0..{num_nodes - 1}; give the node a row in x or drop the edge"
        )
    return edge_index


def _checked_weight(weight: Tensor, num_edges: int) -> Tensor:
    if not isinstance(weight, Tensor):
        raise InputError(f"edge_weight must be a tensor, got {type(weight).__name__}")
    if weight.ndim == 2 and weight.shape[1] == 1:
        weight = weight[:, 0]
    if weight.shape != (num_edges,):
        raise InputError(
            f"edge_weight has shape {tuple(weight.shape)} but there are {num_edges} edges; "
            "give one weight per column of edge_index"
        )
    bad = ~(torch.isfinite(weight.float()) & (weight.float() > 0))
    if bool(bad.any()):
        edge = int(torch.nonzero(bad)[0])
        raise InputError(
            f"edge_weight[{edge}] is {float(weight[edge]):g}; weights must be finite and above 0: "
            "drop the edge or correct the weight"
        )
    return weight.detach()


def _is_canonical(edge_index: Tensor, weight: Tensor | None, num_nodes: int) -> bool:
    row, col = edge_index.cpu().numpy()
    key = row * num_nodes + col
    if bool((key[1:] <= key[:-1]).any()) or bool((row == col).any()):
        return False
    if weight is not None and not bool((weight.float() == weight).all()):
        return False
    value = np.ones(len(row), dtype=np.int8) if weight is None else weight.float().cpu().numpy()
    matrix = scipy.sparse.coo_array((value, (row, col)), shape=(num_nodes, num_nodes)).tocsr()
    return bool((matrix != matrix.T.tocsr()).nnz == 0)


def _num_unequal(directed: Any, reverse: Any) -> int:
    """Edges whose two directions are both there with different weights, beyond rounding."""
    smaller, larger = directed.minimum(reverse), directed.maximum(reverse)
    both = smaller.astype(bool).multiply(larger)
    return int(((both - smaller) > UNEQUAL * both).nnz // 2)
