from itertools import permutations

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score

from brgcl.errors import InputError
from brgcl.tasks.metrics import (
    accuracy,
    ari,
    calibration_error,
    clustering_accuracy,
    detection_scores,
    macro_f1,
    nmi,
)

METRICS = [accuracy, macro_f1, clustering_accuracy, nmi, ari]
TRUTH = torch.tensor([0, 0, 0, 1, 1, 2])
GUESS = torch.tensor([0, 0, 1, 1, 1, 0])


def best_matching(clusters, truth) -> float:
    """Try every one-to-one matching, with spare classes where there are more clusters."""
    names = list(range(max(clusters.max(), truth.max()) + 1))
    return max(np.mean(np.array(order)[clusters] == truth) for order in permutations(names))


def test_exact_values():
    assert accuracy(GUESS, TRUTH) == pytest.approx(4 / 6)
    # F1: class 0: 2*2/(3+3), class 1: 2*2/(3+2), class 2: 0
    assert macro_f1(GUESS, TRUTH) == pytest.approx((4 / 6 + 4 / 5 + 0) / 3)
    assert clustering_accuracy(GUESS, TRUTH) == pytest.approx(4 / 6)
    # two equal halves against two quarters and a half: I = log 2, entropies log 2 and 1.5 log 2
    halves, finer = torch.tensor([0, 0, 1, 1]), torch.tensor([0, 1, 2, 2])
    assert nmi(halves, finer) == pytest.approx(1 / 1.25)
    # pairs: 1 together in both, 2 and 1 together; expected 2 * 1 / 6, maximum 1.5
    assert ari(halves, finer) == pytest.approx((1 - 1 / 3) / (1.5 - 1 / 3))


@pytest.mark.parametrize("metric", METRICS)
def test_perfect_is_one_and_a_plain_float(metric):
    value = metric(TRUTH, TRUTH)
    assert type(value) is float
    assert value == pytest.approx(1)
    assert metric(GUESS, TRUTH) < 1


@pytest.mark.parametrize("metric", METRICS)
def test_unknown_truth_is_left_out(metric):
    truth = torch.cat([TRUTH, torch.tensor([-1, -1])])
    guess = torch.cat([GUESS, torch.tensor([5, 0])])
    assert metric(guess, truth) == metric(GUESS, TRUTH)


@pytest.mark.parametrize("metric", METRICS)
def test_tensors_and_arrays_are_alike(metric):
    assert metric(GUESS.numpy(), TRUTH.numpy().astype(np.int32)) == metric(GUESS, TRUTH)


@pytest.mark.parametrize("metric", [clustering_accuracy, nmi, ari])
def test_numbers_of_clusters_mean_nothing(metric):
    rename = torch.tensor([7, 0, 3])
    assert metric(rename[TRUTH], TRUTH) == pytest.approx(1)
    assert metric(rename[GUESS], TRUTH) == pytest.approx(metric(GUESS, TRUTH))


@pytest.mark.parametrize(("num_clusters", "num_classes"), [(3, 3), (5, 3), (2, 4), (1, 3)])
def test_clustering_accuracy_equals_the_best_of_all_matchings(num_clusters, num_classes):
    rng = np.random.default_rng(0)
    for _ in range(20):
        clusters = rng.integers(num_clusters, size=15)
        truth = rng.integers(num_classes, size=15)
        expected = best_matching(clusters, truth)
        assert clustering_accuracy(clusters, truth) == pytest.approx(expected)


def test_a_cluster_without_a_class_counts_as_wrong():
    assert clustering_accuracy(torch.tensor([0, 0, 1, 2]), torch.zeros(4).long()) == 0.5


def test_macro_f1_agrees_with_scikit_learn_on_the_true_classes():
    rng = np.random.default_rng(0)
    truth, guess = rng.integers(4, size=60), rng.integers(6, size=60)
    expected = f1_score(truth, guess, labels=np.unique(truth), average="macro")
    assert macro_f1(guess, truth) == pytest.approx(expected)


def test_many_classes_for_few_nodes_raise_no_warning():
    singles = torch.arange(4)
    assert [metric(singles, singles) for metric in METRICS] == pytest.approx([1] * 5)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("guess", "truth", "message"),
    [
        (GUESS[:5], TRUTH, "predictions have 5 entries but truth has 6"),
        (GUESS, torch.full((6,), -1), "nothing to compare"),
        (GUESS[:0], TRUTH[:0], "nothing to compare"),
        (GUESS.float(), TRUTH, "predictions must be one-dimensional integers, got float32"),
        (GUESS, TRUTH[:, None], r"truth must be one-dimensional integers, got .* \(6, 1\)"),
    ],
)
def test_wrong_input_is_named(metric, guess, truth, message):
    with pytest.raises(InputError, match=message):
        metric(guess, truth)


WRONG = torch.tensor([True, False, True, False, False])
SCORE = torch.tensor([0.1, 0.2, 0.3, 0.8, 0.9])
FLAGGED = torch.tensor([True, True, False, False, False])


def test_detection_scores_by_hand():
    scores = detection_scores(SCORE, FLAGGED, WRONG)
    assert scores == {
        "auroc": pytest.approx(5 / 6),  # five of the six pairs of a wrong and a right label
        "average_precision": pytest.approx((1 / 1 + 2 / 3) / 2),
        "precision": 0.5,
        "recall": 0.5,
        "f1": 0.5,
        "mcc": pytest.approx((1 * 2 - 1 * 1) / np.sqrt(2 * 2 * 3 * 3)),
    }
    assert all(type(value) is float for value in scores.values())


def test_nothing_flagged_is_no_success_and_no_warning():
    scores = detection_scores(SCORE, torch.zeros(5, dtype=torch.bool), WRONG)
    assert [scores[name] for name in ("precision", "recall", "f1", "mcc")] == [0, 0, 0, 0]


@pytest.mark.parametrize("wrong", [torch.zeros(5), torch.ones(5)])
def test_where_there_is_nothing_to_tell_apart_there_are_no_scores(wrong):
    assert detection_scores(SCORE, FLAGGED, wrong.bool()) == {}


def test_lengths_of_detection_must_agree():
    with pytest.raises(InputError, match="same length, got 5, 4 and 5"):
        detection_scores(SCORE, FLAGGED[:4], WRONG)


def test_calibration_error_by_hand():
    p = np.array([0.15, 0.11, 0.95, 1.0, 0.6])
    happened = np.array([0, 1, 1, 1, 0])
    wanted = (abs(0.26 - 1) + abs(1.95 - 2) + 0.6) / 5
    assert calibration_error(p, happened) == pytest.approx(wanted)
    assert calibration_error(happened.astype(float), happened) == 0
    with pytest.raises(InputError, match="as many outcomes"):
        calibration_error(p, happened[:3])
