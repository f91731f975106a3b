import numpy as np
import pandas as pd
import pytest

from brgcl.errors import InputError
from brgcl.tasks.mixture import (
    Share,
    check_fdr,
    estimate_share,
    flag,
    log_ratios,
    probability_right,
    summary,
)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.4])
def test_the_share_of_a_separated_mixture_is_in_its_interval(share):
    rng = np.random.default_rng(1)
    wrong = rng.random(4000) < share
    observed = np.where(wrong, rng.normal(3, 1, 4000), rng.normal(-3, 1, 4000))
    found = estimate_share(observed, rng.normal(3, 1, 8000))
    assert found.low <= wrong.mean() <= found.high
    assert found.high - found.low < 0.1
    assert found.judged


def test_the_share_is_the_quotient_of_the_distribution_functions():
    sampled = np.arange(100.0)
    observed = np.concatenate([np.full(90, -1.0), np.full(10, 200.0)])  # ten beyond every cut
    found = estimate_share(observed, sampled)
    assert found.rate == pytest.approx(0.1, abs=0.02)
    assert estimate_share(np.full(100, -1.0), sampled).rate <= 0.01


def test_chance_itself_cannot_be_judged():
    rng = np.random.default_rng(0)
    found = estimate_share(rng.normal(size=2000), rng.normal(size=2000))
    assert found.high > 0.9
    assert not found.judged


def test_log_ratios_of_normal_distributions_are_those_of_their_densities():
    rng = np.random.default_rng(0)
    observed, chance = rng.normal(0, 1, (3000, 1)), rng.normal(1, 1, (6000, 1))
    at_observed, at_chance = log_ratios(observed, chance, rng=rng)
    assert at_observed.shape == (3000, 1)
    assert at_chance.shape == (6000, 1)
    usual = np.abs(observed[:, 0]) < 2
    np.testing.assert_allclose(at_observed[usual, 0], observed[usual, 0] - 0.5, atol=0.3)


def test_a_row_does_not_judge_itself():
    """With a feature that is pure noise, every row looks as likely as not, even to a fit on it."""
    rng = np.random.default_rng(0)
    observed, chance = rng.normal(size=(60, 8)), rng.normal(size=(60, 8))
    at_observed, at_chance = log_ratios(observed, chance, rng=rng)
    assert (at_chance.mean() - at_observed.mean()) < 0.5  # in sample it is above 1


def test_each_kind_of_chance_has_its_column():
    rng = np.random.default_rng(0)
    kinds = [rng.normal(mean, 1, (500, 2)) for mean in (0, 3, -3)]
    at_observed, at_first, at_second = log_ratios(kinds[0], *kinds[1:], rng=rng)
    assert at_observed.max(1).mean() < 0
    assert (at_first.argmax(1) == 0).mean() > 0.95
    assert (at_second.argmax(1) == 1).mean() > 0.95


def test_probability_right_is_one_minus_share_times_ratio():
    log_ratio = np.log([[0.5, 1.0], [4.0, 0.1], [100.0, 1.0]])
    shares = Share(0.2, 0.1, 0.3), Share(0.1, 0.0, 0.2)
    np.testing.assert_allclose(probability_right(log_ratio, *shares), [0.8, 0.19, 0.0])
    hopeless = Share(0.95, 0.9, 1.0)
    np.testing.assert_allclose(probability_right(log_ratio, shares[0], hopeless), [0.9, 0.2, 0])
    assert np.isnan(probability_right(log_ratio, hopeless, hopeless)).all()


def test_flags_are_the_largest_set_with_an_accepted_mean():
    score = np.array([0.9, 0.0, 0.3, 0.1, 0.6, 0.2])
    assert flag(score, 0.11).tolist() == [False, True, False, True, False, True]
    assert flag(score, 0.16).sum() == 4
    assert flag(score, 0.99).sum() == 4  # 0.6 and 0.9 are more likely right than wrong
    assert not flag(np.full(3, np.nan), 0.1).any()


@pytest.mark.parametrize("fdr", [0, 1, -0.1, float("nan"), "0.1", None])
def test_a_wrong_fdr_is_refused(fdr):
    with pytest.raises(InputError, match="fdr must be a number between 0 and 1"):
        check_fdr(fdr)


def test_the_lower_limit_allows_for_right_ones_that_look_like_chance():
    frame = pd.DataFrame({"score": [0.0, 0.1, 0.9], "is_error": [True, True, False]})
    found = summary(Share(0.1, 0.07, 0.13), frame, 0.2)
    assert found["interval"] == pytest.approx([0.05, 0.13])
    assert (found["num_judged"], found["num_suspects"]) == (3, 2)
    assert found["fdr_estimated"] == pytest.approx(0.05)
    assert summary(Share(0.01, 0.0, 0.02), frame, 0.2)["interval"] == [0.0, 0.02]
    assert summary(Share(0.97, 0.9, 1.0), frame, 0.2)["interval"] is None
