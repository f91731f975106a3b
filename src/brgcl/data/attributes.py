"""Node attributes: any matrix -> finite float32, dense or CSR; and some for a graph without."""

import logging
import warnings
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from brgcl.errors import InputError
from brgcl.method.sparse import csr_from_scipy, csr_tensor, csr_to_scipy, is_sparse

log = logging.getLogger("brgcl")

MAX_IDENTITY = 20_000
"""Up to this many nodes, a graph without attributes gets one column per node."""

BLOCK = 1 << 22  # values that are checked at once


def structural_attributes(edge_index: Tensor, num_nodes: int) -> Tensor:
    """Attributes for a graph that has none; see `attributes_of_degrees`.

    Example:
        >>> structural_attributes(torch.tensor([[0], [1]]), 2).to_dense().tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    return attributes_of_degrees(torch.bincount(edge_index.flatten(), minlength=num_nodes))


def attributes_of_degrees(degree: Tensor) -> Tensor:
    """Attributes for a graph that has none: what is known of a node is its place.

    Up to 20,000 nodes every node gets a column of its own (the identity, CSR). Beyond that a node
    is described by its degree: a one-hot of `floor(log2(degree + 1))`, CSR.

    Args:
        degree: Number of edges of each node, as they were given, `(N,)`.
    """
    num_nodes = len(degree)
    if num_nodes <= MAX_IDENTITY:
        column = torch.arange(num_nodes)
        log.warning("no attributes given: each of the %d nodes gets its own column", num_nodes)
    else:
        column = torch.log2(degree.double() + 1).floor().long()
        log.warning("no attributes given: %d nodes are described by their degree", num_nodes)
    shape = (num_nodes, int(column.max()) + 1 if num_nodes else 0)
    return csr_tensor(torch.arange(num_nodes + 1), column, torch.ones(num_nodes), shape)


def attribute_tensor(x: Any, name: str) -> Tensor:
    """Turn a scipy matrix (to CSR) or an array (to a dense tensor) into attributes, `(N, F)`.

    An error calls the matrix by `name`.
    """
    if isinstance(x, Tensor):
        return x
    x = x if scipy.sparse.issparse(x) else np.asarray(x)
    if x.dtype.kind not in "fiub" or x.ndim != 2:
        raise InputError(
            f"{name} must be a matrix of numbers (nodes, attributes), "
            f"got {x.dtype} of shape {x.shape}"
        )
    with np.errstate(over="ignore"):  # what is too large is refused later, with its place
        x = x.astype(np.float32)  # a copy, in the byte order of this machine
    return csr_from_scipy(x) if scipy.sparse.issparse(x) else torch.from_numpy(x)


def checked_attributes(x: Tensor | None) -> Tensor:
    """Float32 attributes, dense or CSR as they came; an error names the first wrong cell."""
    if x is None:
        raise InputError(
            "the graph has no attributes x; give a (nodes, attributes) matrix, or use "
            "from_scipy(adj, None) for structural ones"
        )
    if not isinstance(x, Tensor) or x.ndim != 2:
        shape = tuple(x.shape) if hasattr(x, "shape") else type(x).__name__
        raise InputError(f"x must be a tensor (nodes, attributes), got {shape}")
    if x.shape[0] == 0:
        raise InputError("the graph has no nodes")
    if x.shape[1] == 0:
        raise InputError("x has no columns; a node needs at least one attribute")
    if x.is_complex():
        raise InputError(f"x must be real numbers, got {x.dtype}")
    dense = x.layout == torch.strided
    x = x.detach().to(torch.float32) if dense else _canonical_csr(x.detach())
    values = x if dense else x.values()
    place = _first_not_finite(values)
    if place is not None:
        row, column = place if dense else (c[place[0]] for c in csr_to_scipy(x).tocoo().coords)
        raise InputError(
            f"x[{row}, {column}] is {float(values[place])}; attributes must be finite: "
            "fill or drop the value first"
        )
    return x


def _first_not_finite(values: Tensor) -> tuple[int, ...] | None:
    """Place of the first value that is not finite; values are read once, in blocks of rows."""
    width = values.numel() // max(1, len(values))
    size = max(1, BLOCK // max(1, width))
    for start in range(0, len(values), size):
        bad = torch.nonzero(~torch.isfinite(values[start : start + size]))
        if len(bad):
            row, *column = bad[0].tolist()
            return (start + row, *column)
    return None


def _canonical_csr(x: Tensor) -> Tensor:
    """Turn any sparse layout into float32 CSR with sorted columns and no repeated entry."""
    if not is_sparse(x):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
            x = x.to_sparse(layout=torch.sparse_coo).coalesce().to_sparse_csr()
    if not csr_to_scipy(x).has_canonical_format:
        x = csr_from_scipy(csr_to_scipy(x).copy()).to(x.device)
    shape = (int(x.shape[0]), int(x.shape[1]))
    crow, col = x.crow_indices().long(), x.col_indices().long()
    return csr_tensor(crow, col, x.values().to(torch.float32), shape)
