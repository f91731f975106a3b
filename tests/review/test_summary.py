import json

import pandas as pd
import pytest


def test_a_summary_counts_what_was_decided(start):
    session = start()
    session.decide("r1", 0, "accept", None, 0)
    session.decide("r2", 1, "keep", None, 0)
    session.decide("r3", 2, "skip", None, 0)
    drawn = session.describe()["drawn"]
    session.decide("r4", drawn[0], "keep", None, 0)
    summary = json.loads(json.dumps(session.summary(), allow_nan=False))
    counts = {name: number for name, number in summary.items() if name != "error_left"}
    assert counts == {
        "num_labelled": 80, "num_suspects": 30, "num_decided": 3, "num_suspects_decided": 2,
        "num_changed": 1, "num_drawn": len(drawn),
    }  # fmt: skip
    assert summary["error_left"]["num_checked"] == 1


def test_the_error_rate_falls_with_what_is_found(start):
    session = start()
    before = session.summary()["error_left"]
    for place in range(20):
        session.decide(f"r{place}", place, "accept", None, 0)
    after = session.summary()["error_left"]
    assert after["rate"] < before["rate"]
    session.accept_all("all", list(range(20, 30)))
    in_bulk = session.summary()
    assert in_bulk["num_suspects_decided"] == 30
    assert 0 < in_bulk["error_left"]["rate"] < after["rate"]
    session.undo("u", "all")
    assert session.summary()["error_left"] == after


@pytest.mark.parametrize("unknown", [["score", "probability"], ["probability"]])
def test_labels_that_were_not_judged_are_as_likely_wrong_as_others(start, run, unknown):
    """Classes of fewer than four labels have no score, and no detector but ours a probability."""
    frame = pd.read_parquet(run / "suspects.parquet")
    places = slice(len(frame) - 3, None) if "score" in unknown else slice(None)
    frame.loc[frame.index[places], unknown] = float("nan")
    frame.to_parquet(run / "suspects.parquet", index=False)
    session = start()
    about = json.loads(json.dumps(session.describe(), allow_nan=False))
    assert len(about["drawn"]) == 50  # all that are not flagged
    before = about["summary"]["error_left"]
    assert before["num_labelled"] == 80
    session.accept_all("all", list(range(30)))
    after = session.summary()["error_left"]
    assert 0 < after["rate"] < before["rate"] < 0.5
