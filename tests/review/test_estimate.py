"""The error rate that is left: closed forms, and coverage in simulated reviews."""

import numpy as np
import pandas as pd
import pytest

from brgcl.review.estimate import PRIOR, error_left
from brgcl.review.queue import draw_unflagged


def review(score, flagged, wrong, looked_at, *, drawn=None, bulk=None, probability=None, miss=None):
    none = np.zeros(len(score), dtype=bool)
    return error_left(
        score,
        score if probability is None else probability,
        flagged,
        none if drawn is None else drawn,
        looked_at=looked_at,
        bulk=none if bulk is None else bulk,
        label_wrong=wrong,
        suggestion_wrong=none if miss is None else miss,
    )


def test_before_the_first_decision_it_is_what_the_detector_says():
    score = np.concatenate([np.linspace(0, 0.4, 60), np.linspace(0.6, 1, 140)])
    none = np.zeros(200, dtype=bool)
    left = review(score, score < 0.5, none, none)
    assert left.rate == pytest.approx((1 - score).mean())
    assert left.low <= left.rate <= left.high


def test_after_the_last_decision_nothing_is_left():
    score, flagged = np.array([0.1, 0.2, 0.9, 0.8]), np.array([True, True, False, False])
    left = review(score, flagged, flagged, np.ones(4, dtype=bool))
    assert (left.rate, left.low, left.high) == (0, 0, 0)


def test_no_labels_at_all():
    none = np.zeros(0)
    left = review(none, none.astype(bool), none.astype(bool), none.astype(bool))
    assert (left.rate, left.low, left.high, left.num_labelled) == (0, 0, 0, 0)


def test_the_mean_is_that_of_the_beta_posterior():
    score = np.full(30, 0.9)  # one stratum
    flagged, drawn = np.zeros(30, dtype=bool), np.arange(30) < 12
    wrong = np.arange(30) < 4
    left = review(score, flagged, wrong, drawn, drawn=drawn)
    assert left.rate == pytest.approx(18 * (PRIOR * 0.1 + 4) / (PRIOR + 12) / 30)
    assert left.num_checked == 12


def test_unflagged_nodes_count_as_evidence_only_if_they_were_drawn():
    """People look where they suspect something; that says nothing about the rest."""
    score, flagged = np.full(100, 0.9), np.zeros(100, dtype=bool)
    wrong, looked_at = np.ones(100, dtype=bool), np.arange(100) % 10 == 0
    picked = review(score, flagged, wrong, looked_at)
    drawn = review(score, flagged, wrong, looked_at, drawn=looked_at)
    assert picked.rate == pytest.approx(90 * 0.1 / 100)
    assert drawn.rate > 3 * picked.rate


def test_bulk_acceptance_leaves_the_errors_of_the_suggestions():
    score, flagged = np.full(100, 0.05), np.ones(100, dtype=bool)
    probability, looked_at = np.full(100, 0.9), np.arange(100) % 5 == 0
    miss = np.arange(100) % 10 == 0  # half of those that were looked at
    all_wrong = np.ones(100, dtype=bool)
    left = review(
        score, flagged, all_wrong, looked_at, bulk=~looked_at, probability=probability, miss=miss
    )
    per_stratum = (PRIOR * 0.1 + 2) / (PRIOR + 4)
    assert left.rate == pytest.approx(80 * per_stratum / 100)


@pytest.mark.parametrize(
    ("odds", "num_looked_at", "num_checked", "bulk"),
    [(1, 60, 8, False), (1, 250, 40, False), (3, 250, 40, False), (1 / 3, 250, 40, False),
     (1, 100, 40, True), (3, 100, 40, True)],
)  # fmt: skip
def test_the_interval_holds_the_truth(odds, num_looked_at, num_checked, bulk):
    """Also for a detector whose odds of an error are three times too low or too high."""
    held, rates, truths = 0, [], []
    for seed in range(60):
        generator = np.random.default_rng(seed)
        size, number = 1500, 250
        score = np.concatenate(
            [np.sort(generator.beta(1, 6, number)), generator.beta(30, 1, size - number)]
        )
        flagged = np.arange(size) < number
        chance = odds * (1 - score) / (odds * (1 - score) + score)
        wrong = generator.random(size) < chance
        miss = np.where(flagged, ~wrong | (generator.random(size) < 0.05), wrong)
        probability = np.where(flagged, (1 - score) * 0.95, score)
        frame = {"node": generator.permutation(size).astype(str), "score": score}
        order = draw_unflagged(pd.DataFrame(frame | {"is_error": flagged}))
        drawn = np.isin(np.arange(size), order)
        looked_at = np.arange(size) < num_looked_at
        looked_at[order[:num_checked]] = True
        at_once = flagged & ~looked_at & (probability > 0.7) & bulk
        left = review(
            score, flagged, wrong, looked_at,
            drawn=drawn, bulk=at_once, probability=probability, miss=miss,
        )  # fmt: skip
        truth = np.where(at_once, miss, wrong & ~looked_at).mean()
        held += left.low <= truth <= left.high
        rates.append(left.rate)
        truths.append(truth)
    assert held >= 51  # 95 % of 60 are 57; fewer than 51 have a chance below 0.5 %
    slack = 0.005 if odds == 1 else 0.015  # the detector's word counts for five decisions
    assert np.mean(rates) == pytest.approx(np.mean(truths), abs=slack)
