"""Label noise: transition matrices `T[i, j] = P(observed j | true i)`, and labels flipped by them.

| kind | a wrong label of a node of class i is |
|---|---|
| symmetric | any other class, all alike |
| pair | class i - 1 (class 0: the last one) |
| random | any other class, with chances drawn once for each class |
| partner | one other class, drawn once for each class |
| similar | the class that i shares most edges with, per pair of nodes |
| instance | drawn from the node's own attributes, and so is the chance of a flip |

The first five have a matrix T; in `instance` noise each node has its own row.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from brgcl.errors import InputError
from brgcl.method.sparse import csr_to_scipy, is_sparse
from brgcl.noise.attributes import check_attributes
from brgcl.noise.spec import LABEL_NOISE, check_kind, check_level

_INSTANCE_SPREAD = 0.1  # standard deviation of a node's flip rate under instance noise


@dataclass(frozen=True)
class NoisyLabels:
    """Labels after noise.

    Attributes:
        labels: Observed label of each node, -1 where there is none, `(N,)`.
        flipped: Mask of the nodes whose label was changed, `(N,)`.
        transition: The matrix T that was drawn from, `(C, C)`; `None` for `instance` noise.
        realised: Share of the labelled nodes that were changed; 0 when none is labelled.
    """

    labels: Tensor
    flipped: Tensor
    transition: Tensor | None
    realised: float


def flip_labels(
    labels: Tensor,
    kind: str,
    level: float,
    *,
    num_classes: int,
    generator: torch.Generator,
    exact: bool = False,
    edge_index: Tensor | None = None,
    x: Tensor | None = None,
    reference: Tensor | None = None,
) -> NoisyLabels:
    """Flip a share of the labels.

    Two uniform numbers are drawn for every node, labelled or not: whether its label flips, and
    where to. So the draw of a node does not depend on which other nodes are labelled, and with one
    seed the nodes flipped at a low level are flipped at every higher level too.

    Args:
        labels: Class of each node in `0..C-1`, or -1 for unlabelled, `(N,)`.
        kind: One of `LABEL_NOISE`.
        level: Expected share of wrong labels, in [0, 1); 0 changes nothing, whatever the kind.
        num_classes: `C`.
        generator: Source of randomness, on the CPU.
        exact: Flip exactly `round(level * n_c)` of the `n_c` labelled nodes of each class, rather
            than each node on its own.
        edge_index: Edges `(2, E)`, for `similar`.
        x: Attributes `(N, F)`, dense or CSR, for `instance`.
        reference: Labels `(N,)` from which `similar` counts edges between classes, where `labels`
            is only the training part; `labels` itself by default.

    Example:
        >>> seeded = torch.Generator().manual_seed(0)
        >>> truth = torch.tensor([0, 1, 2, -1])
        >>> flip_labels(truth, "pair", 0.99, num_classes=3, generator=seeded).labels
        tensor([ 2,  0,  1, -1])
    """
    check_kind("label noise", kind, LABEL_NOISE)
    _check_level_and_classes(level, num_classes)
    _check_labels(labels, num_classes)
    if level == 0:
        unit = None if kind == "instance" else torch.eye(num_classes, dtype=torch.float64)
        return NoisyLabels(labels.clone(), torch.zeros_like(labels, dtype=torch.bool), unit, 0.0)
    truth = labels.detach().cpu()
    labelled = (truth >= 0).nonzero().squeeze(1)
    own = truth[labelled]  # (M,)
    transition = None
    if kind == "instance":
        if exact:
            raise InputError(
                "exact=True is not defined for instance noise, whose rate differs from node to "
                "node; leave it out"
            )
        rate, target = _instance_rows(x, truth, level, num_classes, generator)
    else:
        links = None
        if kind == "similar":
            links = _class_links(truth, reference, edge_index, num_classes)
        transition = transition_matrix(
            kind, level, num_classes, generator=generator, class_links=links
        )
        rate = 1 - transition.diagonal()[own]  # (M,)
        target = transition[own]  # (M, C)

    draw = torch.rand(2, len(truth), dtype=torch.float64, generator=generator)[:, labelled]
    flip = _smallest_per_class(draw[0], own, level) if exact else draw[0] < rate
    noisy = truth.clone()
    noisy[labelled[flip]] = _draw_other(target[flip], own[flip], draw[1, flip])
    flipped = noisy != truth
    realised = int(flipped.sum()) / max(len(labelled), 1)
    return NoisyLabels(noisy.to(labels.device), flipped.to(labels.device), transition, realised)


def transition_matrix(
    kind: str,
    level: float,
    num_classes: int,
    *,
    generator: torch.Generator | None = None,
    class_links: Tensor | None = None,
) -> Tensor:
    """Build the matrix T of a noise, `T[i, j] = P(observed j | true i)`.

    Args:
        kind: One of `LABEL_NOISE` except `instance`.
        level: Chance of a wrong label, in [0, 1).
        num_classes: `C`.
        generator: Source of randomness, for `random` and `partner`.
        class_links: Density of edges between classes `(C, C)` from `link_density`, for `similar`.

    Returns:
        T as float64, `(C, C)`. Its rows sum to 1 and its diagonal is `1 - level`; a class that
        shares no edge with another keeps its labels under `similar`.

    Example:
        >>> transition_matrix("pair", 0.25, 3)
        tensor([[0.7500, 0.0000, 0.2500],
                [0.2500, 0.7500, 0.0000],
                [0.0000, 0.2500, 0.7500]], dtype=torch.float64)
    """
    check_kind("label noise", kind, LABEL_NOISE)
    _check_level_and_classes(level, num_classes)
    if kind == "instance":
        raise InputError(
            "instance noise has no transition matrix, since each node has its own row; "
            "use flip_labels"
        )
    C = num_classes
    if level == 0:
        return torch.eye(C, dtype=torch.float64)
    if kind in ("random", "partner") and generator is None:
        raise InputError(f"{kind} noise draws its matrix; pass a generator")
    classes = torch.arange(C)
    other = torch.zeros(C, C, dtype=torch.float64)  # weights of the wrong classes
    if kind == "symmetric":
        other.fill_(1)
    elif kind == "pair":
        other[classes, (classes - 1) % C] = 1
    elif kind == "random":
        other = torch.rand(C, C, dtype=torch.float64, generator=generator)
    elif kind == "partner":
        step = torch.randint(1, C, (C,), generator=generator)
        other[classes, (classes + step) % C] = 1
    elif kind == "similar":
        if class_links is None or class_links.shape != (C, C):
            got = "none" if class_links is None else tuple(class_links.shape)
            raise InputError(
                f"similar noise needs class_links of shape ({C}, {C}), got {got}; "
                "compute them with link_density"
            )
        partner = similar_partners(class_links)
        met = partner >= 0
        other[classes[met], partner[met]] = 1
    other.fill_diagonal_(0)
    total = other.sum(1, keepdim=True)  # (C, 1)
    wrong = level * other / total.clamp(min=torch.finfo(other.dtype).tiny)
    return wrong + torch.where(total.squeeze(1) > 0, 1 - level, 1.0).diag()


def link_density(labels: Tensor, edge_index: Tensor, num_classes: int) -> Tensor:
    """Density of edges between classes: edges joining i and j, divided by `n_i n_j`.

    Args:
        labels: Class of each node, or -1 for unlabelled, `(N,)`; edges of unlabelled nodes are
            left out.
        edge_index: Edges `(2, E)`; the two directions of an edge may both be listed.
        num_classes: `C`.

    Returns:
        A symmetric matrix, `(C, C)` float64, up to a common factor; 0 for a class without nodes.
    """
    _check_labels(labels, num_classes)
    truth = labels.detach().cpu()
    if edge_index.ndim != 2 or edge_index.shape[0] != 2:
        raise InputError(f"edge_index must have shape (2, E), got {tuple(edge_index.shape)}")
    outside = edge_index[(edge_index < 0) | (edge_index >= len(truth))]
    if len(outside):
        raise InputError(
            f"edge_index names node {int(outside[0])} but there are {len(truth)} labels; "
            "use -1 for unlabelled nodes"
        )
    ends = truth[edge_index.cpu()]  # (2, E)
    ends = ends[:, (ends >= 0).all(0)]
    pairs = torch.bincount(ends[0] * num_classes + ends[1], minlength=num_classes**2)
    count = pairs.view(num_classes, num_classes)
    size = torch.bincount(truth[truth >= 0], minlength=num_classes).double()
    return (count + count.T) / torch.outer(size, size).clamp(min=1)


def similar_partners(class_links: Tensor) -> Tensor:
    """For each class the other class with which it shares most edges per pair of nodes.

    Args:
        class_links: Density of edges between classes, from `link_density`, `(C, C)`.

    Returns:
        The partner of each class, `(C,)`: the lowest number among equals, and -1 where a class
        shares no edge with any other.

    Example:
        >>> path = torch.tensor([[0, 1, 2], [1, 2, 3]])
        >>> similar_partners(link_density(torch.tensor([0, 0, 2, 1]), path, 3))
        tensor([2, 2, 1])
    """
    others = class_links.clone().fill_diagonal_(0)
    return torch.where(others.max(1).values > 0, others.argmax(1), -1)


def _smallest_per_class(draw: Tensor, own: Tensor, level: float) -> Tensor:
    """Mask of the `round(level * n_c)` smallest draws in each class, `(M,)`."""
    flip = torch.zeros_like(own, dtype=torch.bool)
    for label in torch.unique(own):
        member = (own == label).nonzero().squeeze(1)
        flip[member[draw[member].argsort()[: round(level * len(member))]]] = True
    return flip


def _draw_other(weight: Tensor, own: Tensor, draw: Tensor) -> Tensor:
    """Draw a class other than `own` in proportion to `weight` `(M, C)`, by inverting the CDF."""
    cdf = weight.scatter(1, own[:, None], 0.0).cumsum(1)
    cdf = cdf / cdf[:, -1:]  # the last step is then exactly 1, above every draw
    return torch.searchsorted(cdf, draw[:, None], right=True).squeeze(1)


def _instance_rows(
    x: Tensor | None, truth: Tensor, level: float, num_classes: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Flip rate `(M,)` and weights of the classes `(M, C)` of each labelled node, as in NoisyGL.

    `q_i ~ Normal(level, 0.1^2)` cut to [0, 1]; `v = x_i W_{y_i}` with one W `(C, F, C)` of standard
    normal numbers; the wrong classes share q_i as `softmax(v)` without the own class.
    """
    if x is None:
        raise InputError("instance noise depends on the attributes; pass x")
    check_attributes(x)
    if x.shape[0] != len(truth):
        raise InputError(
            f"x must have one row for each of the {len(truth)} labels, got {tuple(x.shape)}; "
            "use -1 for unlabelled nodes"
        )
    draw = torch.rand(len(truth), dtype=torch.float64, generator=generator)
    ends = torch.tensor([-level, 1 - level], dtype=torch.float64) / _INSTANCE_SPREAD
    low, high = torch.special.ndtr(ends)
    q = level + _INSTANCE_SPREAD * torch.special.ndtri(low + draw * (high - low))

    rows = csr_to_scipy(x) if is_sparse(x) else x.detach().cpu().numpy()
    score = torch.zeros(len(truth), num_classes, dtype=torch.float64)
    for label in range(num_classes):
        W = torch.randn(x.shape[1], num_classes, generator=generator)  # (F, C), one per class
        member = (truth == label).nonzero().squeeze(1)
        score[member] = torch.from_numpy(rows[member.numpy()] @ W.numpy()).double()
        score[member, label] = -torch.inf
    labelled = truth >= 0
    return q[labelled].clamp(0, 1), score[labelled].softmax(1)


def _class_links(
    truth: Tensor, reference: Tensor | None, edge_index: Tensor | None, num_classes: int
) -> Tensor:
    """Density of edges between classes, of which every class with a label needs some."""
    if edge_index is None:
        raise InputError("similar noise counts edges between classes; pass edge_index")
    if reference is not None and reference.shape != truth.shape:
        raise InputError(
            f"reference has {len(reference)} entries but labels has {len(truth)}; "
            "use -1 for unlabelled"
        )
    links = link_density(truth if reference is None else reference, edge_index, num_classes)
    own = truth[truth >= 0]
    lonely = own[similar_partners(links)[own] < 0]
    if len(lonely):
        raise InputError(
            f"class {int(lonely.min())} shares no edge with another class, so similar noise has "
            "nowhere to move its labels; pass all known labels as reference, or use pair noise"
        )
    return links


def _check_level_and_classes(level: float, num_classes: int) -> None:
    check_level(level)
    if num_classes < 1 or (num_classes < 2 and level > 0):
        raise InputError(f"label noise needs at least 2 classes, got {num_classes}")


def _check_labels(labels: Tensor, num_classes: int) -> None:
    if labels.ndim != 1 or labels.dtype != torch.int64:
        raise InputError(
            f"labels must be a one-dimensional int64 tensor, got {labels.dtype} of shape "
            f"{tuple(labels.shape)}"
        )
    outside = (labels < -1) | (labels >= num_classes)
    if bool(outside.any()):
        node = int(outside.nonzero()[0])
        raise InputError(
            f"labels must be in -1..{num_classes - 1}, got {int(labels[node])} at node {node}; "
            "use -1 for unlabelled"
        )
