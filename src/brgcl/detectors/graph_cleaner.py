"""A detector in the manner of GraphCleaner: a classifier of labels, trained on synthetic mislabels.

1. The labels are split into five folds. For each fold a GCN is trained on the other four and
   predicts all nodes, P. The confident joint of these predictions on the held-out nodes gives an
   estimate of the transition matrix.
2. Half of the labels are replaced by others, drawn from the row of the transition matrix.
3. With S = D^-1/2 A D^-1/2 and the given labels L as one-hot rows, the features of a label c of
   node i in the fold are

       P_ic, (S P)_ic, (S² P)_ic, (S³ P)_ic, (S L)_ic, (S² L)_ic, (S³ L)_ic,

   where the diagonals of S² and S³ are set to 0, so that no label counts for itself.
4. A perceptron with 32 units is trained to tell the replaced labels from the others, on all folds
   but one, and gives the probability that a label of that fold is wrong.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn
from torch_geometric.data import Data

from brgcl.baselines.shared.descent import descend
from brgcl.baselines.shared.inputs import seeded
from brgcl.contract import Fitted, Hook
from brgcl.detectors.contract import Detected, Detector
from brgcl.detectors.out_of_fold import FOLDS, deal_folds, train_on_folds

HIDDEN = 32
EPOCHS = 500
RATE = 1e-3  # of Adam
WEIGHT_DECAY = 5e-4
REPLACED = 0.5  # share of the labels that are replaced
THRESHOLD = 0.97  # probability above which a label is wrong


def detect(
    graph: Data,
    labels: Tensor,
    config: Any,
    generator: Generator,
    fitted: Fitted | None = None,
    report: Hook = None,
) -> Detected:
    """Train a GCN on each fold, replace labels, and train the classifier of labels."""
    fold = deal_folds(labels, generator)
    nodes = (labels >= 0).nonzero().squeeze(1)
    given, C = labels[nodes], int(labels.max()) + 1
    fit_predict = train_on_folds("gcn", graph, C, config, generator, report)
    predicted = [fit_predict(labels.masked_fill(fold == k, -1), k) for k in range(FOLDS)]
    held_out = torch.stack(predicted)[fold[nodes], nodes]  # (L, C)

    replaced = replace_labels(given, transition_of_joint(held_out, given), generator)
    steps = Steps.of(graph.edge_index, len(labels))
    as_given, as_replaced = torch.empty(len(nodes), 7), torch.empty(len(nodes), 7)
    for k, proba in enumerate(predicted):
        values = torch.stack(steps.features(proba, labels), 2)[nodes]  # (L, C, 7)
        here = fold[nodes] == k
        as_given[here] = entries(values, given)[here]
        as_replaced[here] = entries(values, replaced)[here]

    wrong = torch.empty(len(nodes))
    for k in range(FOLDS):
        here = fold[nodes] == k
        if bool(here.any()):
            target = (replaced != given)[~here]
            network = train_classifier(as_replaced[~here], target, generator)
            with torch.no_grad():
                wrong[here] = network(as_given[here]).softmax(1)[:, 1]
    return Detected(nodes, 1 - wrong, held_out.argmax(1), wrong > THRESHOLD)


@dataclass(frozen=True)
class Steps:
    """Steps over the graph without the way back to where they began.

    Attributes:
        s: S, `(N, N)`.
        back2: Diagonal of S², `(N, 1)`.
        back3: Diagonal of S³, `(N, 1)`.
    """

    s: Any
    back2: Any
    back3: Any

    @classmethod
    def of(cls, edge_index: Tensor, num_nodes: int) -> "Steps":
        """Make S from edges in both directions `(2, E)`; loops are left out."""
        source, target = edge_index.numpy()
        keep = source != target
        shape = (num_nodes, num_nodes)
        a = scipy.sparse.csr_array((np.ones(keep.sum()), (source[keep], target[keep])), shape)
        a.data[:] = 1  # an edge that is there twice counts once
        scale = scipy.sparse.diags_array(np.maximum(a.sum(1), 1) ** -0.5)
        s = (scale @ a @ scale).tocsr()
        squared = s @ s
        return cls(s, squared.diagonal()[:, None], squared.multiply(s).sum(1)[:, None])

    def features(self, proba: Tensor, labels: Tensor) -> list[Tensor]:
        """The seven matrices from which a label takes its entries, each `(N, C)`.

        Args:
            proba: P, `(N, C)`.
            labels: Given labels, -1 = unlabelled: their rows of L are 0, `(N,)`.
        """
        p = proba.double().numpy()
        one_hot = np.eye(p.shape[1] + 1)[labels.numpy()][:, :-1]  # -1 is the last, which is cut off
        walks = [p, *self._walks(p), *self._walks(one_hot)]
        return [torch.from_numpy(walk).float() for walk in walks]

    def _walks(self, m: Any) -> list[Any]:
        """S m, S² m and S³ m with the diagonals of the powers set to 0."""
        one = self.s @ m
        two = self.s @ one
        return [one, two - self.back2 * m, self.s @ two - self.back3 * m]


def entries(values: Tensor, labels: Tensor) -> Tensor:
    """The entries `(L, 7)` of matrices `(L, C, 7)` at one label a node, `(L,)`."""
    return values[torch.arange(len(labels)), labels]


def transition_of_joint(proba: Tensor, given: Tensor) -> Tensor:
    """Transition matrix from the confident joint, row = true class, `(C, C)`.

    A node counts for the class that it is most probably in, of those that it is predicted to be in
    with at least the mean probability of the nodes with that label (Northcutt, Jiang & Chuang
    2021). Rows of given labels are scaled to their number before the classes are normalised.

    Args:
        proba: Out-of-fold probabilities, `(L, C)`.
        given: Given labels, `(L,)`.
    """
    C = proba.shape[1]
    count = torch.bincount(given, minlength=C).double()
    own = proba.double().gather(1, given[:, None]).squeeze(1)
    level = torch.zeros(C).double().index_add_(0, given, own) / count.clamp_min(1)
    level[count == 0] = torch.inf
    confident = torch.where(proba >= level, proba.double(), -1)
    counted = confident.max(1).values >= 0
    cell = given * C + confident.argmax(1)
    joint = torch.bincount(cell[counted], minlength=C * C).view(C, C).double()
    joint += torch.diag((joint.sum(1) == 0) * count)  # labels without a confident node are right
    joint *= (count / joint.sum(1).clamp_min(1e-12))[:, None]
    return joint.T / joint.sum(0).clamp_min(1e-12)[:, None]


def replace_labels(given: Tensor, transition: Tensor, generator: Generator) -> Tensor:
    """Replace half of the labels `(L,)` by others, drawn from their rows of `(C, C)`.

    Labels of a class that is never taken for another stay as they are.
    """
    other = transition.clone().fill_diagonal_(0)
    taken = torch.randperm(len(given), generator=generator)[: round(REPLACED * len(given))]
    taken = taken[other[given[taken]].sum(1) > 0]
    replaced = given.clone()
    if len(taken):
        drawn = torch.multinomial(other[given[taken]], 1, generator=generator)
        replaced[taken] = drawn.squeeze(1)
    return replaced


def train_classifier(features: Tensor, is_replaced: Tensor, generator: Generator) -> nn.Module:
    """Train the perceptron by the mean absolute error of its probability that a label is wrong.

    Args:
        features: `(n, 7)`.
        is_replaced: Whether the label was replaced, `(n,)`.
        generator: Source of the first weights.
    """
    with seeded(generator):
        layers = (nn.Linear(7, HIDDEN), nn.ReLU(), nn.BatchNorm1d(HIDDEN), nn.Linear(HIDDEN, 2))
        network = nn.Sequential(*layers)
    target = is_replaced.float()
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE, weight_decay=WEIGHT_DECAY)
    for _ in range(EPOCHS):
        descend(optimizer, F.l1_loss(network(features).softmax(1)[:, 1], target))
    return network.eval()


DETECTOR = Detector(
    name="graph-cleaner",
    detect=detect,
    kind="classifier",
    method="gcn",
    settings={"hidden": 256},
    citation="Li, Xiong & Hooi, GraphCleaner: Detecting Mislabelled Samples in Popular Graph "
    "Learning Benchmarks, ICML 2023",
    cost="five times that of gcn, then time O(E d), d the mean degree",
    deviations=(
        "The authors train on training nodes, fit the classifier to validation nodes and judge "
        "test nodes. Here all given labels are judged, by folds, and no others are read.",
        "The base network is our GCN with the authors' 256 hidden units; learning rate, dropout "
        "and epochs are those of `gcn`.",
        "Nodes without a label vote with nothing.",
        "GraphCleaner suggests no label; the one shown is the GCN's prediction.",
    ),
)
