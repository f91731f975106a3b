"""Find labels that are probably wrong.

Every labelled node is predicted without its own label (`out_of_fold.py`), which gives p_i. The
label adds P(l_i | true class), a transition matrix T estimated from labels outside the node's fold:

    q_ic ~ p_ic T_{c, l_i}

The score of a label is q_{i, l_i}, the probability that it is right, after a correction for chance
(`less_chance`). The labels with the lowest scores are flagged as long as at most a share `fdr` of
them is expected to be right. docs/find-errors.md explains each step.
"""

import logging
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from brgcl.config import Share, check_seed, check_value
from brgcl.method.sparse import Matrix
from brgcl.notebook import label_errors_html
from brgcl.tasks.attribute_rows import principal_rows
from brgcl.tasks.checks import class_name
from brgcl.tasks.evidence import evidence_columns
from brgcl.tasks.label_error_inputs import (
    LEAST_LABELS,
    attributes,
    confidences,
    earlier,
    enough_labels,
    mask,
    probabilities,
    representations,
    transition_without_attributes,
)
from brgcl.tasks.label_noise import estimated_transition, noise_interval, without_loops
from brgcl.tasks.label_transition import transition_prior, unexplained_errors
from brgcl.tasks.out_of_fold import (
    CONTRADICTION,
    MANY,
    Labelled,
    OutOfFold,
    Report,
    calibrate,
    predict_out_of_fold,
)

if TYPE_CHECKING:
    import pandas as pd
    from torch_geometric.data import Data

log = logging.getLogger("brgcl")
COLUMNS = 64  # principal components that classifiers see where labels are many
MOST_RAISED = 7.0  # logarithm of the factor by which odds of given labels are raised at most


@dataclass(frozen=True)
class LabelErrors:
    """Results on the given labels.

    Attributes:
        frame: One row per labelled node, the most suspicious first; see `find_label_errors`.
        class_names: Name of each class, C of them.
        nodes: The labelled nodes in the order of the graph, `(L,)`.
        given: Their given labels as positions in `class_names`, `(L,)`.
        pred_probs: Class probabilities without the node's own label, `(L, C)`.
        posterior: Class probabilities given the node's own label, `(L, C)`.
        transition: Row = true class, column = given label, `(C, C)`.
        error_rate: Estimated share of wrong labels.
        error_interval: Its 95 % interval.
        error_rate_by_class: The share for each class that could be judged.
        fdr_target: Share of right labels allowed among the flagged ones.
        fdr_estimated: Share of right labels expected among the flagged ones.
        not_judged: Classes with too few labels to judge.
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
    labels_before: Any = None,
    confidence: Any = None,
    fdr: float = 0.1,
    seed: int = 0,
    report: Report | None = None,
) -> "pd.DataFrame":
    """List all labelled nodes, the most suspicious first, and flag the labels that are wrong.

    Args:
        z: Representations, `(N, D)`, or a list of several, preferably learned without labels.
        labels: Observed labels, integers or names, -1 or None = unlabelled, `(N,)`.
        graph: The graph, with neighbours, attributes, ids and class names.
        pred_probs: Class probabilities of every node, `(N, C)`, from a model that was fitted
            without the node's own label. They replace the predictions of brgcl.
        certain: Mask of labels that are known to be right, `(N,)`.
        labels_before: Labels before the certain ones were decided, `(N,)`; they show how labels
            are confused.
        confidence: Confidence of each node in its cluster, `(N,)`; it is only shown.
        fdr: Share of right labels allowed among the flagged ones.
        seed: Seed of the cross-validation.
        report: Progress callback, called with the number of fits done, their total, and a text.

    Returns:
        One row per labelled node: `node` (its id), `given` and `suggested` (class names if
        known), `probability` of the suggested class, `score` in [0, 1], the probability that the
        given label is right, `is_error`, whether it is flagged, and the evidence: the shares
        `neighbours_given` and `neighbours_suggested` of the labelled neighbours with that label,
        the `nearest` labelled nodes, `prototype_confidence` and a sentence, `evidence`.
        `frame.attrs` has the summary `LabelErrors.to_dict()`.
    """
    return judge_labels(
        z, labels, graph=graph, pred_probs=pred_probs, certain=certain,
        labels_before=labels_before, confidence=confidence, fdr=fdr, seed=seed, report=report,
    ).frame  # fmt: skip


def judge_labels(
    z: Any,
    labels: Any,
    *,
    graph: "Data | None" = None,
    pred_probs: Any = None,
    certain: Any = None,
    labels_before: Any = None,
    confidence: Any = None,
    fdr: float = 0.1,
    seed: int = 0,
    report: Report | None = None,
) -> LabelErrors:
    """Judge labels like `find_label_errors`, and return all results as a `LabelErrors`."""
    fdr, seed = check_value("fdr", Share, fdr), check_seed(seed)
    zs = representations(z)
    N = len(zs[0])
    classes, codes = enough_labels(labels, N)
    given, right = torch.from_numpy(codes), mask(certain, N)
    before = earlier(labels_before, classes, N)
    shown = confidences(confidence, N)
    transition = None if graph is None else transition_without_attributes(graph, N)
    neighbours = None if transition is None else without_loops(transition)
    joined = F.normalize(torch.cat(zs, 1), dim=1)
    if pred_probs is None:
        rows = [*zs, *attributes(graph, transition)]
        if int((given >= 0).sum()) > MANY:
            rows = [principal_rows(one, COLUMNS) for one in rows]
        data = Labelled(joined, rows, given, len(classes), right, neighbours, before)
        found = predict_out_of_fold(data, seed, report)
    else:
        data = Labelled(joined, [], given, len(classes), right, before=before)
        found = calibrate(data, probabilities(pred_probs, N, classes), seed)
    names = [class_name(label, graph) for label in classes.tolist()]
    ids = None if graph is None else graph.get("node_ids")
    return _judge(data, found, names, ids, neighbours, shown, fdr)


def _judge(
    data: Labelled,
    found: OutOfFold,
    names: list[Any],
    ids: Sequence[Any] | None,
    neighbours: Matrix | None,
    confidence: NDArray[np.float64],
    fdr: float,
) -> LabelErrors:
    """Turn posteriors into a verdict."""
    import pandas as pd

    nodes, C = data.nodes, data.num_classes
    given, certain = data.labels[nodes], data.certain[nodes]
    one_hot = F.one_hot(given, C).bool()
    few = torch.bincount(given, minlength=C) < LEAST_LABELS  # classes that are not judged
    judged = ~few[given] | certain
    kept = certain | ~judged
    q = torch.where(kept[:, None], one_hot.double(), found.posterior)
    q = less_chance(q, one_hot, ~kept, found.chance)
    score, suggested = q[one_hot], q.argmax(1)
    is_error = flag(score, judged & ~certain & (suggested != given), fdr)

    order = torch.argsort(torch.where(judged, score, torch.inf), stable=True)
    sure = judged[order].numpy()
    reasons = evidence_columns(
        data, nodes[order], suggested[order], judged[order], names, ids, neighbours
    )
    frame = pd.DataFrame(
        {
            "node": [i if ids is None else ids[i] for i in nodes[order].tolist()],
            "given": [names[c] for c in given[order].tolist()],
            "suggested": [names[c] for c in suggested[order].tolist()],
            "probability": np.where(sure, q[order].max(1).values.numpy(), np.nan),
            "score": np.where(sure, score[order].numpy(), np.nan),
            "is_error": is_error[order].numpy(),
            "neighbours_given": reasons["neighbours_given"],
            "neighbours_suggested": reasons["neighbours_suggested"],
            "nearest": reasons["nearest"],
            "prototype_confidence": confidence[nodes[order].numpy()],
            "evidence": reasons["evidence"],
        }
    )
    known = judged & (data.observed[nodes] >= 0)
    observed = F.one_hot(data.observed[nodes[known]], C).to(q)
    among = {c: score[judged & (given == c)] for c in range(C)}
    errors = LabelErrors(
        frame=frame,
        class_names=names,
        nodes=nodes,
        given=given,
        pred_probs=found.p,
        posterior=q,
        transition=estimated_transition(q[known], observed, transition_prior(len(given), C)),
        error_rate=1 - float(score[judged].mean()),
        error_interval=noise_interval(score[judged]),
        error_rate_by_class={names[c]: 1 - float(s.mean()) for c, s in among.items() if len(s)},
        fdr_target=float(fdr),
        fdr_estimated=float(score[is_error].mean()) if bool(is_error.any()) else 0.0,
        not_judged=[names[c] for c in few.nonzero().squeeze(1).tolist()],
    )
    frame.attrs.update(errors.to_dict())
    beyond = unexplained_errors(found.p, errors.transition, given)
    if beyond > CONTRADICTION:
        log.warning(
            "do not trust the estimated error rate of %.0f %%: of the labels whose class is "
            "clearest, %.0f %% more are wrong than it explains; some classes may be mistaken for "
            "one another throughout",
            100 * errors.error_rate,
            100 * beyond,
        )
    return errors


def less_chance(q: Tensor, one_hot: Tensor, doubted: Tensor, chance: float) -> Tensor:
    """Raise the odds of the given labels to correct the share of wrong labels for chance.

    If a share e of the labels looks wrong, and a share b would look wrong if all labels were right,
    then the share e' with e = b + (1 - b) e' is wrong. The odds of all given labels are raised by
    the same factor, so their order does not change. At most half of e is removed, because b is an
    estimate, too.

    Args:
        q: Posteriors, `(L, C)`.
        one_hot: Given labels, bool, `(L, C)`.
        doubted: Mask of the labels that are judged, `(L,)`.
        chance: b.

    Example:
        >>> q, given = torch.tensor([[0.6, 0.4]]).double(), torch.tensor([[True, False]])
        >>> less_chance(q, given, torch.tensor([True]), 0.2)
        tensor([[0.7500, 0.2500]], dtype=torch.float64)
    """
    right = q[one_hot][doubted]
    if chance <= 0 or not len(right):
        return q
    mean = float(right.mean())
    wanted = min(mean / (1 - chance), (1 + mean) / 2)
    low, high = 0.0, MOST_RAISED  # logarithm of the factor
    for _ in range(60):
        middle = (low + high) / 2
        raised = torch.sigmoid(torch.logit(right, eps=1e-12) + middle)
        low, high = (middle, high) if float(raised.mean()) < wanted else (low, middle)
    factor = torch.where(one_hot & doubted[:, None], math.exp(high), 1.0).to(q)
    return q * factor / (q * factor).sum(1, keepdim=True)


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
