import base64
import json

import numpy as np
import pandas as pd
import pytest

from brgcl.report import page_data as module
from brgcl.report.page_data import class_names, history_columns, pack_shares, page_data, to_script
from brgcl.report.run import Run, read_run


def unpack(packed):
    return np.frombuffer(base64.b64decode(packed["base64"]), dtype=f"<{packed['dtype']}")


@pytest.mark.parametrize(
    "text", ["</script>", "<!--", "&lt;", "\u2028\u2029", "\u0000", '"\\', "é🙂", "\udc80"]
)
def test_a_script_cannot_be_left_and_gives_back_what_went_in(text):
    written = to_script({"a": [text]})
    assert not set("<>&\u2028\u2029\u0000") & set(written)
    written.encode("utf-8")
    assert json.loads(written) == {"a": [text]}


def test_numbers_that_json_lacks_become_null():
    assert to_script({"a": float("nan"), "b": (1, float("inf"))}) == '{"a":null,"b":[1,null]}'


def test_shares_are_rounded_to_two_bytes():
    values = np.linspace(0, 1, 1001)
    found = unpack(pack_shares([*values, np.nan, -0.1, 1.2]))
    np.testing.assert_allclose(found[:1001] / 65534, values, atol=1e-5)
    assert found[1001:].tolist() == [65535, 0, 65534]


def test_class_names_come_in_the_order_of_the_findings_and_then_of_numbers(tmp_path):
    nodes = pd.DataFrame({"node_id": [0, 1, 2], "label_given": ["10", "9", None]})
    run = Run(tmp_path, nodes, {}, findings={"class_names": ["z", "b"]})
    assert class_names(run) == ["z", "b", "9", "10"]


def test_edges_give_the_neighbours_of_every_node(make_run):
    run = read_run(make_run())
    edges = page_data(run)["edges"]
    sources = np.repeat(np.arange(60), unpack(edges["counts"]))
    found = set(zip(sources.tolist(), unpack(edges["targets"]).tolist(), strict=True))
    assert found == set(map(tuple, run.edges.tolist()))


def test_a_large_graph_keeps_the_map_and_the_table(make_run, monkeypatch):
    """Of 60 nodes 30 are placed and 10 rows are kept; all indices still point at the same nodes."""
    folder = make_run(ids=[f"n{i}" for i in range(60)])
    nodes = pd.read_parquet(folder / "nodes.parquet")
    nodes.loc[30:, ["map_x", "map_y"]] = np.nan
    nodes.to_parquet(folder / "nodes.parquet")
    monkeypatch.setattr(module, "MOST_NODES", 50)
    monkeypatch.setattr(module, "MOST_ROWS", 10)
    run = read_run(folder)
    data = page_data(run)
    ids = data["nodes"]["ids"]
    suspects = run.suspects["node"][:10].tolist()
    assert set(ids) == {f"n{i}" for i in range(1, 30)} | set(suspects)
    assert [ids[row] for row in unpack(data["table"]["node"])] == suspects
    assert data["table"]["total"] == 60
    assert data["num_nodes"] == 60
    sources = np.repeat(np.arange(len(ids)), unpack(data["edges"]["counts"]))
    for source, target in zip(sources, unpack(data["edges"]["targets"]), strict=True):
        assert int(ids[target][1:]) - int(ids[source][1:]) == 1  # the graph is a path


def test_too_many_edges_are_left_out(make_run, monkeypatch):
    monkeypatch.setattr(module, "MOST_EDGES", 58)
    assert page_data(read_run(make_run()))["edges"] is None


def test_a_long_history_is_thinned():
    history = [{"epoch": t, "node_loss": float(t)} for t in range(1, 1202)]
    columns = history_columns(history)
    assert len(columns["epoch"]) <= 500
    assert columns["epoch"] == columns["node_loss"]
    assert columns["proto_loss"] == [None] * len(columns["epoch"])
