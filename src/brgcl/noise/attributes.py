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
from brgcl.noise.spec import ATTRIBUTE_NOISE as ATTRIBUTE_NOISE
from brgcl.noise.spec import check_kind, check_level

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
    x: Tensor,
    kind: str,
    level: float,
    *,
    generator: torch.Generator,
    nodes: Tensor | None = None,
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

    Returns:
        The corrupted attributes and how much was touched.

    Raises:
        InputError: The kind, the level, `x` or `nodes` is wrong.

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
    _check_attributes(x)
    scope = _node_indices(nodes, x.shape[0])
    available = len(scope) if kind == "rows" else x.shape[1]
    count = math.floor(level * available + 1e-9)  # 0.29 * 100 is 28.999...
    if len(scope) == 0 or count == 0 or (kind == "rows" and count == 1):
        return NoisyAttributes(x.clone(), 0.0, 0.0)

    before = csr_to_scipy(x) if is_sparse(x) else x.detach().cpu()
    if kind == "within":
        after = _rewrite_rows(before, scope, lambda _, rows: _shuffle(rows, count, generator))
    elif kind == "cell":
        donor = _other_nodes(x.shape[0], generator)
        after = _rewrite_rows(
            before,
            scope,
            lambda ids, rows: _borrow(rows, _dense(_take(before, donor[ids])), count, generator),
        )
    elif kind == "column":
        columns = torch.randperm(x.shape[1], generator=generator)[:count].sort().values
        flipped = _transpose(_take(before, scope))  # (F, M): a column of nodes is now a row
        flipped = _rewrite_rows(
            flipped, columns, lambda _, rows: _shuffle(rows, len(scope), generator)
        )
        after = _with_rows(before, scope, _transpose(flipped))
    else:  # one random cycle through the chosen nodes, so that nobody keeps the own row
        cycle = scope[torch.randperm(len(scope), generator=generator)[:count]]
        after = _with_rows(before, cycle, _take(before, cycle.roll(1)))
    changed = _num_rows_that_differ(before, after) / len(scope)
    return NoisyAttributes(_as_tensor(after).to(x.device), count / available, changed)


def _positions(num_rows: int, width: int, count: int, generator: torch.Generator) -> Tensor:
    """For each row `count` distinct positions out of `width`, in random order, `(rows, count)`."""
    # A random number and the position in one integer: no ties, so every sort gives the same order;
    # numpy's is several times faster than torch's here.
    keys = torch.randint(2**32, (num_rows, width), generator=generator)
    keys.mul_(width).add_(torch.arange(width))
    keys.numpy().sort(axis=1)
    return keys[:, :count] % width


def _shuffle(rows: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Permute the values at `count` random positions of each row."""
    source = _positions(rows.shape[0], rows.shape[1], count, generator)
    target = torch.from_numpy(np.sort(source.numpy(), axis=1))
    return rows.scatter(1, target, rows.gather(1, source))


def _borrow(rows: Tensor, donors: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Take the values at `count` random positions of each row from the row of its donor."""
    position = _positions(rows.shape[0], rows.shape[1], count, generator)
    return rows.scatter(1, position, donors.gather(1, position))


def _other_nodes(num_nodes: int, generator: torch.Generator) -> Tensor:
    """For each node another one, uniformly, `(N,)`."""
    if num_nodes < 2:
        raise InputError("cell noise takes values from another node, but there is only 1 node")
    step = torch.randint(1, num_nodes, (num_nodes,), generator=generator)
    return (torch.arange(num_nodes) + step) % num_nodes


# The helpers below take a matrix that is a dense tensor or a scipy CSR array (typed `Any`).


def _rewrite_rows(matrix: Any, rows: Tensor, rewrite: Callable[[Tensor, Tensor], Tensor]) -> Any:
    """Replace rows by `rewrite(their indices, their values)`, a dense block at a time."""
    pieces = [
        _like(matrix, rewrite(block, _dense(_take(matrix, block))))
        for block in torch.split(rows, max(1, _BLOCK_CELLS // matrix.shape[1]))
    ]
    dense = isinstance(matrix, Tensor)
    stacked = torch.cat(pieces) if dense else scipy.sparse.vstack(pieces, format="csr")
    return _with_rows(matrix, rows, stacked)


def _with_rows(matrix: Any, rows: Tensor, new: Any) -> Any:
    """Copy the matrix, with the given rows replaced."""
    if isinstance(matrix, Tensor):
        return matrix.index_copy(0, rows, new)
    num_rows = matrix.shape[0]
    source = np.arange(num_rows)
    source[rows.numpy()] = num_rows + np.arange(len(rows))
    return scipy.sparse.vstack([matrix, new], format="csr")[source]


def _take(matrix: Any, rows: Tensor) -> Any:
    return matrix[rows] if isinstance(matrix, Tensor) else matrix[rows.numpy()]


def _transpose(matrix: Any) -> Any:
    return matrix.T if isinstance(matrix, Tensor) else matrix.T.tocsr()


def _dense(matrix: Any) -> Tensor:
    return matrix if isinstance(matrix, Tensor) else torch.from_numpy(matrix.toarray())


def _like(matrix: Any, block: Tensor) -> Any:
    return block if isinstance(matrix, Tensor) else scipy.sparse.csr_array(block.numpy())


def _num_rows_that_differ(before: Any, after: Any) -> int:
    if isinstance(before, Tensor):
        return int((before != after).any(1).sum())
    return int(np.count_nonzero(np.diff((before != after).indptr)))


def _as_tensor(matrix: Any) -> Tensor:
    """Turn the matrix into a tensor of its own dtype, without stored zeros."""
    if isinstance(matrix, Tensor):
        return matrix
    matrix.eliminate_zeros()
    return csr_tensor(
        torch.from_numpy(matrix.indptr).long(),
        torch.from_numpy(matrix.indices).long(),
        torch.from_numpy(matrix.data),
        (int(matrix.shape[0]), int(matrix.shape[1])),
    )


def _node_indices(nodes: Tensor | None, num_nodes: int) -> Tensor:
    if nodes is None:
        return torch.arange(num_nodes)
    nodes = nodes.detach().cpu()
    if nodes.dtype == torch.bool:
        if nodes.shape != (num_nodes,):
            raise InputError(
                f"the mask of nodes has shape {tuple(nodes.shape)} but x has {num_nodes} rows"
            )
        return nodes.nonzero().squeeze(1)
    if nodes.ndim != 1 or nodes.is_floating_point() or nodes.is_complex():
        raise InputError(
            f"nodes must be a mask or a one-dimensional tensor of indices, got {nodes.dtype} of "
            f"shape {tuple(nodes.shape)}"
        )
    outside = nodes[(nodes < 0) | (nodes >= num_nodes)]
    if len(outside):
        raise InputError(f"nodes must be in 0..{num_nodes - 1}, got {int(outside[0])}")
    chosen: Tensor = torch.unique(nodes.long())
    return chosen


def _check_attributes(x: Tensor) -> None:
    if x.layout not in (torch.strided, torch.sparse_csr):
        raise InputError(f"x must be dense or CSR, got {x.layout}; convert it with to_sparse_csr()")
    if x.ndim != 2:
        raise InputError(f"x must have shape (N, F), got {tuple(x.shape)}")
