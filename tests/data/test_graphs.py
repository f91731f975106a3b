import logging

import networkx
import numpy as np
import pytest
import scipy.sparse
import torch
from torch_geometric.data import Data, HeteroData

from brgcl.data import check_graph, from_scipy
from brgcl.errors import InputError
from brgcl.method.sparse import is_sparse

PATH = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])  # 0 - 1 - 2


def graph(**fields: object) -> Data:
    return Data(**{"x": torch.eye(3), "edge_index": PATH, **fields})


def test_canonical_graph_passes_unchanged_and_silently(caplog):
    caplog.set_level(logging.INFO, "brgcl")
    data = graph(y=torch.tensor([0, 1, -1]), train_mask=torch.tensor([True, False, False]))
    checked = check_graph(data)
    assert checked.edge_index is data.edge_index
    assert checked.x.data_ptr() == data.x.data_ptr()
    assert checked.y.tolist() == [0, 1, -1]
    assert checked.train_mask.tolist() == [True, False, False]
    assert checked.node_ids.tolist() == [0, 1, 2]
    assert checked.class_names == ["0", "1"]
    assert checked.num_nodes == 3
    assert "edge_weight" not in checked
    assert not caplog.records


def test_input_is_not_modified():
    edges = torch.tensor([[2, 0, 1], [1, 1, 1]])
    data = graph(edge_index=edges, edge_weight=torch.tensor([1.0, 2.0, 3.0]))
    before = data.clone()
    check_graph(data)
    assert data.keys() == before.keys()
    assert torch.equal(data.edge_index, before.edge_index)
    assert torch.equal(data.edge_weight, before.edge_weight)


def test_edge_attributes_are_said_to_be_unused(caplog, said):
    check_graph(graph(edge_attr=torch.ones(4, 2)))
    assert "edge_attr is not used" in said()[0]
    caplog.clear()
    check_graph(graph(edge_attr=torch.ones(4, 2)), announce=False)
    assert said() == []


def test_column_of_labels_is_flattened():
    assert check_graph(graph(y=torch.tensor([[1], [0], [-1]]))).y.tolist() == [1, 0, -1]


NAN = torch.tensor([[0.0, 1.0], [2.0, float("nan")], [0.0, 0.0]])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"x": None}, "the graph has no attributes x"),
        ({"x": torch.ones(3)}, r"x must be a tensor \(nodes, attributes\), got \(3,\)"),
        ({"x": torch.ones(0, 2)}, "the graph has no nodes"),
        ({"x": torch.ones(3, 0)}, "x has no columns"),
        ({"x": NAN}, r"x\[1, 1\] is nan; attributes must be finite"),
        ({"x": NAN.to_sparse_csr()}, r"x\[1, 1\] is nan; attributes must be finite"),
        ({"x": torch.full((3, 1), 1e300, dtype=torch.float64)}, r"x\[0, 0\] is inf"),
        ({"x": torch.ones(3, 1, dtype=torch.complex64)}, "x must be real numbers"),
        ({"num_nodes": 4}, "x has 3 rows but num_nodes is 4"),
        ({"edge_index": None}, "the graph has no edge_index"),
        ({"edge_index": PATH.T}, r"shape \(2, edges\), got \(4, 2\); transpose it"),
        ({"edge_index": PATH.float()}, "edge_index must hold integers, got torch.float32"),
        ({"edge_index": PATH + 1}, r"edge_index\[0, 3\] is 3 but nodes are numbered 0..2"),
        ({"edge_index": PATH - 1}, r"edge_index\[0, 0\] is -1 but nodes are numbered 0..2"),
        ({"edge_weight": torch.ones(3)}, r"edge_weight has shape \(3,\) but there are 4 edges"),
        ({"edge_weight": torch.tensor([1.0, 0, 1, 1])}, r"edge_weight\[1\] is 0; weights must be"),
        ({"edge_weight": torch.tensor([1, 1, 1, float("inf")])}, r"edge_weight\[3\] is inf"),
        ({"edge_weight": [1, 1, 1, 1]}, "edge_weight must be a tensor, got list"),
        (
            {"y": torch.zeros(2, dtype=torch.long)},
            "labels have 2 entries but the graph has 3 nodes",
        ),
        ({"y": torch.zeros(3)}, "labels y must be integers, got torch.float32"),
        ({"y": torch.eye(3).long()}, "turn one-hot rows into numbers with argmax"),
        ({"y": torch.tensor([0, -2, 0])}, r"y\[1\] is -2; classes count from 0"),
        ({"y": [0, 1, 2]}, "labels y must be a tensor, got list"),
        (
            {"val_mask": torch.ones(2, dtype=torch.bool)},
            "val_mask has 2 entries but the graph has 3",
        ),
        ({"val_mask": torch.ones(3)}, "val_mask must be a bool tensor"),
        (
            {"test_mask": torch.ones(3, 10, dtype=torch.bool)},
            "test_mask holds 10 splits; choose one",
        ),
        ({"node_ids": ["a", "b"]}, "node_ids has 2 entries but the graph has 3 nodes"),
        ({"node_ids": ["a", "b", "a"]}, "node id 'a' is duplicated in node_ids"),
        ({"y": torch.tensor([0, 1, 2]), "class_names": ["a"]}, "class_names has 1 entries but y"),
    ],
)
def test_bad_graph_is_refused_with_its_place(fields, message):
    with pytest.raises(InputError, match=message):
        check_graph(graph(**fields))


@pytest.mark.parametrize("thing", [None, HeteroData(), networkx.path_graph(2)])
def test_other_types_are_refused(thing):
    with pytest.raises(InputError, match="a graph must be a torch_geometric Data"):
        check_graph(thing)


def test_from_scipy_reads_weights_labels_and_names():
    adj = scipy.sparse.csr_matrix(np.array([[0, 2.0, 0], [2.0, 0, 0], [0, 0, 0]]))
    data = from_scipy(adj, np.eye(3), [1, 0, -1], node_ids=["a", "b", "c"], class_names=["u", "v"])
    assert data.edge_index.tolist() == [[0, 1], [1, 0]]
    assert data.edge_weight.tolist() == [2.0, 2.0]
    assert data.y.tolist() == [1, 0, -1]
    assert data.node_ids.tolist() == ["a", "b", "c"]
    assert data.class_names == ["u", "v"]


def test_from_scipy_keeps_sparse_attributes_and_leaves_them_alone():
    x = scipy.sparse.coo_array(([1.0, 2.0, 5.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    data = from_scipy(np.array([[0, 1], [1, 0]]), x)
    assert is_sparse(data.x)
    assert data.x.to_dense().tolist() == [[0, 3], [5, 0]]
    assert x.nnz == 3
    assert "edge_weight" not in data
    assert data.y.tolist() == [-1, -1]
    assert data.class_names == []


def test_from_scipy_reads_arrays_that_are_not_writeable():
    adj, x, y = np.ones((2, 2)), np.eye(2), np.array([0, 1])
    for array in (adj, x, y):
        array.flags.writeable = False
    assert from_scipy(adj, x, y).y.tolist() == [0, 1]


def test_from_scipy_refuses_labels_that_are_text():
    with pytest.raises(InputError, match=r"number the classes, e\.g\. with numpy\.unique"):
        from_scipy(np.eye(2), np.eye(2), ["a", "b"])


@pytest.mark.parametrize(
    ("adj", "x", "message"),
    [
        (np.ones((2, 3)), np.eye(2), r"an adjacency matrix must be square, got shape \(2, 3\)"),
        (np.eye(2), np.eye(3), "x has 3 rows but num_nodes is 2"),
        (
            -np.ones((2, 2)),
            np.eye(2),
            r"edge_weight\[0\] is -1; weights must be finite and above 0",
        ),
        (np.eye(2), np.array([["a"], ["b"]]), "x must be a matrix of numbers"),
        (np.array([["a"]]), np.eye(1), "an adjacency matrix must hold numbers, got <U1"),
    ],
)
def test_from_scipy_refuses(adj, x, message):
    with pytest.raises(InputError, match=message):
        from_scipy(adj, x)


@pytest.mark.parametrize("one_hot", [np.eye(3), np.eye(3, dtype=int), np.eye(3, dtype=bool)])
def test_one_hot_labels_are_refused_with_the_remedy(one_hot):
    """Defect 40: one-hot labels got a remark on their number, which was right."""
    with pytest.raises(InputError, match=r"shape \(3, 3\); turn one-hot rows into .* argmax"):
        from_scipy(np.ones((3, 3)), np.eye(3), one_hot)
