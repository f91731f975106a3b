"""Preparation of attributes: one scale for all graphs, learned on the training graph only."""

from dataclasses import dataclass

import torch
from torch import Tensor

from brgcl.config import Scaling
from brgcl.method.sparse import Matrix, csr_tensor, is_sparse

SPARSE_BELOW = 0.12  # share of non-zeros up to which a CSR product beats a dense one on a CPU


@dataclass(frozen=True)
class Preparation:
    """How attributes are scaled.

    Attributes:
        kind: "l1" (rows to sum 1), "standardize" (columns to mean 0, deviation 1) or "none".
        mean: Column means for "standardize", `(F,)`; None where attributes are sparse, which are
            scaled but not centred.
        scale: One over the column deviations for "standardize", `(F,)`.
    """

    kind: Scaling
    mean: Tensor | None = None
    scale: Tensor | None = None

    def apply(self, x: Tensor) -> Matrix:
        """Scale attributes `(N, F)`, dense or CSR, and store them in the quicker layout."""
        if is_sparse(x) and self.mean is None:
            return Matrix(self._apply_sparse(x))
        if is_sparse(x):
            x = x.to_dense()  # what was centred in training is centred here too
        if self.kind == "l1":
            total = x.abs().sum(1, keepdim=True)
            x = x / torch.where(total > 0, total, 1)
        elif self.scale is not None:
            x = (x if self.mean is None else x - self.mean) * self.scale
        nonzero = int(torch.count_nonzero(x))
        if nonzero < SPARSE_BELOW * x.numel():
            x = _to_csr(x)
        return Matrix(x)

    def _apply_sparse(self, x: Tensor) -> Tensor:
        crow, col, value = x.crow_indices(), x.col_indices(), x.values()
        if self.kind == "l1":
            row = torch.repeat_interleave(crow.diff())
            total = value.new_zeros(x.shape[0]).index_add_(0, row, value.abs())
            value = value / torch.where(total > 0, total, 1)[row]
        elif self.scale is not None:
            value = value * self.scale[col]
        return csr_tensor(crow, col, value, (x.shape[0], x.shape[1]))


def learn_preparation(x: Tensor, kind: Scaling | None = None) -> Preparation:
    """Choose and fit the scaling on training attributes `(N, F)`.

    Args:
        x: Attributes, dense or CSR.
        kind: The scaling; None takes "l1" when no attribute is negative, else "standardize".
    """
    values = x.values() if is_sparse(x) else x
    if kind is None:
        kind = "standardize" if values.numel() and float(values.min()) < 0 else "l1"
    if kind != "standardize":
        return Preparation(kind)
    N = x.shape[0]
    if is_sparse(x):
        col, wide = x.col_indices(), values.double()
        zero = wide.new_zeros(x.shape[1])
        mean = zero.index_add(0, col, wide) / N
        blank = N - torch.bincount(col, minlength=x.shape[1])  # entries of a column not stored
        spread = zero.index_add(0, col, (wide - mean[col]) ** 2) + blank * mean**2
        deviation, centre = (spread / N).sqrt().to(values.dtype), None
    else:
        mean, deviation = x.mean(0), x.std(0, correction=0)
        centre = mean
    scale = torch.where(deviation > 1e-8, 1 / deviation.clamp_min(1e-8), 0)
    return Preparation(kind, centre, scale)


def _to_csr(x: Tensor) -> Tensor:
    row, col = x.nonzero(as_tuple=True)
    crow = torch.zeros(x.shape[0] + 1, dtype=torch.long, device=x.device)
    crow[1:] = torch.bincount(row, minlength=x.shape[0]).cumsum(0)
    return csr_tensor(crow, col, x[row, col], (x.shape[0], x.shape[1]))
