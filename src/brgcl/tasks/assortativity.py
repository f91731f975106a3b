"""How far edges follow classes, estimated from attributes and from labels that may be wrong.

Let h be the share of neighbours in the same class, and r the share of all pairs of nodes. Then
a = (h - r) / (1 - r) is the assortativity of the graph by class (Newman, Mixing patterns in
networks, 2003). Two things tell of h.

Attributes tell of it even where few nodes have labels. If the mean cosine of centred attributes is
w between nodes of one class, b between nodes of different classes and e between neighbours, then

    e = h w + (1 - h) b,   so   h = (e - b) / (w - b).

w and b come from pairs of labelled nodes: a line through the cosines of pairs over the probability
that their true classes agree, given their two labels (a regression calibrated for wrong labels).
This h is too high where neighbours are more alike than their classes explain, as on most graphs
that people study.

Edges between labelled nodes tell of it directly. With J the joint distribution of true classes and
given labels, p = J 1 and m = J' 1, the two labels of an edge are distributed as

    A = J' diag(1/p) J               between nodes of one class,
    B = (m m' - J' J) / (1 - p'p)    between nodes of different classes,

and h maximises sum over edges log(h A + (1 - h) B), to which the attributes contribute as much as
`WORTH` edges whose classes are known.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from brgcl.method.sparse import Matrix, take_rows
from brgcl.tasks.classifiers import LabelledRows
from brgcl.tasks.label_noise import LabelNoiseModel

ENOUGH = 0.4  # from here on edges follow classes
LOW = 0.25  # below it they say little about them
SAMPLE = 2000  # edges, and labelled nodes, whose attributes are looked at
WORTH = 5  # edges with known classes that the attributes are worth
ROUNDS = 200  # of EM for h


def assortativity(rows: LabelledRows) -> float:
    """Estimate how far edges follow classes, a.

    Wrong labels make nodes with one label less alike, and a line over equal labels too flat. So
    a label stands for the classes that the nodes which have it are believed to be in. What is
    believed of a single node does not enter: alike nodes are believed to be in one class.

    Returns:
        a, at most 1; infinity without attributes, and where they say nothing of the classes.
    """
    views, C = rows.attributes, rows.num_classes
    if views is None:
        return float("inf")
    noise = LabelNoiseModel().run_em(views.own, rows.labels, C)
    one_hot = F.one_hot(noise.given_, C).double()
    joint = noise.posterior_.double().T @ one_hot / len(one_hot)  # true class to label, (C, C)
    classes = (joint / joint.sum(0).clamp_min(1e-12)).T  # label to class, (C, C)
    ends = neighbours(views.transition)
    alike, nodes, unit = sampled_rows(views.x, ends, rows.labels)
    by_attributes = homophily_by_attributes(alike, unit, classes[rows.labels[nodes]].to(unit))
    chance = float(joint.sum(1).square().sum())
    if by_attributes == float("inf") or chance > 1 - 1e-9:
        return float("inf")
    edges = count_labelled_edges(ends, rows.labels, C)
    h = homophily_of_labelled_edges(edges, joint, min(max(by_attributes, 0.0), 1.0))
    return (h - chance) / (1 - chance)


def homophily_of_labelled_edges(edges: Tensor, joint: Tensor, by_attributes: float) -> float:
    """Share of neighbours in the same class, h, from the labels at both ends of edges.

    Args:
        edges: Number of edges whose ends have these two labels, `(C, C)`.
        joint: Joint distribution J of true classes (rows) and given labels, `(C, C)`.
        by_attributes: What attributes say of h, in [0, 1].
    """
    edges, share, given = edges.double(), joint.sum(1), joint.sum(0)
    same = (joint / share.clamp_min(1e-12)[:, None]).T @ joint
    other = (torch.outer(given, given) - joint.T @ joint).clamp_min(0) / (1 - share @ share)
    h = 0.5
    for _ in range(ROUNDS):
        equal = h * same / (h * same + (1 - h) * other).clamp_min(1e-30)
        h = (float((edges * equal).sum()) + WORTH * by_attributes) / (float(edges.sum()) + WORTH)
    return h


def count_labelled_edges(ends: tuple[Tensor, Tensor], labels: Tensor, num_classes: int) -> Tensor:
    """Count the edges between labelled nodes by the two labels, each edge once, `(C, C)`."""
    start, end = ends
    known = (start < end) & (labels[start] >= 0) & (labels[end] >= 0)
    cell = labels[start[known]] * num_classes + labels[end[known]]
    return cell.bincount(minlength=num_classes**2).view(num_classes, num_classes)


def homophily_by_attributes(alike: float, unit: Tensor, classes: Tensor) -> float:
    """Share of neighbours in the same class by attributes, h; see above. It is not cut to [0, 1].

    Args:
        alike: Mean cosine of neighbours, e.
        unit: Centred attributes of labelled nodes at unit length, `(L, F)`.
        classes: Probabilities of their true classes, `(L, C)`.

    Returns:
        h; infinity where nodes of one class are no more alike than others, so that attributes say
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
    return (alike - s / pairs) / slope + t / pairs  # the line passes through the means of s, t


def sampled_rows(
    x: Matrix, ends: tuple[Tensor, Tensor], labels: Tensor
) -> tuple[float, Tensor, Tensor]:
    """Look at some edges and some labelled nodes; the sample is the same for the same graph.

    Returns:
        The mean cosine of the centred attributes of neighbours, labelled nodes, `(L,)`, and their
        centred attributes at unit length, `(L, F)`.
    """
    generator = torch.Generator().manual_seed(0)
    mean = x.transposed_product(torch.ones(x.shape[0], 1)).T / x.shape[0]

    def unit(nodes: Tensor) -> Tensor:
        return F.normalize(Matrix(take_rows(x.data, nodes)).dense - mean, dim=1)

    start, end = ends
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
