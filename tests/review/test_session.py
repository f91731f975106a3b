import json

import pandas as pd
import pytest

from brgcl.errors import InputError
from brgcl.review.decisions import Conflict
from brgcl.review.session import Replaced
from run_folders import write_run


def test_what_the_page_gets_is_json_and_hangs_together(start):
    about = json.loads(json.dumps(start().describe(), allow_nan=False))
    suspects, nodes = about["suspects"], about["nodes"]
    flagged = [place for place, flag in enumerate(suspects["flagged"]) if flag]
    assert set(about["queue"]) == {*flagged, *about["drawn"]}
    assert [nodes["given"][row] for row in suspects["row"]] == suspects["given"]
    assert len(nodes["x"]) == len(nodes["id"]) == 120
    assert about["summary"]["num_suspects"] == len(flagged) == 30
    assert about["summary"]["num_decided"] == 0


def test_decisions_are_named_by_what_they_do(start):
    session = start()
    suspect = session.content.suspects.iloc[0]
    other = next(c for c in session.content.classes if c not in (suspect.given, suspect.suggested))
    cases = [
        ("accept", None, "accept", suspect.suggested),
        ("keep", None, "keep", suspect.given),
        ("choose", other, "choose", other),
        ("choose", suspect.given, "keep", suspect.given),
        ("choose", suspect.suggested, "accept", suspect.suggested),
    ]
    for number, (kind, label, stored, result) in enumerate(cases):
        version = session.decisions.state().version(suspect.node)
        session.decide(f"r{number}", 0, kind, label, version)
        event = session.decisions.state().decision(suspect.node)
        assert (event.kind, event.label, event.reason) == (stored, result, suspect.evidence)


def test_wrong_requests_write_nothing(start):
    session = start()
    with pytest.raises(InputError, match="no class 'nope'"):
        session.decide("r", 0, "choose", "nope", 0)
    with pytest.raises(InputError, match="'undo' is not a decision"):
        session.decide("r", 0, "undo", None, 0)
    for place in (-1, 10_000):
        with pytest.raises(InputError, match="no labelled node"):
            session.decide("r", place, "keep", None, 0)
        with pytest.raises(InputError, match="no node"):
            session.details(place)
    unflagged = int((~session.content.suspects["is_error"]).idxmax())
    with pytest.raises(InputError, match="only flagged"):
        session.accept_all("r", [0, unflagged])
    assert session.decisions.state().last == 0


def test_two_reviewers_see_each_other(start):
    ann, bob = start("ann"), start("bob")
    ann.decide("r1", 0, "accept", None, 0)
    with pytest.raises(Conflict):
        bob.decide("r2", 0, "keep", None, 0)
    seen = bob.changes(0)
    assert [(s["place"], s["kind"], s["who"]) for s in seen["states"]] == [(0, "accept", "ann")]
    assert seen["undoable"] is None
    bob.decide("r3", 0, "keep", None, seen["states"][0]["version"])
    assert ann.changes(seen["last"])["states"][0]["who"] == "bob"
    assert ann.changes(0)["undoable"] == "r1"


def test_history_says_what_was_undone(start):
    session = start()
    session.decide("r1", 0, "skip", None, 0)
    session.accept_all("r2", [0, 1, 2])
    session.undo("r3", "r2")
    kinds = [
        (h["request"], h["kind"], h["count"], h["undone"]) for h in session.changes(0)["history"]
    ]
    assert kinds == [
        ("r3", "undo", 2, False),
        ("r2", "accept", 2, True),
        ("r1", "skip", 1, False),
    ]
    assert session.changes(0)["states"][0]["skipped"]


def test_a_folder_that_was_replaced_takes_no_more_decisions(start, run):
    session = start()
    session.decide("r1", 0, "accept", None, 0)
    write_run(run, seed=1)
    with pytest.raises(Replaced, match="results of another run"):
        session.decide("r2", 1, "accept", None, 0)
    with pytest.raises(Replaced):
        session.accept_all("r3", [1])
    (run / "suspects.parquet").touch()


def test_a_file_that_was_only_touched_is_no_other_run(start, run):
    session = start()
    session.decide("r1", 0, "accept", None, 0)
    content = (run / "suspects.parquet").read_bytes()
    (run / "suspects.parquet").write_bytes(content)
    session.decide("r2", 1, "accept", None, 0)


def test_decisions_outlive_a_new_run_where_the_label_is_the_same(start, run):
    """They count as decided, but are no evidence about what the new run flags."""
    session = start()
    for place in range(4):
        session.decide(f"r{place}", place, "accept", None, 0)
    session.decide("r9", 9, "keep", None, 0)
    frame = pd.read_parquet(run / "suspects.parquet")
    frame["is_error"] = frame["score"] < 0.1
    frame.loc[0, "given"] = frame.loc[0, "suggested"]  # as the reviewer wanted
    labels = {"theory", "vision", "language", "robotics"}
    frame.loc[1, "given"] = min(labels - set(frame.loc[1, ["given", "suggested"]]))
    frame.to_parquet(run / "suspects.parquet", index=False)
    again = start()
    assert again.earlier() == {"applies": 4, "stale": 1}
    summary = again.summary()
    assert (summary["num_decided"], summary["num_changed"]) == (4, 3)
    assert summary["error_left"]["num_checked"] == 0
    states = {state["place"]: state for state in again.changes(0)["states"]}
    assert "kind" in states[0]
    assert "kind" not in states[1]
    assert again.accept_all("bulk", [0, 1, 2]) == [frame["node"][1]]
