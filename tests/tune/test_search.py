"""Choosing xi and gamma0: which labels are read, what is chosen, when a search ends."""

import dataclasses
import json

import numpy as np
import pytest
import torch

from brgcl import BRGCL, BRGCLConfig
from brgcl.errors import InputError
from brgcl.tasks.agreement import cross_validated_agreement
from brgcl.tune import TriedSetting, search, tune
from brgcl.tune.criteria import Score

pytest.importorskip("optuna")


def setting(xi, gain, gain_error, *, pruned=False):
    return TriedSetting(xi, 0.3, 0.7 + gain, 0.02, gain, gain_error, 5, False, pruned, 1.0)


def test_the_grids_are_those_of_the_paper():
    assert np.allclose(search.XI, np.arange(0.1, 0.51, 0.05))
    assert np.allclose(search.GAMMA0, np.arange(0.1, 0.91, 0.1))


def test_the_score_of_a_setting_is_what_the_estimator_would_get(data, labels, tiny, grid):
    """The representation of a tried setting is that of `BRGCL` with the same settings and seed."""
    config = tiny.replace(seed=3)
    tuning = tune(data, labels, config=config, trials=1, seed=3, **grid)
    z = BRGCL.from_config(config).fit(data).representations_
    expected = cross_validated_agreement(z, labels, rule="centroid", seed=3)
    assert tuning.default.score == pytest.approx(expected.cv_agreement)
    assert tuning.default.point == (config.xi, config.gamma0)
    assert tuning.epochs == config.epochs


def test_labels_in_the_graph_are_not_read(data, labels, tiny, scores):
    poisoned = data.clone()
    poisoned.y = torch.zeros_like(data.y)
    for criterion in ("labels", "stability"):
        first, second = (
            tune(graph, labels, config=tiny, criterion=criterion, xi=(0.1, 0.5), gamma0=(0.3,))
            for graph in (data, poisoned)
        )
        assert scores(first) == scores(second)


def test_stability_reads_no_label(data, labels, tiny, scores):
    first, second = (
        tune(data, given, config=tiny, criterion="stability", xi=(0.1, 0.5), gamma0=(0.3,))
        for given in (labels, None)
    )
    assert scores(first) == scores(second)
    assert first.default == dataclasses.replace(second.default, seconds=first.default.seconds)


def test_the_criterion_follows_from_the_labels(data, labels, tiny, grid):
    assert tune(data, labels, config=tiny, trials=1, **grid).criterion == "labels"
    nothing = torch.full_like(labels, -1)
    assert tune(data, nothing, config=tiny, trials=1, **grid).criterion == "stability"


def test_the_default_stays_unless_another_is_better_by_a_standard_error():
    default = setting(0.5, 0.0, 0.0)
    assert (
        search.choose(default, [default, setting(0.1, 0.02, 0.03), setting(0.2, 0.01, 0.01)])
        == default
    )
    better = setting(0.1, 0.04, 0.03)
    assert search.choose(default, [default, setting(0.2, 0.05, 0.045), better]) == better


def test_a_pruned_setting_is_never_chosen():
    default = setting(0.5, 0.0, 0.0)
    assert search.choose(default, [setting(0.1, 0.2, None, pruned=True)]) == default


def test_the_rival_of_a_default_that_stays_is_the_best_of_the_others():
    default, other = setting(0.5, 0.0, 0.0), setting(0.1, 0.01, 0.03)
    tried = [default, other, setting(0.2, -0.1, 0.03), setting(0.3, 0.2, None, pruned=True)]
    assert search._rival(default, default, tried) == other
    assert search._rival(default, default, [default]) is None


def test_the_grid_is_tried_whole_and_the_same_seed_gives_the_same(data, labels, tiny, grid, scores):
    first, second = (tune(data, labels, config=tiny, **grid) for _ in range(2))
    assert [each.point for each in first.tried] == [
        (x, g) for x in grid["xi"] for g in grid["gamma0"]
    ]
    assert (first.mode, first.wanted, first.cut) == ("grid", 6, False)
    assert scores(first) == scores(second)
    assert first.chosen.point == second.chosen.point == (first.config.xi, first.config.gamma0)


def test_a_search_tries_as_many_different_settings_as_asked(data, labels, tiny, grid):
    tuning = tune(data, labels, config=tiny, trials=5, **grid)
    assert tuning.mode == "tpe"
    assert len({each.point for each in tuning.tried}) == len(tuning.tried) == tuning.wanted == 5
    assert tune(data, labels, config=tiny, trials=50, **grid).wanted == 6


def test_a_default_off_the_grid_is_scored_too(data, labels, tiny):
    tuning = tune(data, labels, config=tiny.replace(xi=0.8), xi=(0.1,), gamma0=(0.3,))
    assert tuning.default.xi == 0.8
    assert [each.point for each in tuning.tried] == [(0.1, 0.3)]


def test_large_graphs_get_few_short_trainings(data, labels, monkeypatch, tiny, grid):
    monkeypatch.setattr(search, "SMALL_GRAPH", 100)
    monkeypatch.setattr(search, "FEW_EPOCHS", 6)
    monkeypatch.setattr(search, "FEW_SETTINGS", 2)
    config = tiny.replace(epochs=12, warmup_epochs=4)
    tuning = tune(data, labels, config=config, **grid)
    assert (tuning.mode, tuning.wanted, tuning.epochs) == ("tpe", 2, 6)
    assert (tuning.config.epochs, tuning.config.warmup_epochs) == (12, 4)
    assert search._with_epochs(config, 6).warmup_epochs == 2


def test_scores_below_the_median_are_pruned(data, labels, monkeypatch, tiny):
    """Settings are given falling scores: after the first five, each is below the median."""
    rank = iter(range(100, 0, -1))

    def fall(encoder, graph, labels, seed):
        level = next(rank) // 3  # two checks and the end of a training come in a row
        return Score((level / 100, level / 100))

    monkeypatch.setattr("brgcl.tune.tried_setting.agreement", fall)
    grid = {"xi": (0.1, 0.2, 0.3, 0.4, 0.5), "gamma0": (0.3, 0.6)}
    tuning = tune(data, labels, config=tiny, **grid)
    assert sum(each.pruned for each in tuning.tried) == 5


def test_no_training_begins_that_the_budget_cannot_hold(data, labels, clock, tiny, grid):
    def tick(done, total, text):
        clock[0] += 1

    tuning = tune(data, labels, config=tiny, budget=14, report=tick, **grid)
    assert tuning.cut
    assert len(tuning.tried) == 4  # a second of warm-up, three seconds each; the next until 16
    assert clock[0] == 13


def test_a_training_that_takes_longer_than_expected_is_given_up(data, labels, clock, tiny, grid):
    def slower_and_slower(done, total, text):
        clock[0] += 1 + 10 * done

    tuning = tune(data, labels, config=tiny, budget=20, report=slower_and_slower, **grid)
    assert tuning.cut
    assert [each.point for each in tuning.tried] == [tuning.default.point]
    assert clock[0] < 20 + 12


def test_a_budget_too_short_for_one_training_is_refused(data, labels, clock, tiny, grid):
    def tick(done, total, text):
        clock[0] += 1

    with pytest.raises(InputError, match="give a longer budget"):
        tune(data, labels, config=tiny, budget=2, report=tick, **grid)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"criterion": "label"}, "unknown criterion 'label'; did you mean 'labels'"),
        ({"trials": 0}, "trials must be 'grid' or at least 1, got 0"),
        ({"xi": ()}, "xi has no value"),
        ({"xi": (0.1, -1.0)}, "xi must be a number above 0"),
        ({"gamma0": (1.5,)}, "gamma0 must be a number in"),
        ({"epochs": 0}, "epochs must be an integer of at least 1"),
        ({"config": BRGCLConfig(proto_weight=0.0)}, "xi and gamma0 have no effect"),
        (
            {"config": BRGCLConfig(epochs=4, warmup_epochs=4)},
            "warmup_epochs \\(4\\) must be below epochs",
        ),
    ],
)
def test_wrong_arguments_are_refused(data, labels, tiny, arguments, message):
    with pytest.raises(InputError, match=message):
        tune(data, labels, **{"config": tiny, **arguments})


def test_labels_are_wanted_where_they_are_the_criterion(data, tiny):
    with pytest.raises(InputError, match="criterion 'stability' needs none"):
        tune(data, config=tiny, criterion="labels")


def test_a_tuning_is_saved_as_json(tuned):
    saved = json.loads(json.dumps(tuned.to_dict()))
    assert len(saved["trials"]) == saved["trials_done"] == 6
    assert {"xi", "gamma0", "score", "gain", "gain_error", "pruned"} < set(saved["chosen"])
