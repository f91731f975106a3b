"""A GCN of two layers trained by any loss on its logits: what most methods with labels share.

    hidden = ReLU(A dropout(X) W0 + b0)
    logits = A dropout(hidden) W1 + b1          A = D^-1/2 (A + I) D^-1/2

The epoch with the best validation accuracy is kept (the first of equals), the last one where
there are no validation labels. Validation labels do nothing else.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from brgcl.baselines.shared.descent import descend
from brgcl.config import Count, Positive, Settings, Share, Weight, setting
from brgcl.contract import Fitted, Hook, Method, ObservedLabels
from brgcl.machine import check_width
from brgcl.method.encoder import Encoder
from brgcl.method.graph import Graph
from brgcl.method.sparse import Matrix

# The usual 5e-4 is too much for 15 classes and 6,805 attributes: GCE hardly learns them. Found on
# validation nodes.
GCN_PRESETS = {"coauthor-cs": {"weight_decay": 5e-5}}


@dataclass(frozen=True)
class GCNConfig(Settings):
    """Settings of a GCN, those of its authors; methods built on it add their own."""

    hidden: Count = setting(16, "Units of the hidden layer.")
    dropout: Share = setting(0.5, "Share of attributes and of hidden units dropped.")
    lr: Positive = setting(0.01, "Learning rate of Adam.")
    weight_decay: Weight = setting(5e-4, "L2 penalty in Adam.")
    epochs: Count = setting(200, "Training epochs.")


def gcn_method(
    *,
    cost: str = "time and memory O(E h + N F h)",
    source: str = "The GCN's authors",
    **facts: Any,
) -> Method:
    """State the facts of a method that trains GCNs on labels; most are those of the GCN."""
    return Method(kind="classifier", cost=cost, source=source, presets=GCN_PRESETS, **facts)


class BestEpoch:
    """The hidden layer and logits of the epoch that validation labels choose, or of the last."""

    def __init__(self, validation: Tensor | None) -> None:
        self.validation = validation
        self.known = None if validation is None else (validation >= 0).nonzero().squeeze(1)
        self.score = -1.0
        self.hidden = self.logits = torch.empty(0)

    def wants(self, *, last: bool) -> bool:
        """Whether an epoch can be chosen at all, so that it is worth a pass over the graph."""
        return last or self.validation is not None

    def offer(self, hidden: Tensor, logits: Tensor) -> bool:
        """Show an epoch's output, computed without dropout; returns whether it is the best."""
        score = 0.0
        if self.validation is not None and self.known is not None:
            right = logits[self.known].argmax(1) == self.validation[self.known]
            score = float(right.float().mean())
        if score <= self.score and self.validation is not None:
            return False
        self.score, self.hidden, self.logits = score, hidden.detach(), logits.detach()
        return True

    def fitted(self) -> Fitted:
        """The chosen epoch as a method's result."""
        return Fitted(self.hidden, self.logits.softmax(1))


def make_gcn(graph: Graph, config: GCNConfig, num_classes: int, generator: Generator) -> Encoder:
    """Make a two-layer network with random weights."""
    check_width(*graph.x.shape, config.hidden, num_classes)
    return Encoder(graph.x.shape[1], hidden=config.hidden, dim=num_classes, generator=generator)


def run_gcn(
    network: Encoder, graph: Graph, dropout: float = 0.0, generator: Generator | None = None
) -> tuple[Tensor, Tensor]:
    """Hidden layer and logits; dropout falls on the stored attributes and on hidden units."""
    x, adjacency = graph.x, graph.adjacency.normalized
    if dropout > 0 and generator is not None:
        x = x.dropout(dropout, generator)
    return convolve(network, x, lambda h: adjacency @ h, dropout, generator)


def convolve(
    network: Encoder,
    x: Matrix,
    mix: Callable[[Tensor], Tensor],
    dropout: float = 0.0,
    generator: Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Hidden layer and logits with any operator as A; dropout falls on hidden units alone."""
    hidden = F.relu(mix(x @ network.weights[0]) + network.biases[0])
    used = hidden
    if dropout > 0 and generator is not None:
        used = hidden * (torch.rand(hidden.shape, generator=generator) >= dropout) / (1 - dropout)
    return hidden, mix(used @ network.weights[1]) + network.biases[1]


def train_gcn(
    graph: Graph,
    labels: ObservedLabels,
    config: GCNConfig,
    generator: Generator,
    loss: Callable[[Tensor, int], Tensor],
    report: Hook = None,
    network: Encoder | None = None,
) -> BestEpoch:
    """Train a GCN.

    Args:
        graph: The prepared graph.
        labels: Only the validation labels and the number of classes are read.
        config: Settings.
        generator: Source of randomness.
        loss: Loss from the logits of all nodes `(N, C)`, with dropout, and the epoch, from 1.
        report: Called after each epoch.
        network: A network to train further; by default a new one.
    """
    network = network or make_gcn(graph, config, labels.num_classes, generator)
    weights = network.parameters()
    optimizer = torch.optim.Adam(weights, lr=config.lr, weight_decay=config.weight_decay)
    best = BestEpoch(labels.validation)
    for epoch in range(1, config.epochs + 1):
        _, logits = run_gcn(network, graph, config.dropout, generator)
        value = loss(logits, epoch)
        descend(optimizer, value)
        if best.wants(last=epoch == config.epochs):
            with torch.no_grad():
                best.offer(*run_gcn(network, graph))
        if report is not None:
            report(epoch, config.epochs, f"loss {value.item():.3f}")
    return best


def fit_labels(
    graph: Graph,
    labels: ObservedLabels,
    nodes: Tensor,
    given: Tensor,
    config: GCNConfig,
    generator: Generator,
    report: Hook = None,
    loss: Callable[[Tensor, Tensor], Tensor] | None = None,
) -> Fitted:
    """Train a GCN on some nodes `(n,)` and their labels `(n,)`; otherwise as `train_gcn`.

    The loss takes the nodes' logits `(n, C)` and their labels; it is cross-entropy by default.
    """

    def of_nodes(logits: Tensor, _: int) -> Tensor:
        return (loss or F.cross_entropy)(logits[nodes], given)

    return train_gcn(graph, labels, config, generator, of_nodes, report).fitted()
