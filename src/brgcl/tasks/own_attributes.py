"""Classify nodes by their attributes, beside representations or in place of them.

Beside them: an encoder keeps what tells nodes apart, and loses part of what the attributes around
a node say. The classifier gets both, as

    rows = [z, a / 2] at unit length        a = attributes averaged widely (`attribute_rows.py`)

In place of them, where edges say little about classes: an encoder that averages over neighbours
loses what a node's own attributes say if most of its neighbours belong to other classes. How many
belong to the same class shows in the attributes. If the mean cosine of centred attributes is w
between nodes of one class, b between nodes of different classes and e between neighbours, then

    e = h w + (1 - h) b,   so   h = (e - b) / (w - b)

is the share of neighbours in the same class, and a = (h - r) / (1 - r) the assortativity of the
graph by class (Newman, Mixing patterns in networks, 2003), where r is the share among all pairs. w,
b and r come from pairs of labelled nodes: a line through the cosines of pairs over the probability
that their true classes agree, given their two labels (a regression calibrated for wrong labels).

On most graphs that people study neighbours are more alike than their classes explain. There a is
above 1, and nothing else is tried. Below .6 the classifier is also fitted to the attributes
themselves ("attributes") and to attributes averaged widely over the graph ("smoothed attributes").
Each classifier is taken in place of the one before only if it is right on clearly more of the
labels held out. The representations come first, and last where a is small.
"""

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Data

from brgcl.data.attributes import checked_attributes
from brgcl.method.attributes import Preparation, learn_preparation
from brgcl.method.inputs import scale
from brgcl.method.sparse import Matrix, take_rows
from brgcl.tasks.attribute_rows import AttributeProjection, AttributeViews
from brgcl.tasks.bayes_rule import BayesFit, believe, fit_target
from brgcl.tasks.checks import check_representations, transition_of
from brgcl.tasks.classifiers import LabelledRows, Predictor
from brgcl.tasks.cluster import kmeans
from brgcl.tasks.label_noise import LabelNoiseModel
from brgcl.tasks.rules import ATTRIBUTE_RULES

ENOUGH = 0.6  # assortativity below which attributes are tried too
LOW = 0.25  # below it they are preferred to representations
SAMPLE = 2000  # edges, and labelled nodes, that are looked at
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


def fit_where_edges_mislead(
    rows: LabelledRows, by_rows: JoinedFit | BayesFit
) -> dict[str, JoinedFit | BayesFit | ByAttributes]:
    """Fit the classifier to attributes too, unless edges follow classes.

    Args:
        rows: The labelled nodes.
        by_rows: The classifier of the representations.

    Returns:
        Name to classifier, the preferred one first.
    """
    found = assortativity(rows)
    if found >= ENOUGH:
        return {"bayes": by_rows}
    by_attributes = fit_attributes(rows, by_rows)
    if found < LOW:
        return {**by_attributes, "bayes": by_rows}
    return {"bayes": by_rows, **by_attributes}


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


def assortativity(rows: LabelledRows) -> float:
    """Estimate how far edges follow classes, from attributes and labels that may be wrong.

    Wrong labels make nodes with one label less alike, and a line over equal labels too flat. So
    a label stands for the classes that the nodes which have it are believed to be in. What is
    believed of a single node does not enter: alike nodes are believed to be in one class.

    Returns:
        a; infinity without attributes, and where they say nothing of the classes.
    """
    views = rows.attributes
    if views is None:
        return float("inf")
    alike, nodes, unit = sampled_rows(views.x, views.transition, rows.labels)
    noise = LabelNoiseModel().run_em(views.own, rows.labels, rows.num_classes)
    believed = F.one_hot(noise.given_, rows.num_classes).to(noise.posterior_).T @ noise.posterior_
    believed /= believed.sum(1, keepdim=True).clamp_min(1e-12)  # label to class, (C, C)
    return estimated_assortativity(alike, unit, believed[rows.labels[nodes]].to(unit))


def sampled_rows(x: Matrix, transition: Matrix, labels: Tensor) -> tuple[float, Tensor, Tensor]:
    """Look at some edges and some labelled nodes; the sample is the same for the same graph.

    Returns:
        The mean cosine of the centred attributes of neighbours, labelled nodes, `(L,)`, and their
        centred attributes at unit length, `(L, F)`.
    """
    generator = torch.Generator().manual_seed(0)
    mean = x.transposed_product(torch.ones(x.shape[0], 1)).T / x.shape[0]

    def unit(nodes: Tensor) -> Tensor:
        return F.normalize(Matrix(take_rows(x.data, nodes)).dense - mean, dim=1)

    start, end = neighbours(transition)
    some = torch.randperm(len(start), generator=generator)[:SAMPLE]
    alike = (unit(start[some]) * unit(end[some])).sum(1).mean() if len(some) else torch.zeros(())
    known = (labels >= 0).nonzero().squeeze(1)
    nodes = known[torch.randperm(len(known), generator=generator)[:SAMPLE]]
    return float(alike), nodes, unit(nodes)


def neighbours(transition: Matrix) -> tuple[Tensor, Tensor]:
    """Both ends of each stored entry of an adjacency but loops, `(M,)` each."""
    crow, end = transition.data.crow_indices(), transition.data.col_indices()
    start = torch.arange(len(crow) - 1).repeat_interleave(crow.diff())
    return start[start != end], end[start != end]


def estimated_assortativity(alike: float, unit: Tensor, classes: Tensor) -> float:
    """Assortativity of the graph by class, a; see above. It is not cut to [-1, 1].

    Args:
        alike: Mean cosine of neighbours, e.
        unit: Centred attributes of labelled nodes at unit length, `(L, F)`.
        classes: Probabilities of their true classes, `(L, C)`.

    Returns:
        a; infinity where nodes of one class are no more alike than others, so that attributes say
        nothing.
    """
    L = len(unit)
    pairs = L * (L - 1)
    # Sums over ordered pairs i != j of s = u_i'u_j, t = q_i'q_j, s t and t².
    own = classes.square().sum(1)
    s = float(unit.sum(0).square().sum() - unit.square().sum())
    t = float(classes.sum(0).square().sum() - own.sum())
    st = float((unit.T @ classes).square().sum() - (unit.square().sum(1) * own).sum())
    tt = float((classes.T @ classes).square().sum() - own.square().sum())
    covariance, variance = st * pairs - s * t, tt * pairs - t * t
    if covariance <= 0 or variance <= 0:
        return float("inf")
    slope = covariance / variance
    return (
        (alike - s / pairs) / slope / (1 - t / pairs)
    )  # the line passes through the means of s, t
