import json

import pandas as pd
import pytest

from brgcl.data import open_graph, read_graph


@pytest.fixture(autouse=True)
def without_report(monkeypatch):
    monkeypatch.setattr("brgcl.report.extra.has_report_extra", lambda: False)


@pytest.fixture
def given(files):
    return ["--edges", files / "links.csv", "--features", files / "words.csv"]


def test_every_command_takes_the_folder(run, files, given, tmp_path):
    labels = next(p for p in files.iterdir() if p.name not in ("links.csv", "words.csv"))
    out = tmp_path / "graph"
    code, printed, err = run("convert", *given, "--labels", labels, "--out", out, "--json")
    assert code == 0, err
    assert json.loads(printed)["num_nodes"] == 60
    size = sum(file.stat().st_size for file in out.glob("*.npy"))
    assert json.loads(printed)["megabytes"] >= size / 2**20 > 0
    code, _, err = run("convert", out, "--out", tmp_path / "again")
    assert code == 2
    assert "graph' is a graph folder already; every command reads it as it is" in err
    expected = read_graph(files / "links.csv", files / "words.csv", labels)
    assert open_graph(out).class_names == expected.class_names

    settings = ("epochs=2", "hidden=8", "dim=4", "warmup_epochs=1", "reported=prototypes")
    small = [part for setting in settings for part in ("--set", setting)]
    both = []
    for graph in ([out], [*given, "--labels", labels]):
        code, _, err = run("embed", *graph, *small, "--out", tmp_path / "run", "--overwrite")
        assert code == 0, err
        both.append(pd.read_parquet(tmp_path / "run/embeddings.parquet"))
    assert both[0].equals(both[1])
    for command in ("classify", "cluster"):
        code, _, err = run(command, out, "--method", "smooth", "--json")
        assert code == 0, err


def test_the_run_names_the_folder_and_its_checksum(run, given, tmp_path):
    run("convert", *given, "--out", tmp_path / "graph")
    fast = ("--method", "smooth", "--json", "--out", tmp_path / "run")
    code, _, err = run("embed", tmp_path / "graph", *fast)
    assert code == 0, err
    inputs = json.loads((tmp_path / "run/run.json").read_text())["inputs"]
    assert inputs["graph"]["file"] == str(tmp_path / "graph/graph.json")
    assert len(inputs["graph"]["sha256"]) == 64


def test_archives_and_data_sets_are_converted_too(run, small, tmp_path):
    code, out, err = run("convert", "cora", "--out", tmp_path / "cora")
    assert code == 0, err
    assert "brgcl embed" in out
    assert open_graph(tmp_path / "cora").name == "cora"


def test_what_cannot_be_converted_is_refused(run, given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    for arguments, message in (
        (("convert", *given), "Missing option '--out'"),
        (("convert", "--out", "g"), "no graph given"),
        (("convert", *given, "--out", "g", "--memory", "3"), "is not a size"),
        (("convert", *given, "--out", "g", "--memory", "1MB"), "must be at least 16MB"),
        (("convert", "empty", "--out", "g"), "has no raw/edge.csv.gz"),
        (("convert", *given, "--source", "x", "--out", "g"), "set --source to one of"),
        (("embed", "empty"), "has no graph.json"),
        (("embed", *given[1:2]), "to read a file, use --edges"),
    ):
        code, out, err = run(*arguments)
        assert (code, out) == (2, ""), err
        assert message in err
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]
