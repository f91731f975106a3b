"""Find labels that are probably wrong.

Every labelled node is predicted without its own label (`out_of_fold.py`): p_i. What the label adds
is P(l_i | true class), a transition matrix T estimated from labels outside the node's fold:

    q_ic ~ p_ic T_{c, l_i}

The score of a label is q_{i, l_i}, the probability that it is right. The labels with the lowest
scores are called errors as long as at most a share `fdr` of them is expected to be right.
docs/find-errors.md explains each step.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from brgcl.data.edges import canonical_edges
from brgcl.errors import InputError
from brgcl.method.graph import adjacency_from_edges
from brgcl.method.inputs import scale
from brgcl.method.sparse import Matrix
from brgcl.notebook import label_errors_html
from brgcl.tasks import evidence
from brgcl.tasks.attribute_rows import attribute_rows
from brgcl.tasks.checks import Classes, check_representations, class_name, encode_classes
from brgcl.tasks.label_noise import estimated_transition, noise_interval, without_loops
from brgcl.tasks.out_of_fold import PRIOR, Labelled, OutOfFold, calibrate, predict_out_of_fold

if TYPE_CHECKING:
    import pandas as pd
    from torch_geometric.data import Data

Report = Callable[[int, int, str], None]
LEAST_LABELS = 4  # of a class; labels of a smaller one are not judged


@dataclass(frozen=True)
class LabelErrors:
    """What is known about the given labels.

    Attributes:
        frame: One row per labelled node, the most suspicious first; see `find_label_errors`.
        class_names: Name of each class, C of them.
        nodes: The labelled nodes in the order of the graph, `(L,)`.
        given: Their given labels as places in `class_names`, `(L,)`.
        pred_probs: Probabilities of the classes without the node's own label, `(L, C)`.
        posterior: The same given the own label, `(L, C)`.
        transition: Row = true class, column = given label, `(C, C)`.
        error_rate: Estimated share of wrong labels.
        error_interval: Its 95 % interval.
        error_rate_by_class: The share among the labels of each class that could be judged.
        fdr_target: Share of right labels that is allowed among those called errors.
        fdr_estimated: Share of right labels that is expected among them.
        not_judged: Classes with too few labels to judge them.
    """

    frame: "pd.DataFrame"
    class_names: list[Any]
    nodes: Tensor
    given: Tensor
    pred_probs: Tensor
    posterior: Tensor
    transition: Tensor
    error_rate: float
    error_interval: tuple[float, float]
    error_rate_by_class: dict[Any, float]
    fdr_target: float
    fdr_estimated: float
    not_judged: list[Any]

    def to_dict(self) -> dict[str, Any]:
        """Everything but the rows, ready for JSON."""
        errors = self.frame[self.frame["is_error"]]
        moves = Counter(zip(errors["given"], errors["suggested"], strict=True))
        return {
            "num_labelled": len(self.frame),
            "num_suspects": len(errors),
            "estimated_error_rate": self.error_rate,
            "error_interval": list(self.error_interval),
            "fdr_target": self.fdr_target,
            "fdr_estimated": self.fdr_estimated,
            "class_names": self.class_names,
            "transition": self.transition.tolist(),
            "error_rate_by_class": {str(k): v for k, v in self.error_rate_by_class.items()},
            "classes": [
                {"given": given, "suggested": suggested, "count": count}
                for (given, suggested), count in moves.most_common()
            ],
            "not_judged": self.not_judged,
        }

    def _repr_html_(self) -> str:
        return label_errors_html(self)

    def to_cleanlab(self) -> dict[str, NDArray[Any]]:
        """Arguments of `cleanlab.filter.find_label_issues`: `labels` and `pred_probs`.

        Row i belongs to `nodes[i]`.
        """
        return {"labels": self.given.cpu().numpy(), "pred_probs": self.pred_probs.cpu().numpy()}


def find_label_errors(
    z: Any,
    labels: Any,
    *,
    graph: "Data | None" = None,
    pred_probs: Any = None,
    certain: Any = None,
    confidence: Any = None,
    fdr: float = 0.1,
    seed: int = 0,
    report: Report | None = None,
) -> "pd.DataFrame":
    """List all labelled nodes, the most suspicious first, and flag the labels that are wrong.

    Args:
        z: Representations, `(N, D)`, or a list of several; best learned without the labels.
        labels: Observed labels, integers or names, -1 or None = unlabelled, `(N,)`.
        graph: The graph: neighbours, attributes, and the ids and class names it carries.
        pred_probs: Class probabilities of every node, `(N, C)`, from a model that was fitted
            without the node's own label; they are used instead of ours.
        certain: Mask of labels that are known to be right, `(N,)`.
        confidence: Confidence of each node in its cluster, `(N,)`; it is only shown.
        fdr: Share of right labels that is allowed among those flagged.
        seed: Seed of the cross-validation.
        report: Called with fits done, fits in all, and a few words.

    Returns:
        One row per labelled node: `node` (its id), `given` and `suggested` (class names where
        known), `probability` of the suggested class, `score` in [0, 1], the probability that the
        given label is right, `is_error`, whether it is flagged, and evidence: the shares
        `neighbours_given` and `neighbours_suggested` of the labelled neighbours with that label,
        the `nearest` labelled nodes, `prototype_confidence` and a sentence, `evidence`.
        `frame.attrs` holds the summary `LabelErrors.to_dict()`.
    """
    return judge_labels(
        z, labels, graph=graph, pred_probs=pred_probs, certain=certain, confidence=confidence,
        fdr=fdr, seed=seed, report=report,
    ).frame  # fmt: skip


def judge_labels(
    z: Any,
    labels: Any,
    *,
    graph: "Data | None" = None,
    pred_probs: Any = None,
    certain: Any = None,
    confidence: Any = None,
    fdr: float = 0.1,
    seed: int = 0,
    report: Report | None = None,
) -> LabelErrors:
    """Like `find_label_errors`; return everything that is known about the labels."""
    if not 0 <= fdr < 1:
        raise InputError(f"fdr must be in [0, 1), got {fdr!r}")
    zs = [check_representations(one) for one in (z if _is_list(z) else [z])]
    N = len(zs[0])
    if any(len(one) != N for one in zs):
        raise InputError(f"representations must have as many rows each, got {[*map(len, zs)]}")
    classes, codes = encode_classes(labels, N)
    if len(classes) < 2:
        raise InputError(
            "no node has a label; label some, in two classes or more" if len(classes) == 0
            else "all labels are the same; two classes or more are needed"
        )  # fmt: skip
    given_all = torch.from_numpy(codes)
    zs = [F.normalize(one - one.mean(0), dim=1, eps=1e-5).cpu() for one in zs]
    mean_z = F.normalize(torch.cat(zs, 1), dim=1)
    transition = None if graph is None else _transition(graph, N)
    neighbours = None if transition is None else without_loops(transition)
    known = _mask(certain, N) & (given_all >= 0)
    if pred_probs is None:
        rows = [*zs, *([] if transition is None else _attributes(graph, N, transition))]
        data = Labelled(mean_z, rows, given_all, len(classes), known, neighbours)
        found = predict_out_of_fold(data, seed, report)
    else:
        data = Labelled(mean_z, [], given_all, len(classes), known)
        found = calibrate(data, _probabilities(pred_probs, N, classes), seed)
    return _judge(data, found, classes, graph, neighbours, _floats(confidence, N), fdr)


def _judge(
    data: Labelled,
    found: OutOfFold,
    classes: Classes,
    graph: "Data | None",
    neighbours: Matrix | None,
    confidence: NDArray[np.float64],
    fdr: float,
) -> LabelErrors:
    nodes, C = data.nodes, data.num_classes
    given, certain = data.labels[nodes], data.certain[nodes]
    names = [class_name(label, graph) for label in classes.tolist()]
    counts = torch.bincount(given, minlength=C)
    few = counts < LEAST_LABELS  # classes that are not judged
    judged = ~few[given] | certain
    q = found.posterior.masked_fill(few & ~F.one_hot(given, C).bool(), 0)
    q = q / q.sum(1, keepdim=True).clamp_min(1e-30)
    q = torch.where(judged[:, None], q, F.one_hot(given, C).to(q))
    score = q.gather(1, given[:, None]).squeeze(1)
    suggested = q.argmax(1)
    is_error = flag(score, judged & ~certain & (suggested != given), fdr)
    right = score[judged]
    one_hot = F.one_hot(given, C).to(q)
    free = judged & ~certain
    rates = {
        names[c]: 1 - float(score[judged & (given == c)].mean())
        for c in range(C)
        if bool((judged & (given == c)).any())
    }
    shown = torch.where(judged, score, torch.inf)
    order = torch.argsort(shown, stable=True)
    frame = _table(
        data, order, suggested, score, q.max(1).values, is_error, judged, names, graph, neighbours,
        confidence,
    )  # fmt: skip
    errors = LabelErrors(
        frame=frame,
        class_names=names,
        nodes=nodes,
        given=given,
        pred_probs=found.p,
        posterior=q,
        transition=estimated_transition(q[free], one_hot[free], PRIOR),
        error_rate=1 - float(right.mean()) if len(right) else 0.0,
        error_interval=noise_interval(right) if len(right) else (0.0, 1.0),
        error_rate_by_class=rates,
        fdr_target=float(fdr),
        fdr_estimated=float(score[is_error].mean()) if bool(is_error.any()) else 0.0,
        not_judged=[names[c] for c in range(C) if few[c]],
    )
    frame.attrs = errors.to_dict()
    return errors


def flag(score: Tensor, candidate: Tensor, fdr: float) -> Tensor:
    """Mask of the longest run of lowest scores among the candidates whose mean is at most `fdr`.

    Example:
        >>> score = torch.tensor([0.0, 0.1, 0.2, 0.9])
        >>> flag(score, torch.tensor([True, True, True, True]), 0.1).tolist()
        [True, True, True, False]
    """
    order = candidate.nonzero().squeeze(1)
    order = order[torch.argsort(score[order], stable=True)]
    mean = score[order].cumsum(0) / torch.arange(1, len(order) + 1, device=score.device)
    flagged = torch.zeros_like(candidate)
    flagged[order[: int((mean <= fdr + 1e-12).sum())]] = True
    return flagged


def _table(
    data: Labelled,
    order: Tensor,
    suggested: Tensor,
    score: Tensor,
    probability: Tensor,
    is_error: Tensor,
    judged: Tensor,
    names: list[Any],
    graph: "Data | None",
    neighbours: Matrix | None,
    confidence: NDArray[np.float64],
) -> "pd.DataFrame":
    import pandas as pd

    labelled = data.nodes
    nodes, suggested = labelled[order], suggested[order]
    given, certain, judged = data.labels[nodes], data.certain[nodes], judged[order]
    ids = None if graph is None else graph.get("node_ids")

    def name_of(node: int) -> Any:
        return node if ids is None else ids[node]

    M = len(nodes) if len(nodes) <= evidence.ALL_UP_TO else evidence.MOST_SUSPICIOUS
    nearest = evidence.nearest_nodes(data.z, labelled, nodes[:M])
    close = _triples(evidence.count_nearest(nearest, data.labels, given[:M], suggested[:M]))
    near = None
    share_given = share_suggested = np.full(len(nodes), np.nan)
    if neighbours is not None:
        count = evidence.count_neighbours(neighbours, data.labels, nodes, given, suggested)
        near = _triples(count)
        total = torch.where(count.labelled > 0, count.labelled, torch.nan)
        share_given = (count.given / total).numpy()
        share_suggested = (count.suggested / total).numpy()
    given_names = [names[c] for c in given.tolist()]
    suggested_names = [names[c] for c in suggested.tolist()]
    sizes = torch.bincount(given, minlength=len(names)).tolist()
    sentences = []
    for i, (own, other) in enumerate(zip(given_names, suggested_names, strict=True)):
        if bool(certain[i]):
            sentences.append("Known to be right.")
        elif not bool(judged[i]):
            sentences.append(_too_few(own, sizes[int(given[i])]))
        else:
            around = None if near is None else near[i]
            sentences.append(evidence.sentence(own, other, around, close[i] if i < M else None))
    labels_of = data.labels.tolist()
    texts = [
        ", ".join(f"{name_of(j)} ({names[labels_of[j]]})" for j in row) for row in nearest.tolist()
    ]
    return pd.DataFrame(
        {
            "node": [name_of(i) for i in nodes.tolist()],
            "given": given_names,
            "suggested": suggested_names,
            "probability": np.where(judged.numpy(), probability[order].numpy(), np.nan),
            "score": np.where(judged.numpy(), score[order].clamp(0, 1).numpy(), np.nan),
            "is_error": is_error[order].numpy(),
            "neighbours_given": share_given,
            "neighbours_suggested": share_suggested,
            "nearest": texts + [""] * (len(nodes) - M),
            "prototype_confidence": confidence[nodes.numpy()],
            "evidence": sentences,
        }
    )


def _triples(count: evidence.Surroundings) -> list[tuple[int, int, int]]:
    columns = (count.labelled.tolist(), count.given.tolist(), count.suggested.tolist())
    return list(zip(*columns, strict=True))


def _too_few(name: Any, size: int) -> str:
    labels = "a single label" if size == 1 else f"only {size} labels"
    return f"Not judged: {name!r} has {labels}, and {LEAST_LABELS} are needed."


def _is_list(z: Any) -> bool:
    """Whether z is several representations rather than nested lists of numbers."""
    return isinstance(z, list | tuple) and len(z) > 0 and getattr(z[0], "ndim", 1) == 2


def _transition(graph: "Data", num_nodes: int) -> Matrix:
    """Row-stochastic adjacency with self-loops; the graph needs no attributes."""
    if graph.num_nodes is not None and graph.num_nodes != num_nodes and graph.x is not None:
        raise InputError(f"the graph has {graph.num_nodes} nodes but z has {num_nodes} rows")
    edges, weight = canonical_edges(
        graph.edge_index, graph.get("edge_weight"), num_nodes, announce=False
    )
    return adjacency_from_edges(edges, num_nodes, weight).transition


def _attributes(graph: "Data | None", num_nodes: int, transition: Matrix) -> list[Tensor]:
    """The node's own attributes and those around it, if the graph has any."""
    if graph is None or graph.x is None:
        return []
    return list(attribute_rows(scale(graph.x), transition))


def _mask(certain: Any, num_nodes: int) -> Tensor:
    if certain is None:
        return torch.zeros(num_nodes, dtype=torch.bool)
    mask = torch.as_tensor(certain).cpu()
    if mask.dtype != torch.bool or mask.shape != (num_nodes,):
        raise InputError(
            f"certain must be a mask with {num_nodes} entries, True or False, "
            f"got {mask.dtype} of shape {tuple(mask.shape)}"
        )
    return mask


def _floats(confidence: Any, num_nodes: int) -> NDArray[np.float64]:
    if confidence is None:
        return np.full(num_nodes, np.nan)
    values = torch.as_tensor(confidence).detach().cpu().double()
    if values.shape != (num_nodes,):
        raise InputError(
            f"confidence must have {num_nodes} entries, one per node, "
            f"got shape {tuple(values.shape)}"
        )
    return values.numpy()


def _probabilities(pred_probs: Any, num_nodes: int, classes: Classes) -> Tensor:
    """Check probabilities `(N, C)`; columns are the classes in sorted order, or by number."""
    p = torch.as_tensor(pred_probs).detach().cpu().double()
    columns = [len(classes)]
    if classes.dtype.kind in "iu":
        columns.append(int(classes.max()) + 1)
    if p.ndim != 2 or len(p) != num_nodes or p.shape[1] < min(columns):
        raise InputError(
            f"pred_probs must have shape ({num_nodes}, {' or '.join(map(str, columns))}), "
            f"got {tuple(p.shape)}"
        )
    if p.shape[1] != len(classes):
        p = p[:, torch.from_numpy(classes.astype(np.int64))]
    if not bool(p.isfinite().all()) or bool((p < 0).any()):
        raise InputError("pred_probs must be probabilities: finite, and 0 or more")
    return p / p.sum(1, keepdim=True).clamp_min(1e-30)
