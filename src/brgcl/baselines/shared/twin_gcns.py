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

import torch
from torch import Tensor

from brgcl.baselines.shared.descent import descend
from brgcl.baselines.shared.gcn_training import BestEpoch, GCNConfig, make_gcn, run_gcn
from brgcl.config import Count, Share, setting
from brgcl.contract import ObservedLabels, Reporter
from brgcl.method.graph import Graph


@dataclass(frozen=True)
class PeersConfig(GCNConfig):
    """Settings of two GCNs that learn from small losses."""

    forget_rate: Share = setting(
        0.2, "Share of labels left out in the end; should be the share of wrong labels."
    )
    ramp_epochs: Count = setting(200, "Epochs over which the share left out grows from 0.")


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
    config: GCNConfig,
    generator: torch.Generator,
    loss: Callable[[Tensor, Tensor, int], Tensor],
    report: Reporter | None = None,
) -> BestEpoch:
    """Train two GCNs that differ in their random weights and dropout.

    Args:
        graph: The prepared graph.
        labels: Of these only the validation part and the number of classes are read here.
        config: Settings.
        generator: Source of randomness.
        loss: Loss from the logits of both networks for all nodes, `(N, C)` each, taken with
            dropout, and the epoch, counted from 1. It is the sum of what either learns from; Adam
            scales each weight alone, so one optimiser serves both.
        report: Called after each epoch.
    """
    pair = [make_gcn(graph, config, labels.num_classes, generator) for _ in range(2)]
    weights = [weight for network in pair for weight in network.parameters()]
    optimizer = torch.optim.Adam(weights, lr=config.lr, weight_decay=config.weight_decay)
    best = BestEpoch(labels.validation)
    for epoch in range(1, config.epochs + 1):
        first, second = (run_gcn(network, graph, config.dropout, generator)[1] for network in pair)
        value = loss(first, second, epoch)
        descend(optimizer, value)
        if best.wants(last=epoch == config.epochs):
            with torch.no_grad():
                hidden, logits = zip(*(run_gcn(network, graph) for network in pair), strict=True)
                best.offer(torch.cat(hidden, dim=1), mean_log_probabilities(*logits))
        if report is not None:
            report(epoch, config.epochs, f"loss {value.item():.3f}")
    return best
