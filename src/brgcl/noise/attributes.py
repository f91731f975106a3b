"""Attribute noise: entries of the attribute matrix shuffled, or taken from other nodes.

| kind | what moves, at level p with F attributes |
|---|---|
| within | each node permutes the values at floor(p F) of its positions |
| column | each of floor(p F) columns is permuted across the nodes |
| cell | each node takes floor(p F) positions from one other node |
| rows | floor(p N) nodes exchange whole rows |

Dense and CSR matrices with the same entries get the same draw. A CSR matrix is never made dense as
a whole: blocks of rows are, one after the other.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from brgcl.errors import InputError
from brgcl.method.sparse import csr_tensor, csr_to_scipy, is_sparse
from brgcl.noise.spec import ATTRIBUTE_NOISE, check_kind, check_level

_BLOCK_CELLS = 2**21  # cells in a dense block: 8 MB of values, some 40 MB with keys and positions


@dataclass(frozen=True)
class NoisyAttributes:
    """Attributes after noise.

    Attributes:
        x: The attributes, `(N, F)`, in the layout they came in; noise stores no zeros in CSR.
        realised: Share of the cells of the scoped nodes that were chosen to move; a moved cell may
            get back the value it had.
        changed: Share of the scoped nodes whose row differs from before.
    """

    x: Tensor
    realised: float
    changed: float


def corrupt_attributes(
    x: Tensor, kind: str, level: float, *, generator: torch.Generator, nodes: Tensor | None = None
) -> NoisyAttributes:
    """Corrupt a share of the attributes.

    `within` keeps the values and so the norm of every row, `column` those of every column, `rows`
    the rows themselves. For `rows` one node alone has nobody to exchange with, so a share that
    amounts to a single node changes nothing.

    Args:
        x: Attributes, `(N, F)`, dense or CSR.
        kind: One of `ATTRIBUTE_NOISE`.
        level: Share p, in [0, 1).
        generator: Source of randomness, on the CPU.
        nodes: The nodes to corrupt, as a mask `(N,)` or as indices; all by default. `column` and
            `rows` move values among these nodes alone, `cell` takes them from any other node.

    Example:
        >>> seeded = torch.Generator().manual_seed(0)
        >>> x = torch.arange(6.0).reshape(3, 2)
        >>> corrupt_attributes(x, "rows", 0.99, generator=seeded).x
        tensor([[4., 5.],
                [2., 3.],
                [0., 1.]])
    """
    check_kind("attribute noise", kind, ATTRIBUTE_NOISE)
    check_level(level)
    check_attributes(x)
    scope = _node_indices(nodes, x.shape[0])
    available = len(scope) if kind == "rows" else x.shape[1]
    count = math.floor(level * available + 1e-9)  # 0.29 * 100 is 28.999...
    if len(scope) == 0 or count == 0 or (kind == "rows" and count == 1):
        return NoisyAttributes(x.clone(), 0.0, 0.0)

    before = csr_to_scipy(x) if is_sparse(x) else x.detach().cpu().numpy()
    if kind == "within":
        after = _rewrite_rows(before, scope, lambda _, rows: _shuffle(rows, count, generator))
    elif kind == "cell":
        donor = _other_nodes(x.shape[0], generator)

        def borrow(nodes: Any, rows: Any) -> Any:
            at = _positions(rows, count, generator)
            np.put_along_axis(rows, at, np.take_along_axis(_dense(before[donor[nodes]]), at, 1), 1)
            return rows

        after = _rewrite_rows(before, scope, borrow)
    elif kind == "column":
        columns = torch.randperm(x.shape[1], generator=generator)[:count].sort().values.numpy()
        flipped = _transpose(before[scope])  # (F, M): a column of nodes is now a row
        flipped = _rewrite_rows(
            flipped, columns, lambda _, rows: _shuffle(rows, len(scope), generator)
        )
        after = _with_rows(before, scope, _transpose(flipped))
    else:  # one random cycle through the chosen nodes, so that nobody keeps the own row
        cycle = scope[torch.randperm(len(scope), generator=generator)[:count].numpy()]
        after = _with_rows(before, cycle, before[np.roll(cycle, 1)])
    changed = int(np.count_nonzero((before != after).sum(1))) / len(scope)
    return NoisyAttributes(_as_tensor(after).to(x.device), count / available, changed)


# The functions below take a matrix that is a numpy array or a scipy CSR array (typed `Any`).


def _positions(rows: Any, count: int, generator: torch.Generator) -> Any:
    """For each row `count` distinct positions in random order, `(rows, count)`."""
    # A random number and the position in one integer: no ties, so every sort gives the same order.
    width = rows.shape[1]
    keys = torch.randint(2**32, rows.shape, generator=generator).numpy()
    keys *= width
    keys += np.arange(width)
    keys.sort(axis=1)
    return keys[:, :count] % width


def _shuffle(rows: Any, count: int, generator: torch.Generator) -> Any:
    """Permute the values at `count` random positions of each row, in place."""
    source = _positions(rows, count, generator)
    np.put_along_axis(rows, np.sort(source, axis=1), np.take_along_axis(rows, source, 1), 1)
    return rows


def _other_nodes(num_nodes: int, generator: torch.Generator) -> Any:
    """For each node another one, uniformly, `(N,)`."""
    if num_nodes < 2:
        raise InputError("cell noise takes values from another node, but there is only 1 node")
    step = torch.randint(1, num_nodes, (num_nodes,), generator=generator)
    return (np.arange(num_nodes) + step.numpy()) % num_nodes


def _rewrite_rows(matrix: Any, rows: Any, rewrite: Callable[[Any, Any], Any]) -> Any:
    """Replace rows by `rewrite(their indices, a dense copy of them)`, block by block."""
    step = max(1, _BLOCK_CELLS // matrix.shape[1])
    blocks = [rows[start : start + step] for start in range(0, len(rows), step)]
    pieces = (rewrite(block, _dense(matrix[block])) for block in blocks)
    if isinstance(matrix, np.ndarray):
        return _with_rows(matrix, rows, np.concatenate(list(pieces)))
    sparse = [scipy.sparse.csr_array(piece) for piece in pieces]
    return _with_rows(matrix, rows, scipy.sparse.vstack(sparse, format="csr"))


def _with_rows(matrix: Any, rows: Any, new: Any) -> Any:
    """Copy the matrix, with the given rows replaced."""
    if isinstance(matrix, np.ndarray):
        copy = matrix.copy()
        copy[rows] = new
        return copy
    source = np.arange(matrix.shape[0])
    source[rows] = matrix.shape[0] + np.arange(len(rows))
    return scipy.sparse.vstack([matrix, new], format="csr")[source]


def _transpose(matrix: Any) -> Any:
    return matrix.T if isinstance(matrix, np.ndarray) else matrix.T.tocsr()


def _dense(rows: Any) -> Any:
    return rows if isinstance(rows, np.ndarray) else rows.toarray()


def _as_tensor(matrix: Any) -> Tensor:
    """Turn the matrix into a tensor of its own dtype, without stored zeros."""
    if isinstance(matrix, np.ndarray):
        return torch.from_numpy(matrix)
    matrix.eliminate_zeros()
    start, column, value = map(torch.from_numpy, (matrix.indptr, matrix.indices, matrix.data))
    return csr_tensor(start.long(), column.long(), value, matrix.shape)


def _node_indices(nodes: Tensor | None, num_nodes: int) -> Any:
    if nodes is None:
        return np.arange(num_nodes)
    nodes = nodes.detach().cpu()
    if nodes.dtype == torch.bool:
        if nodes.shape != (num_nodes,):
            raise InputError(
                f"the mask of nodes has shape {tuple(nodes.shape)} but x has {num_nodes} rows"
            )
        return nodes.nonzero().squeeze(1).numpy()
    if nodes.ndim != 1 or nodes.is_floating_point() or nodes.is_complex():
        raise InputError(
            f"nodes must be a mask or a one-dimensional tensor of indices, got {nodes.dtype} of "
            f"shape {tuple(nodes.shape)}"
        )
    outside = nodes[(nodes < 0) | (nodes >= num_nodes)]
    if len(outside):
        raise InputError(f"nodes must be in 0..{num_nodes - 1}, got {int(outside[0])}")
    return np.unique(nodes.numpy()).astype(np.int64)


def check_attributes(x: Tensor) -> None:
    """Raise an `InputError` unless `x` is a dense or CSR matrix."""
    if x.layout not in (torch.strided, torch.sparse_csr):
        raise InputError(f"x must be dense or CSR, got {x.layout}; convert it with to_sparse_csr()")
    if x.ndim != 2:
        raise InputError(f"x must have shape (N, F), got {tuple(x.shape)}")
