import json
import os
import re
import signal
import subprocess
import sys

import pandas as pd
import pytest

from brgcl.review.content import read_content
from brgcl.review.decisions import Decisions
from brgcl.review.session import Session
from run_folders import write_run


@pytest.fixture
def folder(tmp_path):
    """A run with three decisions: one accepted, one kept, one accepted and undone."""
    folder = write_run(tmp_path / "run")
    content = read_content(folder)
    session = Session(content, Decisions(folder, fingerprint=content.fingerprint), "ann")
    session.decide("r1", 0, "accept", None, 0)
    session.decide("r2", 1, "keep", None, 0)
    session.decide("r3", 2, "accept", None, 0)
    session.undo("r4", "r3")
    session.decisions.close()
    return folder


def test_labels_and_trail_are_written_without_a_server(run, folder, tmp_path):
    labels, trail = tmp_path / "labels.csv", tmp_path / "trail.csv"
    code, out, _ = run("review", folder, "--export", labels, "--trail", trail, "--json")
    assert code == 0
    assert json.loads(out) == {
        "num_labelled": 80,
        "num_decided": 2,
        "num_changed": 1,
        "labels": str(labels),
        "trail": str(trail),
    }
    frame = pd.read_csv(labels)
    assert frame["changed"].sum() == 1
    assert len(frame) == 80
    assert pd.read_csv(trail)["kind"].tolist() == ["accept", "keep", "accept", "undo"]


def test_a_file_is_replaced_only_on_request(run, folder, tmp_path):
    file = tmp_path / "labels.csv"
    file.write_text("mine")
    code, _, err = run("review", folder, "--export", file)
    assert code == 2
    assert "--overwrite" in err
    assert file.read_text() == "mine"
    code, out, _ = run("review", folder, "--export", file, "--overwrite")
    assert code == 0
    assert out == f"2 of 80 labels decided, 1 changed.\nLabels: {file}\n"


def test_decisions_are_not_replaced_by_a_table(run, folder):
    file = folder / "review.sqlite"
    before = file.read_bytes()
    code, _, err = run("review", folder, "--export", file, "--overwrite")
    assert code == 2
    assert f"'{file}' is a file of a run" in err
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["nowhere"], "is not a folder; give the folder that find-errors wrote"),
        (["empty"], "look for wrong labels first: brgcl find-errors"),
        (["run", "--who", " "], "--who is empty"),
        (["run", "--export", "labels.csv"], "has no review.sqlite"),
        (["run", "--export", "empty"], "has no review.sqlite"),
        (["run", "--export", "a.csv", "--trail", "./a.csv"], "both write 'a.csv'"),
    ],
)
def test_mistakes_are_explained(run, tmp_path, monkeypatch, options, problem):
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "run")
    (tmp_path / "empty").mkdir()
    code, out, err = run("review", *options, "--no-browser")
    assert (code, out) == (2, "")
    assert problem in err
    assert err.count("\n") == 1


def test_a_missing_extra_is_named(run, folder, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    code, _, err = run("review", folder, "--no-browser")
    assert code == 2
    assert "pip install 'brgcl[review]'" in err


@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGTERM])
def test_the_server_says_where_it_is_and_ends_with_a_signal(folder, ended_by):
    pytest.importorskip("starlette")
    httpx = pytest.importorskip("httpx")
    command = [sys.executable, "-m", "brgcl", "review", str(folder), "--no-browser", "--who", "bo"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes, env=os.environ | {"NO_COLOR": "1"}) as server:
        try:
            url = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", server.stdout.readline())[0]
            reply = httpx.get(url, trust_env=False)
            server.send_signal(ended_by)
            _, err = server.communicate(timeout=20)
        finally:
            server.kill()
    assert reply.status_code == 200
    assert server.returncode == 0
    assert "2 of 30 suspects decided, 1 labels changed" in err
    assert "Traceback" not in err
    assert url.split("=")[1] not in (folder / "review.sqlite").read_bytes().decode("latin-1")
    assert not (folder / ".review-server.json").exists()
    assert not (folder / "review.sqlite-wal").exists()  # who copies the file has all of it
