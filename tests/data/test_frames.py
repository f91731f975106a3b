import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import torch

from brgcl import make_graph
from brgcl.data import check_graph, from_pandas, read_graph, to_pandas
from brgcl.errors import InputError

EDGES = pd.DataFrame({"u": ["ann", "bob", "eve"], "v": ["bob", "eve", "dan"], "weight": [1, 2, 3]})
FEATURES = pd.DataFrame({"id": ["dan", "eve", "bob", "ann"], "age": [4, 3, 2, 1], "hight": 0.5})
LABELS = pd.DataFrame({"node": ["ann", "bob"], "label": ["red", "blue"]})


def same(a, b):
    for name in ("x", "y", "edge_index", "edge_weight"):
        assert torch.equal(a[name], b[name]), name
    assert list(a.node_ids) == list(b.node_ids)
    assert a.class_names == b.class_names


def test_frames_are_read_as_files_are(tmp_path):
    files = {}
    for name, frame in (("edges", EDGES), ("features", FEATURES), ("labels", LABELS)):
        files[name] = tmp_path / f"{name}.csv"
        frame.to_csv(files[name], index=False)
    same(from_pandas(EDGES, FEATURES, LABELS), read_graph(**files))


def test_the_index_of_a_frame_and_a_series_hold_ids():
    labels = LABELS.set_index("node")["label"]
    same(from_pandas(EDGES, FEATURES.set_index("id"), labels), from_pandas(EDGES, FEATURES, LABELS))
    nameless = FEATURES.set_index("id").rename_axis(None)
    same(from_pandas(EDGES, nameless, labels), from_pandas(EDGES, FEATURES, LABELS))


def test_an_index_that_counts_holds_ids_too(caplog):
    edges = pd.DataFrame({"source": [0, 1], "target": [1, 2]})
    features = pd.DataFrame({"a": [1.0, 2.0, 3.0]})
    graph = from_pandas(edges, features, pd.Series(["x", "y"]))
    assert graph.node_ids.tolist() == [0, 1, 2]
    assert graph.y.tolist() == [0, 1, -1]
    assert not [record for record in caplog.records if "index" in record.getMessage()]


def test_polars_frames_are_read_as_pandas_frames():
    frames = [pl.from_pandas(frame) for frame in (EDGES, FEATURES, LABELS)]
    same(from_pandas(*frames), from_pandas(EDGES, FEATURES, LABELS))


@pytest.mark.parametrize("kind", [np.array, scipy.sparse.csr_array, torch.tensor])
def test_features_may_be_a_matrix(kind):
    edges = pd.DataFrame({"source": [0, 1], "target": [1, 2]})
    graph = from_pandas(edges, kind([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]]))
    assert graph.x.to_dense().tolist() == [[1, 0], [0, 0], [0, 2]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((EDGES.drop(columns="v"),), "cannot tell which two columns"),
        (
            (EDGES, pl.from_pandas(FEATURES.drop(columns="id"))),
            "cannot tell which column holds the",
        ),
        ((EDGES, FEATURES.drop(columns="id")), "edges row 0: id 'ann' is not in features"),
        ((EDGES, FEATURES.assign(age=["a", "b", "c", "d"])), "column 'age' holds .*not numbers"),
        ((EDGES, FEATURES.head(3)), "edges row 0: id 'ann' is not in features"),
        ((EDGES, None, LABELS.assign(node=["zoe", "bob"])), "labels row 0: id 'zoe'"),
        ((EDGES.assign(u=["ann", 1, 2.5]),), "edges: a column holds values of several kinds"),
        ((EDGES, FEATURES.assign(age=1j)), "features: a column holds .* of an unknown kind"),
        (("edges.csv",), "edges must be a data frame .* read_graph reads files"),
        ((EDGES.set_axis(["u", "v", "u"], axis=1),), "two columns are called 'u'"),
    ],
)
def test_a_wrong_frame_is_named_with_the_remedy(arguments, message):
    with pytest.raises(InputError, match=message):
        from_pandas(*arguments)


@pytest.mark.parametrize("sparse", [False, True])
def test_to_pandas_and_back(sparse):
    graph = make_graph(num_nodes=40, num_classes=3, labels_per_class=4, num_features=12, num_val=10)
    graph.x = graph.x.to_dense()
    if sparse:
        graph.x = graph.x.to_sparse_csr()
    graph.edge_weight = (graph.edge_index.sum(0) + 1).float()
    graph.node_ids = [f"n{i:02}" for i in range(40)]
    edges, nodes = to_pandas(graph)
    assert len(edges) == graph.num_edges // 2
    back = from_pandas(edges, nodes, label="label", weight="weight")
    graph = check_graph(graph)
    assert torch.equal(back.x.to_dense(), graph.x.to_dense())
    assert torch.equal(back.edge_index, graph.edge_index)
    assert torch.equal(back.edge_weight, graph.edge_weight)
    names = [graph.class_names[c] for c in graph.y.tolist()]
    assert [back.class_names[c] for c in back.y.tolist()] == names


def test_attributes_keep_their_names():
    graph = from_pandas(EDGES, FEATURES, LABELS)
    nodes = to_pandas(graph)[1]
    assert list(nodes) == ["node_id", "label", "age", "hight"]
    again = from_pandas(*(to_pandas(graph)), label="label")
    assert again.feature_names == graph.feature_names

    graph.feature_names = ["age", "node_id"]
    assert list(to_pandas(graph)[1]) == ["node_id", "label", "x0", "x1"]
