"""Classify nodes by their attributes, beside representations or in place of them.

Beside them: an encoder keeps what tells nodes apart, and loses part of what the attributes around
a node say. The classifier gets both, as

    rows = [z, a / 2] at unit length        a = attributes averaged widely (`attribute_rows.py`)

In place of them, where edges say little about classes: an encoder that averages over neighbours
loses what a node's own attributes say if most of its neighbours belong to other classes. How far
edges follow classes is estimated (`assortativity.py`). On most graphs that people study they do,
and nothing else is tried. Below .4 the classifier is also fitted to the attributes themselves
("attributes") and to attributes averaged widely over the graph ("smoothed attributes"). One of them
is taken if it is right on clearly more of the labels held out than the representations. Below .25
it is the other way round: a node's own attributes are taken unless another is right on more of
these labels, by one standard error.
"""

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Data

from brgcl.data.attributes import checked_attributes
from brgcl.method.attributes import Preparation, learn_preparation
from brgcl.method.inputs import scale
from brgcl.method.sparse import Matrix
from brgcl.tasks.attribute_rows import AttributeProjection, AttributeViews
from brgcl.tasks.bayes_rule import BayesFit, believe, fit_target
from brgcl.tasks.checks import check_representations, transition_of
from brgcl.tasks.classifiers import LabelledRows, Predictor
from brgcl.tasks.cluster import kmeans
from brgcl.tasks.label_noise import LabelNoiseModel
from brgcl.tasks.rules import ATTRIBUTE_RULES

CLUSTERED = 10_000  # rows that are clustered for a start of EM
WEIGHT = 0.5  # of the attributes around a node beside its representation; .3 to 1 measured alike


@dataclass(frozen=True)
class JoinedFit:
    """A classifier of representations and the attributes around, side by side.

    Attributes:
        joined: What classifies the nodes of the graph.
        alone: The same posteriors fitted to representations alone, for rows of other nodes.
        around: Attributes around the nodes of the graph, `(N, <= 64)`.
        projection: What finds them for the nodes of another graph.
    """

    joined: BayesFit
    alone: BayesFit
    around: Tensor
    projection: AttributeProjection

    @property
    def right(self) -> Tensor:
        """Which of the labels that were held out it predicts, `(n,)`."""
        return self.joined.right

    def __call__(self, z: Tensor) -> Tensor:
        """Return class probabilities, `(N, C)`; N rows are taken for the nodes of the graph."""
        if len(z) != len(self.around):
            return self.alone(z)
        return self.joined(join_rows(z, self.around))


def join_rows(z: Tensor, around: Tensor) -> Tensor:
    """[z, a / 2] at unit length, `(N, D + 64)`.

    Example:
        >>> join_rows(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]]))
        tensor([[0.8944, 0.0000, 0.0000, 0.4472]])
    """
    return F.normalize(torch.cat([z, WEIGHT * around.to(z)], 1), dim=1)


def fit_joined(rows: LabelledRows, *, clusters: bool = False) -> JoinedFit | BayesFit:
    """Fit the classifier to representations and the attributes around.

    Without attributes or edges it is fitted to representations alone.

    Args:
        rows: The labelled nodes.
        clusters: Start EM from clusters of the nodes instead of the centroids of their labels.
    """
    z, labels, C, transition = rows.z, rows.labels, rows.num_classes, rows.transition

    def fit(seen: Tensor) -> BayesFit:
        noise = LabelNoiseModel(centers=cluster_centers(seen, C) if clusters else None)
        return believe(seen, labels, C, transition, noise=noise)

    if rows.attributes is None:
        return fit(z)
    around, projection = rows.attributes.around, rows.attributes.projection(around=True)
    joined = fit(join_rows(z, around))
    alone = replace(joined, predictor=fit_target(joined.target, z, joined.noise, None))
    return JoinedFit(joined, alone, around, projection)


def cluster_centers(rows: Tensor, num_clusters: int) -> Tensor:
    """Centres of K-means on the rows, or on a sample of them that is always the same, `(K, D)`."""
    generator = torch.Generator().manual_seed(0)
    some = torch.randperm(len(rows), generator=generator)[:CLUSTERED].to(rows.device)
    return kmeans(rows[some], min(num_clusters, len(some)), n_init=10).centers


@dataclass(frozen=True)
class ByAttributes:
    """Class probabilities of the nodes of a graph by their attributes; of other rows by theirs.

    Attributes:
        fit: What classifies rows of attributes.
        rows: Those of the nodes, `(N, <= 256)`.
        projection: What finds them for the nodes of another graph.
        others: What classifies other rows.
    """

    fit: BayesFit
    rows: Tensor
    projection: AttributeProjection
    others: Predictor

    @property
    def right(self) -> Tensor:
        """Which of the labels that were held out it predicts, `(n,)`."""
        return self.fit.right

    def __call__(self, z: Tensor) -> Tensor:
        """Return class probabilities, `(N, C)`; N rows are taken for the nodes of the graph."""
        return self.fit(self.rows) if len(z) == len(self.rows) else self.others(z)


def of_graph(graph: Data, scaling: Preparation | None = None) -> Matrix | None:
    """Scaled attributes of a graph, by its own scaling or another's; None if it has none."""
    if graph.get("x") is None:
        return None
    return scale(checked_attributes(graph.x).cpu(), scaling or "auto")


def scaling_of(graph: Data) -> Preparation | None:
    """How `of_graph` scales the attributes of a graph; None if it has none."""
    return None if graph.get("x") is None else learn_preparation(checked_attributes(graph.x).cpu())


def rows_of_rule(rule: str, z: Tensor, graph: Data) -> Tensor:
    """What the classifier that "auto" has named sees of the nodes of a graph, `(N, D)`.

    Args:
        rule: "bayes" or one of `ATTRIBUTE_RULES`.
        z: Representations, `(N, D)`.
        graph: The graph.
    """
    x = of_graph(graph)
    if x is None:
        return z
    views = AttributeViews(x, transition_of(graph, x.shape[0]))
    if rule in ATTRIBUTE_RULES:
        return views.own if rule == ATTRIBUTE_RULES[0] else views.around
    return join_rows(check_representations(z), views.around)


def fit_attributes(rows: LabelledRows, by_rows: Predictor) -> dict[str, ByAttributes]:
    """Fit the classifier to the nodes' own attributes and to those averaged over the graph.

    Args:
        rows: The labelled nodes.
        by_rows: The classifier of the representations, for rows of other nodes.

    Returns:
        Name to classifier, "attributes" and "smoothed attributes"; empty without attributes.
    """
    if rows.attributes is None:
        return {}
    found = {}
    for name, around in zip(ATTRIBUTE_RULES, (False, True), strict=True):
        view = rows.attributes.around if around else rows.attributes.own
        fit = believe(view, rows.labels, rows.num_classes, rows.transition)
        projection = rows.attributes.projection(around=around)
        found[name] = ByAttributes(fit, view, projection, by_rows)
    return found
