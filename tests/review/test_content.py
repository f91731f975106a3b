import numpy as np
import pandas as pd
import pytest

from brgcl.errors import InputError
from brgcl.review.content import MOST_NEIGHBOURS, fingerprint, read_content
from run_folders import write_run


def test_details_show_the_node_and_its_surroundings(run):
    content = read_content(run)
    suspect = content.suspects.iloc[0]
    about = content.details(int(suspect["row"]))
    assert about["id"] == suspect["node"]
    assert (about["given"], about["suggested"]) == (suspect["given"], suspect["suggested"])
    assert about["reason"] == suspect["evidence"]
    edges = pd.read_parquet(run / "edges.parquet").to_numpy()
    near = {int(b if a == suspect["row"] else a) for a, b in edges if suspect["row"] in (a, b)}
    assert set(about["neighbour_rows"]) == near
    assert about["num_neighbours"] == len(near)
    assert {one["id"] for one in about["neighbours"]} == {content.ids[row] for row in near}
    assert len(about["nearest"]) == 5
    assert all(content.labels[one["id"]] == one["label"] for one in about["nearest"])


def test_a_node_without_label_has_neighbours_only(run):
    content = read_content(run)
    row = next(row for row, node in enumerate(content.ids) if node not in content.labels)
    about = content.details(row)
    assert "given" not in about
    assert "neighbours" in about


def test_many_neighbours_are_cut_short_and_counted(run):
    star = {"source": np.zeros(100, dtype="int32"), "target": np.arange(1, 101, dtype="int32")}
    pd.DataFrame(star).to_parquet(run / "edges.parquet")
    about = read_content(run).details(0)
    assert about["num_neighbours"] == 100
    assert len(about["neighbours"]) == MOST_NEIGHBOURS
    assert all(one["label"] for one in about["neighbours"])  # labelled ones first


@pytest.mark.parametrize("text", ["", "paper-1 (x), nobody (y)", "paper-1", "paper-1 (x) paper-2"])
def test_nearest_nodes_that_cannot_be_taken_apart_stay_text(run, text):
    found = read_content(run).nearest(text)
    assert found == ([{"text": text}] if text else [])


def test_ids_with_brackets_and_commas_are_taken_apart(tmp_path):
    content = read_content(write_run(tmp_path / "r", prefix="a (b), "))
    one, two = content.ids[:2]
    found = content.nearest(f"{one} (x), {two} (y)")
    assert found == [{"text": f"{one} (x), {two} (y)"}] or [n["id"] for n in found] == [one, two]


def test_classes_are_those_of_the_findings_or_of_the_labels(run):
    assert read_content(run).classes == ["theory", "vision", "language", "robotics"]
    (run / "findings.json").unlink()
    assert read_content(run).classes == ["language", "robotics", "theory", "vision"]


def test_numbers_are_read_as_text(tmp_path):
    run = write_run(tmp_path / "r", prefix="")
    for name, columns in (("suspects", ["node"]), ("nodes", ["node_id"])):
        frame = pd.read_parquet(run / f"{name}.parquet")
        frame.astype(dict.fromkeys(columns, "int64")).to_parquet(run / f"{name}.parquet")
    content = read_content(run)
    assert set(content.ids) == {str(i) for i in range(120)}
    assert content.details(3)["id"] == "3"


def test_a_folder_that_is_no_run_is_explained(run, tmp_path):
    with pytest.raises(InputError, match="is not a folder"):
        fingerprint(tmp_path / "nope")
    with pytest.raises(InputError, match="look for wrong labels first: brgcl find-errors"):
        read_content(tmp_path)
    (run / "nodes.parquet").unlink()
    with pytest.raises(InputError, match=r"nodes.parquet' is missing"):
        read_content(run)


@pytest.mark.parametrize("damage", ["bytes", "column", "stranger", "edge", "json"])
def test_files_that_do_not_fit_are_refused(run, damage):
    suspects = pd.read_parquet(run / "suspects.parquet")
    if damage == "bytes":
        (run / "nodes.parquet").write_bytes(b"nothing")
    elif damage == "column":
        suspects.drop(columns="score").to_parquet(run / "suspects.parquet")
    elif damage == "stranger":
        suspects.replace({"node": {suspects["node"][0]: "?"}}).to_parquet(run / "suspects.parquet")
    elif damage == "edge":
        pd.DataFrame({"source": [0], "target": [999]}).to_parquet(run / "edges.parquet")
    else:
        (run / "findings.json").write_text("{", encoding="utf-8")
    with pytest.raises(
        InputError, match=r"cannot read|lacks the column score|do not fit|names nodes"
    ):
        read_content(run)


def test_another_run_in_the_folder_is_noticed(run):
    content = read_content(run)
    assert not content.replaced()
    write_run(run, seed=1)
    assert content.replaced()
    (run / "suspects.parquet").unlink()
    assert content.replaced()
