import pytest
import torch

from brgcl.data import check_graph, make_graph
from brgcl.errors import InputError
from brgcl.method.sparse import csr_to_scipy, is_sparse


def edge_homophily(graph) -> float:
    u, v = graph.edge_index
    return float((graph.y[u] == graph.y[v]).float().mean())


def test_same_seed_same_graph_other_seed_other_graph():
    first, again, other = make_graph(seed=3), make_graph(seed=3), make_graph(seed=4)
    assert torch.equal(first.edge_index, again.edge_index)
    assert torch.equal(first.x.col_indices(), again.x.col_indices())
    assert torch.equal(first.train_mask, again.train_mask)
    assert not torch.equal(first.y, other.y)


def test_the_default_graph_is_citation_like():
    graph = make_graph()
    degree = torch.bincount(graph.edge_index[0], minlength=2000)
    assert is_sparse(graph.x)
    assert set(graph.x.values().tolist()) == {1.0}
    assert bool((csr_to_scipy(graph.x).sum(axis=1) > 0).all())
    assert graph.edge_index.shape == (2, 8000)
    assert int(degree.min()) >= 1
    assert int(degree.max()) > 25  # a heavy tail: the mean is 4
    assert 0.77 < edge_homophily(graph) < 0.83
    sizes = torch.bincount(graph.y)
    assert len(sizes) == 7
    assert 2 < sizes.max() / sizes.min() < 3
    assert torch.bincount(graph.y[graph.train_mask]).tolist() == [20] * 7
    assert int(graph.val_mask.sum()) == 500
    assert int(graph.test_mask.sum()) == 2000 - 140 - 500


def test_it_is_canonical_already():
    graph = make_graph(300)
    assert check_graph(graph).edge_index is graph.edge_index


def test_small_graphs_get_small_splits():
    graph = make_graph(20, num_classes=2, num_features=10, avg_degree=2)
    parts = [int(graph[name].sum()) for name in ("train_mask", "val_mask", "test_mask")]
    assert sum(parts) == 20
    assert min(parts) >= 4
    assert set(graph.y[graph.train_mask].tolist()) == {0, 1}


@pytest.mark.parametrize("homophily", [0.0, 0.5, 1.0])
def test_homophily_is_what_was_asked_for(homophily):
    assert abs(edge_homophily(make_graph(homophily=homophily)) - homophily) < 0.03


def test_topic_strength_moves_words_into_the_class():
    graph = make_graph(topic_strength=1.0, num_classes=4)
    classes = [
        set(graph.x.to_dense()[graph.y == c].sum(0).nonzero().flatten().tolist()) for c in range(4)
    ]
    assert not any(classes[a] & classes[b] for a in range(4) for b in range(a))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_classes": 1}, "num_classes must be 2 or more, got 1"),
        ({"num_nodes": 13}, "num_nodes must be at least two per class, 14, got 13"),
        ({"num_features": 3}, "num_features must be at least one per class, 7, got 3"),
        ({"homophily": 1.5}, r"homophily must be in \[0, 1\], got 1.5"),
        ({"topic_strength": -0.1}, r"topic_strength must be in \[0, 1\], got -0.1"),
        ({"num_nodes": 20, "avg_degree": 12.0}, r"avg_degree must be in \[0, 9.5\], got 12"),
        ({"words_per_node": 0.5}, "words_per_node must be 1 or more, got 0.5"),
        ({"labels_per_class": -1}, "labels_per_class must be an integer of at least 0, got -1"),
        ({"num_val": 0.5}, "num_val must be an integer of at least 0, got 0.5"),
        ({"num_nodes": 100.5}, "num_nodes must be an integer of at least 1, got 100.5"),
        ({"num_nodes": "100"}, "num_nodes must be an integer of at least 1, got '100'"),
        ({"avg_degree": "4"}, "avg_degree must be a number, got '4'"),
        ({"seed": -1}, r"seed must be an integer in \[0, 4294967295\], got -1"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        make_graph(**arguments)


def test_a_hundred_thousand_nodes_take_seconds():
    graph = make_graph(100_000, avg_degree=10, num_features=128)
    assert graph.edge_index.shape == (2, 1_000_000)
