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
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from brgcl.baselines.contract import Reporter
from brgcl.method.encoder import Encoder, averaged, averages_first
from brgcl.method.sparse import Matrix
from brgcl.method.views import Diffusion

Operator = Matrix | Diffusion


class Discriminator(nn.Module):
    """score(h) = h' M s + c, from codes `(N, D)` and a summary `(D,)`."""

    def __init__(self, dim: int, generator: torch.Generator) -> None:
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
    *,
    dim: int,
    lr: float,
    epochs: int,
    patience: int,
    generator: torch.Generator,
    report: Reporter | None,
) -> Tensor:
    """Train until the loss has not fallen for `patience` epochs.

    Args:
        x: Attributes, `(N, F)`.
        operators: One `(N, N)` operator for each view.
        dim: D.
        lr: Learning rate of Adam.
        epochs: Most epochs.
        patience: Epochs without a lower loss after which to stop.
        generator: Source of randomness.
        report: Called after each epoch.

    Returns:
        The sum of the views' codes, `(N, D)`.
    """
    networks = nn.ModuleList(
        Encoder(x.shape[1], dim=dim, num_layers=1, activation="prelu", generator=generator)
        for _ in operators
    )
    discriminator = Discriminator(dim, generator)
    optimizer = torch.optim.Adam([*networks.parameters(), *discriminator.parameters()], lr=lr)
    views = list(zip(networks, operators, strict=True))
    lowest, waited, best = math.inf, 0, networks.state_dict()
    for epoch in range(1, epochs + 1):
        order = torch.randperm(x.shape[0], generator=generator)
        codes = [encode(network, x, operator, order) for network, operator in views]
        loss = infomax_loss(discriminator, codes)
        value = loss.item()
        waited += 1
        if value < lowest:
            lowest, waited = value, 0
            best = {name: weight.clone() for name, weight in networks.state_dict().items()}
        if report is not None:
            report(epoch, epochs, f"loss {value:.3f}")
        if waited == patience:
            break
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        del codes, loss  # else the next epoch's codes are made while these still take memory
    networks.load_state_dict(best)
    with torch.no_grad():
        found = [encode(network, x, operator)[0] for network, operator in views]
    return sum(found[1:], start=found[0])


def encode(
    network: nn.Module, x: Matrix, operator: Operator, order: Tensor | None = None
) -> list[Tensor]:
    """Codes of the nodes and, given an order, of the nodes with shuffled attributes, `(N, D)`."""
    assert isinstance(network, Encoder)
    (weight,), (bias,) = network.weights, network.biases
    if averages_first(x, operator, weight.shape[1]):  # then no gradient passes the operator
        mixed = [averaged(x, operator) @ weight]
        if order is not None:
            mixed.append((operator @ x.dense[order]) @ weight)
    else:
        projected = x @ weight
        rows = [projected] if order is None else [projected, projected[order]]
        mixed = [operator @ part for part in rows]
    return [network.activation(part.add_(bias)) for part in mixed]


def infomax_loss(discriminator: Discriminator, codes: Sequence[Sequence[Tensor]]) -> Tensor:
    """Binary cross-entropy of all scores, those of nodes and those of negatives.

    Args:
        discriminator: What scores a code against a summary.
        codes: For each view the codes of the nodes and of the negatives, `(N, D)` each.
    """
    summaries = [nodes.mean(0).sigmoid() for nodes, _ in codes]
    others = summaries[1:] + summaries[:1]
    losses = [
        F.softplus(-discriminator(nodes, summary)).mean()
        + F.softplus(discriminator(negatives, summary)).mean()
        for (nodes, negatives), summary in zip(codes, others, strict=True)
    ]
    return torch.stack(losses).mean() / 2
