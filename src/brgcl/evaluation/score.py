"""One draw: train a method on what it may see, classify or cluster, and compare with the truth."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from brgcl.contract import Fitted, Reporter
from brgcl.evaluation.protocol import NoisyGraph
from brgcl.methods import find_method
from brgcl.noise.graph import generator_for
from brgcl.tasks.classify import NodeClassifier
from brgcl.tasks.cluster import cluster
from brgcl.tasks.labels import by_class_number
from brgcl.tasks.metrics import accuracy, ari, clustering_accuracy, macro_f1, nmi


@dataclass(frozen=True)
class Classified:
    """Predictions on one draw, and how good they are.

    Attributes:
        probabilities: Class probabilities of all nodes, `(N, C)`.
        rule: The classifier on top of the representations, or "own" for a classifier method.
        accuracy: Share of test nodes that are right; None where there is no truth.
        macro_f1: Mean F1 over classes on test nodes; None where there is no truth.
        seconds: Time of classifying.
    """

    probabilities: Tensor
    rule: str
    accuracy: float | None
    macro_f1: float | None
    seconds: float


@dataclass(frozen=True)
class Clustered:
    """Clusters on one draw, and how well they match the classes.

    Attributes:
        assignment: Cluster of each node, `(N,)`.
        num_clusters: K.
        num_clusters_null: K on column-permuted representations; None where K was given.
        capped: Whether K was inferred and stopped at its limit, so that it is a lower bound.
        acc: Accuracy under the best matching of clusters and classes; like the next two None
            where there is no truth.
        nmi: Normalised mutual information.
        ari: Adjusted Rand index.
        seconds: Time of clustering.
    """

    assignment: Tensor
    num_clusters: int
    num_clusters_null: int | None
    capped: bool
    acc: float | None
    nmi: float | None
    ari: float | None
    seconds: float


def fit_one(
    noisy: NoisyGraph,
    method: str,
    config: Any,
    seed: int,
    report: Reporter | None = None,
    checkpoint: Path | None = None,
) -> Fitted:
    """Train a method on what it may see.

    Args:
        noisy: The noisy graph.
        method: A name from `METHODS`.
        config: Settings of the method.
        seed: Seed of the training.
        report: Called as training goes on.
        checkpoint: File from which a stopped training resumes; ignored by methods that cannot.
    """
    entry = find_method(method)
    labels = noisy.labels if entry.uses_labels else None
    resumed: dict[str, Any] = {"checkpoint": checkpoint} if entry.resumable else {}
    return entry.fit(
        noisy.graph, labels, config, generator_for(seed, "training"), report, **resumed
    )


def classify_one(
    noisy: NoisyGraph, fitted: Fitted, classifier: NodeClassifier | None = None, seed: int = 0
) -> Classified:
    """Classify all nodes from what a method has learned, and score the test nodes.

    Args:
        noisy: The noisy graph.
        fitted: What a method has learned on it.
        classifier: What to put on top of representations; None lets one be chosen.
        seed: Seed of the classifier, where none is given.
    """
    start = time.perf_counter()
    rule, proba = "own", fitted.probabilities
    if proba is None:
        classifier = classifier or NodeClassifier(seed=seed)
        classifier.fit(
            fitted.representations,
            noisy.labels.train,
            graph=noisy.graph,
            validation=noisy.labels.validation,
        )
        rule, proba = classifier.rule_, classifier.predict_proba(fitted.representations)
        proba = by_class_number(proba, classifier.classes_)
    seconds = time.perf_counter() - start
    right = f1 = None
    if bool(noisy.truth.test.any()):
        predicted = proba.argmax(1)[noisy.truth.test]
        truth = noisy.truth.y[noisy.truth.test]
        right, f1 = accuracy(predicted, truth), macro_f1(predicted, truth)
    return Classified(proba, rule, right, f1, seconds)


def cluster_one(
    noisy: NoisyGraph, fitted: Fitted, num_clusters: int | None = None, seed: int = 0
) -> Clustered:
    """Cluster what a method has learned, and compare with the true classes where they are known.

    Args:
        noisy: The noisy graph.
        fitted: What a method has learned on it.
        num_clusters: K of K-means; None takes the number of classes (as the paper does), and on a
            graph without labels the clusters that the method found, or those of `cluster`.
        seed: Seed of K-means.
    """
    start = time.perf_counter()
    y = noisy.truth.y
    known = bool((y >= 0).any())
    num_clusters = num_clusters or count_classes(y if known else noisy.labels.train)
    if num_clusters:
        graph = noisy.graph if fitted.smooth else None
        found = cluster(fitted.representations, num_clusters, graph=graph, seed=seed)
    else:
        found = fitted.clustering or cluster(fitted.representations, seed=seed)
    assignment = found.assignment
    return Clustered(
        assignment,
        num_clusters=int(assignment.max()) + 1,
        num_clusters_null=getattr(found, "num_clusters_null", None),
        capped=found.capped,
        acc=clustering_accuracy(assignment, y) if known else None,
        nmi=nmi(assignment, y) if known else None,
        ari=ari(assignment, y) if known else None,
        seconds=time.perf_counter() - start,
    )


def count_classes(labels: Tensor) -> int:
    """How many classes occur among labels; -1 is none."""
    return int((torch.bincount(labels[labels >= 0]) > 0).sum())
