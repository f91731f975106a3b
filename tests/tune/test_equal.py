import json
from math import sqrt
from statistics import mean, stdev

import pytest

from brgcl.benchmark import runner
from brgcl.benchmark.experiment import experiment_names, load_experiment, num_draws
from brgcl.benchmark.records import ResultsFolder, read_records
from brgcl.data import make_graph
from brgcl.errors import InputError
from brgcl.methods import METHODS
from brgcl.tune import equal
from brgcl.tune.equal import (
    CELLS,
    EqualTuning,
    TriedChanges,
    changes_to_try,
    choose,
    read_outcomes,
    tune_equally,
)

TUNED = sorted(name for name, method in METHODS.items() if method.space)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for records; a small graph takes the name of every data set."""

    def small(name, root=None, *, seed=0):
        return make_graph(
            150, num_classes=3, num_features=40, labels_per_class=10, num_val=60, seed=seed
        )

    monkeypatch.setattr(runner, "load_dataset", small)
    monkeypatch.setattr(runner, "available", lambda name, root: True)
    runner._load.cache_clear()
    runner._draw.cache_clear()
    yield ResultsFolder(tmp_path / "equal" / "records.jsonl")
    runner._load.cache_clear()
    runner._draw.cache_clear()


def tried(gain, error, **changes):
    return TriedChanges(changes, 0.5 + gain, gain, error, 1.0)


@pytest.mark.parametrize("name", TUNED)
@pytest.mark.parametrize("dataset", ["cora", "citeseer", "pubmed"])
def test_every_point_of_a_space_is_allowed(name, dataset):
    method = METHODS[name]
    for setting, values in method.space.items():
        assert len(set(values)) == len(values) >= 2
        for value in values:
            method.config(dataset, **{setting: value})
    default = method.config()
    assert all(getattr(default, setting) in values for setting, values in method.space.items())


@pytest.mark.parametrize("name", TUNED)
def test_the_default_comes_first_and_nothing_twice(name):
    method = METHODS[name]
    settings = changes_to_try(method, "citeseer", 8, seed=0)
    assert settings[0] == {}
    configs = [method.config("citeseer", **changes) for changes in settings]
    assert len(set(configs)) == 8
    assert settings == changes_to_try(method, "citeseer", 8, seed=0)
    assert settings != changes_to_try(method, "citeseer", 8, seed=1)


def test_what_cannot_be_tried_is_refused(folder):
    with pytest.raises(InputError, match="gae has no settings to try; these have: brgcl, "):
        changes_to_try(METHODS["gae"], "cora", 8, seed=0)
    with pytest.raises(InputError, match=r"trials must be in 2\.\.64 for smooth, got 65"):
        changes_to_try(METHODS["smooth"], "cora", 65, seed=0)
    with pytest.raises(InputError, match=r"draws must be in 1\.\.20, got 21"):
        tune_equally("cora", "smooth", folder, draws=21)


def test_the_default_stays_unless_another_gains_two_standard_errors():
    default = tried(0.0, 0.0)
    close, clear, best = tried(0.03, 0.02, a=1), tried(0.01, 0.005, a=2), tried(0.02, 0.01, a=3)
    assert choose([default, close]) == default
    assert choose([default, close, clear]) == clear
    assert choose([default, close, clear, best]) == best
    assert choose([default, tried(0.0, 0.0, a=1), tried(-0.02, 0.001, a=2)]) == default


@pytest.mark.parametrize("name", ["smooth", "s2gc"])
def test_scores_are_those_of_the_records_on_validation_nodes(folder, name):
    found = tune_equally("demo", name, folder, trials=2, draws=2)
    assert (found.trials, found.n, found.draws) == (2, 2 * len(CELLS), (100, 101))
    records = read_records(folder.records).values()
    assert len(records) == 2 * found.n
    assert {record.spec.scored_on for record in records} == {"validation"}
    # without labels, one training serves all cells of a draw
    trained = sum(not record.shared_training for record in records)
    assert trained == (2 * found.n if METHODS[name].uses_labels else 2 * 2)
    scores = {}
    for record in records:
        place = (record.spec.seed, record.spec.noise, record.spec.level)
        scores.setdefault(record.spec.settings, {})[place] = record.metrics["accuracy"]
    for each in found.tried:
        config = METHODS[name].config("demo", **each.changes)
        values = scores[runner.RunSpec.of("demo", name, 0, each.changes).settings]
        before = scores[runner.RunSpec.of("demo", name, 0, {}).settings]
        gains = [values[place] - before[place] for place in before]
        assert each.accuracy == pytest.approx(mean(values.values())), config
        assert each.gain == pytest.approx(mean(gains))
        assert each.gain_error == pytest.approx(stdev(gains) / sqrt(found.n))


def test_what_was_run_is_not_run_again(folder, monkeypatch):
    first = tune_equally("demo", "smooth", folder, trials=2, draws=1)
    lines = folder.records.read_text().splitlines()
    monkeypatch.setattr(runner, "_fit", None)  # nothing may be trained
    assert tune_equally("demo", "smooth", folder, trials=2, draws=1) == first
    assert folder.records.read_text().splitlines() == lines


def test_a_failed_or_unfinished_search_chooses_nothing(folder, monkeypatch):
    with pytest.raises(InputError, match="20 of 20 runs left; the same command resumes"):
        tune_equally("demo", "smooth", folder, trials=4, draws=1, deadline=0.0)

    def fail(*arguments, **keywords):
        raise ValueError("out of order")

    monkeypatch.setattr(runner, "fit_one", fail)
    with pytest.raises(InputError, match=r"20 runs failed, the first .*smooth.*: .*out of order"):
        tune_equally("demo", "smooth", folder, trials=4, draws=1)


def test_outcomes_are_read_as_they_were_written(tmp_path):
    assert read_outcomes(tmp_path / "nowhere") == []
    each = (tried(0.0, 0.0), tried(0.02, 0.01, dim=32))
    found = EqualTuning("smooth", 1, "cora", 0, (100, 101), CELLS, each, each[1], "abc")
    (tmp_path / "smooth-cora.json").write_text(json.dumps(found.to_dict()))
    assert read_outcomes(tmp_path) == [found]
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(InputError, match=r"other\.json' was not saved by brgcl tune --method"):
        read_outcomes(tmp_path)


def test_no_table_shows_draws_that_choose():
    for experiment in map(load_experiment, experiment_names()):
        for row in experiment.rows.values():
            for dataset in experiment.datasets:
                assert num_draws(experiment, row, dataset) <= equal.FIRST_DRAW
