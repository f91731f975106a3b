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
from brgcl.tasks.checks import by_class_number
from brgcl.tasks.classify import NodeClassifier
from brgcl.tasks.cluster import cluster
from brgcl.tasks.metrics import accuracy, ari, clustering_accuracy, macro_f1, nmi


@dataclass(frozen=True)
class Classified:
    """Predictions on one draw, and how good they are; scores are None without a truth."""

    probabilities: Tensor  # (N, C), of all nodes
    rule: str  # the classifier on top of the representations, or "own" for a classifier method
    accuracy: float | None  # on test nodes
    macro_f1: float | None  # mean over classes on test nodes
    seconds: float  # of classifying
    classifier: NodeClassifier | None = None  # the fitted one; None for a classifier method


@dataclass(frozen=True)
class Clustered:
    """Clusters on one draw, and how well they match the classes; None without a truth."""

    assignment: Tensor  # (N,), cluster of each node
    num_clusters: int
    num_clusters_null: int | None  # on column-permuted representations; None where K was given
    capped: bool  # whether K was inferred and stopped at its limit, so that it is a lower bound
    acc: float | None  # accuracy under the best matching of clusters and classes
    nmi: float | None  # normalised mutual information
    ari: float | None  # adjusted Rand index
    seconds: float  # of clustering


def fit_one(
    noisy: NoisyGraph,
    method: str,
    config: Any,
    seed: int,
    report: Reporter | None = None,
    checkpoint: Path | None = None,
) -> Fitted:
    """Train a method on what it may see.

    A stopped training resumes from the file `checkpoint`, where the method can.
    """
    entry = find_method(method)
    labels = noisy.labels if entry.uses_labels else None
    generator = generator_for(seed, "training")
    resumed: dict[str, Any] = {"checkpoint": checkpoint} if entry.resumable else {}
    return entry.fit(noisy.graph, labels, config, generator, report, **resumed)


def classify_one(
    noisy: NoisyGraph, fitted: Fitted, classifier: NodeClassifier | None = None, seed: int = 0
) -> Classified:
    """Classify all nodes from what a method has learned, and score the test nodes.

    Without a classifier to put on top of representations one is chosen, with this seed.
    """
    start = time.perf_counter()
    rule, proba = "own", fitted.probabilities
    if proba is None:
        classifier = classifier or NodeClassifier(seed=seed)
        z, labels = fitted.representations, noisy.labels
        classifier.fit(z, labels.train, graph=noisy.graph, validation=labels.validation)
        rule = classifier.rule_
        proba = by_class_number(classifier.predict_proba(z), classifier.classes_)
    seconds = time.perf_counter() - start
    right = f1 = None
    if bool(noisy.truth.test.any()):
        predicted = proba.argmax(1)[noisy.truth.test]
        truth = noisy.truth.y[noisy.truth.test]
        right, f1 = accuracy(predicted, truth), macro_f1(predicted, truth)
    fitted_one = None if rule == "own" else classifier
    return Classified(proba, rule, right, f1, seconds, fitted_one)


def cluster_one(
    noisy: NoisyGraph, fitted: Fitted, num_clusters: int | None = None, seed: int = 0
) -> Clustered:
    """Cluster what a method has learned, and compare with the true classes where they are known.

    Without K, K-means takes the number of classes (as the paper does); on a graph without labels
    the clusters are those of the method itself, or of `cluster`.
    """
    start = time.perf_counter()
    y = noisy.truth.y
    known = bool((y >= 0).any())
    num_clusters = num_clusters or count_classes(y if known else noisy.labels.train)
    if num_clusters:
        graph = noisy.graph if fitted.smooth else None
        clusters = cluster(fitted.representations, num_clusters, graph=graph, seed=seed)
    else:
        clusters = fitted.clustering or cluster(fitted.representations, seed=seed)
    assignment = clusters.assignment
    return Clustered(
        assignment,
        num_clusters=int(assignment.max()) + 1,
        num_clusters_null=getattr(clusters, "num_clusters_null", None),
        capped=clusters.capped,
        acc=clustering_accuracy(assignment, y) if known else None,
        nmi=nmi(assignment, y) if known else None,
        ari=ari(assignment, y) if known else None,
        seconds=time.perf_counter() - start,
    )


def count_classes(labels: Tensor) -> int:
    """How many classes occur among labels; -1 is none."""
    return int((torch.bincount(labels[labels >= 0]) > 0).sum())
