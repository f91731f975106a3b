"""`brgcl tune`, called as a shell would call it."""

import json
import sys
import tomllib

import pytest

from brgcl import BRGCLConfig, NodeClassifier
from brgcl.cli import main as cli
from brgcl.data import make_graph
from brgcl.evaluation.score import classify_one
from brgcl.tune import compare as benchmark

pytest.importorskip("optuna")

TINY = ("epochs=3", "hidden=16", "dim=8", "warmup_epochs=1", "reported=prototypes")
QUICK = ["--trials", "3", *(part for text in TINY for part in ("--set", text))]


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command on a small graph; returns its exit code, stdout and stderr."""

    def load(name, root=None, *, seed=0):
        data = make_graph(120, num_classes=3, num_features=30, labels_per_class=8, seed=seed)
        data.name = name
        return data

    def classify(trial, fitted, **arguments):
        return classify_one(trial, fitted, NodeClassifier("centroid"), **arguments)

    monkeypatch.setattr("brgcl.data.datasets.load_dataset", load)
    monkeypatch.setattr(benchmark, "classify_one", classify)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["brgcl", "tune", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit:
            cli.main()
        streams = capsys.readouterr()
        return exit.value.code or 0, streams.out, streams.err

    return call


def test_choice_and_comparison_are_printed(run, tmp_path):
    preset, picture = tmp_path / "preset.toml", tmp_path / "surface.svg"
    code, out, err = run(
        "cora", *QUICK, "--label-noise", "symmetric:0.3", "--compare", 2, "--budget", "2m",
        "--storage", tmp_path / "journal", "--out", preset, "--plot", picture,
    )  # fmt: skip
    assert code == 0, err
    text = " ".join(out.split())
    for part in ("Settings of cora", "Choice:", "On 2 fresh draws", "paired difference", "Written"):
        assert part in text
    assert picture.read_text(encoding="utf-8").startswith("<?xml")
    settings = tomllib.loads(preset.read_text(encoding="utf-8"))
    config = BRGCLConfig(**settings)
    assert (config.epochs, config.hidden) == (3, 16)


def test_json(run):
    code, out, _ = run("cora", *QUICK, "--label-noise", "symmetric:0.3", "--compare", 2, "--json")
    assert code == 0
    found = json.loads(out)
    assert (found["dataset"], found["criterion"], found["trials_done"]) == ("cora", "labels", 3)
    assert 0.1 < found["noise_realised"] < 0.6
    compared = found["comparison"]
    assert (compared["n"], compared["seeds"], compared["metric"]) == (2, [1, 2], "accuracy")
    gaps = [b - a for a, b in zip(compared["default"], compared["other"], strict=True)]
    assert compared["difference_mean"] == pytest.approx(sum(gaps) / 2)


def test_a_graph_of_ones_own_without_labels(run, tmp_path):
    edges = tmp_path / "edges.csv"
    lines = [f"n{i},n{(i + step) % 30}" for i in range(30) for step in (1, 2)]
    edges.write_text("\n".join(["source,target", *lines]) + "\n")
    code, out, err = run("--edges", edges, *QUICK, "--compare", 0, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["criterion"] == "stability"
    assert found["comparison"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("cora --budget soon", "'soon' is not a time"),
        ("cora --trials some", "--trials must be 'grid' or a number of at least 1, got 'some'"),
        ("cora --criterion lables", "did you mean 'labels'"),
        ("cora --plot surface.gif", "written as .svg, .png or .pdf"),
        ("cora --set warmup_epochs=500", "xi and gamma0 have no effect"),
        ("", "no graph given"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(run, arguments, message):
    code, out, err = run(*arguments.split())
    assert (code, out) == (2, "")
    assert message in err


def test_a_file_is_not_overwritten_unasked(run, tmp_path):
    file = tmp_path / "preset.toml"
    file.write_text("xi = 0.1\n")
    code, _, err = run("cora", *QUICK, "--out", file)
    assert code == 2
    assert "already exists" in err
    assert run("cora", *QUICK, "--compare", 0, "--out", file, "--overwrite")[0] == 0
    assert file.read_text(encoding="utf-8").startswith("# brgcl tune, cora.")
