"""CLNode: learn from easy labels first, and let the hard ones, often wrong, join later.

1. Train a GCN on the given labels; every node gets its given label or else its prediction.
2. Difficulty of a labelled node u = local + alpha * global:

       local  = -sum_c s_c log s_c        s_c = share of class c among u and its neighbours
       global = 1 / r                     r = m / (mean of m over the labelled nodes of u's class)
       m      = C z_u . m_y / sum_c z_u . m_c

   z are the network's probabilities, scaled to length 1; m_c is the mean of z over the nodes of
   class c, scaled to length 1; y is the given label. An r above 0.95 counts as 1.
3. Train a new GCN; in epoch t (from 0) on the easiest share of the labels

       share = min(1, start_share^(1 - t / full_after))
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Generator, Tensor
from torch_geometric.data import Data

from brgcl.baselines.shared.gcn_training import GCNConfig, fit_labels, gcn_method, train_gcn
from brgcl.baselines.shared.inputs import labelled_nodes, stages
from brgcl.config import Count, Fraction, Weight, setting
from brgcl.contract import Fitted, Hook, Labels
from brgcl.method.inputs import prepare
from brgcl.method.sparse import Matrix

TYPICAL = 0.95  # relative similarity from which on a node is as typical as any
LEAST = 1e-6  # relative similarity of the hardest nodes


@dataclass(frozen=True)
class CLNodeConfig(GCNConfig):
    """Settings of CLNode; those of the GCN hold for both of its trainings."""

    epochs: Count = setting(500, "Training epochs of each network.")
    alpha: Weight = setting(1.0, "Weight of the global difficulty beside the local one.")
    start_share: Fraction = setting(
        0.75, "Share of the labels, the easiest, learned from at first."
    )
    full_after: Count = setting(100, "Epochs until all labels are learned from.")


def local_difficulty(classes: Tensor, transition: Matrix, num_classes: int) -> Tensor:
    """Entropy of the classes `(N,)` around each node, itself included, `(N,)`."""
    share = transition @ F.one_hot(classes, num_classes).float()
    entropy: Tensor = torch.special.entr(share).sum(1)
    return entropy


def global_difficulty(codes: Tensor, classes: Tensor, nodes: Tensor, num_classes: int) -> Tensor:
    """How untypical some nodes are of their class, `(n,)`, from 1 for typical ones.

    Args:
        codes: Positive codes of all nodes, `(N, D)`.
        classes: Class of each node, `(N,)`.
        nodes: The nodes, `(n,)`.
        num_classes: C.
    """
    member = F.one_hot(classes, num_classes).float()
    z = F.normalize(codes)
    means = F.normalize(member.T @ z)  # (C, D), zero for a class without nodes
    similarity = z[nodes] @ means.T  # (n, C)
    present = int((member.sum(0) > 0).sum())
    own = classes[nodes]
    m = present * similarity.gather(1, own[:, None]).squeeze(1) / similarity.sum(1)
    count = torch.bincount(own, minlength=num_classes).clamp_min(1)
    mean = torch.zeros(num_classes).index_add_(0, own, m) / count
    r = m / mean[own]
    return 1 / torch.where(r > TYPICAL, 1, r.clamp_min(LEAST))


def learned_share(epoch: int, config: CLNodeConfig) -> float:
    """Share of the labels learned from in an epoch, counted from 1."""
    return min(1.0, math.pow(config.start_share, 1 - (epoch - 1) / config.full_after))


def fit(
    graph: Data, labels: Labels, config: CLNodeConfig, generator: Generator, report: Hook = None
) -> Fitted:
    """Train, rank the labels, train anew; returns the second GCN's hidden layer and output."""
    labels, nodes = labelled_nodes(labels, "clnode")
    prepared = prepare(graph)
    C, given = labels.num_classes, labels.train[nodes]
    one, two = stages(report, config.epochs, config.epochs)
    first = fit_labels(prepared, labels, nodes, given, config, generator, one)
    assert first.probabilities is not None, "a GCN predicts"
    classes = torch.where(labels.train >= 0, labels.train, first.probabilities.argmax(1))
    difficulty = local_difficulty(classes, prepared.adjacency.transition, C)[nodes]
    difficulty += config.alpha * global_difficulty(first.probabilities, classes, nodes, C)
    ranked = nodes[difficulty.argsort(stable=True)]

    def loss(logits: Tensor, epoch: int) -> Tensor:
        easy = ranked[: max(1, int(learned_share(epoch, config) * ranked.numel()))]
        return F.cross_entropy(logits[easy], labels.train[easy])

    return train_gcn(prepared, labels, config, generator, loss, two).fitted()


METHOD = gcn_method(
    name="clnode",
    fit=fit,
    Config=CLNodeConfig,
    citation="Wei et al., CLNode: Curriculum Learning for Node Classification, WSDM 2023",
    cost="time O(E h + N F h), two trainings; memory the same",
    source="The authors' code",
    sources={
        "dropout": "The authors' code, for hidden units and logits",
        "epochs": "The authors' code, for each of the two networks",
        "start_share": "lambda; the authors search 0.25, 0.5 and 0.75 and record 0.75 for Cora",
        "full_after": "T; the authors search 50, 100 and 200 and record 100 for Cora",
    },
    deviations=(
        "The method does not search the two settings of the schedule; the authors train nine "
        "networks and choose by validation accuracy.",
        "The authors stop after 50 epochs without progress; here all epochs run and the best "
        "one is kept.",
        "Their first network has a perceptron after its convolutions, and z is the softmax of "
        "its 16 inputs; here z are class probabilities.",
        "Dropout applies to attributes and hidden units, as in `gcn`.",
        "Neighbours are weighted by edge weight, if edges have weights.",
    ),
)
