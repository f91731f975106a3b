import dataclasses
from statistics import mean, stdev

import pytest
import torch
from torch_geometric.data import Data

from brgcl.baselines.gcn import GCNConfig
from brgcl.config import BRGCLConfig
from brgcl.data import check_graph, make_graph
from brgcl.errors import InputError
from brgcl.evaluate.protocol import Noise, draw_trial
from brgcl.evaluate.score import (
    classify_trial,
    cluster_trial,
    fit_method,
    realised_noise,
    summarize_classification,
    summarize_clustering,
)
from brgcl.noise import NoiseSpec
from brgcl.tasks.classify import NodeClassifier
from brgcl.tasks.metrics import accuracy, macro_f1

OURS = BRGCLConfig(epochs=3, hidden=16, dim=8, warmup_epochs=1)
GCN = GCNConfig(epochs=5)
CENTROID = NodeClassifier("centroid")


@pytest.fixture(scope="module")
def data() -> Data:
    return make_graph(150, num_classes=3, num_features=60, labels_per_class=10, num_val=40)


@pytest.fixture(scope="module")
def trial(data):
    return draw_trial(data, noise=Noise(NoiseSpec("symmetric", 0.2)))


@pytest.fixture(scope="module")
def own_trial(data):
    """A user's graph: labels, but no split and no truth."""
    y = torch.where(data.train_mask, data.y, -1)
    return draw_trial(check_graph(Data(x=data.x, edge_index=data.edge_index, y=y)), noise=Noise())


def test_an_unknown_method_suggests_the_nearest(trial):
    with pytest.raises(InputError, match=r"unknown method 'gnc'; did you mean 'gcn'\?"):
        fit_method(trial, "gnc", GCN, 0)


def test_classification_is_scored_on_test_nodes_alone(trial, data):
    outcome = classify_trial(trial, "brgcl", OURS, CENTROID)
    predicted = outcome.probabilities.argmax(1)[data.test_mask]
    truth = data.y[data.test_mask]
    assert outcome.accuracy == accuracy(predicted, truth)
    assert outcome.macro_f1 == macro_f1(predicted, truth)
    assert outcome.rule == "centroid"
    assert outcome.seconds > 0
    assert outcome.fitted.model.representations_ is outcome.fitted.representations


def test_a_classifier_method_predicts_on_its_own(trial):
    outcome = classify_trial(trial, "gcn", GCN, CENTROID)
    assert outcome.rule == "own"
    assert outcome.probabilities is outcome.fitted.probabilities


def test_the_default_classifier_chooses_by_validation_labels(trial):
    outcome = classify_trial(trial, "brgcl", OURS, seed=2)
    expected = NodeClassifier(seed=2).fit(
        outcome.fitted.representations,
        trial.labels.train,
        graph=trial.graph,
        validation=trial.labels.validation,
    )
    assert outcome.rule == expected.rule_
    found = expected.predict_proba(outcome.fitted.representations)
    assert torch.equal(outcome.probabilities, found)


def test_a_class_without_labels_keeps_its_column(trial):
    labels = trial.labels
    train, validation = (
        torch.where(given == 1, -1, given) for given in (labels.train, labels.validation)
    )
    gap = dataclasses.replace(
        trial, labels=dataclasses.replace(labels, train=train, validation=validation)
    )
    outcome = classify_trial(gap, "brgcl", OURS, CENTROID)
    assert outcome.probabilities.shape == (150, 3)
    assert outcome.probabilities[:, 1].abs().max() == 0
    predicted = outcome.probabilities.argmax(1)[trial.truth.test]
    assert outcome.accuracy == accuracy(predicted, trial.truth.y[trial.truth.test]) > 0.2


def test_without_truth_there_is_no_accuracy(own_trial):
    outcome = classify_trial(own_trial, "brgcl", OURS, CENTROID)
    assert outcome.accuracy is None
    assert outcome.macro_f1 is None


def test_clusters_number_the_classes_unless_told_otherwise(trial):
    found = cluster_trial(trial, "brgcl", OURS)
    assert found.num_clusters == 3
    assert all(isinstance(score, float) for score in (found.acc, found.nmi, found.ari))
    assert cluster_trial(trial, "brgcl", OURS, 5).num_clusters == 5


def test_without_truth_the_clusters_are_those_that_were_inferred(own_trial):
    found = cluster_trial(own_trial, "brgcl", OURS)
    assert torch.equal(found.assignment, found.fitted.model.pseudo_labels_)
    assert (found.acc, found.nmi, found.ari) == (None, None, None)
    by_gcn = cluster_trial(own_trial, "gcn", GCN)  # it has no prototypes of its own
    assert by_gcn.num_clusters == int(by_gcn.assignment.max()) + 1


def test_seeds_of_training_differ_and_repeat(trial):
    one, two, other = (fit_method(trial, "brgcl", OURS, seed).representations for seed in (0, 0, 1))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


def test_the_summary_of_classifications(data):
    trials = [draw_trial(data, noise=Noise(NoiseSpec("pair", 0.3)), seed=seed) for seed in range(3)]
    outcomes = [classify_trial(t, "gcn", GCN, seed=s) for s, t in enumerate(trials)]
    found = summarize_classification(outcomes, trials)
    scores = [outcome.accuracy for outcome in outcomes]
    assert found["accuracy_mean"] == pytest.approx(mean(scores))
    assert found["accuracy_std"] == pytest.approx(stdev(scores))
    assert found["macro_f1_mean"] == pytest.approx(mean(o.macro_f1 for o in outcomes))
    assert found["n"] == 3
    assert found["rules"] == ["own"] * 3
    assert found["noise_realised"] == pytest.approx(mean(t.label_noise for t in trials))
    assert found["seconds_mean"] == pytest.approx(mean(o.seconds for o in outcomes))
    assert summarize_classification(outcomes[:1], trials[:1])["accuracy_std"] is None


def test_the_summary_without_truth_tells_agreement_instead(own_trial):
    outcome = classify_trial(own_trial, "brgcl", OURS, CENTROID)
    found = summarize_classification([outcome], [own_trial])
    assert found["accuracy"] is None
    assert "accuracy_mean" not in found
    assert 0 <= found["cv_agreement"] <= 1
    assert found["cv_ceiling"] == pytest.approx(1 - found["estimated_noise"])


def test_the_summary_of_clusterings(trial, own_trial):
    outcome = cluster_trial(trial, "brgcl", OURS)
    other = dataclasses.replace(outcome, acc=outcome.acc + 0.1)
    found = summarize_clustering([outcome, other], [trial, trial])
    assert found["acc_mean"] == pytest.approx(outcome.acc + 0.05)
    assert found["acc_std"] == pytest.approx(0.1 / 2**0.5)
    assert (found["num_clusters"], found["n"]) == (3, 2)
    blind = summarize_clustering([cluster_trial(own_trial, "brgcl", OURS)], [own_trial])
    assert [blind[f"{name}_mean"] for name in ("acc", "nmi", "ari")] == [None] * 3


def test_realised_noise_is_a_mean_over_trials(data):
    noise = Noise(edges=NoiseSpec("add", 0.2))
    trials = [draw_trial(data, noise=n) for n in (Noise(), noise)]
    found = realised_noise(trials)
    assert found["edge_noise_realised"] == pytest.approx(trials[1].edge_noise / 2)
    assert found["noise_realised"] == found["attribute_noise_realised"] == 0
