"""How well predictions, clusters and scores of labels agree with the truth: plain numbers.

Functions of classes leave out the nodes whose true class is unknown (-1).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from brgcl.errors import InputError

Labels = Tensor | NDArray[Any]
"""A one-dimensional tensor or array."""


def accuracy(predicted: Labels, truth: Labels) -> float:
    """Share of the nodes whose predicted class is the true one.

    Args:
        predicted: Predicted class of each node, `(N,)`.
        truth: True class of each node, or -1 for unknown, `(N,)`.

    Raises:
        InputError: The lengths differ, the entries are no integers, or no true class is known.

    Example:
        >>> accuracy(np.array([0, 1, 1, 2]), np.array([0, 1, 2, -1]))
        0.6666666666666666
    """
    predicted, truth = _comparable(predicted, truth)
    return float(np.mean(predicted == truth))


def macro_f1(predicted: Labels, truth: Labels) -> float:
    """Mean over the true classes of F1, the harmonic mean of precision and recall.

    A class that is predicted but never true has no F1 of its own; such predictions cost the recall
    of the classes they were taken from. Arguments and errors are those of `accuracy`.
    """
    from sklearn.metrics import f1_score

    predicted, truth = _comparable(predicted, truth)
    return float(f1_score(truth, predicted, labels=np.unique(truth), average="macro"))


def clustering_accuracy(clusters: Labels, truth: Labels) -> float:
    """Accuracy under the best one-to-one matching of clusters with classes.

    The nodes of a cluster that is left without a class count as wrong.

    Args:
        clusters: Cluster of each node, `(N,)`; the numbers themselves mean nothing.
        truth: True class of each node, or -1 for unknown, `(N,)`.

    Example:
        >>> clustering_accuracy(np.array([5, 5, 3, 3]), np.array([0, 0, 1, 1]))
        1.0
    """
    from scipy.optimize import linear_sum_assignment
    from sklearn.metrics.cluster import contingency_matrix

    clusters, truth = _comparable(clusters, truth)
    table = contingency_matrix(clusters, truth)
    return float(table[linear_sum_assignment(table, maximize=True)].sum() / len(truth))


def nmi(clusters: Labels, truth: Labels) -> float:
    """Mutual information of clusters and classes, divided by the mean of their entropies.

    Arguments and errors are those of `clustering_accuracy`.
    """
    from sklearn.metrics import normalized_mutual_info_score

    clusters, truth = _comparable(clusters, truth)
    return float(normalized_mutual_info_score(truth, clusters, average_method="arithmetic"))


def ari(clusters: Labels, truth: Labels) -> float:
    """Rand index of clusters and classes, adjusted to be 0 on average for random clusters.

    Arguments and errors are those of `clustering_accuracy`.
    """
    from sklearn.metrics import adjusted_rand_score

    clusters, truth = _comparable(clusters, truth)
    return float(adjusted_rand_score(truth, clusters))


def detection_scores(score: Labels, is_error: Labels, wrong: Labels) -> dict[str, float]:
    """How well wrong labels are found, by name; higher is better.

    `auroc` and `average_precision` judge the ranking, `precision`, `recall`, `f1` and `mcc` (the
    correlation of Matthews) the labels that are flagged. Where nothing is flagged they are 0.

    Args:
        score: Score of each label, low = suspicious, `(L,)`.
        is_error: Whether it is flagged, `(L,)`.
        wrong: Whether it is wrong, `(L,)`.

    Returns:
        The scores; empty where no label is wrong, or all are, so that there is nothing to tell
        apart.

    Example:
        >>> wrong = np.array([True, False, False, False])
        >>> detection_scores(np.array([0.1, 0.9, 0.2, 0.8]), wrong, wrong)["auroc"]
        1.0
    """
    from sklearn import metrics

    score, flagged, truth = (_flat(value) for value in (score, is_error, wrong))
    if not len(score) == len(flagged) == len(truth):
        raise InputError(
            f"score, is_error and wrong must have the same length, got {len(score)}, "
            f"{len(flagged)} and {len(truth)}"
        )
    flagged, truth = flagged.astype(bool), truth.astype(bool)
    if truth.all() or not truth.any():
        return {}
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(
        truth, flagged, average="binary", zero_division=0.0
    )
    return {
        "auroc": float(metrics.roc_auc_score(truth, -score)),
        "average_precision": float(metrics.average_precision_score(truth, -score)),
        "precision": float(precision),
        "recall": float(recall),
        "f1": float(f1),
        "mcc": float(metrics.matthews_corrcoef(truth, flagged)),
    }


def calibration_error(probability: Labels, happened: Labels, bins: int = 10) -> float:
    """Expected calibration error: mean distance of probabilities from frequencies, lower is better.

    Probabilities are put into bins of equal width; in each the mean probability is compared with
    the share of cases that came true, and the distances are weighted by the number of cases
    (Naeini, Cooper & Hauskrecht, AAAI 2015).

    Args:
        probability: In [0, 1], `(L,)`.
        happened: Whether it came true, `(L,)`.
        bins: Number of bins.

    Example:
        >>> calibration_error(np.array([0.75, 0.75, 0.75, 0.75]), np.array([1, 1, 1, 0]))
        0.0
    """
    p, true = _flat(probability).astype(float), _flat(happened).astype(float)
    if len(p) == 0 or len(p) != len(true):
        raise InputError(f"give as many outcomes as probabilities, got {len(true)} and {len(p)}")
    place = np.minimum((p * bins).astype(int), bins - 1)
    return float(np.abs(np.bincount(place, weights=p - true)).sum() / len(p))


def _flat(value: Labels) -> NDArray[Any]:
    return value.detach().cpu().numpy() if isinstance(value, Tensor) else np.asarray(value)


def _comparable(predicted: Labels, truth: Labels) -> tuple[NDArray[Any], NDArray[Any]]:
    """Both as arrays, restricted to the nodes whose true class is known."""
    pair = [
        value.detach().cpu().numpy() if isinstance(value, Tensor) else np.asarray(value)
        for value in (predicted, truth)
    ]
    for name, array in zip(("predictions", "truth"), pair, strict=True):
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise InputError(
                f"{name} must be one-dimensional integers, got {array.dtype} of shape {array.shape}"
            )
    predicted, truth = pair
    if len(predicted) != len(truth):
        raise InputError(
            f"predictions have {len(predicted)} entries but truth has {len(truth)}; "
            "give one for each node, with -1 where the truth is unknown"
        )
    known = truth >= 0
    if not known.any():
        raise InputError("nothing to compare: no node has a known true class (all are -1)")
    return predicted[known], truth[known]
