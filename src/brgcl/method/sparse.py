"""Sparse matrices: one way to make them, one product, differentiable in the dense factor.

torch's CSR tensors carry the data; MKL (CPU) or cuSPARSE (GPU) multiplies them. The product of a
constant sparse matrix M with a dense one needs M^T for its gradient; a symmetric matrix is its own
transpose, any other is transposed once (`Matrix`).
"""

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import scipy.sparse
import torch
from torch import Tensor

HAS_MKL: bool = torch.backends.mkl.is_available()  # type: ignore[no-untyped-call]
ROWS_PER_BLOCK = 2048  # rows of a dense factor that stay in a CPU's cache, at some hundred columns


def csr_tensor(crow: Tensor, col: Tensor, value: Tensor, shape: tuple[int, int]) -> Tensor:
    """Build a CSR tensor without torch's notice that CSR is in beta.

    Args:
        crow: Start of each row, `(num_rows + 1,)`.
        col: Column of each stored entry, `(nnz,)`.
        value: Value of each stored entry, `(nnz,)`.
        shape: Numbers of rows and columns.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(crow, col, value, shape, check_invariants=False)


def csr_from_scipy(matrix: Any) -> Tensor:
    """Turn any scipy sparse matrix or array into a float32 CSR tensor with sorted columns."""
    csr = scipy.sparse.csr_array(matrix)
    if not csr.has_canonical_format:
        csr = csr.copy()  # the given matrix is left alone
        csr.sum_duplicates()
    return csr_tensor(
        torch.from_numpy(csr.indptr).long(),
        torch.from_numpy(csr.indices).long(),
        torch.from_numpy(csr.data).float(),
        (int(csr.shape[0]), int(csr.shape[1])),
    )


def csr_to_scipy(matrix: Tensor) -> Any:
    """Turn a CSR tensor into a scipy `csr_array` that shares its memory."""
    return scipy.sparse.csr_array(
        (
            matrix.values().detach().cpu().numpy(),
            matrix.col_indices().cpu().numpy(),
            matrix.crow_indices().cpu().numpy(),
        ),
        shape=tuple(matrix.shape),
    )


def is_sparse(x: Tensor) -> bool:
    """Whether `x` is stored as CSR."""
    return x.layout == torch.sparse_csr


def multiply(matrix: Tensor, dense: Tensor) -> Tensor:
    """Multiply a matrix, dense or CSR, by a dense one, `(N, K)`.

    torch's own product with a CSR matrix copies its result, which can take as long as a product
    with an adjacency. With MKL that can be spared; the result is the same.
    """
    simple = dense.is_cpu and dense.ndim == 2 and matrix.dtype == dense.dtype
    if not (HAS_MKL and is_sparse(matrix) and simple) or dense.requires_grad:
        return matrix @ dense
    # filled, since nobody promises that 0 times what was in memory, a NaN perhaps, is 0
    product = dense.new_zeros(matrix.shape[0], dense.shape[1])
    return torch.addmm(product, matrix, dense, beta=0, out=product)


def take_rows(x: Tensor, rows: Tensor) -> Tensor:
    """Some rows of a matrix, dense or CSR, in the same layout."""
    if not is_sparse(x):
        return x[rows]
    counts, entries = row_entries(x.crow_indices(), rows)
    crow = torch.zeros(len(rows) + 1, dtype=torch.long)
    crow[1:] = counts.cumsum(0)
    shape = (len(rows), x.shape[1])
    return csr_tensor(crow, x.col_indices()[entries], x.values()[entries], shape)


def row_entries(crow: Tensor, nodes: Tensor) -> tuple[Tensor, Tensor]:
    """Number of entries of each row, `(n,)`, and where they are stored, row after row."""
    first = crow[nodes]
    counts = crow[nodes + 1] - first
    shift = first - (counts.cumsum(0) - counts)
    return counts, torch.arange(int(counts.sum())) + shift.repeat_interleave(counts)


@dataclass(frozen=True)
class Matrix:
    """A constant matrix, dense or CSR, ready for products with gradients.

    Attributes:
        data: The matrix, `(M, N)`, dense or CSR.
        symmetric: Whether it equals its transpose, which then need not be built.
    """

    data: Tensor
    symmetric: bool = False

    @property
    def shape(self) -> torch.Size:
        """Numbers of rows and columns."""
        return self.data.shape

    @property
    def num_stored(self) -> int:
        """Entries that are stored: all of a dense matrix."""
        return self.data.values().numel() if is_sparse(self.data) else self.data.numel()

    @cached_property
    def dense(self) -> Tensor:
        """The matrix as a dense tensor, made on first use and kept."""
        return self.data.to_dense() if is_sparse(self.data) else self.data

    @cached_property
    def transposed(self) -> list[tuple[slice, Tensor]]:
        """The transpose, as blocks of its columns with their range; built on first use and kept.

        A product with the transpose of a tall matrix reads the rows of the dense factor in a
        scattered order. Block by block these rows stay in the cache, which on a CPU is several
        times faster.
        """
        if self.symmetric:
            return [(slice(0, self.shape[0]), self.data)]
        if not is_sparse(self.data):
            return [(slice(0, self.shape[0]), self.data.T)]
        return self._transposed_with(self.data.values())

    def transposed_product(self, dense: Tensor) -> Tensor:
        """Multiply the transpose by a dense matrix `(M, K)`."""
        (rows, block), *others = self.transposed
        product = multiply(block, dense[rows])
        for rows, block in others:
            product += multiply(block, dense[rows])
        return product

    def to(self, device: str | torch.device) -> "Matrix":
        """Return the matrix on another device."""
        return Matrix(self.data.to(device), self.symmetric)

    def dropout(self, p: float, generator: torch.Generator) -> "Matrix":
        """Zero each stored entry with probability p and scale up the rest, as dropout does."""
        values = self.data.values() if is_sparse(self.data) else self.data
        kept = torch.rand(values.shape, generator=generator).to(values.device) >= p
        values = values * kept / (1 - p)
        if not is_sparse(self.data):
            return Matrix(values)
        shape = (self.shape[0], self.shape[1])
        dropped = Matrix(
            csr_tensor(self.data.crow_indices(), self.data.col_indices(), values, shape)
        )
        dropped.__dict__["transposed"] = self._transposed_with(values)
        return dropped

    def __matmul__(self, dense: Tensor) -> Tensor:
        """Multiply by a dense matrix `(N, K)`; the gradient reaches that matrix alone."""
        if not is_sparse(self.data) or not dense.requires_grad:
            return multiply(self.data, dense)
        product: Tensor = _SparseProduct.apply(dense, self)  # type: ignore[no-untyped-call]
        return product

    @cached_property
    def _transposed_pattern(self) -> list[tuple[slice, Tensor, Tensor, Tensor]]:
        """Rows of each block, row starts and columns of its transpose, places of its entries."""
        crow, col = self.data.crow_indices(), self.data.col_indices()
        found = []
        for start in range(0, self.shape[0], ROWS_PER_BLOCK):
            stop = min(start + ROWS_PER_BLOCK, self.shape[0])
            inside = slice(int(crow[start]), int(crow[stop]))
            row = torch.repeat_interleave(crow[start : stop + 1].diff())
            order = torch.argsort(col[inside] * (stop - start) + row)
            starts = torch.zeros(self.shape[1] + 1, dtype=torch.long, device=row.device)
            starts[1:] = torch.bincount(col[inside], minlength=self.shape[1]).cumsum(0)
            found.append((slice(start, stop), starts, row[order], order + inside.start))
        return found

    def _transposed_with(self, values: Tensor) -> list[tuple[slice, Tensor]]:
        return [
            (rows, csr_tensor(crow, col, values[order], (self.shape[1], rows.stop - rows.start)))
            for rows, crow, col, order in self._transposed_pattern
        ]


class _SparseProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dense: Tensor, matrix: Matrix) -> Tensor:
        ctx.matrix = matrix
        return multiply(matrix.data, dense.detach())

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return ctx.matrix.transposed_product(gradient), None
