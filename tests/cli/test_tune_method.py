"""`brgcl tune GRAPH --method NAME`, called as a shell would call it."""

import json
import tomllib

import pytest

from brgcl.benchmark import runner
from brgcl.cli.tune_method import lines, preset_text, table_rows
from brgcl.data import make_graph
from brgcl.tune.equal import CELLS, EqualTuning, TriedChanges


@pytest.fixture
def small_runs(monkeypatch):
    def load(name, root=None, *, seed=0):
        return make_graph(
            150, num_classes=3, num_features=40, labels_per_class=10, num_val=60, seed=seed
        )

    monkeypatch.setattr(runner, "load_dataset", load)
    monkeypatch.setattr(runner, "available", lambda name, root: True)
    runner._load.cache_clear()
    runner._draw.cache_clear()
    yield
    runner._load.cache_clear()
    runner._draw.cache_clear()


def test_a_method_is_tuned_and_the_choice_written(run, small_runs, tmp_path):
    records, preset = tmp_path / "records.jsonl", tmp_path / "preset.toml"
    call = ("tune", "cora", "--method", "smooth", "--trials", 3, "--draws", 1, "--records", records)
    code, out, err = run(*call, "--out", preset)
    assert code == 0, err
    text = " ".join(out.split())
    for part in ("Settings of smooth on cora", "Tried 3 settings on draws 100 to 100", "Choice:"):
        assert part in text
    code, out, _ = run(*call, "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["method"], found["trials"], found["n"]) == ("smooth", 3, 5)
    assert json.loads((tmp_path / "smooth-cora.json").read_text()) == found
    assert tomllib.loads(preset.read_text()) == found["chosen"]["changes"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cora", "--method", "smoth"], "did you mean 'smooth'"),
        (["cora", "--method", "gae"], "gae has no settings to try"),
        (["cora", "--method", "gcn", "--trials", "grid"], "--trials must be a number"),
        (
            ["cora", "--method", "gcn", "--criterion", "labels"],
            "--criterion cannot be used with --method",
        ),
        (["cora", "--method", "gcn", "--compare", 0], "--compare cannot be used with --method"),
        (["cora", "--method", "gcn", "--set", "hidden=8"], "--set cannot be used with --method"),
        (["cora", "--method", "gcn", "--label-noise", "pair:0.2"], "--label-noise cannot be used"),
        (["--edges", "e.csv", "--method", "gcn"], "--method needs a data set"),
    ],
)
def test_what_does_not_go_with_a_method_is_refused(run, tmp_path, arguments, message):
    code, _, err = run("tune", *arguments, "--records", tmp_path / "records.jsonl")
    assert code == 2
    assert message in " ".join(err.split())
    assert not list(tmp_path.iterdir())


def test_the_words_say_what_was_chosen_and_why():
    default = TriedChanges({}, 0.7, 0.0, 0.0, 1.0)
    better, close = (
        TriedChanges({"hidden": 64, "lr": 0.02}, 0.73, 0.03, 0.01, 2.0),
        TriedChanges({"hidden": 64}, 0.71, 0.01, 0.008, 2.0),
    )
    facts = ("gcn", 1, "cora", 0, (100, 101, 102), CELLS)
    found = EqualTuning(*facts, (default, close, better), better, "abc")
    assert table_rows(found)[0] == [
        "hidden=64, lr=0.02 (choice)",
        "0.7300",
        "+0.0300",
        "0.0100",
        "2.0",
    ]
    assert "Choice: hidden=64, lr=0.02; it gains +0.0300 ± 0.0100" in lines(found)[1]
    assert tomllib.loads(preset_text(found)) == {"hidden": 64, "lr": 0.02}
    kept = EqualTuning(*facts, (default, close), default, "abc")
    assert lines(kept)[1].endswith("(the best, hidden=64, gains +0.0100 ± 0.0080).")
    assert tomllib.loads(preset_text(kept)) == {}
