"""`brgcl bench table` and `brgcl bench plot`, called as a shell would call them."""

import io
import json
import random
import sys

import pytest

pytest.importorskip("matplotlib")

from brgcl.benchmark.experiment import load_experiment, runs
from brgcl.benchmark.records import Record, append_record
from brgcl.cli.main import main

OWN = """
title = "A table"
source = "a test"
noise = ["symmetric", "pair"]
levels = [0.0, 0.2]
datasets = ["demo"]
seeds = { default = 2 }
[rows.gcn]
"""


@pytest.fixture
def experiment(tmp_path):
    (tmp_path / "own.toml").write_text(OWN)
    return load_experiment(str(tmp_path / "own.toml"))


@pytest.fixture
def plot(run, tmp_path, monkeypatch):
    """Run `brgcl bench plot` in an empty folder; returns its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: run("bench", "plot", *arguments)


def measure(experiment, file):
    """Write made-up records of all cells, in any order."""
    specs = [run.spec for run in runs(experiment)]
    for spec in random.Random(0).sample(specs, len(specs)):
        record = Record(spec, {"accuracy": 0.8}, realised={"labels": 0.2})
        append_record(file, record)


def test_the_command_plots_records_from_a_file(experiment, tmp_path, plot):
    measure(experiment, tmp_path / "some.jsonl")
    code, out, _ = plot("own.toml", "--records", "some.jsonl", "--json")
    assert code == 0
    panels = ["demo, symmetric (n = 2)", "demo, pair (n = 2)"]
    assert json.loads(out) == {"experiment": "own", "file": "own.svg", "panels": panels}
    assert (tmp_path / "own.svg").is_file()


@pytest.mark.parametrize("arguments", [[], ["--records", "nope.jsonl"]])
def test_the_command_says_what_to_run_where_nothing_is_measured(
    experiment, tmp_path, plot, arguments
):
    """Defect 48: a file of records that is not there is an error, for pictures too."""
    code, _, error = plot("own.toml", *arguments)
    assert code == 2
    assert "brgcl bench run own.toml makes them" in " ".join(error.split())
    assert not (tmp_path / "own.svg").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["symmetric", "--out", "a.gif"], "a picture is written as .svg, .png or .pdf"),
        (["symetric"], "did you mean 'symmetric'?"),
        (["own.toml", "--methods", "gnc"], "did you mean 'gcn'?"),
        (["dataset-statistics", "--records", "own.jsonl"], "bench table dataset-statistics"),
        (["hyperparameters"], "there is no search to plot yet"),
        (["hyperparameters", "--datasets", "cora"], "brgcl tune cora makes one"),
    ],
)
def test_wrong_input_is_one_line(experiment, tmp_path, plot, arguments, message):
    for name in ("own.jsonl", "results/records.jsonl"):
        measure(experiment, tmp_path / name)
    code, out, error = plot(*arguments)
    assert (code, out) == (2, "")
    assert message in " ".join(error.split())


@pytest.mark.parametrize("form", ["text", "md", "latex", "html", "csv", "draws"])
def test_a_table_is_printed_where_stdout_is_ascii(experiment, tmp_path, monkeypatch, form):
    """Defect 25: with an ASCII stdout `bench table` died of a UnicodeEncodeError."""
    measure(experiment, tmp_path / "some.jsonl")
    monkeypatch.chdir(tmp_path)
    arguments = ["bench", "table", "own.toml", "--records", "some.jsonl", "--format", form]
    monkeypatch.setattr(sys, "argv", ["brgcl", *arguments])
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    sys.stdout.flush()
    text = written.getvalue().decode("ascii")
    assert "gcn" in text
    if form == "text":
        assert "80.0 +- 0.0 (2)" in text


@pytest.mark.parametrize("form", ["text", "csv", "draws"])
def test_a_table_without_its_file_of_records_is_an_error(
    experiment, tmp_path, monkeypatch, run, form
):
    """Defect 48: a file of records that is not there is an error that names it."""
    monkeypatch.chdir(tmp_path)
    code, out, error = run(
        "bench", "table", "own.toml", "--records", "nope.jsonl", "--format", form
    )
    assert (code, out) == (2, "")
    assert "no records in 'nope.jsonl' yet; brgcl bench run own.toml makes them" in error
