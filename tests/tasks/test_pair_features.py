import numpy as np
import pytest

from brgcl.errors import InputError
from brgcl.tasks.pair_features import (
    count_common_neighbours,
    leave_one_out_means,
    left_out_features,
    pair_facts,
    random_pairs,
)


@pytest.fixture
def graph():
    """Forty nodes, each pair with an edge with probability 0.15: edges, attributes."""
    rng = np.random.default_rng(0)
    i, j = np.triu_indices(40, 1)
    kept = rng.random(len(i)) < 0.15
    return i[kept], j[kept], rng.normal(size=(40, 5))


def all_pairs():
    return np.triu_indices(40, 1)


def test_common_neighbours_are_those_of_the_squared_adjacency(graph, monkeypatch):
    source, target, _ = graph
    dense = np.zeros((40, 40), dtype=int)
    dense[source, target] = dense[target, source] = 1
    i, j = all_pairs()
    for chunk in (7, 2**18):
        monkeypatch.setattr("brgcl.tasks.pair_features.CHUNK", chunk)
        found = count_common_neighbours(i, j, (source, target), 40)
        assert found.tolist() == (dense @ dense)[i, j].tolist()
        assert count_common_neighbours(j, i, (source, target), 40).tolist() == found.tolist()


def test_common_neighbours_of_nobody():
    none = np.array([], dtype=np.int64)
    assert count_common_neighbours(none, none, (none, none), 3).tolist() == []
    assert count_common_neighbours(np.array([0]), np.array([1]), (none, none), 3).tolist() == [0]


def test_leave_one_out_means_are_those_of_the_graph_without_the_edge(graph):
    source, target, own = graph
    edges = set(zip(source.tolist(), target.tolist(), strict=True))
    i, j = all_pairs()
    left, right = leave_one_out_means(own, i, j, (source, target))
    for row, (a, b) in enumerate(zip(i.tolist(), j.tolist(), strict=True)):
        others = edges - {(a, b)}
        for end, found in ((a, left), (b, right)):
            near = [u + v - end for u, v in others if end in (u, v)]
            expected = own[near].mean(0) if near else np.full(5, np.nan)
            np.testing.assert_allclose(found[row], expected, atol=1e-12)


def test_features_of_an_edge_do_not_depend_on_its_being_there(graph, monkeypatch):
    """With as many folds as edges, the features of an edge are those of the pair without it."""
    source, target, x = graph
    count = len(source)
    monkeypatch.setattr("brgcl.tasks.pair_features.FOLDS", count)
    chosen = 5
    none = np.array([], dtype=np.int64)
    of_edges, _ = left_out_features(x, source, target, (none, none), None, np.random.default_rng(0))
    kept = np.arange(count) != chosen

    # the same pair on the graph that never had the edge: the first of two folds is the pair alone
    class Dealer:
        def __init__(self):
            self.rng = np.random.default_rng(0)

        def permutation(self, size):
            return np.zeros(size, dtype=np.int64) if size == 1 else np.ones(size, dtype=np.int64)

        def standard_normal(self, shape):
            return self.rng.standard_normal(shape)

    monkeypatch.setattr("brgcl.tasks.pair_features.FOLDS", 2)
    pair = source[[chosen]], target[[chosen]]
    _, of_pair = left_out_features(x, source[kept], target[kept], pair, None, Dealer())
    np.testing.assert_allclose(of_edges[chosen], of_pair[0], atol=1e-4)


def test_representations_add_features_and_leave_the_others_alone(graph):
    source, target, x = graph
    pairs = np.array([0, 1]), np.array([39, 38])
    z = np.random.default_rng(1).normal(size=(40, 3)).astype(np.float32)
    without, _ = left_out_features(x, source, target, pairs, None, np.random.default_rng(0))
    with_z, of_pairs = left_out_features(x, source, target, pairs, z, np.random.default_rng(0))
    assert with_z.shape[1] == of_pairs.shape[1] == 2 * without.shape[1] - 1
    np.testing.assert_allclose(with_z[:, : without.shape[1]], without)


def test_facts_do_not_depend_on_the_order_of_the_ends(graph):
    source, target, x = graph
    i, j = all_pairs()
    one = pair_facts(x, i, j, (source, target), np.random.default_rng(0))
    other = pair_facts(x, j, i, (source, target), np.random.default_rng(0))
    for name, values in one.items():
        np.testing.assert_allclose(values, other[name], atol=1e-12)
    assert np.nanmax(np.abs(one["others_cosine"])) <= 1 + 1e-9


def test_random_pairs_have_no_edge_and_are_no_loops(graph):
    source, target, _ = graph
    i, j = random_pairs(source, target, 40, np.random.default_rng(0))
    assert len(i) == 2 * len(source)
    assert (i < j).all()
    assert not np.isin(i * 40 + j, source * 40 + target).any()


def test_a_complete_graph_has_no_pairs():
    i, j = np.triu_indices(20, 1)
    with pytest.raises(InputError, match="almost every pair of nodes has an edge"):
        random_pairs(i, j, 20, np.random.default_rng(0))
