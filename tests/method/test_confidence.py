import math

import pytest
import torch

from brgcl.method.confidence import (
    confidence,
    confident_nodes,
    own_confidence,
    propagate,
    propagate_from,
    threshold,
)
from brgcl.method.graph import adjacency_from_edges


def undirected(pairs):
    edges = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T
    return torch.cat([edges, edges.flip(0)], dim=1)


# two triangles joined by the edge 2-3, and node 6 on its own
TRIANGLES = undirected([(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)])
LABEL = torch.tensor([0, 0, 0, 1, 1, 1, 1])


def transition(num_nodes=7, dtype=torch.float64):
    return adjacency_from_edges(TRIANGLES, num_nodes, dtype=dtype).transition


def slow_propagate(start, P, alpha, T):
    soft = start
    for _ in range(T - 1):
        soft = (1 - alpha) * P @ soft + alpha * start
    return soft


@pytest.mark.parametrize("T", [1, 2, 3, 10, 50])
@pytest.mark.parametrize("alpha", [0.1, 0.7, 1.0])
def test_propagation_equals_the_dense_iteration(T, alpha):
    P = transition()
    start = torch.nn.functional.one_hot(LABEL, 3).double()
    expected = slow_propagate(start, P.data.to_dense(), alpha, T)
    found = propagate(LABEL, 3, P, alpha, T)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(found.sum(1), torch.ones(7).double(), rtol=0, atol=1e-12)


def test_one_step_returns_the_one_hot_labels():
    assert torch.equal(
        propagate(LABEL, 2, transition(), 0.1, 1), torch.nn.functional.one_hot(LABEL, 2).double()
    )


def test_two_steps_by_hand():
    # node 2 and its neighbours 0, 1, 3: three of four say 0; (1 - .2) * 3/4 + .2 = .8
    soft = propagate(LABEL, 2, transition(), alpha=0.2, T=2)
    torch.testing.assert_close(soft[2], torch.tensor([0.8, 0.2]).double())
    torch.testing.assert_close(soft[0], torch.tensor([1.0, 0.0]).double())


def test_propagation_is_linear_in_any_start_and_leaves_it_alone():
    P = transition()
    start = torch.rand(7, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    copy = start.clone()
    found = propagate_from(start, P, 0.3, 6)
    torch.testing.assert_close(found, slow_propagate(copy, P.data.to_dense(), 0.3, 6))
    assert torch.equal(start, copy)


def test_a_start_of_one_step_is_returned_as_it_is():
    start = torch.rand(7, 2).double()
    assert torch.equal(propagate_from(start, transition(), 0.1, 1), start)


def test_a_node_whose_neighbourhood_agrees_is_sure():
    apart = undirected([(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)])
    P = adjacency_from_edges(apart, 7, dtype=torch.float64).transition
    own = confidence(propagate(LABEL, 2, P, 0.1, 10), LABEL)
    torch.testing.assert_close(own, torch.ones(7).double(), rtol=0, atol=1e-12)


def test_confidence_falls_towards_the_boundary():
    own = confidence(propagate(LABEL, 2, transition(), 0.1, 10), LABEL)
    assert own[2] < own[0] < 1
    assert own[3] < own[4] < 1
    assert own[6] == pytest.approx(1, abs=1e-12)  # isolated: nobody disagrees


def test_a_wrong_label_among_agreeing_neighbours_is_not_confident():
    clique = undirected([(i, j) for i in range(6) for j in range(i)])
    P = adjacency_from_edges(clique, 6, dtype=torch.float64).transition
    label = torch.tensor([1, 0, 0, 0, 0, 0])
    own = confidence(propagate(label, 2, P, 0.1, 10), label)
    # .1 + .9 * 1/6 for the odd one, .1 + .9 * 5/6 for the others
    assert own.tolist() == pytest.approx([0.25] + [0.85] * 5)
    assert confident_nodes(own, 0.7).tolist() == [False] + [True] * 5


def test_confidence_is_the_soft_label_of_the_own_cluster():
    soft = torch.tensor([[0.7, 0.3], [0.4, 0.6], [0.0, 1.0]])
    assert confidence(soft, torch.tensor([0, 0, 1])).tolist() == pytest.approx([0.7, 0.4, 1.0])


def test_confidence_never_passes_one_by_rounding():
    generator = torch.Generator().manual_seed(0)
    pairs = torch.combinations(torch.arange(60))
    chosen = pairs[torch.rand(len(pairs), generator=generator) < 0.3]
    P = adjacency_from_edges(torch.cat([chosen.T, chosen.T.flip(0)], dim=1), 60).transition
    label = torch.zeros(60, dtype=torch.long)
    soft = propagate(label, 1, P, 0.1, 10)
    assert soft.max() > 1  # single precision: the sum of a row misses 1 a little
    assert confidence(soft, label).max() == 1


@pytest.mark.parametrize("gamma", [0.0, 0.1, 0.7, 1.0])
def test_confident_is_confidence_above_exp_minus_gamma(gamma):
    own = torch.linspace(0, 1, 1001, dtype=torch.float64)
    assert torch.equal(confident_nodes(own, gamma), own > math.exp(-gamma))


def test_a_node_with_no_support_is_never_confident():
    assert confident_nodes(torch.zeros(1), 1.0).tolist() == [False]


@pytest.mark.parametrize(
    ("epoch", "expected"), [(0, 1.0), (1, 0.997), (50, 0.85), (100, 0.7), (101, 0.7), (500, 0.7)]
)
def test_threshold_by_hand(epoch, expected):
    assert threshold(epoch, 100, 0.3) == pytest.approx(expected, abs=1e-12)


def test_threshold_falls_steadily_to_its_floor():
    values = [threshold(t, 20, 0.9) for t in range(1, 31)]
    assert values == sorted(values, reverse=True)
    assert values[19:] == pytest.approx([0.1] * 11)


@pytest.mark.parametrize("entries", [1, 14, 10**6])
def test_clusters_that_are_spread_a_few_at_a_time_give_the_same_confidence(monkeypatch, entries):
    monkeypatch.setattr("brgcl.method.confidence.ENTRIES", entries)
    label = torch.tensor([0, 3, 1, 1, 2, 4, 0])
    found = own_confidence(label, 5, transition(), 0.1, 6)
    expected = confidence(propagate(label, 5, transition(), 0.1, 6), label)
    torch.testing.assert_close(found, expected)
