"""GCN: two rounds of normalised neighbour averaging, trained on the labels as they are.

H = ReLU(A dropout(X) W0 + b0), logits = A dropout(H) W1 + b1, cross-entropy on labelled nodes.

Kipf & Welling, Semi-Supervised Classification with Graph Convolutional Networks, ICLR 2017.
Differences: the L2 penalty covers both layers; the epoch with the best validation accuracy is
kept (the last one where there are no validation labels) instead of stopping early.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Data

from brgcl.baselines.contract import Fitted, ObservedLabels, Reporter
from brgcl.config import check_types, require
from brgcl.errors import InputError
from brgcl.method.attributes import learn_preparation
from brgcl.method.encoder import Encoder
from brgcl.method.graph import adjacency_from_edges
from brgcl.method.sparse import Matrix


@dataclass(frozen=True)
class GCNConfig:
    """Settings of the GCN, those of its authors."""

    hidden: int = 16
    """Units of the hidden layer."""
    dropout: float = 0.5
    """Share of attributes and of hidden units dropped."""
    lr: float = 0.01
    """Learning rate of Adam."""
    weight_decay: float = 5e-4
    """L2 penalty in Adam."""
    epochs: int = 200
    """Training epochs."""

    def __post_init__(self) -> None:
        """Check every field."""
        check_types(self)
        for name in ("hidden", "epochs"):
            require(self, name, getattr(self, name) >= 1, "at least 1")
        require(self, "lr", self.lr > 0, "above 0")
        require(self, "weight_decay", self.weight_decay >= 0, "0 or more")
        require(self, "dropout", 0 <= self.dropout < 1, "in [0, 1)")


def fit(
    graph: Data,
    labels: ObservedLabels | None,
    config: GCNConfig,
    generator: torch.Generator,
    report: Reporter | None = None,
) -> Fitted:
    """Train the GCN and return its last hidden layer and class probabilities."""
    if labels is None or not bool((labels.train >= 0).any()):
        raise InputError("gcn learns from labels, and none are given; brgcl needs none")
    x = learn_preparation(graph.x).apply(graph.x)
    adjacency = adjacency_from_edges(
        graph.edge_index, x.shape[0], graph.get("edge_weight")
    ).normalized
    network = Encoder(x.shape[1], hidden=config.hidden, dim=labels.num_classes, generator=generator)
    optimizer = torch.optim.Adam(
        network.parameters(), lr=config.lr, weight_decay=config.weight_decay
    )
    nodes = (labels.train >= 0).nonzero().squeeze(1)
    best, kept = -1.0, _forward(network, x, adjacency)
    for epoch in range(1, config.epochs + 1):
        optimizer.zero_grad(set_to_none=True)
        _, logits = _forward(network, x, adjacency, config.dropout, generator)
        loss = F.cross_entropy(logits[nodes], labels.train[nodes])
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if labels.validation is not None or epoch == config.epochs:
            with torch.no_grad():
                hidden, logits = _forward(network, x, adjacency)
            score = _score(logits, labels.validation)
            if score > best:
                best, kept = score, (hidden, logits)
        if report is not None:
            report(epoch, config.epochs, f"loss {loss.item():.3f}")
    hidden, logits = kept
    return Fitted(hidden.detach(), logits.detach().softmax(1))


def _forward(
    network: Encoder,
    x: Matrix,
    adjacency: Matrix,
    dropout: float = 0.0,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Hidden layer and logits; dropout falls on the stored attributes and on hidden units."""
    if dropout > 0 and generator is not None:
        x = x.dropout(dropout, generator)
    hidden = F.relu(adjacency @ (x @ network.weights[0]) + network.biases[0])
    used = hidden
    if dropout > 0 and generator is not None:
        kept = torch.rand(hidden.shape, generator=generator) >= dropout
        used = hidden * kept / (1 - dropout)
    return hidden, adjacency @ (used @ network.weights[1]) + network.biases[1]


def _score(logits: Tensor, validation: Tensor | None) -> float:
    if validation is None:
        return 0.0
    known = validation >= 0
    return float((logits[known].argmax(1) == validation[known]).float().mean())
