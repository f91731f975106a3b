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

    @cached_property
    def transpose(self) -> Tensor:
        """The transposed matrix, built on first use and kept."""
        if self.symmetric or not is_sparse(self.data):
            return self.data if self.symmetric else self.data.T
        flipped = csr_to_scipy(self.data).T.tocsr()
        return csr_from_scipy(flipped).to(dtype=self.data.dtype, device=self.data.device)

    def __matmul__(self, dense: Tensor) -> Tensor:
        """Multiply by a dense matrix `(N, K)`; the gradient reaches that matrix alone."""
        if not is_sparse(self.data):
            return self.data @ dense
        if not dense.requires_grad:
            return self.data @ dense
        product: Tensor = _SparseProduct.apply(dense, self)  # type: ignore[no-untyped-call]
        return product


class _SparseProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dense: Tensor, matrix: Matrix) -> Tensor:
        ctx.matrix = matrix
        return matrix.data @ dense

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return ctx.matrix.transpose @ gradient, None
