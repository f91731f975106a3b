"""How well predictions agree with labels that may themselves be wrong.

A label counts as wrong when another class is predicted with at least the confidence that nodes
with that label usually have (the confident joint of Northcutt, Jiang & Chuang 2021).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from brgcl.tasks.checks import check_classes
from brgcl.tasks.classify import out_of_fold_probabilities
from brgcl.tasks.rules import Rule

if TYPE_CHECKING:
    from torch_geometric.data import Data


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

    The arguments are those of `NodeClassifier`; `rule` names the classifier, or how to choose it.
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
