"""Forward correction: estimate how labels get mixed up, and mix predictions alike.

1. Train a GCN on the given labels.
2. T[c] = its probabilities at the node, of all nodes, that it is surest belongs to class c; that
   node is taken to be of class c, so T[c, d] estimates P(given d | true c).
3. Train a new GCN by cross-entropy of p T with the given labels:

       loss = -mean_i log (p_i T)[given label of i]

   It predicts p, before the mixing.
"""

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Data

from brgcl.baselines.shared.gcn_training import GCN_PRESETS, GCNConfig, fit_labels, train_gcn
from brgcl.baselines.shared.inputs import labelled_nodes, stage
from brgcl.config import Count, setting
from brgcl.contract import Fitted, Method, ObservedLabels, Reporter
from brgcl.method.inputs import prepare

SMALLEST = 1e-5  # probability below which a label is as unlikely as it can be


@dataclass(frozen=True)
class ForwardConfig(GCNConfig):
    """Settings of forward correction; those of the GCN hold for both of its trainings."""

    pretrain_epochs: Count = setting(
        200, "Epochs of the first training, from which T is estimated."
    )


def estimated_transition(probabilities: Tensor) -> Tensor:
    """T, the probabilities at the surest node of each class, `(C, C)`; rows sum to 1.

    Args:
        probabilities: Of a network that learned the given labels, `(N, C)`.
    """
    return probabilities[probabilities.argmax(0)]


def forward_cross_entropy(logits: Tensor, target: Tensor, transition: Tensor) -> Tensor:
    """Mean cross-entropy of the mixed predictions p T.

    Args:
        logits: `(n, C)`.
        target: Given labels, `(n,)`.
        transition: T, `(C, C)`.
    """
    mixed = logits.softmax(1) @ transition
    return F.nll_loss(mixed.clamp_min(SMALLEST).log(), target)


def fit(
    graph: Data,
    labels: ObservedLabels | None,
    config: ForwardConfig,
    generator: torch.Generator,
    report: Reporter | None = None,
) -> Fitted:
    """Train, estimate T, train anew; returns the second GCN's hidden layer and probabilities."""
    labels, nodes = labelled_nodes(labels, "forward")
    given = labels.train[nodes]
    prepared = prepare(graph)
    total = config.pretrain_epochs + config.epochs
    shorter = replace(config, epochs=config.pretrain_epochs)
    first = fit_labels(prepared, labels, nodes, given, shorter, generator, stage(report, 0, total))
    assert first.probabilities is not None, "a GCN predicts"
    transition = estimated_transition(first.probabilities)
    return train_gcn(
        prepared,
        labels,
        config,
        generator,
        lambda logits, _: forward_cross_entropy(logits[nodes], given, transition),
        stage(report, config.pretrain_epochs, total),
    ).fitted()


METHOD = Method(
    name="forward",
    fit=fit,
    Config=ForwardConfig,
    kind="classifier",
    citation=(
        "Patrini et al., Making Deep Neural Networks Robust to Label Noise: a Loss "
        "Correction Approach, CVPR 2017"
    ),
    cost="time O(E h + N F h), two trainings; memory the same",
    source="The GCN's authors",
    sources={
        "epochs": "The NoisyGL benchmark",
        "pretrain_epochs": "The NoisyGL benchmark",
    },
    presets=GCN_PRESETS,
    deviations=(
        "GCNs instead of image networks.",
        (
            "p T is kept above 1e-5 where the NoisyGL benchmark keeps p above it; that "
            "benchmark also averages over all N C entries, which makes the loss C times "
            "smaller, and looks for the surest node among those predicted to be of the "
            "class."
        ),
        "Validation labels choose the epoch of both networks.",
    ),
)
