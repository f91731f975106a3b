import pandas as pd

from brgcl.atomic_files import write_csv
from brgcl.data import read_graph
from brgcl.review.export import audit_trail, corrected_labels


def test_corrected_labels_are_the_given_ones_but_for_what_was_decided(start):
    session = start()
    suspects = session.content.suspects
    session.decide("r1", 0, "accept", None, 0)
    session.decide("r2", 1, "keep", None, 0)
    session.decide("r3", 2, "skip", None, 0)
    frame = corrected_labels(session.content, session.decisions.state())
    assert list(frame) == ["node_id", "label", "label_given", "changed", "decided"]
    assert frame["node_id"].tolist() == sorted(suspects["node"], key=session.content.ids.index)
    assert frame.loc[frame["changed"], "node_id"].tolist() == [suspects["node"][0]]
    assert frame.loc[frame["changed"], "label"].tolist() == [suspects["suggested"][0]]
    assert set(frame.loc[frame["decided"], "node_id"]) == set(suspects["node"][:2])
    assert dict(zip(frame["node_id"], frame["label_given"], strict=True)) == session.content.labels


def test_the_trail_tells_old_and_new_of_every_step(start):
    session = start()
    suspect = session.content.suspects.iloc[0]
    other = next(c for c in session.content.classes if c not in (suspect.given, suspect.suggested))
    session.decide("r1", 0, "accept", None, 0)
    session.decide("r2", 0, "choose", other, 1)
    session.undo("r3", "r2")
    session.accept_all("r4", [1, 2])
    session.undo("r5", "r4")
    frame = audit_trail(session.decisions.state())
    assert list(frame) == ["node", "old", "new", "kind", "who", "when", "reason", "undone", "batch"]
    first = frame[frame["node"] == suspect.node]
    assert first[["old", "new", "kind", "undone"]].to_numpy().tolist() == [
        [suspect.given, suspect.suggested, "accept", False],
        [suspect.suggested, other, "choose", True],
        [other, suspect.suggested, "undo", False],
    ]
    assert set(first["reason"]) == {suspect.evidence}
    assert set(frame["who"]) == {"ann"}
    for batch, undo in zip(
        frame[frame["batch"] == "r4"].itertuples(),
        frame[frame["batch"] == "r5"].itertuples(),
        strict=True,
    ):
        assert (undo.node, undo.old, undo.new) == (batch.node, batch.new, batch.old)
        assert batch.new != batch.old


def test_without_events_the_trail_is_an_empty_table(start, tmp_path):
    write_csv(tmp_path / "trail.csv", audit_trail(start().decisions.state()))
    assert len(pd.read_csv(tmp_path / "trail.csv")) == 0


def test_brgcl_reads_the_labels_that_it_wrote(start, tmp_path):
    session = start()
    session.decide("r1", 0, "accept", None, 0)
    frame = corrected_labels(session.content, session.decisions.state())
    write_csv(tmp_path / "labels.csv", frame)
    nodes = session.content.ids
    edges = pd.DataFrame({"source": nodes[:-1], "target": nodes[1:]})
    edges.to_csv(tmp_path / "edges.csv", index=False)
    data = read_graph(
        edges=tmp_path / "edges.csv", labels=tmp_path / "labels.csv", id="node_id", label="label"
    )
    found = {n: data.class_names[y] for n, y in zip(data.node_ids, data.y, strict=True) if y >= 0}
    assert found == dict(zip(frame["node_id"], frame["label"], strict=True))


def test_a_run_that_took_decisions_over_still_knows_what_was_given(start, run):
    session = start()
    session.decide("r1", 0, "accept", None, 0)
    before = corrected_labels(session.content, session.decisions.state())
    suspects = pd.read_parquet(run / "suspects.parquet")
    suspects.loc[0, "given"] = suspects.loc[0, "suggested"]
    suspects.to_parquet(run / "suspects.parquet", index=False)
    again = start()
    after = corrected_labels(again.content, again.decisions.state())
    pd.testing.assert_frame_equal(before, after)
    assert after["changed"].sum() == 1
