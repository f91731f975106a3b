"""The files of a run: what is in them, and that they agree with each other."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric.data import Data

from brgcl.cli import run_files
from brgcl.cli.run_files import edge_table, node_map, write_run
from brgcl.cli.run_folder import claim_folder
from brgcl.contract import Fitted
from brgcl.report.extra import has_report_extra

needs_report = pytest.mark.skipif(not has_report_extra(), reason="needs the report extra")
TINY = ("epochs=3", "hidden=16", "dim=8", "warmup_epochs=1", "reported=prototypes")
QUICK = [part for text in TINY for part in ("--set", text)]


def test_every_undirected_edge_is_there_once_and_loops_are_not():
    edges = torch.tensor([[0, 1, 1, 2, 3, 3, 0, 2], [1, 0, 2, 1, 3, 0, 3, 1]])
    table = edge_table(Data(edge_index=edges, num_nodes=4))
    assert table.to_numpy().tolist() == [[0, 1], [0, 3], [1, 2]]
    assert table.dtypes.tolist() == [np.int32, np.int32]


def test_a_graph_without_edges_has_an_empty_table():
    table = edge_table(Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=4))
    assert (len(table), list(table)) == (0, ["source", "target"])


@pytest.mark.parametrize("command", ["embed", "classify", "cluster"])
def test_every_command_writes_edges_history_and_map(run, own, files, tmp_path, command):
    code, _, err = run(command, *own(), *QUICK, "--out", tmp_path / "run")
    assert code == 0, err
    links = pd.read_csv(files / "links.csv")
    nodes = pd.read_parquet(tmp_path / "run" / "nodes.parquet")
    edges = pd.read_parquet(tmp_path / "run" / "edges.parquet")
    ids = nodes["node_id"].to_numpy()
    found = {frozenset(pair) for pair in zip(ids[edges.source], ids[edges.target], strict=True)}
    assert found == {frozenset(pair) for pair in links.to_numpy().tolist()}
    assert len(edges) == len(found)
    history = json.loads((tmp_path / "run" / "history.json").read_text("utf-8"))
    assert [epoch["epoch"] for epoch in history] == [1, 2, 3]
    assert history[0]["proto_loss"] is None
    assert {"map_x", "map_y", "cluster", "confidence"} <= set(nodes)
    assert nodes["map_x"].notna().all() == has_report_extra()


def test_a_method_without_a_history_writes_none(run, own, tmp_path):
    out = tmp_path / "run"
    assert run("cluster", *own(), "--method", "kmeans", "--out", out)[0] == 0
    assert not (out / "history.json").exists()
    assert (out / "edges.parquet").exists()


def test_nodes_that_are_not_placed_are_null(monkeypatch, tmp_path):
    z = torch.arange(10.0).reshape(5, 2)
    monkeypatch.setattr("brgcl.report.extra.has_report_extra", lambda: True)
    placed = np.array([1, 4]), np.array([[1.0, 2.0], [3.0, 4.0]])
    monkeypatch.setattr("brgcl.report.figures.place_nodes", lambda z, seed: placed)
    columns = node_map(z)
    assert np.isnan(columns["map_x"][[0, 2, 3]]).all()
    assert columns["map_y"][[1, 4]].tolist() == [2.0, 4.0]
    monkeypatch.setattr("brgcl.report.extra.has_report_extra", lambda: False)
    frame = pd.DataFrame({"node_id": range(5), **node_map(z)})
    assert frame["map_x"].isna().all()


def test_suspects_are_joined_to_their_nodes_by_id(monkeypatch, tmp_path):
    monkeypatch.setattr("brgcl.report.extra.has_report_extra", lambda: False)
    data = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), node_ids=["a", "b", "c", "=1+1"])
    suspects = pd.DataFrame(
        {
            "node": ["=1+1", "a"], "given": ["x", "y"], "suggested": ["y", "y"],
            "score": [0.1, 0.9], "is_error": [True, False],
        }
    )  # fmt: skip
    nodes = pd.DataFrame({"node_id": data.node_ids})
    findings = {"num_suspects": 1}
    with claim_folder(tmp_path / "run", overwrite=False) as folder:
        write_run(
            folder, data, Fitted(torch.eye(4)), {}, nodes, title="T", suspects=suspects,
            findings=findings,
        )  # fmt: skip
    found = pd.read_parquet(tmp_path / "run" / "nodes.parquet")
    assert found["node_id"].tolist() == data.node_ids
    assert found["suggested"].fillna("none").tolist() == ["y", "none", "none", "y"]
    assert found["is_error"].isna().tolist() == [False, True, True, False]
    assert found["is_error"].dropna().tolist() == [False, True]
    assert found["score"].isna().tolist() == [False, True, True, False]
    # cells are written as they are, also where a spreadsheet would compute them
    assert "=1+1,x,y,0.1,True" in (tmp_path / "run" / "suspects.csv").read_text("utf-8")
    again = pd.read_parquet(tmp_path / "run" / "suspects.parquet")
    pd.testing.assert_frame_equal(again, suspects)
    assert json.loads((tmp_path / "run" / "findings.json").read_text("utf-8")) == findings


@needs_report
def test_the_report_is_written_last(monkeypatch, tmp_path):
    """It is made from the other files, so these have to be there."""
    seen = []

    def page(path, run):
        seen.extend(sorted(file.name for file in run.iterdir() if not file.name.startswith(".")))
        path.write_text("page")

    monkeypatch.setattr(run_files, "_write_page", page)
    data = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), node_ids=list(range(6)))
    nodes = pd.DataFrame({"node_id": data.node_ids})
    with claim_folder(tmp_path / "run", overwrite=False) as folder:
        write_run(folder, data, Fitted(torch.eye(6)), {"a": 1}, nodes, title="T")
    files = ["edges.parquet", "embeddings.parquet", "metrics.json", "nodes.parquet", "run.json"]
    assert seen == files
    about = json.loads((tmp_path / "run" / "run.json").read_text("utf-8"))
    assert about["title"] == "T"
    assert list(about["files"])[-1] == "report.html"
