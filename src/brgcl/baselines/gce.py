"""GCE: a loss between cross-entropy and mean absolute error, on the GCN.

    L_q(i) = (1 - p_i^q) / q        p_i = probability of the given label of node i

q -> 0 is cross-entropy, q = 1 the absolute error. The gradient is p_i^q times that of
cross-entropy, so labels that the network contradicts pull less; training also starts more slowly.

Truncated form (`truncate`): from epoch `prune_from` on, each tenth epoch,

    w_i = 1 if L_q(i) < L_k else 0,     L_k = (1 - k^q) / q,     loss = mean_i w_i (L_q(i) - L_k)

so that labels with a probability of k or less do not count until they are looked at again.
"""

from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Interval
from torch import Generator, Tensor
from torch_geometric.data import Data

from brgcl.baselines.shared.gcn_training import GCN_PRESETS, GCNConfig, make_gcn, run_gcn, train_gcn
from brgcl.baselines.shared.inputs import labelled_nodes
from brgcl.config import Count, Fraction, setting
from brgcl.contract import Fitted, Hook, Labels, Method
from brgcl.method.inputs import prepare

PRUNE_EVERY = 10  # epochs
SMALLEST = 1e-7  # probability below which p^q has no useful slope


@dataclass(frozen=True)
class GCEConfig(GCNConfig):
    """Settings of the generalised cross-entropy on a GCN."""

    epochs: Count = setting(
        300, "Training epochs; more than the GCN's because the loss starts flat."
    )
    q: Fraction = setting(0.7, "Between cross-entropy (near 0) and mean absolute error (1).")
    truncate: bool = setting(False, "Whether labels with a low probability stop counting.")
    k: Annotated[float, Interval(gt=0, lt=1)] = 0.5
    """Probability at or below which a label stops counting, if truncated."""
    prune_from: Count = setting(100, "First epoch at which labels may stop counting, if truncated.")


def generalized_cross_entropy(logits: Tensor, target: Tensor, q: float) -> Tensor:
    """L_q of each node, `(n,)`.

    Args:
        logits: `(n, C)`.
        target: Given labels, `(n,)`.
        q: Between cross-entropy (near 0) and absolute error (1).
    """
    p = logits.softmax(1).gather(1, target[:, None]).squeeze(1).clamp_min(SMALLEST)
    return (1 - p**q) / q


def prunes_at(epoch: int, config: GCEConfig) -> bool:
    """Whether the weights w are computed anew before this epoch, counted from 1."""
    return config.truncate and epoch >= config.prune_from and epoch % PRUNE_EVERY == 0


def fit(
    graph: Data, labels: Labels, config: GCEConfig, generator: Generator, report: Hook = None
) -> Fitted:
    """Train the GCN by L_q and return its last hidden layer and class probabilities."""
    labels, nodes = labelled_nodes(labels, "gce")
    given = labels.train[nodes]
    prepared = prepare(graph)
    network = make_gcn(prepared, config, labels.num_classes, generator)
    limit = (1 - config.k**config.q) / config.q  # L_k
    weight = torch.ones(nodes.numel())

    def loss(logits: Tensor, epoch: int) -> Tensor:
        nonlocal weight
        if prunes_at(epoch, config):
            with torch.no_grad():
                _, plain = run_gcn(network, prepared)
            weight = (generalized_cross_entropy(plain[nodes], given, config.q) < limit).float()
        values = generalized_cross_entropy(logits[nodes], given, config.q)
        return (weight * (values - limit)).mean() if config.truncate else values.mean()

    return train_gcn(prepared, labels, config, generator, loss, report, network).fitted()


METHOD = Method(
    name="gce",
    fit=fit,
    Config=GCEConfig,
    kind="classifier",
    citation=(
        "Zhang & Sabuncu, Generalized Cross Entropy Loss for Training Deep Neural "
        "Networks with Noisy Labels, NeurIPS 2018"
    ),
    cost="time and memory O(E h + N F h)",
    source="The GCN's authors",
    sources={
        "q": "The paper, as recalled, and a public re-implementation",
        "k": "A public re-implementation",
    },
    ours={
        "epochs": "the loss starts flat, the GCN's 200 are too few",
        "truncate": "with 20 labels per class, truncation can empty a class",
        "prune_from": "a third of the epochs, as epoch 40 of 120 in that re-implementation",
    },
    presets=GCN_PRESETS,
    deviations=(
        "The network is the GCN of this library instead of an image network.",
        (
            "The current network without dropout decides which labels are pruned; the "
            "re-implementation uses the best network so far."
        ),
    ),
)
