"""Codes that fit a summary of the graph: what DGI and MVGRL share.

Each view of the graph is an operator O_v with a one-layer encoder of its own:

    H_v = PReLU(O_v X W_v + b_v)        s_v = sigmoid(mean_i h_v,i)        score = h' M s + c

Negatives are codes of the same views with the rows of X shuffled. By binary cross-entropy, scores
of nodes are trained towards 1 and those of negatives towards 0, each against the summary of the
next view: its own where there is one view, the other's where there are two.

Shuffling X and multiplying by W is the same as shuffling X W, so wide attributes are multiplied
once and never copied; narrow ones are averaged by O_v first. The weights with the lowest training
loss are kept.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn
from torch.utils.checkpoint import checkpoint

from brgcl.baselines.shared.descent import descend
from brgcl.config import Count, Positive, Settings, setting
from brgcl.contract import Hook
from brgcl.machine import check_width
from brgcl.method.encoder import Encoder, averaged, averages_first
from brgcl.method.sparse import Matrix
from brgcl.method.views import Diffusion

Operator = Matrix | Diffusion


@dataclass(frozen=True)
class InfomaxConfig(Settings):
    """Settings of DGI; MVGRL adds its own."""

    dim: Count = setting(512, "Dimension of the representations.")
    lr: Positive = setting(1e-3, "Learning rate of Adam.")
    epochs: Count = setting(10000, "Most training epochs.")
    patience: Count = setting(20, "Stop when the training loss has not fallen for so many epochs.")


class Discriminator(nn.Module):
    """score(h) = h' M s + c, from codes `(N, D)` and a summary `(D,)`."""

    def __init__(self, dim: int, generator: Generator) -> None:
        super().__init__()
        bound = math.sqrt(6 / (dim * dim + dim))  # Glorot's for 1 x D x D, as the authors start
        weight = torch.empty(dim, dim).uniform_(-bound, bound, generator=generator)
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, codes: Tensor, summary: Tensor) -> Tensor:
        """Scores, `(N,)`."""
        return codes @ (self.weight @ summary) + self.bias


def train_infomax(
    x: Matrix,
    operators: Sequence[Operator],
    config: InfomaxConfig,
    generator: Generator,
    report: Hook,
) -> Tensor:
    """Train until the loss has not fallen for `patience` epochs.

    There is one `(N, N)` operator for each view; returns the sum of the views' codes, `(N, D)`.
    """
    check_width(*x.shape, *[config.dim] * (len(operators) + 1))
    encoders = [
        Encoder(x.shape[1], dim=config.dim, num_layers=1, activation="prelu", generator=generator)
        for _ in operators
    ]
    networks = nn.ModuleList(encoders)
    discriminator = Discriminator(config.dim, generator)
    weights = [*networks.parameters(), *discriminator.parameters()]
    optimizer = torch.optim.Adam(weights, lr=config.lr)
    views = list(zip(encoders, operators, strict=True))
    activations = [network.activation for network in encoders]
    lowest, waited, best = math.inf, 0, networks.state_dict()
    for epoch in range(1, config.epochs + 1):
        order = torch.randperm(x.shape[0], generator=generator)
        rows = [mix(network, x, operator, order) for network, operator in views]
        loss = infomax_loss(discriminator, activations, rows)
        del rows  # the loss keeps what it needs, and lets go of it on the way back
        value = loss.item()
        waited += 1
        if value < lowest:
            lowest, waited = value, 0
            best = {name: weight.clone() for name, weight in networks.state_dict().items()}
        if report is not None:
            report(epoch, config.epochs, f"loss {value:.3f}")
        if waited == config.patience:
            break
        descend(optimizer, loss)
    networks.load_state_dict(best)
    with torch.no_grad():
        found: list[Tensor] = [
            activation(mix(network, x, operator)[0])
            for activation, (network, operator) in zip(activations, views, strict=True)
        ]
    return sum(found[1:], start=found[0])


def mix(
    network: Encoder, x: Matrix, operator: Operator, order: Tensor | None = None
) -> list[Tensor]:
    """O X W + b and, given an order, the same with shuffled X, `(N, D)`: codes before PReLU."""
    (weight,), (bias,) = network.weights, network.biases
    if averages_first(x, operator, weight.shape[1]):  # then no gradient passes the operator
        found = [averaged(x, operator) @ weight]
        if order is not None:
            found.append((operator @ x.dense[order]) @ weight)
    else:
        projected = x @ weight
        rows = [projected] if order is None else [projected, projected[order]]
        found = [operator @ part for part in rows]
    return [part.add_(bias) for part in found]


def infomax_loss(
    discriminator: Discriminator,
    activations: Sequence[nn.Module],
    rows: Sequence[Sequence[Tensor]],
) -> Tensor:
    """Binary cross-entropy of all scores, those of nodes and those of negatives.

    Codes are made again on the way back instead of being kept beside what they are made from: by
    each view's activation, from its rows of the nodes and of the negatives, `(N, D)` each.
    """

    def summary(activation: nn.Module, rows: Tensor) -> Tensor:
        return activation(rows).mean(0).sigmoid()  # type: ignore[no-any-return]

    def scores(activation: nn.Module, rows: Tensor, summary: Tensor) -> Tensor:
        return discriminator(activation(rows), summary)  # type: ignore[no-any-return]

    def again(function: Callable[..., Tensor], *inputs: Any) -> Tensor:
        found: Tensor = checkpoint(function, *inputs, use_reentrant=False, preserve_rng_state=False)
        return found

    views = list(zip(activations, rows, strict=True))
    summaries = [again(summary, activation, nodes) for activation, (nodes, _) in views]
    others = summaries[1:] + summaries[:1]
    losses = [
        F.softplus(-again(scores, activation, nodes, other)).mean()
        + F.softplus(again(scores, activation, negatives, other)).mean()
        for (activation, (nodes, negatives)), other in zip(views, others, strict=True)
    ]
    return torch.stack(losses).mean() / 2
