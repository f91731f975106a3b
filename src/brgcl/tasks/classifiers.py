"""The classifiers themselves: each is fitted on labelled rows and returns a predictor."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from brgcl.method.confidence import propagate_from
from brgcl.method.sparse import Matrix
from brgcl.tasks.attribute_rows import AttributeViews
from brgcl.tasks.rules import SoftLabels

PROBE_PENALTIES = tuple(2.0**power for power in range(10, -11, -1))  # the most cautious first
CENTROID_TEMPERATURE = 0.1  # turns cosines into probabilities; does not change the prediction

# Unit-length rows (N, D) -> probabilities (N, C). Partial functions, so that they can be pickled.
Predictor = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class LabelledRows:
    """What a classifier is fitted on.

    Attributes:
        z: Unit-length representations of all nodes, `(N, D)`.
        labels: Classes in `0..C-1`, -1 = unlabelled, `(N,)`.
        num_classes: C; a class may be without a label.
        transition: Row-stochastic adjacency, for soft labels; None without a graph.
        validation: Labels of other nodes that only choose, -1 = none, `(N,)`.
        attributes: What the attributes of the nodes say, which may be tried too.
    """

    z: Tensor
    labels: Tensor
    num_classes: int
    transition: Matrix | None = None
    validation: Tensor | None = None
    attributes: AttributeViews | None = None

    @property
    def nodes(self) -> Tensor:
        """The labelled nodes, `(L,)`."""
        return (self.labels >= 0).nonzero().squeeze(1)

    def without(self, nodes: Tensor) -> "LabelledRows":
        """The same with the labels of some nodes hidden, and no validation labels."""
        kept = self.labels.clone()
        kept[nodes] = -1
        return replace(self, labels=kept, validation=None)


def fit_centroid(rows: LabelledRows) -> Predictor:
    """Average the rows of each class, and scale the means to unit length."""
    nodes, C = rows.nodes, rows.num_classes
    sums = torch.zeros(C, rows.z.shape[1], device=rows.z.device)
    sums.index_add_(0, rows.labels[nodes], rows.z[nodes])
    absent = torch.bincount(rows.labels[nodes], minlength=C) == 0
    return partial(centroid_probabilities, F.normalize(sums, dim=1), absent)


def centroid_probabilities(means: Tensor, absent: Tensor, z: Tensor) -> Tensor:
    """Class probabilities by the cosines with the means of the classes, `(N, C)`."""
    cosine = z @ means.T
    cosine[:, absent] = -torch.inf
    return (cosine / CENTROID_TEMPERATURE).softmax(1)


def fit_logistic(rows: LabelledRows, penalty: float) -> Predictor:
    """Fit a logistic regression with an L2 penalty."""
    from sklearn.linear_model import LogisticRegression

    nodes = rows.nodes
    model = LogisticRegression(C=1 / penalty, max_iter=500)
    with threadpool_limits(limits=1):
        model.fit(rows.z[nodes].cpu().numpy(), rows.labels[nodes].cpu().numpy())
    return partial(logistic_probabilities, model, rows.num_classes)


def logistic_probabilities(model: Any, num_classes: int, z: Tensor) -> Tensor:
    """Class probabilities by a fitted model of scikit-learn, `(N, C)`."""
    proba = np.zeros((len(z), num_classes), dtype=np.float32)
    proba[:, model.classes_] = model.predict_proba(z.cpu().numpy())
    return torch.from_numpy(proba).to(z.device)


def fit_probe(rows: LabelledRows) -> Predictor:
    """Take the penalty that is right most often on validation nodes, of equals the strongest.

    Without validation labels the penalty is 1.
    """
    if rows.validation is None:
        return fit_logistic(rows, penalty=1.0)
    fitted = [fit_logistic(rows, penalty) for penalty in PROBE_PENALTIES]
    known = rows.validation >= 0
    z, labels = rows.z[known], rows.validation[known]
    return max(fitted, key=lambda predict: num_right(predict(z), labels))


def fit_perceptron(
    rows: LabelledRows, targets: Tensor, *, hidden: int, epochs: int, seed: int
) -> Predictor:
    """Train the paper's two-layer perceptron on soft labels of all nodes, `(N, C)`.

    Validation labels keep the epoch that is right most often on them; without them it is the last.
    """
    generator = torch.Generator().manual_seed(seed)
    first, last = nn.Linear(rows.z.shape[1], hidden), nn.Linear(hidden, rows.num_classes)
    for layer in (first, last):
        bound = (6 / (layer.in_features + layer.out_features)) ** 0.5
        layer.weight.data.uniform_(-bound, bound, generator=generator)
        layer.bias.data.zero_()
    network = nn.Sequential(first, nn.ReLU(), last).to(rows.z.device)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2, weight_decay=5e-4)
    inputs, targets = rows.z[rows.nodes], targets[rows.nodes]
    most, kept = -1, network.state_dict()
    # the network is small, so one thread does the work: several would wait for each other
    with threadpool_limits(limits=1):
        for _ in range(epochs):
            optimizer.zero_grad(set_to_none=True)
            F.cross_entropy(network(inputs), targets).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            if rows.validation is not None:
                with torch.no_grad():
                    right = num_right(network(rows.z), rows.validation)
                if right > most:
                    most, kept = right, {k: v.clone() for k, v in network.state_dict().items()}
    if rows.validation is not None:
        network.load_state_dict(kept)
    return partial(_network_probabilities, network.requires_grad_(False))


def _network_probabilities(network: nn.Module, z: Tensor) -> Tensor:
    logits: Tensor = network(z)
    return logits.softmax(1)


def soft_targets(
    labels: Tensor,
    num_classes: int,
    transition: Matrix | None,
    mode: SoftLabels,
    alpha: float,
    steps: int,
) -> Tensor:
    """Spread observed labels over the graph, as the paper's appendix does, for the perceptron.

    Y⁽⁰⁾ `(N, C)` is one-hot on labelled nodes and zero elsewhere, and is propagated like pseudo
    labels: with teleport probability `alpha`, in `steps` steps of which the first is the start. A
    row that a label reaches sums to 1. Without `transition`, the row-stochastic adjacency, labels
    stay as given.
    """
    known = (labels >= 0).nonzero().squeeze(1)
    one_hot = torch.zeros(len(labels), num_classes, device=labels.device)
    one_hot[known, labels[known]] = 1
    if transition is None or mode == "hard":
        return one_hot
    spread = propagate_from(one_hot, transition, alpha, steps)
    if mode == "softmax":
        return spread.softmax(1)
    return spread / spread.sum(1, keepdim=True).clamp_min(1e-12)


def num_right(scores: Tensor, labels: Tensor) -> int:
    """Count the nodes with a label whose highest score is that of their label."""
    return int((scores.argmax(1) == labels).sum())  # an unlabelled node, -1, is never right
