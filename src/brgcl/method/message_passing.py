"""The encoders besides the graph convolution: GraphSAGE, GAT and GIN, with the same call.

Each layer is linear in what neighbours send, so X is multiplied by the weights before anything is
summed over neighbours: sparse attributes stay sparse, and no message along an edge is stored. The
operator of a view says who is a neighbour of whom. Its values, and so edge weights, are not read.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from brgcl.method.attention import Links, attend, mix
from brgcl.method.encoder import Encoder, averaged, averages_first, glorot
from brgcl.method.sparse import Matrix, csr_tensor
from brgcl.method.views import Diffusion

HEADS = 8  # of attention in every layer but the last, where the units allow it


class MessagePassing(Encoder):
    """An encoder of layers that sum over neighbours in their own way; arguments as of `Encoder`."""

    def layer(self, number: int, x: Matrix, seen: Tensor, around: "Neighbours") -> Tensor:
        """Compute one layer before its activation, `(N, units)`.

        Args:
            number: Number of the layer, from 0.
            x: Its input, `(N, fan_in)`.
            seen: 1 for columns of the input that are seen and 0 for others, `(fan_in or 1, 1)`.
            around: Who is a neighbour of whom.
        """
        raise NotImplementedError

    def forward(
        self,
        x: Matrix,
        adjacency: Matrix | Diffusion | Sequence[Matrix],
        columns: Tensor | None = None,
    ) -> Tensor:
        """Compute representations, `(N, D)`; see `Encoder.forward`.

        Of `adjacency` the pattern counts, which has to be one matrix for all layers.
        """
        assert isinstance(adjacency, Matrix)
        around = neighbours_of(adjacency)
        first = self.weights[0]
        seen = first.new_ones(1, 1) if columns is None else columns[:, None]
        h = self.layer(0, x, seen, around)
        for number in range(1, len(self.weights)):
            h = self.layer(number, Matrix(self.activation(h)), first.new_ones(1, 1), around)
        return h


class SageEncoder(MessagePassing):
    """W h_i + V · mean over neighbours j of h_j + b (Hamilton, Ying & Leskovec 2017, mean)."""

    def __init__(self, *sizes: Any, generator: torch.Generator | None = None, **settings: Any):
        super().__init__(*sizes, generator=generator, **settings)
        self.neighbours = nn.ParameterList(
            glorot(weight.shape[0], weight.shape[1], generator) for weight in self.weights
        )

    def layer(self, number: int, x: Matrix, seen: Tensor, around: "Neighbours") -> Tensor:
        """See the class."""
        own = x @ (seen * self.weights[number])
        theirs = around.sum(x, seen * self.neighbours[number]) * around.shares
        h: Tensor = (own + theirs).add_(self.biases[number])
        return h


class GinEncoder(MessagePassing):
    """ReLU((h_i + sum over neighbours j of h_j) W + b) V + c (Xu et al. 2019, with epsilon 0)."""

    def __init__(self, *sizes: Any, generator: torch.Generator | None = None, **settings: Any):
        super().__init__(*sizes, generator=generator, **settings)
        units = [weight.shape[1] for weight in self.weights]
        self.second = nn.ParameterList(glorot(n, n, generator) for n in units)
        self.second_biases = nn.ParameterList(nn.Parameter(torch.zeros(n)) for n in units)

    def layer(self, number: int, x: Matrix, seen: Tensor, around: "Neighbours") -> Tensor:
        """See the class."""
        summed = around.sum(x, seen * self.weights[number], with_self=True)
        inner = (summed + self.biases[number]).relu_()
        h: Tensor = (inner @ self.second[number]).add_(self.second_biases[number])
        return h


class GatEncoder(MessagePassing):
    """Sum over neighbours j and i itself of a_ij W h_j, plus b (Velickovic et al. 2018).

    Every layer but the last has 8 heads, or as many as divide its units; see `attention.py`.
    """

    def __init__(self, *sizes: Any, generator: torch.Generator | None = None, **settings: Any):
        super().__init__(*sizes, generator=generator, **settings)
        self.receive, self.send = nn.ParameterList(), nn.ParameterList()
        for number, weight in enumerate(self.weights):
            last = number + 1 == len(self.weights)
            heads = 1 if last else math.gcd(HEADS, weight.shape[1])
            for role in (self.receive, self.send):
                role.append(glorot(heads, weight.shape[1] // heads, generator))

    def layer(self, number: int, x: Matrix, seen: Tensor, around: "Neighbours") -> Tensor:
        """See the class."""
        projected = x @ (seen * self.weights[number])
        heads, units = self.receive[number].shape
        split = projected.view(-1, heads, units)
        receive, send = ((split * w[number]).sum(2) for w in (self.receive, self.send))
        return mix(attend(receive, send, around.links), projected, around.links).add_(
            self.biases[number]
        )


class Neighbours:
    """Who is a neighbour of whom, from an operator of a graph with self-loops, `(N, N)`.

    Attributes:
        ones: A + I, `(N, N)`.
        shares: 1 / number of neighbours, and 0 where there are none, `(N, 1)`.
    """

    def __init__(self, operator: Matrix) -> None:
        self.crow, self.col = operator.data.crow_indices(), operator.data.col_indices()
        values, shape = operator.data.values(), (operator.shape[0], operator.shape[1])
        ones = csr_tensor(self.crow, self.col, torch.ones_like(values), shape)
        self.ones = Matrix(ones, symmetric=True)
        count = (self.crow.diff() - 1).to(values.dtype)
        self.shares = torch.where(count > 0, 1 / count, 0)[:, None]

    @cached_property
    def links(self) -> Links:
        """Each node with its neighbours and itself."""
        return Links(self.crow, torch.repeat_interleave(self.crow.diff()), self.col)

    def sum(self, x: Matrix, weight: Tensor, *, with_self: bool = False) -> Tensor:
        """Sum of the rows of X W over neighbours, and the node itself if wanted."""
        if not x.data.requires_grad and averages_first(x, self.ones, weight.shape[1]):
            total = averaged(x, self.ones)
            return (total if with_self else total - x.dense) @ weight
        product = x @ weight
        total = self.ones @ product
        return total if with_self else total - product


def neighbours_of(operator: Matrix) -> Neighbours:
    """The neighbours in an operator's pattern; found once for an operator and kept with it."""
    kept: Neighbours | None = operator.__dict__.get("neighbours")
    if kept is None:
        kept = operator.__dict__["neighbours"] = Neighbours(operator)
    return kept
