import math

import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Data

from brgcl.baselines.gcn import GCNConfig
from brgcl.baselines.gcn import fit as fit_gcn
from brgcl.baselines.shared.learned_edges import Candidates
from brgcl.baselines.unionnet import (
    UnionNETConfig,
    fill_up,
    fit,
    labelled_nodes_met,
    random_walks,
    union_loss,
    votes,
)
from brgcl.contract import ObservedLabels

# Two triangles with a bridge, 2-3, and a node 6 without edges.
ENDS = torch.tensor([[0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5]])
EDGES = torch.cat([ENDS, ENDS.flip(0)], dim=1)
EDGES = EDGES[:, (EDGES[0] * 7 + EDGES[1]).argsort()]
GRAPH = Data(x=torch.eye(7)[:, :4] + 0.1, edge_index=EDGES, num_nodes=7)
LABELS = ObservedLabels(torch.tensor([0, 0, -1, -1, 1, 1, -1]), None, 2)


def rng(seed=0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def pairs_of(support):
    owner = torch.repeat_interleave(support.crow.diff())
    return set(zip(owner.tolist(), support.col.tolist(), strict=True))


# Walks


def test_every_step_of_a_walk_goes_to_a_neighbour_and_every_neighbour_is_met_alike():
    start = torch.full((3000,), 2)
    walks = random_walks(EDGES, 7, start, 4, rng())
    edges = set(map(tuple, EDGES.T.tolist()))
    before = torch.cat([start[:, None], walks[:, :-1]], dim=1)
    assert set(zip(before.flatten().tolist(), walks.flatten().tolist(), strict=True)) <= edges
    counts = torch.bincount(walks[:, 0], minlength=7)
    assert counts[[4, 5, 6, 2]].sum() == 0
    for neighbour in (0, 1, 3):
        assert abs(int(counts[neighbour]) - 1000) < 120  # four and a half deviations


def test_a_walk_stays_at_a_node_without_edges():
    assert random_walks(EDGES, 7, torch.tensor([6]), 3, rng()).tolist() == [[6, 6, 6]]
    none = torch.empty(2, 0, dtype=torch.long)
    assert random_walks(none, 3, torch.arange(3), 2, rng()).tolist() == [[0, 0], [1, 1], [2, 2]]


def test_walks_meet_labelled_nodes_once_each_and_never_themselves():
    nodes = torch.tensor([1, 4, 5])
    walks = torch.tensor([[2, 4, 4], [1, 0, 2], [5, 3, 5], [4, 3, 1], [3, 2, 2], [5, 3, 2]])
    # two walks each: node 1 meets 4, node 4 meets 5 and 1, node 5 nobody but itself
    assert labelled_nodes_met(walks, nodes, 7).tolist() == [0 * 3 + 1, 1 * 3 + 0, 1 * 3 + 2]


def test_small_support_sets_are_filled_with_similar_nodes():
    h = F.normalize(torch.tensor([[1.0, 0], [0.9, 0.1], [0.8, 0.4], [0, 1], [0.1, 0.9]]), dim=1)
    met = torch.tensor([0 * 5 + 3, 2 * 5 + 0, 2 * 5 + 1])
    filled = pairs_of(fill_up(met, h, 2, rng()))
    assert {(0, 3), (2, 0), (2, 1)} <= filled  # what walks met stays, and 2 has enough
    assert (0, 1) in filled
    assert {(3, 4), (3, 2)} <= filled
    assert {owner: sum(o == owner for o, _ in filled) for owner in range(5)} == dict.fromkeys(
        range(5), 2
    )
    assert all(owner != member for owner, member in filled)
    assert pairs_of(fill_up(met[:0], h[:1], 2, rng())) == set()  # there is nobody else


# Votes and losses

H = F.normalize(torch.tensor([[1.0, 0], [1, 1], [0, 1]]), dim=1)


def test_votes_by_hand():
    support = Candidates.from_keys(torch.tensor([1, 2, 3]), 3)  # 0: {1, 2}, 1: {0}, 2: nobody
    share = votes(support, H, torch.tensor([0, 1, 1]), 2)
    assert torch.allclose(share, torch.tensor([[0.0, 1], [1, 0], [0, 1]]))
    near, far = math.exp(math.sqrt(0.5)), math.exp(0.0)
    share = votes(support, H, torch.tensor([0, 1, 0]), 2)
    assert torch.allclose(share[0], torch.tensor([far, near]) / (near + far))


def test_the_loss_by_hand():
    p = torch.tensor([[0.8, 0.2], [0.6, 0.4]])
    share = torch.tensor([[0.9, 0.1], [0.7, 0.3]])
    given = torch.tensor([0, 1])
    reweighted = -(0.9 * math.log(0.8) + 0.3 * math.log(0.4)) / 2
    corrected = -(0.9 * math.log(0.8) + 0.7 * math.log(0.6)) / 2
    prior = 0.5 * math.log(0.5 / 0.7) + 0.5 * math.log(0.5 / 0.3)
    for alpha, beta in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.3, 2.0)):
        found = float(union_loss(p.log(), given, share, alpha, beta))
        wanted = (1 - alpha) * reweighted + alpha * corrected + beta * prior
        assert found == pytest.approx(wanted, rel=1e-5)


def test_with_unanimous_votes_and_no_prior_it_is_cross_entropy():
    logits = torch.randn(5, 3, generator=rng())
    given = torch.tensor([0, 1, 2, 1, 0])
    loss = union_loss(logits, given, F.one_hot(given, 3).float(), 0.5, 0.0)
    assert torch.allclose(loss, F.cross_entropy(logits, given))


def test_the_gradient_is_finite_where_a_class_has_no_label():
    logits = torch.tensor([[100.0, 0, -100], [50, 0, -100]], requires_grad=True)
    share = torch.tensor([[0.5, 0.5, 0], [1, 0, 0]])
    union_loss(logits, torch.tensor([0, 1]), share, 0.5, 1.0).backward()
    assert bool(logits.grad.isfinite().all())


# Training


def test_during_the_warm_up_it_is_a_gcn():
    """The walks take their random numbers first, so the GCN gets the same generator after them."""
    config = UnionNETConfig(epochs=8, warmup_epochs=8, num_walks=2, walk_length=3)
    generator = rng()
    random_walks(EDGES, 7, torch.zeros(8, dtype=torch.long), 3, generator)
    plain = fit_gcn(GRAPH, LABELS, GCNConfig(epochs=8), generator)
    assert torch.equal(fit(GRAPH, LABELS, config, rng()).probabilities, plain.probabilities)
    other = fit(GRAPH, LABELS, UnionNETConfig(epochs=8, warmup_epochs=4), rng())
    assert not torch.equal(other.probabilities, plain.probabilities)


def test_a_wrong_label_is_outvoted():
    """Two cliques with one wrong label: the votes of its clique correct it."""
    y = torch.arange(16) // 8
    edges = ((y[:, None] == y) & ~torch.eye(16, dtype=torch.bool)).nonzero().T
    graph = Data(
        x=F.one_hot(y, 2) + 0.1 * torch.rand(16, 2, generator=rng()), edge_index=edges, num_nodes=16
    )
    given = y.clone()
    given[0] = 1
    config = UnionNETConfig(epochs=60, warmup_epochs=5, alpha=1.0)
    fitted = fit(graph, ObservedLabels(given, None, 2), config, rng())
    assert fitted.probabilities.argmax(1).tolist() == y.tolist()


def test_a_single_label_is_survived():
    labels = ObservedLabels(torch.tensor([0, -1, -1, -1, -1, -1, -1]), None, 2)
    fitted = fit(GRAPH, labels, UnionNETConfig(epochs=4, warmup_epochs=1), rng())
    assert bool(fitted.probabilities.isfinite().all())
