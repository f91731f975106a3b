"""Candidate edges: pairs of nodes that a method may link, with weights that it learns.

A set of candidates is a sparse pattern P. With weights w, one per pair, its products with a dense
matrix are differentiable in both, and so are the inner products z_i z_j of the pairs in z:

    (P(w) H)_i = sum_{j in P_i} w_ij h_j        s_ij = z_i z_j

Memory is O(number of pairs); no pair is ever a row of gathered vectors.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import scipy.sparse
import torch
from torch import Tensor

from brgcl.method.sparse import csr_tensor

TILE = 1 << 24  # similarities held at a time


@dataclass(frozen=True)
class Candidates:
    """Pairs (target, source) of nodes, in CSR order, and their transpose.

    Attributes:
        crow: Start of each target's pairs, `(N + 1,)`.
        col: Source of each pair, `(M,)`.
        crow_t: Start of each source's pairs in the transpose, `(N + 1,)`.
        col_t: Target of each pair of the transpose, `(M,)`.
        order: Which pair each one of the transpose is, `(M,)`.
    """

    crow: Tensor
    col: Tensor
    crow_t: Tensor
    col_t: Tensor
    order: Tensor

    @classmethod
    def from_keys(cls, keys: Tensor, num_nodes: int) -> "Candidates":
        """Make candidates from sorted, distinct keys `target * N + source`, `(M,)`."""
        target, col = keys // num_nodes, keys % num_nodes
        crow = torch.zeros(num_nodes + 1, dtype=torch.long)
        crow[1:] = torch.bincount(target, minlength=num_nodes).cumsum(0)
        places = torch.arange(len(keys)).numpy()
        turned = scipy.sparse.csr_array(
            (places, col.numpy(), crow.numpy()), shape=(num_nodes, num_nodes)
        ).tocsc()  # linear in the pairs, where sorting is not
        return cls(
            crow,
            col,
            torch.from_numpy(turned.indptr).long(),
            torch.from_numpy(turned.indices).long(),
            torch.from_numpy(turned.data),
        )

    def kept(self, keep: Tensor) -> "Candidates":
        """The pairs of a mask `(M,)` alone, in the same order; linear in the pairs."""
        mirrored = keep[self.order]
        place = keep.cumsum(0)
        return Candidates(
            torch.cat([place.new_zeros(1), place])[self.crow],
            self.col[keep],
            torch.cat([place.new_zeros(1), mirrored.cumsum(0)])[self.crow_t],
            self.col_t[mirrored],
            place[self.order[mirrored]] - 1,
        )

    def inner_products(self, z: Tensor) -> Tensor:
        """Inner product of the codes `(N, D)` of each pair, `(M,)`."""
        found: Tensor = _InnerProducts.apply(z, self)  # type: ignore[no-untyped-call]
        return found

    def product(self, weight: Tensor, dense: Tensor) -> Tensor:
        """Sum the rows of the sources of each target, `(N, K)`, weighted `(M,)`."""
        found: Tensor = _WeightedProduct.apply(weight, dense, self)  # type: ignore[no-untyped-call]
        return found

    def matrix(self, weight: Tensor) -> Tensor:
        """The pairs as a sparse matrix, `(N, N)`, with these weights `(M,)`."""
        N = len(self.crow) - 1
        return csr_tensor(self.crow, self.col, weight, (N, N))

    def transposed(self, weight: Tensor) -> Tensor:
        """The transpose of `matrix`, `(N, N)`."""
        N = len(self.crow) - 1
        return csr_tensor(self.crow_t, self.col_t, weight[self.order], (N, N))


class _InnerProducts(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, z: Tensor, pairs: Candidates) -> Tensor:
        ctx.pairs = pairs
        ctx.save_for_backward(z)
        return _sampled_product(pairs, z, z)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (z,) = ctx.saved_tensors
        return ctx.pairs.matrix(gradient) @ z + ctx.pairs.transposed(gradient) @ z, None


class _WeightedProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, dense: Tensor, pairs: Candidates) -> Tensor:
        ctx.pairs = pairs
        ctx.save_for_backward(weight, dense)
        return pairs.matrix(weight) @ dense

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        weight, dense = ctx.saved_tensors
        by_weight = by_dense = None
        if ctx.needs_input_grad[0]:
            by_weight = _sampled_product(ctx.pairs, gradient.contiguous(), dense)
        if ctx.needs_input_grad[1]:
            by_dense = ctx.pairs.transposed(weight) @ gradient
        return by_weight, by_dense, None


def _sampled_product(pairs: Candidates, left: Tensor, right: Tensor) -> Tensor:
    """Inner products of row i of `left` and row j of `right` for each pair alone, `(M,)`."""
    nothing = pairs.matrix(left.new_zeros(len(pairs.col)))
    found: Tensor = torch.sparse.sampled_addmm(nothing, left, right.T, beta=0.0).values()
    return found


def most_similar(
    similarity: Callable[[slice], Tensor], num_queries: int, num_members: int, count: int
) -> Tensor:
    """Places of the most similar of P members for each of Q queries, `(Q, min(count, P))`.

    `similarity` gives those of a range of queries to all members, `(tile, P)`.
    """
    step = max(1, TILE // max(num_members, 1))
    count = min(count, num_members)
    starts = range(0, max(num_queries, 1), step)
    tiles = [slice(at, min(at + step, num_queries)) for at in starts]
    return torch.cat([similarity(tile).topk(count, dim=1).indices for tile in tiles])


def both_ways(keys: Tensor, num_nodes: int) -> Tensor:
    """Keys of pairs in either direction, sorted and distinct."""
    return distinct(torch.cat([keys, keys % num_nodes * num_nodes + keys // num_nodes]))


def distinct(keys: Tensor) -> Tensor:
    """Sort keys and keep each once."""
    once: Tensor = keys.sort().values.unique_consecutive()  # type: ignore[no-untyped-call]
    return once


def without(keys: Tensor, others: Tensor) -> Tensor:
    """Keys that are not among `others`, which are sorted."""
    return keys[~among(keys, others)]


def among(keys: Tensor, others: Tensor) -> Tensor:
    """Mask of the keys that are among `others`, which are sorted."""
    if len(others) == 0:
        return torch.zeros_like(keys, dtype=torch.bool)
    return others[torch.searchsorted(others, keys).clamp_max(len(others) - 1)] == keys
