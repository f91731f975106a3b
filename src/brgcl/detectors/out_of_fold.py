"""Predictions of labelled nodes by classifiers that did not see their labels."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Generator, Tensor
from torch_geometric.data import Data

from brgcl.contract import Hook, ObservedLabels
from brgcl.methods import find_method

FOLDS = 5

FitPredict = Callable[[Tensor, int], Tensor]
"""From labels `(N,)` with those of a fold hidden (-1), and the number of the fold, to class
probabilities of all nodes, `(N, C)`."""


def deal_folds(labels: Tensor, generator: Generator) -> Tensor:
    """Number of the fold of each labelled node, -1 where there is no label, `(N,)`.

    The nodes of each class are shuffled and dealt to the five folds in turn, the next class where
    the last one ended. So folds and the classes in them differ in size by one at most.

    Args:
        labels: Given labels, -1 = unlabelled, `(N,)`.
        generator: Source of randomness.
    """
    order = torch.randperm(len(labels), generator=generator)
    order = order[torch.argsort(labels[order], stable=True)]
    order = order[labels[order] >= 0]
    fold = torch.full_like(labels, -1)
    fold[order] = torch.arange(len(order)) % FOLDS
    return fold


def out_of_fold(labels: Tensor, fit_predict: FitPredict, generator: Generator) -> Tensor:
    """Predict every labelled node without its label; rows of unlabelled nodes are 0, `(N, C)`.

    Args:
        labels: Given labels in `0..C-1`, -1 = unlabelled, `(N,)`.
        fit_predict: Trains a classifier and predicts.
        generator: Source of the folds, which are drawn before anything else.
    """
    fold = deal_folds(labels, generator)
    held_out = torch.zeros(len(labels), int(labels.max()) + 1)
    for number in range(FOLDS):
        nodes = fold == number
        if bool(nodes.any()):
            held_out[nodes] = fit_predict(labels.masked_fill(nodes, -1), number)[nodes]
    return held_out


def train_on_folds(
    method: str,
    graph: Data,
    num_classes: int,
    config: Any,
    generator: Generator,
    report: Hook = None,
) -> FitPredict:
    """Train a classifier of `METHODS` anew on each fold, without validation labels.

    Args:
        method: Its name.
        graph: A checked graph.
        num_classes: C.
        config: Its settings.
        generator: Source of randomness.
        report: Called after each epoch of all trainings.
    """

    def fit_predict(kept: Tensor, fold: int) -> Tensor:
        def tell(done: int, total: int, words: str) -> None:
            if report is not None:
                report(fold * total + done, FOLDS * total, words)

        labels = ObservedLabels(kept, None, num_classes)
        fitted = find_method(method).fit(graph, labels, config, generator, tell)
        assert fitted.probabilities is not None  # classifiers fill it
        return fitted.probabilities

    return fit_predict
