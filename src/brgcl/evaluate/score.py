"""Run one method on one trial and score it."""

import dataclasses
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import torch
from torch import Tensor

from brgcl.contract import Fitted, Reporter
from brgcl.errors import unknown_name
from brgcl.evaluate.protocol import Trial, generator_for
from brgcl.methods import METHODS
from brgcl.tasks.classify import NodeClassifier
from brgcl.tasks.cluster import cluster, kmeans
from brgcl.tasks.label_errors import Agreement, cross_validated_agreement
from brgcl.tasks.labels import by_class_number
from brgcl.tasks.metrics import accuracy, ari, clustering_accuracy, macro_f1, nmi


@dataclass(frozen=True)
class Classified:
    """Predictions of one method on one trial, and how good they are.

    Attributes:
        fitted: What the method learned.
        probabilities: Class probabilities of all nodes, `(N, C)`.
        rule: The classifier on top of the representations, or "own" for a classifier method.
        accuracy: Share of test nodes that are right; None where there is no truth.
        macro_f1: Mean F1 over classes on test nodes; None where there is no truth.
        seconds: Time of training and classifying.
    """

    fitted: Fitted
    probabilities: Tensor
    rule: str
    accuracy: float | None
    macro_f1: float | None
    seconds: float


@dataclass(frozen=True)
class Clustered:
    """Clusters of one method on one trial, and how well they match the classes.

    Attributes:
        fitted: What the method learned.
        assignment: Cluster of each node, `(N,)`.
        num_clusters: K.
        acc: Accuracy under the best matching of clusters and classes; like the next two None
            where there is no truth.
        nmi: Normalised mutual information.
        ari: Adjusted Rand index.
        seconds: Time of training and clustering.
    """

    fitted: Fitted
    assignment: Tensor
    num_clusters: int
    acc: float | None
    nmi: float | None
    ari: float | None
    seconds: float


def fit_method(
    trial: Trial,
    method: str,
    config: Any,
    seed: int,
    report: Reporter | None = None,
    checkpoint: Path | None = None,
) -> Fitted:
    """Train a method on what a trial lets it see.

    Args:
        trial: The noisy graph.
        method: A name from `METHODS`.
        config: Settings of the method.
        seed: Seed of the training.
        report: Called as training goes on.
        checkpoint: A file from which a training that was stopped goes on, if the method can.
    """
    if method not in METHODS:
        raise unknown_name("method", method, METHODS, hint="brgcl methods lists all")
    entry = METHODS[method]
    labels = trial.labels if entry.uses_labels else None
    resumed: dict[str, Any] = {"checkpoint": checkpoint} if entry.resumable else {}
    generator = generator_for(seed, "training")
    return entry.fit(trial.graph, labels, config, generator, report, **resumed)


def classify_trial(
    trial: Trial,
    method: str,
    config: Any,
    classifier: NodeClassifier | None = None,
    seed: int = 0,
    report: Reporter | None = None,
) -> Classified:
    """Train a method, classify all nodes, score the test nodes.

    Args:
        trial: The noisy graph.
        method: A name from `METHODS`.
        config: Settings of the method.
        classifier: What to put on top of representations; the default chooses by validation.
        seed: Seed of the training.
        report: Called as training goes on.
    """
    start = time.perf_counter()
    fitted = fit_method(trial, method, config, seed, report)
    found = classify_fitted(trial, fitted, classifier, seed)
    return dataclasses.replace(found, seconds=time.perf_counter() - start)


def classify_fitted(
    trial: Trial, fitted: Fitted, classifier: NodeClassifier | None = None, seed: int = 0
) -> Classified:
    """Classify all nodes from what a method has learned, and score the test nodes."""
    start = time.perf_counter()
    rule, proba = "own", fitted.probabilities
    if proba is None:
        classifier = classifier or NodeClassifier(seed=seed)
        classifier.fit(
            fitted.representations,
            trial.labels.train,
            graph=trial.graph,
            validation=trial.labels.validation,
        )
        rule, proba = classifier.rule_, classifier.predict_proba(fitted.representations)
        proba = by_class_number(proba, classifier.classes_)
    seconds = time.perf_counter() - start
    right = f1 = None
    if bool(trial.truth.test.any()):
        predicted = proba.argmax(1)[trial.truth.test]
        truth = trial.truth.y[trial.truth.test]
        right, f1 = accuracy(predicted, truth), macro_f1(predicted, truth)
    return Classified(fitted, proba, rule, right, f1, seconds)


def cluster_trial(
    trial: Trial,
    method: str,
    config: Any,
    num_clusters: int | None = None,
    seed: int = 0,
    report: Reporter | None = None,
) -> Clustered:
    """Train a method, cluster its representations by K-means, compare with the classes.

    Args:
        trial: The noisy graph.
        method: A name from `METHODS`.
        config: Settings of the method.
        num_clusters: K; None takes the number of classes where the truth is known (as the
            paper does), else the number of prototypes that the method found.
        seed: Seed of the training and of K-means.
        report: Called as training goes on.
    """
    start = time.perf_counter()
    fitted = fit_method(trial, method, config, seed, report)
    found = cluster_fitted(trial, fitted, num_clusters, seed)
    return dataclasses.replace(found, seconds=time.perf_counter() - start)


def cluster_fitted(
    trial: Trial, fitted: Fitted, num_clusters: int | None = None, seed: int = 0
) -> Clustered:
    """Cluster what a method has learned, and compare with the classes; see `cluster_trial`."""
    start = time.perf_counter()
    y = trial.truth.y
    known = bool((y >= 0).any())
    if num_clusters is None and known:
        num_clusters = int((torch.bincount(y[y >= 0]) > 0).sum())
    if num_clusters is not None:
        assignment = kmeans(fitted.representations, num_clusters, seed=seed).assignment
    elif fitted.model is not None:
        assignment = fitted.model.pseudo_labels_
    else:
        assignment = cluster(fitted.representations).assignment
    return Clustered(
        fitted,
        assignment,
        num_clusters=int(assignment.max()) + 1,
        acc=clustering_accuracy(assignment, y) if known else None,
        nmi=nmi(assignment, y) if known else None,
        ari=ari(assignment, y) if known else None,
        seconds=time.perf_counter() - start,
    )


def summarize_classification(outcomes: list[Classified], trials: list[Trial]) -> dict[str, Any]:
    """Means over the seeds; without truth, agreement with the given labels instead."""
    scores = _known(outcome.accuracy for outcome in outcomes)
    if scores:
        found: dict[str, Any] = {
            "accuracy_mean": mean(scores),
            "accuracy_std": _deviation(scores),
            "macro_f1_mean": mean(_known(outcome.macro_f1 for outcome in outcomes)),
        }
    else:
        found = {"accuracy": None, **_agreement(outcomes[0], trials[0])}
    return found | {
        "n": len(outcomes),
        **realised_noise(trials),
        "rules": [outcome.rule for outcome in outcomes],
        "seconds_mean": mean(outcome.seconds for outcome in outcomes),
    }


def _agreement(outcome: Classified, trial: Trial) -> dict[str, float | None]:
    """Agreement of held-out predictions with the given labels, by the classifier that was taken.

    None for a method that learned from labels: its representations have seen those held out.
    """
    if outcome.rule == "own":
        return dict.fromkeys(field.name for field in dataclasses.fields(Agreement))
    rule: Any = outcome.rule
    found = cross_validated_agreement(
        outcome.fitted.representations, trial.labels.train, graph=trial.graph, rule=rule
    )
    return dataclasses.asdict(found)


def summarize_clustering(outcomes: list[Clustered], trials: list[Trial]) -> dict[str, Any]:
    """Means over the seeds; None where there is no truth to compare with."""
    found: dict[str, Any] = {}
    for name in ("acc", "nmi", "ari"):
        scores = _known(getattr(outcome, name) for outcome in outcomes)
        found[f"{name}_mean"] = mean(scores) if scores else None
        found[f"{name}_std"] = _deviation(scores)
    return found | {
        "num_clusters": outcomes[0].num_clusters,
        "n": len(outcomes),
        **realised_noise(trials),
        "seconds_mean": mean(outcome.seconds for outcome in outcomes),
    }


def realised_noise(trials: list[Trial]) -> dict[str, float]:
    """Realised noise rates, means over the trials."""
    return {
        "noise_realised": mean(trial.label_noise for trial in trials),
        "attribute_noise_realised": mean(trial.attribute_noise for trial in trials),
        "edge_noise_realised": mean(trial.edge_noise for trial in trials),
    }


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _deviation(values: list[float]) -> float | None:
    return stdev(values) if len(values) > 1 else None
