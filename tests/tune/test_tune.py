"""Choosing xi and gamma0: what is scored, by which labels, how a search stops and goes on."""

import dataclasses
import json
import logging
import sys
import tomllib

import numpy as np
import pytest
import torch

from brgcl import BRGCL, BRGCLConfig, NodeClassifier, make_graph
from brgcl.benchmark.show.settings_table import draw_searches
from brgcl.cli.options import resolve_config
from brgcl.errors import InputError
from brgcl.evaluate.protocol import draw_noisy_graph
from brgcl.evaluate.score import classify_one
from brgcl.method.train import make_encoder
from brgcl.noise import NoiseSpec
from brgcl.noise.graph import Noise
from brgcl.tasks.label_errors import cross_validated_agreement
from brgcl.tune import Cell, page, search, tune
from brgcl.tune import compare as benchmark
from brgcl.tune.compare import Comparison, tune_and_compare
from brgcl.tune.criteria import Score, agreement, is_trivial, prepare, stability
from brgcl.tune.journal import open_study
from brgcl.tune.tried_setting import Task, check_epochs, make_cell, train_and_score

optuna = pytest.importorskip("optuna")

TINY = BRGCLConfig(hidden=16, dim=8, epochs=4, warmup_epochs=1)
GRID = {"xi": (0.1, 0.3, 0.5), "gamma0": (0.3, 0.6)}


@pytest.fixture(scope="module")
def data():
    return make_graph(120, num_classes=3, num_features=30, labels_per_class=8, num_val=20)


@pytest.fixture(scope="module")
def labels(data):
    return draw_noisy_graph(
        data, noise=Noise(labels=NoiseSpec("symmetric", 0.3)), protocol="no-val"
    ).labels.train


def scores(tuning):
    return [(cell.point, cell.score, cell.gain, cell.pruned) for cell in tuning.cells]


def cell(xi, gain, gain_error, *, pruned=False):
    return Cell(xi, 0.3, 0.7 + gain, 0.02, gain, gain_error, 5, False, pruned, 1.0)


# What is scored


def test_the_grids_are_those_of_the_paper():
    assert np.allclose(search.XI, np.arange(0.1, 0.51, 0.05))
    assert np.allclose(search.GAMMA0, np.arange(0.1, 0.91, 0.1))


def test_the_score_of_a_setting_is_what_the_estimator_would_get(data, labels):
    """The representation of a trial is that of `BRGCL` with the same settings and seed."""
    config = TINY.replace(seed=3)
    found = tune(data, labels, config=config, trials=1, seed=3, **GRID)
    z = BRGCL.from_config(config).fit(data).representations_
    expected = cross_validated_agreement(z, labels, rule="centroid", seed=3)
    assert found.default.score == pytest.approx(expected.cv_agreement)
    assert found.default.point == (config.xi, config.gamma0)
    assert found.epochs == config.epochs


def test_labels_in_the_graph_are_not_read(data, labels):
    poisoned = data.clone()
    poisoned.y = torch.zeros_like(data.y)
    for criterion in ("labels", "stability"):
        first, second = (
            tune(graph, labels, config=TINY, criterion=criterion, xi=(0.1, 0.5), gamma0=(0.3,))
            for graph in (data, poisoned)
        )
        assert scores(first) == scores(second)


def test_stability_reads_no_label(data, labels):
    first, second = (
        tune(data, given, config=TINY, criterion="stability", xi=(0.1, 0.5), gamma0=(0.3,))
        for given in (labels, None)
    )
    assert scores(first) == scores(second)
    assert first.default == dataclasses.replace(second.default, seconds=first.default.seconds)


def test_the_criterion_follows_from_the_labels(data, labels):
    assert tune(data, labels, config=TINY, trials=1, **GRID).criterion == "labels"
    nothing = torch.full_like(labels, -1)
    assert tune(data, nothing, config=TINY, trials=1, **GRID).criterion == "stability"


def test_every_label_is_held_out_once(data, labels):
    graph = prepare(data, TINY)
    encoder = make_encoder(graph.x.shape[1], TINY, torch.Generator().manual_seed(0))
    found = agreement(encoder, graph, labels, seed=0)
    assert len(found.parts) == int((labels >= 0).sum())
    assert set(found.parts) <= {0.0, 1.0}
    assert found.error == pytest.approx(np.std(found.parts, ddof=1) / len(found.parts) ** 0.5)


def test_the_gain_is_paired():
    """Where only one label differs, the error of the gain is far below that of the scores."""
    many, more = Score((1.0, 0.0) * 50), Score((1.0, 1.0) + (1.0, 0.0) * 49)
    gain, error = more.gain_over(many)
    assert gain == pytest.approx(0.01)
    assert error < 0.25 * many.error


@pytest.mark.parametrize(
    ("sizes", "trivial"),
    [([50], True), ([46, 4], True), ([45, 5], False), ([25, 25], False), ([1] * 50, True)],
)
def test_a_partition_that_says_nothing_is_recognised(sizes, trivial):
    assignment = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    assert is_trivial(assignment) is trivial


def test_a_constant_partition_is_not_called_stable(data):
    graph = prepare(data, TINY)
    encoder = make_encoder(graph.x.shape[1], TINY, torch.Generator().manual_seed(0))
    assert stability(encoder, graph, TINY.replace(xi=1000.0), seed=0).parts == (0.0,) * 5
    assert any(stability(encoder, graph, TINY.replace(xi=0.3), seed=0).parts)


# The choice


def test_the_default_stays_unless_another_is_better_by_a_standard_error():
    default = cell(0.5, 0.0, 0.0)
    assert (
        search.choose(default, [default, cell(0.1, 0.02, 0.03), cell(0.2, 0.01, 0.01)]) == default
    )
    better = cell(0.1, 0.04, 0.03)
    assert search.choose(default, [default, cell(0.2, 0.05, 0.045), better]) == better


def test_a_pruned_setting_is_never_chosen():
    default = cell(0.5, 0.0, 0.0)
    assert search.choose(default, [cell(0.1, 0.2, None, pruned=True)]) == default


def test_the_rival_of_a_default_that_stays_is_the_best_of_the_others():
    default, other = cell(0.5, 0.0, 0.0), cell(0.1, 0.01, 0.03)
    cells = [default, other, cell(0.2, -0.1, 0.03), cell(0.3, 0.2, None, pruned=True)]
    assert search._rival(default, default, cells) == other
    assert search._rival(default, default, [default]) is None


# The search


def test_the_grid_is_tried_whole_and_the_same_seed_gives_the_same(data, labels):
    first, second = (tune(data, labels, config=TINY, **GRID) for _ in range(2))
    assert [c.point for c in first.cells] == [(x, g) for x in GRID["xi"] for g in GRID["gamma0"]]
    assert (first.mode, first.wanted, first.cut) == ("grid", 6, False)
    assert scores(first) == scores(second)
    assert first.chosen.point == second.chosen.point == (first.config.xi, first.config.gamma0)


def test_a_search_tries_as_many_different_settings_as_asked(data, labels):
    found = tune(data, labels, config=TINY, trials=5, **GRID)
    assert found.mode == "tpe"
    assert len({c.point for c in found.cells}) == len(found.cells) == found.wanted == 5
    assert tune(data, labels, config=TINY, trials=50, **GRID).wanted == 6


def test_a_default_off_the_grid_is_scored_too(data, labels):
    found = tune(data, labels, config=TINY.replace(xi=0.8), xi=(0.1,), gamma0=(0.3,))
    assert found.default.xi == 0.8
    assert [c.point for c in found.cells] == [(0.1, 0.3)]


def test_large_graphs_get_few_short_trials(data, labels, monkeypatch):
    monkeypatch.setattr(search, "SMALL_GRAPH", 100)
    monkeypatch.setattr(search, "FEW_EPOCHS", 6)
    monkeypatch.setattr(search, "FEW_TRIALS", 2)
    config = TINY.replace(epochs=12, warmup_epochs=4)
    found = tune(data, labels, config=config, **GRID)
    assert (found.mode, found.wanted, found.epochs) == ("tpe", 2, 6)
    assert (found.config.epochs, found.config.warmup_epochs) == (12, 4)
    assert search._with_epochs(config, 6).warmup_epochs == 2


def test_pruning_looks_at_the_score_after_the_warm_up():
    assert check_epochs(BRGCLConfig(epochs=100, warmup_epochs=50)) == [66, 83]
    assert check_epochs(BRGCLConfig(epochs=2, warmup_epochs=1)) == []


def test_a_hopeless_trial_stops_early(data, labels):
    task = Task(prepare(data, TINY), labels, TINY)
    seen = []
    found = train_and_score(
        task, (0.1, 0.3), after_epoch=lambda e: seen.append(e.epoch), hopeless=lambda e, s: True
    )
    assert seen == [1, 2] == list(range(1, check_epochs(TINY)[0] + 1))
    assert found.score is None
    stopped = make_cell((0.1, 0.3), found, Score((1.0, 0.0)), TINY)
    assert stopped.pruned
    assert stopped.gain_error is None


def test_scores_below_the_median_are_pruned(data, labels, monkeypatch):
    """Settings are given falling scores: after the first five, each is below the median."""
    rank = iter(range(100, 0, -1))

    def fall(encoder, graph, labels, seed):
        level = next(rank) // 3  # two checks and the end of a trial come in a row
        return Score((level / 100, level / 100))

    monkeypatch.setattr("brgcl.tune.tried_setting.agreement", fall)
    grid = {"xi": (0.1, 0.2, 0.3, 0.4, 0.5), "gamma0": (0.3, 0.6)}
    found = tune(data, labels, config=TINY, **grid)
    assert sum(c.pruned for c in found.cells) == 5


# Stopping and going on


class KilledError(Exception):
    pass


def killed_after(epochs):
    left = iter(range(epochs))

    def report(done, total, text):
        if next(left, None) is None:
            raise KilledError

    return report


@pytest.mark.parametrize("trials", ["grid", 4])
def test_a_killed_search_goes_on_where_it_stopped(data, labels, tmp_path, monkeypatch, trials):
    arguments = {"config": TINY, "trials": trials, "storage": tmp_path / "a" / "journal", **GRID}
    with pytest.raises(KilledError):
        tune(data, labels, report=killed_after(8), **arguments)  # two trainings and a part
    trained = []
    train = search.train_and_score
    monkeypatch.setattr(
        search, "train_and_score", lambda task, p, **kw: trained.append(p) or train(task, p, **kw)
    )
    resumed = tune(data, labels, **arguments)
    assert len(trained) == resumed.wanted - 2
    monkeypatch.undo()
    whole = tune(data, labels, **{**arguments, "storage": None})
    assert scores(resumed) == scores(whole)


def test_a_finished_study_is_not_repeated(data, labels, tmp_path, monkeypatch):
    arguments = {"config": TINY, "storage": tmp_path / "journal", **GRID}
    first = tune(data, labels, **arguments)
    monkeypatch.setattr(search, "train_and_score", None)  # whoever calls it fails
    assert tune(data, labels, **arguments) == first


def test_another_graph_or_seed_is_another_study(data, labels, tmp_path):
    arguments = {"config": TINY, "trials": 1, "storage": tmp_path / "journal", **GRID}
    tune(data, labels, **arguments)
    other = labels.clone()
    other[labels == 0] = 1
    tune(data, other, **arguments)
    tune(data, labels, seed=1, **arguments)
    storage = open_study(tmp_path / "journal", "none")._storage
    assert len(storage.get_all_studies()) == 4


def test_a_torn_last_line_is_dropped(data, labels, tmp_path):
    file = tmp_path / "journal"
    arguments = {"config": TINY, "trials": 2, "storage": file, **GRID}
    first = tune(data, labels, **arguments)
    with file.open("ab") as journal:
        journal.write(b'{"op_code": 4, "trial')
    assert tune(data, labels, **arguments) == first
    assert tune(data, labels, **{**arguments, "trials": 3}).wanted == 3


@pytest.mark.parametrize("content", ["something else\n", "no newline", '{"a": 1}\n', "[1]\n"])
def test_a_file_that_is_no_journal_is_refused(data, labels, tmp_path, content):
    (tmp_path / "notes").write_text(content)
    with pytest.raises(InputError, match="is not a journal of brgcl tune"):
        tune(data, labels, config=TINY, storage=tmp_path / "notes", **GRID)
    assert (tmp_path / "notes").read_text() == content


def test_a_folder_is_no_storage(data, labels, tmp_path):
    with pytest.raises(InputError, match="cannot use"):
        tune(data, labels, config=TINY, storage=tmp_path, **GRID)


@pytest.fixture
def clock(monkeypatch):
    """A clock that only a training moves: a second per epoch."""
    now = [0.0]
    for module in ("search", "tried_setting"):
        monkeypatch.setattr(f"brgcl.tune.{module}.monotonic", lambda: now[0])
    monkeypatch.setattr("brgcl.tune.compare.monotonic", lambda: now[0])
    return now


def test_no_trial_begins_that_the_budget_cannot_hold(data, labels, clock):
    def tick(done, total, text):
        clock[0] += 1

    found = tune(data, labels, config=TINY, budget=14, report=tick, **GRID)
    assert found.cut
    assert len(found.cells) == 4  # a second of warm-up, three seconds each; the next until 16
    assert clock[0] == 13


def test_a_trial_that_takes_longer_than_expected_is_given_up(data, labels, clock):
    def slower_and_slower(done, total, text):
        clock[0] += 1 + 10 * done

    found = tune(data, labels, config=TINY, budget=20, report=slower_and_slower, **GRID)
    assert found.cut
    assert [c.point for c in found.cells] == [found.default.point]
    assert clock[0] < 20 + 12


def test_a_budget_too_short_for_one_training_is_refused(data, labels, clock):
    def tick(done, total, text):
        clock[0] += 1

    with pytest.raises(InputError, match="give a longer --budget"):
        tune(data, labels, config=TINY, budget=2, report=tick, **GRID)


# Wrong input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"criterion": "label"}, "unknown criterion 'label'; did you mean 'labels'"),
        ({"trials": 0}, "trials must be 'grid' or at least 1, got 0"),
        ({"xi": ()}, "xi has no value"),
        ({"xi": (0.1, -1.0)}, "xi must be a number above 0"),
        ({"gamma0": (1.5,)}, "gamma0 must be in"),
        ({"epochs": 0}, "epochs must be an integer of at least 1"),
        ({"config": TINY.replace(proto_weight=0.0)}, "xi and gamma0 change nothing"),
        ({"config": TINY.replace(warmup_epochs=4)}, "warmup_epochs \\(4\\) must be below epochs"),
    ],
)
def test_wrong_arguments_are_refused(data, labels, arguments, message):
    with pytest.raises(InputError, match=message):
        tune(data, labels, **{"config": TINY, **arguments})


def test_labels_are_wanted_where_they_are_the_criterion(data):
    with pytest.raises(InputError, match="criterion 'stability' needs none"):
        tune(data, config=TINY, criterion="labels")


def test_optuna_is_asked_for_by_name(data, labels, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(InputError, match=r"pip install 'brgcl\[tune\]'"):
        tune(data, labels, config=TINY)


def test_optuna_speaks_as_before_afterwards(data, labels):
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    tune(data, labels, config=TINY, trials=1, **GRID)
    assert optuna.logging.get_verbosity() == optuna.logging.WARNING == logging.WARNING


# What is shown


@pytest.fixture(scope="module")
def grid(data, labels):
    return tune(data, labels, config=TINY, **GRID)


def test_the_preset_is_what_config_reads(grid, tmp_path):
    base = BRGCLConfig()
    text = page.preset_text(grid, base, ["why"])
    assert text.startswith("# why\n")
    assert {"xi", "gamma0", "hidden", "dim", "epochs"} < set(tomllib.loads(text))
    (tmp_path / "preset.toml").write_text(text)
    found = resolve_config("brgcl", "default", tmp_path / "preset.toml", None)
    assert found == grid.config


def test_the_table_names_choice_and_default(grid):
    rows = page.table_rows(grid)
    assert all(len(row) == len(page.COLUMNS) for row in rows)
    assert sum("default" in row[0] for row in rows) == 1
    assert sum("choice" in row[0] for row in rows) == 1


def test_the_sentences_say_what_was_chosen_and_why(grid):
    text = " ".join(page.lines(grid))
    assert "Tried 6 of 6 cells of the grid" in text
    assert "Choice:" in text
    assert "standard error" in text
    cut = dataclasses.replace(grid, cut=True, cells=grid.cells[:2])
    assert "The budget ended the search" in " ".join(page.lines(cut))


def test_the_summary_is_json(grid):
    found = json.loads(json.dumps(page.summary(grid)))
    assert len(found["trials"]) == found["trials_done"] == 6
    assert {"xi", "gamma0", "score", "gain", "gain_error", "pruned"} < set(found["chosen"])


def test_the_surface_shows_every_trial_the_choice_and_the_holes(grid):
    pytest.importorskip("matplotlib")
    found = page.summary(dataclasses.replace(grid, cells=grid.cells[:3]))
    axes = draw_searches({"small": found}).axes[0]
    (image,) = axes.get_images()
    assert image.get_array().count() == 3
    assert sorted(image.get_array().compressed()) == sorted(c.score for c in grid.cells[:3])
    frames = [patch for patch in axes.patches if not patch.get_hatch()]
    holes = [patch for patch in axes.patches if patch.get_hatch()]
    assert len(holes) == len(grid.xi) * len(grid.gamma0) - 3
    at = (grid.xi.index(grid.chosen.xi), grid.gamma0.index(grid.chosen.gamma0))
    assert frames[-1].get_center() == pytest.approx(at)
    assert axes.get_title().startswith("small: 3 of 6 settings")


def test_a_search_by_tpe_is_drawn_as_points(grid):
    pytest.importorskip("matplotlib")
    found = page.summary(dataclasses.replace(grid, mode="tpe"))
    points = draw_searches({"small": found}).axes[0].collections[0]
    assert points.get_offsets().tolist() == [[cell.xi, cell.gamma0] for cell in grid.cells]
    assert points.get_array().tolist() == [cell.score for cell in grid.cells]


# Fresh draws


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Fresh draws are classified by centroids, without choosing among the classifiers."""

    def classify(trial, fitted, **arguments):
        return classify_one(trial, fitted, NodeClassifier("centroid"), **arguments)

    monkeypatch.setattr(benchmark, "classify_one", classify)


def comparison(default, other):
    return Comparison("accuracy", 0.1, 0.3, tuple(range(len(default))), default, other, 5)


def test_the_interval_is_students():
    found = comparison((0.70, 0.72, 0.71), (0.72, 0.73, 0.74))
    assert found.paired.mean == pytest.approx(0.02)
    half = 4.302653 * 0.01 / 3**0.5
    assert found.paired.high == pytest.approx(0.02 + half)
    assert found.paired.low == pytest.approx(0.02 - half)
    assert found.verdict == "no clear difference"
    assert "3 fresh draws (5 were wanted" in str(found)


def test_the_verdict_follows_the_interval():
    base = (0.7, 0.8, 0.75)
    assert comparison(base, (0.75, 0.85, 0.801)).verdict == "better"
    assert comparison(base, (0.65, 0.75, 0.701)).verdict == "worse"
    assert comparison(base, base).verdict == "no clear difference"
    assert comparison((0.7,), (0.8,)).verdict == "no clear difference"
    assert comparison((0.7,), (0.8,)).to_dict()["difference_low"] is None


def drawing(graph, seen=None):
    def draw(seed):
        if seen is not None:
            seen.append(seed)
        noise = Noise(labels=NoiseSpec("symmetric", 0.3)) if bool((graph.y >= 0).any()) else Noise()
        return draw_noisy_graph(graph, noise=noise, protocol="no-val", seed=seed)

    return draw


def test_the_comparison_is_on_draws_that_tuning_did_not_see(data):
    seen = []
    tuning, found = tune_and_compare(drawing(data, seen), TINY, seed=4, draws=3, **GRID)
    assert seen[0] == 4
    assert set(seen[1:]) == {5, 6, 7} == set(found.seeds)
    assert found.metric == "accuracy"
    assert (found.xi, found.gamma0) == tuning.rival.point != tuning.default.point
    assert all(0 <= value <= 1 for value in found.default + found.other)


def test_what_is_compared_follows_from_what_is_known(data):
    own = make_graph(90, num_classes=3, num_features=20)
    for name in ("train_mask", "val_mask", "test_mask"):
        del own[name]
    bare = own.clone()
    bare.y = torch.full_like(own.y, -1)
    for graph, metric in ((own, "cv_agreement"), (bare, "stability")):
        _, found = tune_and_compare(drawing(graph), TINY, draws=2, xi=(0.1, 0.5), gamma0=(0.3,))
        assert found.metric == metric
        assert len(found.default) == len(found.other) == 2


def test_nothing_is_compared_where_that_is_switched_off(data):
    seen = []
    _, found = tune_and_compare(drawing(data, seen), TINY, draws=0, xi=(0.1,), gamma0=(0.3,))
    assert found is None
    assert seen == [0]


@pytest.mark.parametrize(("budget", "draws"), [(1000, 3), (70, 3), (40, 3), (24, 1)])
def test_the_budget_holds_for_search_and_comparison(data, clock, budget, draws):
    """A second of warm-up, three a trial: what does not fit is left out, what is cut is said."""

    def tick(done, total, text):
        clock[0] += 1

    tuning, found = tune_and_compare(
        drawing(data), TINY, draws=3, budget=budget, report=tick, **GRID
    )
    assert clock[0] <= budget
    assert tuning.cut == (budget < 70)
    assert len(found.seeds) == draws
    assert ("were wanted" in str(found)) == (draws < 3)


def test_a_fresh_draw_that_the_budget_cannot_hold_is_left_out(data, clock):
    def tick(done, total, text):
        clock[0] += 1

    _, found = tune_and_compare(
        drawing(data), TINY, draws=3, budget=14, report=tick, xi=(0.1, 0.5), gamma0=(0.3,)
    )
    assert found is None
    assert clock[0] <= 14
    assert "no time left" in benchmark.NOT_COMPARED
