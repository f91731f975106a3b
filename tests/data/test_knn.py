import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

from brgcl.data import knn_graph
from brgcl.errors import InputError


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_edges_are_those_of_a_brute_force_search(metric):
    x = np.random.default_rng(0).standard_normal((60, 5)).astype(np.float32)
    if metric == "cosine":
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        near = unit @ unit.T
    else:
        near = -((x[:, None] - x[None]) ** 2).sum(2)
    np.fill_diagonal(near, -np.inf)
    wanted = set()
    for i, row in enumerate(near):
        for j in np.argsort(-row)[:4].tolist():
            wanted |= {(i, j), (j, i)}
    graph = knn_graph(x, k=4, metric=metric)
    assert set(map(tuple, graph.edge_index.T.tolist())) == wanted


def test_labels_ids_and_sparse_vectors():
    x = scipy.sparse.csr_array(np.eye(4)[[0, 0, 1, 1]])
    graph = knn_graph(x, ["a", None, "b", -1], k=1, node_ids=list("wxyz"))
    assert graph.y.tolist() == [0, -1, 1, -1]
    assert graph.edge_index.tolist() == [[0, 1, 2, 3], [1, 0, 3, 2]]
    assert list(graph.node_ids) == list("wxyz")


def test_a_frame_names_nodes_and_attributes_and_a_series_is_matched_by_name():
    x = pd.DataFrame(np.eye(4)[[0, 0, 1, 1]], index=list("wxyz"), columns=["a", "b", "c", "d"])
    labels = pd.Series({"y": 2, "w": 1})
    graph = knn_graph(x, labels, k=1)
    assert list(graph.node_ids) == list("wxyz")
    assert graph.feature_names == ["a", "b", "c", "d"]
    assert (graph.y.tolist(), graph.class_names) == ([0, -1, 1, -1], ["1", "2"])
    assert knn_graph(x, labels.reindex(list("wxyz")).to_numpy(), k=1).y.tolist() == [0, -1, 1, -1]
    with pytest.raises(InputError, match="index has names that are not in the index of x"):
        knn_graph(x, pd.Series([1, 2, 1, 2]), k=1)


def test_wrong_arguments_are_refused():
    x = torch.eye(3)
    with pytest.raises(InputError, match=r"k must be in 1\.\.2, below the number of rows, got 3"):
        knn_graph(x, k=3)
    for k in (0, 1.5, "1"):
        with pytest.raises(InputError, match=f"k must be an integer of at least 1, got {k!r}"):
            knn_graph(x, k=k)
    with pytest.raises(InputError, match="metric must be"):
        knn_graph(x, k=1, metric="taxi")
    with pytest.raises(InputError, match="labels have 2 entries but x has 3 rows"):
        knn_graph(x, [0, 1], k=1)
