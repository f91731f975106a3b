import dataclasses
import math

import pytest
import torch
from torch_geometric.data import Data

from brgcl.baselines.nrgnn import (
    NRGNNConfig,
    candidates_to_labelled,
    candidates_to_mined,
    check_size,
    convolve,
    draw_non_edges,
    edge_loss,
    fit,
    keep_proportions,
    rows_of,
    weigh,
    weighted_mix,
    with_self_loops,
)
from brgcl.baselines.shared.learned_edges import Candidates
from brgcl.contract import ObservedLabels
from brgcl.errors import InputError
from brgcl.method.encoder import Encoder
from brgcl.method.inputs import prepare
from brgcl.method.sparse import Matrix

# Two triangles with a bridge, 2-3.
ENDS = torch.tensor([[0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5]])
EDGES = torch.cat([ENDS, ENDS.flip(0)], dim=1)
EDGES = EDGES[:, (EDGES[0] * 6 + EDGES[1]).argsort()]
X = torch.tensor([[2.0, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 1], [0, 3, 0], [1, 1, 1]])
GRAPH = Data(x=X, edge_index=EDGES, num_nodes=6)
A = torch.eye(6)
A[EDGES[0], EDGES[1]] = 1
KEYS = A.flatten().nonzero().squeeze(1)  # edges and self-loops
LABELS = ObservedLabels(
    torch.tensor([0, -1, -1, -1, 1, -1]), torch.tensor([-1, 0, -1, -1, -1, 1]), 2
)
ALL = {"candidates": "published", "n_p": -1}


def rng(seed=0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def pairs_of(candidates):
    """Pairs (target, source) as a set."""
    target = torch.repeat_interleave(candidates.crow.diff())
    return set(zip(target.tolist(), candidates.col.tolist(), strict=True))


def from_pairs(pairs, num_nodes=6):
    return Candidates.from_keys(
        torch.tensor(sorted(i * num_nodes + j for i, j in pairs)), num_nodes
    )


# Losses and weights


def test_the_edge_loss_by_hand():
    z = torch.tensor([[1.0, 0], [0.5, 1], [0, 2]])
    # one edge 0-1: (0.5 - 1)² ; non-edges 0-2: 0², 1-2: 2²; times N over the pairs, 3 / 3
    loss = edge_loss(z, from_pairs([(0, 1)], 3), from_pairs([(0, 2), (1, 2)], 3))
    assert float(loss) == pytest.approx(0.25 + 0 + 4)
    alone = edge_loss(z, from_pairs([(0, 1)], 3), from_pairs([(1, 2)], 3))
    assert float(alone) == pytest.approx(3 / 2 * 4.25)


def test_candidates_below_the_threshold_are_left_out():
    z = torch.tensor([[1.0, 0], [0.05, 1], [-1, 0.2]], requires_grad=True)
    pairs = from_pairs([(0, 1), (0, 2), (1, 2)], 3)  # products .05, -1, .15
    heavy, weight = weigh(pairs, z, 0.1)
    assert pairs_of(heavy) == {(1, 2)}
    assert torch.allclose(weight, torch.tensor([0.15]))
    weight.sum().backward()
    assert torch.allclose(z.grad, torch.tensor([[0, 0], [-1, 0.2], [0.05, 1]]))
    assert pairs_of(weigh(pairs, z, 0.0)[0]) == {(0, 1), (1, 2)}


def test_the_mix_equals_the_dense_operator_and_so_do_its_gradients():
    z = torch.rand(6, 4, generator=rng(), requires_grad=True)
    h = torch.randn(6, 2, generator=rng(1), requires_grad=True)
    pairs = [(0, 4), (4, 0), (5, 1), (1, 5), (5, 2)]  # the last one goes one way
    candidates = from_pairs(pairs)
    fixed = with_self_loops(prepare(GRAPH).adjacency)
    found = weighted_mix(fixed, [weigh(candidates, z, 0.1)])(h)

    mask = torch.zeros(6, 6)
    mask[tuple(torch.tensor(pairs).T)] = 1
    W = (z @ z.T).clamp_min(0) * mask
    total = A + torch.where(W < 0.1, 0, W)
    scale = total.sum(1).rsqrt()
    wanted = (scale[:, None] * total * scale) @ h
    assert torch.allclose(found, wanted, atol=1e-6)
    upstream = torch.randn(6, 2, generator=rng(2))
    for one, two in zip(
        *(torch.autograd.grad(out, (z, h), upstream) for out in (found, wanted)), strict=True
    ):
        assert torch.allclose(one, two, atol=1e-5)


def test_edge_weights_of_the_graph_are_honoured():
    weighted = GRAPH.clone()
    weighted.edge_weight = (EDGES[0] + EDGES[1]).float()
    dense = torch.eye(6)
    dense[EDGES[0], EDGES[1]] = weighted.edge_weight
    assert torch.equal(with_self_loops(prepare(weighted).adjacency).data.to_dense(), dense)


def test_dropout_falls_on_hidden_units_alone():
    network = Encoder(3, hidden=4, dim=2, generator=rng())
    same = lambda h: h  # noqa: E731
    hidden, logits = convolve(network, Matrix(X), same)
    wanted = (X @ network.weights[0]).clamp_min(0)
    assert torch.allclose(hidden, wanted)
    assert torch.allclose(logits, wanted @ network.weights[1])
    kept, dropped = convolve(network, Matrix(X), same, 0.5, rng())
    assert torch.equal(kept, hidden)
    assert not torch.allclose(dropped, logits)


# Candidates


def test_each_node_is_paired_with_the_most_similar_labelled_nodes():
    x = torch.tensor([[1.0, 0], [0, 1], [5, 1], [1, 5], [1, 1], [0, 2]])
    nodes = torch.tensor([0, 1])
    config = NRGNNConfig(n_p=1)
    none = torch.arange(6) * 7  # self-loops alone
    for matrix in (Matrix(x), Matrix(x.to_sparse_csr())):
        found = pairs_of(candidates_to_labelled(matrix, nodes, none, config, rng()))
        near = {(2, 0), (3, 1), (5, 1)}  # 4 is as near to both
        mirrored = near | {(j, i) for i, j in near}
        assert mirrored <= found
        assert len(found) == 8
    both = pairs_of(candidates_to_labelled(Matrix(x), nodes, none, NRGNNConfig(n_p=2), rng()))
    assert both == {(i, j) for i in range(6) for j in range(6) if i != j and min(i, j) < 2}


def test_existing_edges_and_the_node_itself_are_no_candidates():
    nodes = torch.tensor([0, 4])
    for config in (NRGNNConfig(n_p=9), NRGNNConfig(**ALL)):
        found = pairs_of(candidates_to_labelled(Matrix(X), nodes, KEYS, config, rng()))
        assert found == {
            (i, j)
            for i in range(6)
            for j in range(6)
            if (i in (0, 4) or j in (0, 4)) and A[i, j] == 0
        }


def test_at_most_a_pool_of_labelled_nodes_is_searched():
    nodes = torch.arange(6)
    config = NRGNNConfig(n_p=6, pool=2)
    found = pairs_of(candidates_to_labelled(Matrix(X), nodes, torch.arange(6) * 7, config, rng()))
    chosen = {j for j in range(6) if all((i, j) in found for i in range(6) if i != j)}
    assert len(chosen) == 2
    assert len(found) == 2 * (4 + 4 + 1)


def test_published_candidates_send_from_every_unlabelled_node_to_the_mined_ones():
    unlabelled, mined = torch.tensor([1, 2, 3, 5]), torch.tensor([2, 5])
    config = NRGNNConfig(**ALL)
    found = candidates_to_mined(torch.rand(6, 2), unlabelled, mined, config, rng())
    assert pairs_of(found) == {(a, u) for a in (2, 5) for u in (1, 2, 3, 5) if a != u}
    assert pairs_of(candidates_to_mined(X, unlabelled, mined[:0], config, rng())) == set()


def test_sparse_candidates_are_those_of_the_largest_weights():
    z = torch.tensor([[1.0, 0], [1, 1], [2, 0], [0, 3], [0, 0.1], [1, 0.9]])
    unlabelled, mined = torch.arange(1, 6), torch.tensor([2, 3, 4])
    config = NRGNNConfig(n_p=1)
    found = pairs_of(candidates_to_mined(z, unlabelled, mined, config, rng()))
    # 1 -> 3 (3 > 2), 2 -> 3 or 4, 3 -> 4 (.3 > 0), 4 -> 3, 5 -> 3 (2.7 > 2)
    assert {(1, 3), (3, 4), (5, 3), (3, 1), (4, 3), (3, 5)} <= found
    assert (2, 2) not in found
    assert len(found) == 8
    every = pairs_of(candidates_to_mined(z, unlabelled, mined, NRGNNConfig(n_p=3), rng()))
    directed = {(a, u) for a in (2, 3, 4) for u in range(1, 6) if a != u}
    assert every == directed | {(u, a) for a, u in directed}
    assert pairs_of(candidates_to_mined(z, unlabelled, mined[:0], config, rng())) == set()


def test_non_edges_are_no_edges_and_in_order():
    found = pairs_of(draw_non_edges(KEYS, 6, 200, rng()))
    assert found == {(i, j) for i in range(6) for j in range(i + 1, 6) if A[i, j] == 0}
    assert draw_non_edges(torch.arange(100) * 101, 100, 50, rng()).col.numel() > 1500


# Inputs


def test_binary_attributes_stay_as_they_are_and_others_keep_their_proportions():
    assert torch.allclose(keep_proportions(GRAPH).x.data, X / 3)
    binary = (X > 0).float()
    for x in (binary, binary.to_sparse_csr()):
        found = keep_proportions(Data(x=x, edge_index=EDGES, num_nodes=6)).x.data
        assert torch.equal(found.to_dense(), binary)
    signed = keep_proportions(Data(x=X - 1, edge_index=EDGES, num_nodes=6)).x.data
    assert torch.allclose(signed.mean(0), torch.zeros(3), atol=1e-6)


def test_rows_of_a_sparse_matrix():
    nodes = torch.tensor([4, 0, 0])
    sparse = rows_of(Matrix(X.to_sparse_csr()), nodes)
    assert torch.equal(sparse.to_dense(), X[nodes])
    assert torch.equal(rows_of(Matrix(X), nodes), X[nodes])


# Training


def test_where_nothing_is_mined_the_loss_is_finite():
    config = NRGNNConfig(p_u=1.0, epochs=5, hidden=4, lr=0.05)
    said = []
    fit(GRAPH, LABELS, config, rng(), lambda *state: said.append(state))
    assert [state[:2] for state in said] == [(t, 5) for t in range(1, 6)]
    assert all("0 pseudo labels" in state[2] for state in said)
    assert all(math.isfinite(float(words.split()[1].rstrip(","))) for _, _, words in said)


@pytest.mark.parametrize("form", [{"n_p": 2}, ALL], ids=["sparse", "published"])
def test_pseudo_labels_are_mined_and_used(form):
    config = NRGNNConfig(p_u=0.5, epochs=30, lr=0.05, hidden=8, **form)
    said = []
    fitted = fit(GRAPH, LABELS, config, rng(), lambda *state: said.append(state[2]))
    assert "4 pseudo labels" in said[-1]
    assert fitted.probabilities.argmax(1).tolist() == [0, 0, 0, 1, 1, 1]
    other = fit(GRAPH, LABELS, dataclasses.replace(config, beta=0.0), rng())
    assert not torch.equal(other.probabilities, fitted.probabilities)


def test_validation_labels_choose_when_to_mine():
    """Labels that the miner never gets more right than at first leave its first choice."""
    config = NRGNNConfig(n_p=2, p_u=0.52, epochs=30, lr=0.05, hidden=8, dropout=0.0)
    counts = []
    for validation in (None, torch.tensor([-1, 1, -1, -1, -1, 0])):
        said = []
        labels = dataclasses.replace(LABELS, validation=validation)
        fit(GRAPH, labels, config, rng(), lambda *state, said=said: said.append(state[2]))
        counts.append([int(words.split()[2]) for words in said])
    assert len(set(counts[0])) > len(set(counts[1]))


@pytest.mark.parametrize("form", [{"n_p": 2}, ALL], ids=["sparse", "published"])
def test_a_graph_whose_every_node_is_labelled_has_nothing_to_mine(form):
    labels = ObservedLabels(torch.tensor([0, 0, 0, 1, 1, 1]), None, 2)
    fitted = fit(GRAPH, labels, NRGNNConfig(epochs=3, p_u=0.0, **form), rng())
    assert bool(fitted.probabilities.isfinite().all())


def test_the_published_form_refuses_what_does_not_fit():
    check_size(2708, 140, NRGNNConfig(**ALL))
    check_size(160_000, 200, NRGNNConfig())
    check_size(160_000, 200, NRGNNConfig(candidates="published", p_u=1.0))  # mines nothing
    for config in (NRGNNConfig(candidates="published"), NRGNNConfig(**ALL)):
        with pytest.raises(InputError, match=r"nrgnn would need about .* GB.*candidates=sparse"):
            check_size(20_000, 60, config)
