"""The bench commands, from the arguments to what is printed and written."""

import csv
import io
import json

import pytest

from brgcl.benchmark import runner
from brgcl.benchmark.experiment import experiment_names
from brgcl.cli.app import app
from brgcl.data import make_graph
from brgcl.errors import InputError

GRID = """
title = "small"
source = "a test"
noise = ["symmetric"]
levels = [0.0, 0.4]
datasets = ["demo"]
seeds = { default = 2 }
[rows.brgcl]
settings = { epochs = 2, hidden = 8, dim = 8, warmup_epochs = 1, reported = "prototypes" }
rule = "centroid"
[rows.gcn]
settings = { epochs = 3 }
"""


@pytest.fixture
def bench(tmp_path, capsys, monkeypatch):
    """Run a bench command in an empty folder; returns what it printed."""
    small = make_graph(150, num_classes=3, num_features=40, labels_per_class=8, num_val=30)
    monkeypatch.setattr(runner, "load_dataset", lambda name, root=None, *, seed=0: small)
    runner._load.cache_clear()
    (tmp_path / "grid.toml").write_text(GRID)
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        capsys.readouterr()
        app(["bench", *arguments], standalone_mode=False)
        return capsys.readouterr().out

    yield call
    runner._load.cache_clear()


def test_run_then_table_then_nothing_left(bench, tmp_path):
    found = json.loads(bench("run", "grid.toml", "--json"))
    assert (found["cells"], found["done"], found["left"], found["failed"]) == (8, 8, 0, 0)
    assert (tmp_path / "results" / "records.jsonl").is_file()
    again = json.loads(bench("run", "grid.toml", "--json"))
    assert again["done"] == 8
    rows = list(csv.DictReader(io.StringIO(bench("table", "grid.toml", "--format", "csv"))))
    assert [(row["method"], row["n"]) for row in rows] == [
        ("brgcl", "2"),
        ("brgcl", "2"),
        ("gcn", "2"),
        ("gcn", "2"),
    ]
    for form, mark in (("text", "gcn"), ("md", "| gcn |"), ("latex", "gcn &"), ("html", "<th>gcn")):
        assert mark in bench("table", "grid.toml", "--format", form)
    draws = list(csv.DictReader(io.StringIO(bench("table", "grid.toml", "--format", "draws"))))
    assert len(draws) == 8


def test_a_part_of_the_grid(bench):
    part = ("--methods", "gcn", "--levels", "0", "--seeds", "1")
    assert json.loads(bench("run", "grid.toml", *part, "--json"))["cells"] == 1


def test_a_budget_that_is_over_begins_nothing(bench, monkeypatch):
    monkeypatch.setattr("brgcl.cli.bench.parse_duration", lambda text: -1.0)
    assert json.loads(bench("run", "grid.toml", "--budget", "1s", "--json"))["done"] == 0


def test_validation_scores_are_apart_from_test_scores(bench):
    bench("run", "grid.toml", "--scored-on", "validation", "--json")
    rows = csv.DictReader(io.StringIO(bench("table", "grid.toml", "--format", "csv")))
    assert {row["n"] for row in rows} == {"0"}
    scored = bench("table", "grid.toml", "--format", "csv", "--scored-on", "validation")
    assert {row["n"] for row in csv.DictReader(io.StringIO(scored))} == {"2"}


def test_list_names_all(bench):
    listed = json.loads(bench("list", "--json"))["experiments"]
    assert [entry["name"] for entry in listed] == experiment_names()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "symetric"), "did you mean 'symmetric'"),
        (("run", "grid.toml", "--levels", "a"), "levels must be numbers"),
        (("run", "grid.toml", "--budget", "soon"), "is not a time"),
        (("run", "grid.toml", "--scored-on", "train"), "unknown scored_on 'train'"),
        (("run", "grid.toml", "--backend", "spark"), "backend"),
        (("run", "edge", "instance", "--datasets", "demo"), "such runs"),
        (("table", "grid.toml", "--format", "xls"), "format"),
        (("table", "grid.toml", "--records", "no.jsonl"), "no records in 'no.jsonl' yet"),
        (("table", "hyperparameters", "--format", "csv"), "no draws"),
    ],
)
def test_wrong_arguments_are_explained(bench, arguments, message):
    with pytest.raises(InputError, match=message):
        bench(*arguments)


def test_a_failed_run_ends_with_1(bench, monkeypatch, capsys):
    """Defect 22: `bench run` with a failed run ended with 0."""

    def broken(*arguments, **options):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(runner, "fit_one", broken)
    code = app(["bench", "run", "grid.toml", "--json"], standalone_mode=False)
    streams = capsys.readouterr()
    assert code == 1
    assert json.loads(streams.out)["failed"] == 8
    assert "RuntimeError: out of luck" in streams.err
