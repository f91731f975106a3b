import sys

import igraph
import networkx
import numpy as np
import pytest
import torch

from brgcl.data import from_igraph, from_networkx
from brgcl.errors import InputError


def test_from_networkx_keeps_keys_attributes_labels_and_weights():
    g = networkx.Graph()
    g.add_node("b", x=[1, 2], y="red")
    g.add_node("a", x=[3, 4], y="blue")
    g.add_node("c", x=[5, 6])
    g.add_edge("a", "b", w=2)
    data = from_networkx(g, weight="w")
    assert data.node_ids.tolist() == ["b", "a", "c"]
    assert data.x.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert data.y.tolist() == [1, 0, -1]
    assert data.class_names == ["blue", "red"]
    assert data.edge_weight.tolist() == [2, 2]


def test_from_networkx_with_nothing_but_edges():
    data = from_networkx(networkx.DiGraph([(10, 20), (20, 5)]))
    assert data.node_ids.tolist() == [10, 20, 5]
    assert data.node_ids.dtype == np.int64
    assert data.x.to_dense().tolist() == np.eye(3).tolist()
    assert data.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert data.y.tolist() == [-1] * 3


def test_from_networkx_refuses():
    g = networkx.path_graph(3)
    g.nodes[0]["x"] = 1.0
    with pytest.raises(InputError, match=r"node 1 has no attribute 'x' \(2 nodes lack it\)"):
        from_networkx(g)
    with pytest.raises(InputError, match="no node has the attribute 'colour'"):
        from_networkx(g, attributes="colour")
    with pytest.raises(InputError, match="no node has the label attribute 'kind'"):
        from_networkx(g, attributes=None, label="kind")
    with pytest.raises(
        InputError, match="edge 0 - 1 has weight 'w' = None; give every edge a number"
    ):
        from_networkx(g, attributes=None, weight="w")
    g.nodes[1]["x"], g.nodes[2]["x"] = [1, 2], "long"
    with pytest.raises(InputError, match="'x' must be a number or vectors of one length"):
        from_networkx(g)
    with pytest.raises(InputError, match="the graph has no nodes"):
        from_networkx(networkx.Graph())


def test_from_networkx_without_networkx_says_how_to_install(monkeypatch):
    """Defect 41: the hint named a package that pip does not find."""
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(InputError, match=r"pip install networkx$"):
        from_networkx(object())


def test_from_igraph_equals_from_networkx():
    g = networkx.karate_club_graph()
    for node in g:
        g.nodes[node].update(x=[float(node), 1.0], y=g.nodes[node]["club"])
    ours, theirs = from_networkx(g, weight="weight"), igraph.Graph.from_networkx(g)
    same = from_igraph(theirs, weight="weight", name="_nx_name")
    for name in ("x", "y", "edge_index", "edge_weight"):
        assert torch.equal(ours[name], same[name]), name
    assert ours.class_names == same.class_names
    assert list(ours.node_ids) == list(same.node_ids)


def test_from_igraph_keeps_names_and_numbers_vertices_without():
    g = igraph.Graph([(0, 1), (1, 2)])
    assert from_igraph(g).node_ids.tolist() == [0, 1, 2]
    g.vs["name"] = ["ann", "bob", "eve"]
    assert list(from_igraph(g).node_ids) == ["ann", "bob", "eve"]


def test_from_igraph_refuses():
    g = igraph.Graph([(0, 1), (1, 2)])
    with pytest.raises(InputError, match="no node has the attribute 'colour'"):
        from_igraph(g, attributes="colour")
    with pytest.raises(InputError, match="has weight 'w' = None"):
        from_igraph(g, weight="w")
    g.vs["name"] = ["a", "a", "b"]
    with pytest.raises(InputError, match="equal values"):
        from_igraph(g)
