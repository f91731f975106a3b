import dataclasses

import pytest
import torch
from torch_geometric.data import Data

from brgcl.baselines.gcn import GCNConfig
from brgcl.config import BRGCLConfig
from brgcl.data import check_graph, make_graph
from brgcl.errors import InputError
from brgcl.evaluation.protocol import draw_noisy_graph
from brgcl.evaluation.score import classify_one, cluster_one, fit_one
from brgcl.methods import METHODS
from brgcl.noise import NoiseSpec
from brgcl.noise.graph import Noise
from brgcl.tasks.classify import NodeClassifier
from brgcl.tasks.metrics import accuracy, macro_f1

OURS = BRGCLConfig(epochs=3, hidden=16, dim=8, warmup_epochs=1)
GCN = GCNConfig(epochs=5)
CENTROID = NodeClassifier("centroid")


@pytest.fixture(scope="module")
def data() -> Data:
    return make_graph(150, num_classes=3, num_features=60, labels_per_class=10, num_val=40)


@pytest.fixture(scope="module")
def noisy(data):
    return draw_noisy_graph(data, noise=Noise(NoiseSpec("symmetric", 0.2)))


@pytest.fixture(scope="module")
def ours(noisy):
    return fit_one(noisy, "brgcl", OURS, 0)


def own_graph(data, labels):
    """A user's graph: no split and no truth."""
    return check_graph(Data(x=data.x, edge_index=data.edge_index, y=labels))


@pytest.fixture(scope="module")
def own(data):
    return draw_noisy_graph(
        own_graph(data, torch.where(data.train_mask, data.y, -1)), noise=Noise()
    )


def test_an_unknown_method_suggests_the_nearest(noisy):
    with pytest.raises(InputError, match=r"unknown method 'gnc'; did you mean 'gcn'\?"):
        fit_one(noisy, "gnc", GCN, 0)


def test_classification_is_scored_on_test_nodes_alone(noisy, ours, data):
    outcome = classify_one(noisy, ours, CENTROID)
    predicted = outcome.probabilities.argmax(1)[data.test_mask]
    truth = data.y[data.test_mask]
    assert outcome.accuracy == accuracy(predicted, truth)
    assert outcome.macro_f1 == macro_f1(predicted, truth)
    assert outcome.rule == "centroid"
    assert outcome.seconds > 0


def test_a_classifier_method_predicts_on_its_own(noisy):
    fitted = fit_one(noisy, "gcn", GCN, 0)
    outcome = classify_one(noisy, fitted, CENTROID)
    assert outcome.rule == "own"
    assert outcome.probabilities is fitted.probabilities


def test_the_default_classifier_chooses_by_validation_labels(noisy, ours):
    outcome = classify_one(noisy, ours, seed=2)
    expected = NodeClassifier(seed=2).fit(
        ours.representations,
        noisy.labels.train,
        graph=noisy.graph,
        validation=noisy.labels.validation,
    )
    assert outcome.rule == expected.rule_
    assert torch.equal(outcome.probabilities, expected.predict_proba(ours.representations))


def test_a_class_without_labels_keeps_its_column(noisy, ours):
    labels = noisy.labels
    train, validation = (
        torch.where(given == 1, -1, given) for given in (labels.train, labels.validation)
    )
    gap = dataclasses.replace(
        noisy, labels=dataclasses.replace(labels, train=train, validation=validation)
    )
    outcome = classify_one(gap, ours, CENTROID)
    assert outcome.probabilities.shape == (150, 3)
    assert outcome.probabilities[:, 1].abs().max() == 0
    predicted = outcome.probabilities.argmax(1)[noisy.truth.test]
    assert outcome.accuracy == accuracy(predicted, noisy.truth.y[noisy.truth.test]) > 0.2


def test_without_truth_there_is_no_accuracy(own, ours):
    outcome = classify_one(own, ours, CENTROID)
    assert (outcome.accuracy, outcome.macro_f1) == (None, None)


def test_clusters_number_the_classes_unless_told_otherwise(noisy, ours):
    clusters = cluster_one(noisy, ours)
    assert clusters.num_clusters == 3
    assert all(isinstance(score, float) for score in (clusters.acc, clusters.nmi, clusters.ari))
    assert cluster_one(noisy, ours, 5).num_clusters == 5


def test_clusters_number_the_classes_of_a_users_labels(own, ours):
    """Defect 34: 3 classes gave 6 clusters, though the help says as many as classes."""
    clusters = cluster_one(own, ours)
    assert clusters.num_clusters == 3
    assert (clusters.acc, clusters.nmi, clusters.ari) == (None, None, None)


def test_without_labels_the_clusters_are_those_that_were_inferred(data, ours):
    bare = draw_noisy_graph(own_graph(data, None), noise=Noise())
    clusters = cluster_one(bare, ours)
    assert torch.equal(clusters.assignment, ours.clustering.assignment)
    assert clusters.capped == ours.clustering.capped
    other = fit_one(bare, "kmeans", METHODS["kmeans"].config(), 0)  # finds no clusters itself
    by_dp_means = cluster_one(bare, other)
    assert by_dp_means.num_clusters == int(by_dp_means.assignment.max()) + 1


def test_seeds_of_training_differ_and_repeat(noisy):
    one, two, other = (fit_one(noisy, "brgcl", OURS, seed).representations for seed in (0, 0, 1))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)
