"""Confident learning: cleanlab itself, on class probabilities that did not see a node's label.

A label is an issue where another class is predicted with at least the mean confidence of the
nodes with that label. cleanlab counts these in a confident joint of given and true classes, finds
which labels are issues, and scores a label by the probability it is given (`self_confidence`, its
default).
"""

from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Generator, Tensor
from torch_geometric.data import Data

from brgcl.contract import Fitted, Hook
from brgcl.detectors.contract import Detected, Detector
from brgcl.detectors.out_of_fold import out_of_fold, train_on_folds
from brgcl.detectors.representations import representations_of
from brgcl.errors import InputError
from brgcl.tasks.checks import check_representations
from brgcl.tasks.classifiers import LabelledRows, fit_logistic
from brgcl.tasks.classify import PENALTIES


def detect_by_network(
    graph: Data,
    labels: Tensor,
    config: Any,
    generator: Generator,
    fitted: Fitted | None = None,
    report: Hook = None,
    *,
    method: str,
) -> Detected:
    """Train a network on four fifths of the labels at a time, and let cleanlab judge."""
    _cleanlab()  # an error before anything is trained
    C = int(labels.max()) + 1
    fit_predict = train_on_folds(method, graph, C, config, generator, report)
    return judge_confidently(out_of_fold(labels, fit_predict, generator), labels)


def detect_by_regression(
    graph: Data,
    labels: Tensor,
    config: Any,
    generator: Generator,
    fitted: Fitted | None = None,
    report: Hook = None,
) -> Detected:
    """Fit a regression to four fifths of the labels at a time, and let cleanlab judge."""
    _cleanlab()
    z = check_representations(representations_of(fitted))
    C = int(labels.max()) + 1

    def fit_predict(kept: Tensor, _: int) -> Tensor:
        return fit_logistic(LabelledRows(z, kept, C), PENALTIES["logistic+"])(z)

    return judge_confidently(out_of_fold(labels, fit_predict, generator), labels)


def judge_confidently(proba: Tensor, labels: Tensor) -> Detected:
    """Let cleanlab judge.

    Args:
        proba: Out-of-fold probabilities, `(N, C)`.
        labels: Given labels in `0..C-1`, -1 = unlabelled, `(N,)`.
    """
    cleanlab = _cleanlab()
    nodes = (labels >= 0).nonzero().squeeze(1)
    positive = proba[nodes].double().clamp_min(1e-12)
    p = (positive / positive.sum(1, keepdim=True)).numpy()
    given = labels[nodes].numpy()
    wrong = cleanlab.filter.find_label_issues(given, p, n_jobs=1)
    score = cleanlab.rank.get_label_quality_scores(given, p)
    issues = cleanlab.count.num_label_issues(given, p)
    is_error = torch.from_numpy(wrong)
    return Detected(
        nodes,
        score=torch.from_numpy(score),
        suggested=torch.where(is_error, proba[nodes].argmax(1), labels[nodes]),
        is_error=is_error,
        error_rate=int(issues) / len(given),
    )


def _cleanlab() -> Any:
    try:
        import cleanlab.count
        import cleanlab.filter
        import cleanlab.rank
    except ImportError as error:
        raise InputError(
            "confident learning needs cleanlab; install it with: pip install 'brgcl[interop]'"
        ) from error
    return cleanlab


CITATION = (
    "Northcutt, Jiang & Chuang, Confident Learning: Estimating Uncertainty in Dataset Labels, "
    "JAIR 2021, by cleanlab"
)
GCN = Detector(
    name="confident-gcn",
    detect=partial(detect_by_network, method="gcn"),
    kind="classifier",
    method="gcn",
    settings={"hidden": 64},
    citation=CITATION,
    cost="five times that of gcn",
    extra="interop",
    deviations=(
        "The GCN has 64 hidden units, as the perceptron has, where `gcn` has 16.",
        "It keeps its last epoch, since there are no validation labels.",
    ),
)
MLP = replace(
    GCN,
    name="confident-mlp",
    detect=partial(detect_by_network, method="mlp"),
    method="mlp",
    settings={},
    cost="five times that of mlp",
    deviations=("The perceptron keeps its last epoch, since there are no validation labels.",),
)
SMOOTH = replace(
    GCN,
    name="confident-smooth",
    detect=detect_by_regression,
    kind="representation",
    method="smooth",
    settings={},
    cost="that of smooth, then that of five logistic regressions",
    deviations=("The attributes are smoothed over the graph before the regression.",),
)
