"""The encoder g of the paper: graph convolutions with shared weights (Kipf & Welling 2017)."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from brgcl.config import Activation
from brgcl.method.sparse import Matrix, is_sparse
from brgcl.method.views import Diffusion

OPERATOR_COST = 20  # time of a multiplication with A, against one in a dense product
SPARSE_COST = 3  # the same for a sparse X
KEPT_UNITS = 1 << 24  # hidden units that are kept for the gradient, 67 MB
ROWS = 2048  # rows whose hidden units stay in a CPU's cache


class Encoder(nn.Module):
    """H = A σ(A X W₀ + b₀) W₁ + b₁, for any number of layers from one up.

    A masked attribute column of X is a masked row of W₀, so that X itself, sparse or dense, is
    not copied. The first layer computes A (X W₀) or (A X) W₀, whichever is less work.

    Args:
        num_features: F.
        hidden: Units of every layer but the last.
        dim: Units of the last layer, D.
        num_layers: Number of layers.
        activation: σ, between layers.
        generator: Source of the initial weights (Glorot uniform; biases start at 0).
    """

    def __init__(
        self,
        num_features: int,
        *,
        hidden: int = 512,
        dim: int = 256,
        num_layers: int = 2,
        activation: Activation = "relu",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        sizes = [num_features, *[hidden] * (num_layers - 1), dim]
        self.weights = nn.ParameterList()
        self.biases = nn.ParameterList()
        for fan_in, fan_out in itertools.pairwise(sizes):
            self.weights.append(glorot(fan_in, fan_out, generator))
            self.biases.append(nn.Parameter(torch.zeros(fan_out)))
        # in place: the backward pass of these needs the result alone, so the input is not kept
        self.activation: nn.Module = {
            "relu": nn.ReLU(inplace=True),
            "prelu": nn.PReLU(),
            "elu": nn.ELU(inplace=True),
        }[activation]

    @property
    def num_features(self) -> int:
        """F."""
        return int(self.weights[0].shape[0])

    def forward(
        self,
        x: Matrix,
        adjacency: Matrix | Diffusion | Sequence[Matrix],
        columns: Tensor | None = None,
    ) -> Tensor:
        """Compute representations, `(N, D)`.

        Args:
            x: Attributes, `(N, F)`.
            adjacency: The operator that mixes neighbours, `(N, N)`; or one for each layer, whose
                columns are the rows of the one before (`scale/halo.py`).
            columns: 1 for attributes that are seen, 0 for masked ones, `(F,)`; None sees all.
        """
        layers = list(zip(self.weights, self.biases, strict=True))
        operator: Matrix | Diffusion
        others: list[Matrix | Diffusion]
        if isinstance(adjacency, Matrix | Diffusion):
            operator, others = adjacency, [adjacency] * (len(layers) - 1)
        else:
            operator, others = adjacency[0], list(adjacency[1:])
        weight, bias = layers[0]
        first = averages_first(x, operator, weight.shape[1])
        if first and columns is not None and not isinstance(adjacency, Matrix | Diffusion):
            # a halo's A X serves one view alone, so masked columns are left out of it
            here = columns.nonzero().squeeze(1)
            x, weight, columns = Matrix(x.dense[:, here]), weight[here], None
        seen = weight if columns is None else columns[:, None] * weight
        relu = isinstance(self.activation, nn.ReLU)
        if first and relu and len(layers) > 1:  # two layers at once, and no hidden units kept
            weight, after = layers[1]
            inner = two_products(averaged(x, operator), seen, bias, weight)
            operator, *others = others
            h = (operator @ inner).add_(after)
            layers = layers[1:]
        elif first:
            h = (averaged(x, operator) @ seen).add_(bias)
        else:
            h = (operator @ (x @ seen)).add_(bias)
        for (weight, bias), operator in zip(layers[1:], others, strict=True):
            product = relu_product(h, weight) if relu else self.activation(h) @ weight
            h = (operator @ product).add_(bias)
        return h


def glorot(fan_in: int, fan_out: int, generator: torch.Generator | None) -> nn.Parameter:
    """Draw a weight uniformly between ± sqrt(6 / (fan_in + fan_out)) (Glorot & Bengio 2010)."""
    bound = math.sqrt(6 / (fan_in + fan_out))
    weight = torch.empty(fan_in, fan_out).uniform_(-bound, bound, generator=generator)
    return nn.Parameter(weight)


def relu_product(h: Tensor, weight: Tensor) -> Tensor:
    """ReLU(h) W. It overwrites h, and takes one tensor of its size for the gradient, not two."""
    product: Tensor = _ReluProduct.apply(h, weight)[1]  # type: ignore[no-untyped-call]
    return product


class _ReluProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        ctx.set_materialize_grads(False)
        ctx.mark_dirty(h)
        h.relu_()
        ctx.save_for_backward(h, weight)
        return h, h @ weight

    @staticmethod
    def backward(ctx: Any, _: Tensor | None, gradient: Tensor) -> tuple[Tensor, Tensor]:
        h, weight = ctx.saved_tensors
        below = gradient @ weight.T
        torch.ops.aten.threshold_backward.grad_input(below, h, 0, grad_input=below)
        return below, h.T @ gradient


def two_products(p: Tensor, first: Tensor, bias: Tensor, second: Tensor) -> Tensor:
    """ReLU(P W₀ + b₀) W₁ for a constant P, some rows at a time.

    The hidden units stay in the cache. Of a large P they are never in memory as a whole, but
    computed again for the gradient; of a small one they are kept, which takes a tenth less time.

    Args:
        p: P, `(N, F)`.
        first: W₀, `(F, h)`.
        bias: b₀, `(h,)`.
        second: W₁, `(h, D)`.
    """
    product: Tensor = _TwoProducts.apply(p, first, bias, second)  # type: ignore[no-untyped-call]
    return product


class _TwoProducts(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, p: Tensor, first: Tensor, bias: Tensor, second: Tensor) -> Tensor:
        product = p.new_empty(p.shape[0], second.shape[1])
        ctx.hidden = [] if p.shape[0] * first.shape[1] <= KEPT_UNITS else None
        for rows, into in zip(torch.split(p, ROWS), torch.split(product, ROWS), strict=True):
            hidden = torch.addmm(bias, rows, first).relu_()
            torch.mm(hidden, second, out=into)
            if ctx.hidden is not None:
                ctx.hidden.append(hidden)
        ctx.save_for_backward(p, first, bias, second)
        return product

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor, Tensor, Tensor]:
        p, first, bias, second = ctx.saved_tensors
        into_first, into_bias, into_second = (torch.zeros_like(t) for t in (first, bias, second))
        blocks = zip(torch.split(p, ROWS), torch.split(gradient, ROWS), strict=True)
        for number, (rows, above) in enumerate(blocks):
            if ctx.hidden is None:
                hidden = torch.addmm(bias, rows, first).relu_()
            else:
                hidden = ctx.hidden[number]
            into_second.addmm_(hidden.T, above)
            below = above @ second.T
            torch.ops.aten.threshold_backward.grad_input(below, hidden, 0, grad_input=below)
            into_first.addmm_(rows.T, below)
            into_bias += below.sum(0)
        return None, into_first, into_bias, into_second


def averages_first(x: Matrix, adjacency: Matrix | Diffusion, hidden: int) -> bool:
    """Whether (A X) W is less work than A (X W), with its gradient; so it is for narrow X.

    A X needs no gradient, while A (X W) takes a product with A again on the way back. Products
    with A are bound by memory, those with a sparse X by the cache, dense ones by arithmetic:
    their multiplications are weighted by what they cost.
    """
    operator, times = (
        (adjacency, 1) if isinstance(adjacency, Matrix) else (adjacency.adjacency, adjacency.steps)
    )
    N, F = x.shape
    a = OPERATOR_COST * operator.num_stored * times
    per_attribute = SPARSE_COST if is_sparse(x.data) else 1
    return F * (a + 2 * N * hidden) < 2 * hidden * (a + per_attribute * x.num_stored)


def averaged(x: Matrix, adjacency: Matrix | Diffusion) -> Tensor:
    """A X, dense `(N, F)`; computed once for an operator and kept with it."""
    kept = adjacency.__dict__.get("averaged")
    if kept is None or kept[0] is not x:
        kept = (x, adjacency @ x.dense)
        adjacency.__dict__["averaged"] = kept
    product: Tensor = kept[1]
    return product
