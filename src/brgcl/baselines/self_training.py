"""Self-training: let a GCN label the nodes that it is surest of, and train a new one on them too.

1. Train a GCN on the given labels.
2. For each class c take the t_c unlabelled nodes predicted c with the highest probability:

       eta = N / d^2,    t_c = floor(factor * eta * n_c / n)

   d is the mean degree, n_c the number of labels of class c, n that of all labels. eta is about how
   many labels a network of two layers needs to reach all nodes.
3. Train a new GCN on the given labels and these. There is one round.
"""

from dataclasses import dataclass

import torch
from torch import Generator, Tensor
from torch_geometric.data import Data

from brgcl.baselines.shared.gcn_training import GCNConfig, fit_labels, gcn_method
from brgcl.baselines.shared.inputs import labelled_nodes, stages
from brgcl.config import Weight, setting
from brgcl.contract import Fitted, Hook, Labels
from brgcl.method.graph import Adjacency
from brgcl.method.inputs import prepare


@dataclass(frozen=True)
class SelfTrainingConfig(GCNConfig):
    """Settings of self-training; those of the GCN hold for both of its trainings."""

    factor: Weight = setting(3.0, "How many times eta labels are added.")


def quotas(labels: Tensor, num_classes: int, adjacency: Adjacency, factor: float) -> Tensor:
    """t_c, the number of nodes to add for each class, `(C,)`, from the given labels `(n,)`."""
    degree = max(2 * adjacency.num_edges / adjacency.num_nodes, 1)
    eta = adjacency.num_nodes / degree**2
    count = torch.bincount(labels, minlength=num_classes).double()
    return (factor * eta * count / count.sum()).floor().long()


def surest_nodes(probabilities: Tensor, free: Tensor, quota: Tensor) -> tuple[Tensor, Tensor]:
    """The most confident unlabelled nodes of each predicted class, and these classes.

    Args:
        probabilities: `(N, C)`.
        free: Mask of the nodes without a label, `(N,)`.
        quota: How many nodes to take from each class, `(C,)`; fewer where there are no more.
    """
    confidence, predicted = probabilities.max(1)
    chosen = []
    for c, most in enumerate(quota.tolist()):
        candidates = (free & (predicted == c)).nonzero().squeeze(1)
        order = confidence[candidates].argsort(descending=True, stable=True)
        chosen.append(candidates[order[:most]])
    nodes = torch.cat(chosen)
    return nodes, predicted[nodes]


def fit(
    graph: Data,
    labels: Labels,
    config: SelfTrainingConfig,
    generator: Generator,
    report: Hook = None,
) -> Fitted:
    """Train, add labels, train anew; returns the second GCN's hidden layer and probabilities."""
    labels, nodes = labelled_nodes(labels, "self-training")
    given = labels.train[nodes]
    prepared = prepare(graph)
    one, two = stages(report, config.epochs, config.epochs)
    first = fit_labels(prepared, labels, nodes, given, config, generator, one)
    assert first.probabilities is not None, "a GCN predicts"
    quota = quotas(given, labels.num_classes, prepared.adjacency, config.factor)
    added, guessed = surest_nodes(first.probabilities, labels.train < 0, quota)
    nodes, given = torch.cat([nodes, added]), torch.cat([given, guessed])
    return fit_labels(prepared, labels, nodes, given, config, generator, two)


METHOD = gcn_method(
    name="self-training",
    fit=fit,
    Config=SelfTrainingConfig,
    citation="Li, Han & Wu, Deeper Insights into Graph Convolutional Networks for Semi-Supervised "
    "Learning, AAAI 2018",
    cost="time O(E h + N F h), two trainings; memory the same",
    sources={
        "epochs": "The authors' code, for each of the two networks",
        "factor": "The authors' code",
    },
    space={
        "factor": (1.0, 3.0, 5.0),
        "hidden": (16, 64),
        "dropout": (0.3, 0.5, 0.8),
        "lr": (0.005, 0.01, 0.02),
        "weight_decay": (5e-5, 5e-4, 5e-3),
    },
    deviations=(
        "Validation labels, if there are any, choose the epoch of both networks; the authors "
        "use none.",
        "A mean degree below 1 counts as 1, so eta is finite on a graph without edges.",
        "This is only the self-training variant of the authors' four.",
    ),
)
