import inspect
import signal
import sqlite3
import subprocess
import sys

import pandas as pd
import pytest

from brgcl.review import decisions
from brgcl.review.database import FILE, read_state
from brgcl.review.decisions import Choice, Conflict, Decisions, NotSaved, read_decisions


def choice(node, label="x", kind="accept", version=0, given="old"):
    return Choice(node, given, label, kind, "because", version)


@pytest.fixture
def store(tmp_path):
    opened = Decisions(tmp_path, fingerprint="f")
    yield opened
    opened.close()


def test_a_repeated_request_counts_once(store, tmp_path):
    assert store.record("r1", "ann", [choice("a")]) == ["a"]
    assert store.record("r1", "ann", [choice("a")]) == ["a"]
    assert store.record("r1", "ann", [choice("a", version=77)]) == ["a"]  # the reply was lost
    assert read_state(tmp_path).last == 1


def test_a_decision_on_a_state_that_was_not_seen_is_refused(store, tmp_path):
    other = Decisions(tmp_path)
    store.record("r1", "ann", [choice("a", "x")])
    with pytest.raises(Conflict, match="node a was decided elsewhere"):
        other.record("r2", "bob", [choice("a", "y")])
    assert other.state().decision("a").label == "x"
    other.record("r3", "bob", [choice("a", "y", version=1)])
    other.close()
    assert store.state().decision("a").who == "bob"


def test_several_decisions_are_written_together_or_not_at_all(store):
    store.record("r1", "ann", [choice("b")])
    with pytest.raises(Conflict):
        store.record("r2", "ann", [choice("a"), choice("b")])
    assert store.state().decision("a") is None


def test_bulk_leaves_alone_what_was_decided_or_skipped(store):
    store.record("r1", "bob", [choice("a", "old", "keep")])
    store.record("r2", "bob", [choice("b", None, "skip")])
    many = [choice(node, version=None) for node in "abc"]
    assert store.record("r3", "ann", many, bulk=True) == ["c"]
    assert store.state().decision("a").kind == "keep"
    assert store.state().decision("b") is None


def test_one_undo_takes_a_whole_bulk_accept_back(store):
    store.record("r1", "ann", [choice("a")])
    store.record("r2", "ann", [choice(node, version=None) for node in "bcd"], bulk=True)
    assert store.undo("u1", "ann", "r2") == ["b", "c", "d"]
    assert store.undo("u1", "ann", "r2") == ["b", "c", "d"]  # sent again
    assert [event.node for event in store.state().decided()] == ["a"]
    with pytest.raises(Conflict, match="undone already"):
        store.undo("u2", "ann", "r2")
    with pytest.raises(Conflict, match="not your last"):
        store.undo("u3", "bob", "r1")


def test_events_cannot_be_changed_or_removed(store, tmp_path):
    store.record("r1", "ann", [choice("a")])
    database = sqlite3.connect(tmp_path / FILE)
    for statement in ("UPDATE event SET label = 'z'", "DELETE FROM event"):
        with pytest.raises(sqlite3.IntegrityError, match="events are never"):
            database.execute(statement)
    database.close()


def test_the_file_is_safe_against_a_power_cut(store):
    database = store._database
    assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert database.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


DECIDE_AND_DIE = """
import os, signal, sys
from pathlib import Path
from brgcl.review.decisions import Decisions
CHOICE
store = Decisions(Path(sys.argv[1]))
for number in range(5):
    store.record(f"r{number}", "ann", [choice(f"n{number}")])
store._database.execute("BEGIN IMMEDIATE")
store._insert("half", "ann", [choice("half")])
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_loses_nothing_and_invents_nothing(tmp_path):
    script = DECIDE_AND_DIE.replace("CHOICE", inspect.getsource(choice))
    script = f"from brgcl.review.decisions import Choice\n{script}"
    done = subprocess.run([sys.executable, "-c", script, tmp_path], check=False)
    assert done.returncode == -signal.SIGKILL
    assert [event.node for event in read_state(tmp_path).decided()] == [f"n{i}" for i in range(5)]
    store = Decisions(tmp_path)
    store.record("next", "ann", [choice("half")])
    assert store.state().last == 6
    store.close()


def test_a_full_disk_is_said_and_the_decision_can_be_saved_later(store):
    store.record("r1", "ann", [choice("a")])
    pages = store._database.execute("PRAGMA page_count").fetchone()[0]
    store._database.execute(f"PRAGMA max_page_count = {pages}")
    long = Choice("b", "old", "x", "accept", "because " * 20_000, 0)
    with pytest.raises(NotSaved, match=r"full; check the free disk"):
        store.record("r2", "ann", [long])
    assert store.state().decision("b") is None
    store._database.execute("PRAGMA max_page_count = 100000")
    store.record("r2", "ann", [long])
    assert store.state().decision("b").label == "x"


def test_a_locked_file_is_said(store, tmp_path, monkeypatch):
    monkeypatch.setattr(decisions, "PATIENCE", 0.05)
    other = Decisions(tmp_path)
    store._database.execute("BEGIN IMMEDIATE")
    with pytest.raises(NotSaved, match="locked; another program holds it"):
        other.record("r1", "ann", [choice("a")])
    store._database.execute("ROLLBACK")
    other.record("r1", "ann", [choice("a")])
    other.close()
    assert store.state().decision("a") is not None


def test_read_decisions_has_the_ids_and_labels_of_the_run(tmp_path):
    given = {"node": [10, 20, 30], "given": [0, 1, 0]}
    pd.DataFrame(given).to_parquet(tmp_path / "suspects.parquet")
    store = Decisions(tmp_path)
    store.record("r1", "ann", [choice("20", "0", given="1")])
    store.record("r2", "ann", [choice("10", "0", "keep", given="0")])
    store.record("r3", "ann", [choice("30", None, "skip", given="0")])
    store.close()
    frame = read_decisions(tmp_path)
    names = ["node", "given", "label", "decided_at", "who", "reason", "kind", "bulk"]
    assert list(frame) == names
    assert frame[["node", "given", "label", "kind"]].to_numpy().tolist() == [
        [20, 1, 0, "accept"],
        [10, 0, 0, "keep"],
    ]
    assert frame["node"].dtype == "int64"
    assert pd.to_datetime(frame["decided_at"]).dt.tz is not None


def test_decisions_on_labels_that_have_changed_since_are_left_out(tmp_path):
    store = Decisions(tmp_path)
    for node in "abc":
        store.record(node, "ann", [choice(node, "new")])
    store.close()
    labels = {"node": ["a", "b", "c"], "given": ["old", "new", "third"]}
    pd.DataFrame(labels).to_parquet(tmp_path / "suspects.parquet")
    assert read_decisions(tmp_path)["node"].tolist() == ["a", "b"]
