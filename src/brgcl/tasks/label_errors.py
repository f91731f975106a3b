"""Find labels that are probably wrong.

Every labelled node is predicted by a classifier that did not see its label. The score of a label
is the probability that such a prediction gives it. A label is flagged as wrong when another class
is predicted with at least the confidence that nodes with that label usually have (the confident
joint of Northcutt, Jiang & Chuang 2021).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from brgcl.tasks.checks import check_classes, class_name
from brgcl.tasks.classify import out_of_fold_probabilities
from brgcl.tasks.rules import Rule

if TYPE_CHECKING:
    import pandas as pd
    from torch_geometric.data import Data


def find_label_errors(
    z: Any, labels: Any, *, graph: "Data | None" = None, seed: int = 0
) -> "pd.DataFrame":
    """List all labelled nodes, the most suspicious first, and flag the labels that are wrong.

    On a graph whose truth is known, recall is the share of the wrong labels that it finds and
    precision the share of the flagged labels that are wrong.

    Args:
        z: Representations, `(N, D)`.
        labels: Observed labels, integers or names, -1 = unlabelled, `(N,)`.
        graph: The graph, for soft labels and for the ids and class names it carries.
        seed: Seed of the cross-validation.

    Returns:
        One row per labelled node: `node` (its id), `given` and `suggested` (class names where
        known), `score` in [0, 1], low = suspicious, and `is_error`, whether it is flagged.
    """
    import pandas as pd

    classes, codes = check_classes(labels, len(z), graph)
    names = [class_name(label, graph) for label in classes.tolist()]
    proba, _ = out_of_fold_probabilities(z, codes, graph=graph, seed=seed)
    nodes = torch.from_numpy(codes >= 0).nonzero().squeeze(1)
    given = torch.from_numpy(codes)[nodes]
    own = proba[nodes].gather(1, given[:, None]).squeeze(1)
    ids = None if graph is None else graph.get("node_ids")
    frame = pd.DataFrame(
        {
            "node": nodes.numpy() if ids is None else [ids[i] for i in nodes.tolist()],
            "given": [names[c] for c in given.tolist()],
            "suggested": [names[c] for c in proba[nodes].argmax(1).tolist()],
            "score": own.clamp(0, 1).numpy(),
            "is_error": confident_errors(proba[nodes], given).numpy(),
        }
    )
    return frame.sort_values("score", kind="stable", ignore_index=True)


@dataclass(frozen=True)
class Agreement:
    """How well held-out predictions agree with labels that may themselves be wrong.

    Attributes:
        cv_agreement: Share of labelled nodes whose held-out prediction equals the given label.
        estimated_noise: Estimated share of wrong labels.
        cv_ceiling: Agreement that a perfect classifier would reach, 1 - estimated_noise; never
            below `cv_agreement`, since a label that is predicted is not counted as wrong.
    """

    cv_agreement: float
    estimated_noise: float
    cv_ceiling: float


def cross_validated_agreement(
    z: Any, labels: Any, *, graph: "Data | None" = None, rule: Rule = "auto", seed: int = 0
) -> Agreement:
    """Measure agreement with the given labels by cross-validation, where the truth is unknown.

    The arguments are those of `find_label_errors`; `rule` names the classifier, or how to choose
    it as `NodeClassifier` does.
    """
    _, codes = check_classes(labels, len(z), graph)
    proba, _ = out_of_fold_probabilities(z, codes, graph=graph, rule=rule, seed=seed)
    given = torch.from_numpy(codes)
    known = given >= 0
    agreement = float((proba.argmax(1) == given)[known].double().mean())
    wrong = confident_errors(proba[known], given[known]).double()
    return Agreement(agreement, float(wrong.mean()), float((1 - wrong).mean()))


def confident_errors(proba: Tensor, given: Tensor) -> Tensor:
    """Mask of given labels `(L,)` that contradict confident out-of-fold probabilities `(L, C)`.

    The threshold of a class is the mean probability that nodes given this class get for it. A
    label that is predicted itself is no error, whichever thresholds are met.
    """
    C = proba.shape[1]
    own = proba.gather(1, given[:, None]).squeeze(1)
    counts = torch.bincount(given, minlength=C).to(proba.dtype)
    level = torch.zeros(C, dtype=proba.dtype).index_add_(0, given, own) / counts.clamp_min(1)
    level[counts == 0] = torch.inf
    confident = torch.where(proba >= level, proba, -1)
    best = confident.max(1)
    return (best.values >= 0) & (best.indices != given) & (proba.argmax(1) != given)
