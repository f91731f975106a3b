"""Forward correction: estimate how labels get mixed up, and mix predictions alike.

1. Train a GCN on the given labels.
2. T[c] = its probabilities at the node, of all nodes, that it is surest belongs to class c; that
   node is taken to be of class c, so T[c, d] estimates P(given d | true c).
3. Train a new GCN by cross-entropy of p T with the given labels:

       loss = -mean_i log (p_i T)[given label of i]

   It predicts p, before the mixing.
"""

from dataclasses import dataclass, replace
from functools import partial

import torch.nn.functional as F
from torch import Generator, Tensor
from torch_geometric.data import Data

from brgcl.baselines.shared.gcn_training import GCNConfig, fit_labels, gcn_method
from brgcl.baselines.shared.inputs import labelled_nodes, stages
from brgcl.config import Count, setting
from brgcl.contract import Fitted, Hook, Labels
from brgcl.method.inputs import prepare

SMALLEST = 1e-5  # probability below which a label is as unlikely as it can be


@dataclass(frozen=True)
class ForwardConfig(GCNConfig):
    """Settings of forward correction; those of the GCN hold for both of its trainings."""

    pretrain_epochs: Count = setting(
        200, "Epochs of the first training, from which T is estimated."
    )


def estimated_transition(probabilities: Tensor) -> Tensor:
    """T, the probabilities `(N, C)` at the surest node of each class, `(C, C)`."""
    return probabilities[probabilities.argmax(0)]


def forward_cross_entropy(logits: Tensor, target: Tensor, transition: Tensor) -> Tensor:
    """Mean cross-entropy of p T, from logits `(n, C)`, given labels `(n,)` and T `(C, C)`."""
    mixed = logits.softmax(1) @ transition
    return F.nll_loss(mixed.clamp_min(SMALLEST).log(), target)


def fit(
    graph: Data, labels: Labels, config: ForwardConfig, generator: Generator, report: Hook = None
) -> Fitted:
    """Train, estimate T, train anew; returns the second GCN's hidden layer and probabilities."""
    labels, nodes = labelled_nodes(labels, "forward")
    given = labels.train[nodes]
    prepared = prepare(graph)
    shorter = replace(config, epochs=config.pretrain_epochs)
    one, two = stages(report, config.pretrain_epochs, config.epochs)
    first = fit_labels(prepared, labels, nodes, given, shorter, generator, one)
    assert first.probabilities is not None, "a GCN predicts"
    transition = estimated_transition(first.probabilities)
    loss = partial(forward_cross_entropy, transition=transition)
    return fit_labels(prepared, labels, nodes, given, config, generator, two, loss)


METHOD = gcn_method(
    name="forward",
    fit=fit,
    Config=ForwardConfig,
    citation="Patrini et al., Making Deep Neural Networks Robust to Label Noise: a Loss Correction "
    "Approach, CVPR 2017",
    cost="time O(E h + N F h), two trainings; memory the same",
    sources={
        "epochs": "The NoisyGL benchmark",
        "pretrain_epochs": "The NoisyGL benchmark",
    },
    deviations=(
        "The networks are GCNs instead of image networks.",
        "p T is kept above 1e-5, while the NoisyGL benchmark keeps p above it. That benchmark "
        "also averages over all N C entries, which makes the loss C times smaller, and looks "
        "for the most confident node among those predicted to be in the class.",
        "Validation labels choose the epoch of both networks.",
    ),
)
