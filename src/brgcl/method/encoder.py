"""The encoder g of the paper: graph convolutions with shared weights (Kipf & Welling 2017)."""

import itertools
import math

import torch
from torch import Tensor, nn

from brgcl.config import Activation
from brgcl.method.sparse import Matrix
from brgcl.method.views import Diffusion


class Encoder(nn.Module):
    """H = A σ(A X W₀ + b₀) W₁ + b₁, for any number of layers from one up.

    A masked attribute column of X is a masked row of W₀, so that X itself, sparse or dense, is
    never copied.

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
            bound = math.sqrt(6 / (fan_in + fan_out))
            weight = torch.empty(fan_in, fan_out).uniform_(-bound, bound, generator=generator)
            self.weights.append(nn.Parameter(weight))
            self.biases.append(nn.Parameter(torch.zeros(fan_out)))
        # in place: the backward pass of these needs the result alone, so the input is not kept
        self.activation: nn.Module = {
            "relu": nn.ReLU(inplace=True),
            "prelu": nn.PReLU(),
            "elu": nn.ELU(inplace=True),
        }[activation]

    def forward(
        self, x: Matrix, adjacency: Matrix | Diffusion, columns: Tensor | None = None
    ) -> Tensor:
        """Compute representations, `(N, D)`.

        Args:
            x: Attributes, `(N, F)`.
            adjacency: The operator that mixes neighbours, `(N, N)`.
            columns: 1 for attributes that are seen, 0 for masked ones, `(F,)`; None sees all.
        """
        h: Tensor | None = None
        for weight, bias in zip(self.weights, self.biases, strict=True):
            if h is None:
                h = x @ (weight if columns is None else columns[:, None] * weight)
            else:
                h = self.activation(h) @ weight
            h = (adjacency @ h).add_(bias)
        assert h is not None, "an encoder has at least one layer"
        return h
