"""`-` in place of a file: what is read and written through a shell's pipes."""

import io
import json
import sys

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import brgcl
from brgcl.cli.pipes import DASH, print_csv, read_stdin
from brgcl.errors import InputError
from preloaded import BRGCL, started

QUICK = [
    part
    for text in ("epochs=2", "hidden=16", "dim=8", "warmup_epochs=1", "reported=prototypes")
    for part in ("--set", text)
]


class Piped:
    """A stdin that is no terminal."""

    def __init__(self, content: bytes, tty: bool = False) -> None:
        self.buffer, self.tty = io.BytesIO(content), tty

    def isatty(self) -> bool:
        return self.tty


@pytest.fixture
def piped(monkeypatch):
    """Let stdin have some content."""
    return lambda content, **more: monkeypatch.setattr(sys, "stdin", Piped(content, **more))


def table(out: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(out))


def test_edges_may_come_through_stdin_and_rows_go_to_stdout(run, own, files, piped):
    code, expected, _ = run("embed", *own("edges", "features"), *QUICK, "--out", "-")
    assert code == 0
    piped((files / "links.csv").read_bytes())
    code, out, err = run("embed", "--edges", "-", *own("features"), *QUICK, "--out", "-")
    assert code == 0, err
    assert out == expected
    rows = table(out)
    assert list(rows.columns) == ["node_id", *(f"z{i}" for i in range(8))]
    assert len(rows) == 60
    assert "method brgcl; dataset stdin; num_nodes 60" in err
    assert "method" not in out


def test_nothing_but_the_table_is_on_stdout_of_a_real_process(own, files, tmp_path):
    command = ["classify", *own("edges", "features"), "--labels", "-", *QUICK, "--out", "-"]
    with started(BRGCL, *command, folder=tmp_path, stdin=files / "kinds.csv") as process:
        code = process.wait()
    out, err = process.streams
    assert code == 0, err
    rows = table(out)
    assert len(rows) == 60
    assert {"node_id", "predicted"} <= set(rows.columns)
    assert "\x1b" not in out + err
    assert "read as undirected" in err


@pytest.mark.parametrize("kind", ["parquet", "tsv"])
def test_the_kind_of_a_piped_file_is_recognised(run, own, files, piped, kind, tmp_path):
    frame = pd.read_csv(files / "links.csv")
    if kind == "parquet":
        frame.to_parquet(tmp_path / "links")
    else:
        frame.to_csv(tmp_path / "links", sep="\t", index=False)
    piped((tmp_path / "links").read_bytes())
    code, out, err = run("cluster", "--edges", "-", *own("features"), *QUICK, "--out", "-")
    assert code == 0, err
    assert len(table(out)) == 60


def test_suspects_and_corrected_labels_go_to_stdout(run, own, files, folds_once, tmp_path):
    code, out, err = run("find-errors", *own(), *QUICK, "--out", "-")
    assert code == 0, err
    suspects = table(out)
    assert {"node", "given", "suggested", "score", "evidence"} <= set(suspects.columns)
    assert "labels are wrong" in err
    file = tmp_path / "corrected.csv"
    assert run("find-errors", *own(), *QUICK, "--apply", file)[0] == 0
    code, out, err = run("find-errors", *own(), *QUICK, "--apply", "-")
    assert code == 0, err
    assert_frame_equal(table(out), pd.read_csv(file))


def test_new_nodes_go_through_a_pipe(run, own, files, piped, tmp_path):
    assert run("embed", *own("edges", "features"), *QUICK, "--out", tmp_path / "run")[0] == 0
    piped((files / "links.csv").read_bytes())
    code, out, err = run(
        "transform", tmp_path / "run", "--edges", "-", *own("features"), "--out", "-"
    )
    assert code == 0, err
    assert list(table(out).columns[:4]) == ["node_id", "cluster", "confidence", "confident"]
    assert json.loads((tmp_path / "run" / "run.json").read_text())["state"] == "finished"


def test_a_run_notes_that_a_file_came_through_stdin(run, own, files, piped, tmp_path):
    piped((files / "links.csv").read_bytes())
    command = ["embed", "--edges", "-", *own("features"), *QUICK, "--out", tmp_path / "run"]
    assert run(*command)[0] == 0
    inputs = json.loads((tmp_path / "run" / "run.json").read_text())["inputs"]
    assert inputs["edges"]["file"] == "-"
    assert inputs["features"]["file"].endswith("words.csv")
    data = brgcl.read_graph(files / "links.csv", files / "words.csv")
    assert json.loads((tmp_path / "run" / "metrics.json").read_text())["num_edges"] == (
        data.num_edges // 2
    )


@pytest.mark.parametrize(
    ("arguments", "content", "message"),
    [
        (
            ["--edges", "-", "--labels", "-"],
            b"a,b\n",
            "--edges and --labels cannot both read stdin",
        ),
        (["--edges", "-"], b"", "stdin is empty for --edges -"),
        (["--edges", "-"], b"a;b\n1\n", "brgcl: stdin.csv line 2"),
        (["--edges", "-", "--out", "-", "--json"], b"a,b\n", "both write to stdout"),
        (["--edges", "-", "--ranks", "2"], b"a,b\n", "several ranks cannot share stdin"),
    ],
)
def test_what_cannot_be_piped_is_told(run, piped, no_training, arguments, content, message):
    piped(content)
    code, out, err = run("embed", *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_a_terminal_is_not_waited_for(piped):
    piped(b"", tty=True)
    with pytest.raises(InputError, match="--edges - reads stdin; pipe a file into the command"):
        read_stdin({"edges": DASH})


def test_a_reader_that_has_seen_enough_is_no_error(monkeypatch):
    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", Closed())
    print_csv(pd.DataFrame({"node": [1]}))
