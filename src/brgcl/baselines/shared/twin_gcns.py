"""Two GCNs trained side by side on labels with a small loss: what Co-teaching and JoCoR share.

Wrong labels are learned late, so for a while a large loss marks them. In epoch t the share

    R(t) = 1 - forget_rate * min(t / ramp_epochs, 1)

of the labelled nodes with the smallest loss is learned from. An epoch is one step here: with the
image networks' ramp of 10 epochs, which are thousands of steps there, the networks would forget
whole classes before they have learned them.

The prediction is the mean of the two networks' probabilities; the representation is both hidden
layers side by side.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Generator, Tensor

from brgcl.baselines.shared.descent import descend
from brgcl.baselines.shared.gcn_training import BestEpoch, GCNConfig, gcn_method, make_gcn, run_gcn
from brgcl.config import Count, Share, setting
from brgcl.contract import Hook, Method, ObservedLabels
from brgcl.method.graph import Graph


@dataclass(frozen=True)
class PeersConfig(GCNConfig):
    """Settings of two GCNs that learn from small losses."""

    forget_rate: Share = setting(
        0.2, "Share of labels left out in the end; should be the share of wrong labels."
    )
    ramp_epochs: Count = setting(200, "Epochs over which the share left out grows from 0.")


def peers_method(sources: dict[str, str], **facts: Any) -> Method:
    """State the facts of a method that trains two GCNs, with the sources of its own settings."""
    shared = {
        "epochs": "The authors' code, and the GCN's",
        "forget_rate": "The authors: the true noise rate; 0.2 is that of the NoisyGL benchmark",
    }
    return gcn_method(
        cost="time and memory O(E h + N F h), twice",
        sources={**shared, **sources},
        ours={"ramp_epochs": "by validation accuracy, below; 10 in the authors' code"},
        oracle="the noise rate (forget_rate)",
        **facts,
    )


def kept_share(epoch: int, config: PeersConfig) -> float:
    """R(t), the share of labels learned from in an epoch, counted from 1."""
    return 1 - config.forget_rate * min(epoch / config.ramp_epochs, 1)


def smallest(losses: Tensor, share: float) -> Tensor:
    """Places of the smallest losses, the given share of all, at least one."""
    count = max(1, int(share * losses.numel()))
    return losses.detach().argsort(stable=True)[:count]


def mean_log_probabilities(first: Tensor, second: Tensor) -> Tensor:
    """Logarithm of the mean of two networks' probabilities, from their logits, `(N, C)`."""
    return torch.logaddexp(first.log_softmax(1), second.log_softmax(1)) - math.log(2)


def train_peers(
    graph: Graph,
    labels: ObservedLabels,
    nodes: Tensor,
    config: PeersConfig,
    generator: Generator,
    loss: Callable[[Tensor, Tensor, Tensor, float], Tensor],
    report: Hook = None,
) -> BestEpoch:
    """Train two GCNs that differ in their random weights and dropout.

    Args:
        graph: The prepared graph.
        labels: Labels to learn from, and validation labels to choose the epoch.
        nodes: Nodes with a label to learn from, `(n,)`.
        config: Settings.
        generator: Source of randomness.
        loss: Loss from the logits of both networks `(n, C)` with dropout, the given labels `(n,)`
            and R(t). It is the sum of what either learns from; Adam scales each weight alone, so
            one optimiser serves both.
        report: Called after each epoch.
    """
    given = labels.train[nodes]
    pair = [make_gcn(graph, config, labels.num_classes, generator) for _ in range(2)]
    weights = [weight for network in pair for weight in network.parameters()]
    optimizer = torch.optim.Adam(weights, lr=config.lr, weight_decay=config.weight_decay)
    best = BestEpoch(labels.validation)
    for epoch in range(1, config.epochs + 1):
        first, second = (run_gcn(network, graph, config.dropout, generator)[1] for network in pair)
        value = loss(first[nodes], second[nodes], given, kept_share(epoch, config))
        descend(optimizer, value)
        if best.wants(last=epoch == config.epochs):
            with torch.no_grad():
                hidden, logits = zip(*(run_gcn(network, graph) for network in pair), strict=True)
                best.offer(torch.cat(hidden, dim=1), mean_log_probabilities(*logits))
        if report is not None:
            report(epoch, config.epochs, f"loss {value.item():.3f}")
    return best
