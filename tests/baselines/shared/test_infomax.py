"""What DGI and MVGRL share, on small graphs and against dense matrices."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch_geometric.data import Data

from brgcl.baselines import dgi, mvgrl
from brgcl.baselines.shared.infomax import Discriminator, infomax_loss, mix
from brgcl.data import make_graph
from brgcl.method.encoder import Encoder, averages_first
from brgcl.method.inputs import prepare
from brgcl.method.views import Diffusion

# Two triangles with a bridge, 2-3.
ENDS = torch.tensor([[0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5]])
EDGES = torch.cat([ENDS, ENDS.flip(0)], dim=1)
EDGES = EDGES[:, (EDGES[0] * 6 + EDGES[1]).argsort()]
X = torch.tensor([[2.0, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 1], [0, 3, 0], [1, 1, 1]])
GRAPH = Data(x=X, edge_index=EDGES)


def seeded(seed=0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def dense_adjacency():
    A = torch.eye(6)
    A[EDGES[0], EDGES[1]] = 1
    scale = A.sum(1).rsqrt()
    return scale[:, None] * A * scale


def dense_training(operators, dim, lr, epochs):
    """The same training with dense operators and shuffled copies of X: losses, codes per epoch."""
    rng = seeded()
    x = X / X.sum(1, keepdim=True)
    starts = [
        Encoder(3, dim=dim, num_layers=1, activation="prelu", generator=rng) for _ in operators
    ]
    weights = [s.weights[0].detach().clone().requires_grad_() for s in starts]
    biases = [s.biases[0].detach().clone().requires_grad_() for s in starts]
    slopes = [torch.tensor(0.25, requires_grad=True) for _ in starts]
    M = Discriminator(dim, rng).weight.detach().clone().requires_grad_()
    c = torch.zeros((), requires_grad=True)
    optimizer = torch.optim.Adam([*weights, *biases, *slopes, M, c], lr=lr)

    def codes(x):
        found = []
        for operator, W, b, a in zip(operators, weights, biases, slopes, strict=True):
            h = operator @ x @ W + b
            found.append(torch.where(h > 0, h, a * h))
        return found

    losses, kept = [], []
    for _ in range(epochs):
        order = torch.randperm(6, generator=rng)
        kept.append([h.detach() for h in codes(x)])
        nodes, negatives = codes(x), codes(x[order])
        scores, truth = [], []
        for view in range(len(operators)):
            other = (view + 1) % len(operators)
            s = 1 / (1 + (-nodes[other].mean(0)).exp())
            for h, y in ((nodes[view], 1.0), (negatives[view], 0.0)):
                scores.append(torch.stack([row @ M @ s + c for row in h]))
                truth.append(torch.full((6,), y))
        loss = F.binary_cross_entropy_with_logits(torch.cat(scores), torch.cat(truth))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, kept


def dense_diffusion(A):
    return 0.2 * torch.linalg.inv(torch.eye(len(A)) - 0.8 * A)


def dense_cut(S, cutoff):
    S = S.where(cutoff <= S, 0)
    return S / S.max(0).values


CASES = {
    "dgi": (dgi.fit, dgi.InfomaxConfig, [dense_adjacency()]),
    "mvgrl": (
        mvgrl.fit,
        mvgrl.MVGRLConfig,
        [dense_adjacency(), dense_diffusion(dense_adjacency())],
    ),
    "mvgrl, cut": (
        mvgrl.fit,
        mvgrl.MVGRLConfig,
        [dense_adjacency(), dense_cut(dense_diffusion(dense_adjacency()), 0.1)],
    ),
}
MANY_STEPS = {"dgi": {}, "mvgrl": {"steps": 100}, "mvgrl, cut": {"steps": 100, "cutoff": 0.1}}


@pytest.mark.parametrize("name", CASES)
def test_training_equals_a_dense_reference_and_keeps_the_epoch_with_the_lowest_loss(name):
    fit, Config, operators = CASES[name]
    said = []
    config = Config(dim=4, lr=0.02, epochs=25, patience=25, **MANY_STEPS[name])
    fitted = fit(GRAPH, None, config, seeded(), lambda *state: said.append(state))
    losses, codes = dense_training(operators, dim=4, lr=0.02, epochs=25)
    assert said == [(t, 25, f"loss {loss:.3f}") for t, loss in enumerate(losses, 1)]
    best = losses.index(min(losses))
    assert 0 < best < 24  # else the test would show nothing
    assert torch.allclose(fitted.representations, sum(codes[best]), atol=1e-3)


@pytest.mark.parametrize("name", CASES)
def test_training_stops_when_the_loss_has_not_fallen_for_a_while(name):
    fit, Config, operators = CASES[name]
    losses, _ = dense_training(operators, dim=4, lr=0.02, epochs=60)
    # the first epoch after which three in a row were no better than the best before them
    last = next(t for t in range(4, 60) if min(losses[t - 3 : t]) >= min(losses[: t - 3]))
    said = []
    config = Config(dim=4, lr=0.02, epochs=60, patience=3, **MANY_STEPS[name])
    fit(GRAPH, None, config, seeded(), lambda *state: said.append(state[:2]))
    assert said == [(t, 60) for t in range(1, last + 1)]


@pytest.mark.parametrize(("num_features", "dim"), [(30, 4), (3, 64)], ids=["wide", "narrow"])
def test_shuffled_rows_are_those_of_shuffled_attributes(num_features, dim):
    data = make_graph(50, num_classes=2, num_features=30)
    graph = prepare(Data(x=data.x.to_dense()[:, :num_features], edge_index=data.edge_index))
    network = Encoder(num_features, dim=dim, num_layers=1, activation="prelu", generator=seeded())
    with torch.no_grad():
        network.biases[0].uniform_(-1, 1, generator=seeded(2))
    order = torch.randperm(50, generator=seeded(1))
    attributes = graph.x.dense[order]
    for operator in (graph.adjacency.normalized, Diffusion(graph.adjacency.normalized, 0.2)):
        assert averages_first(graph.x, operator, dim) == (num_features == 3)
        rows, shuffled = mix(network, graph.x, operator, order)
        expected = operator @ (attributes @ network.weights[0]) + network.biases[0]
        assert torch.allclose(shuffled, expected, atol=1e-6)
        assert torch.equal(rows, mix(network, graph.x, operator)[0])
        expected = operator @ (graph.x.dense @ network.weights[0]) + network.biases[0]
        assert torch.allclose(rows, expected, atol=1e-6)


def test_diffusion_by_steps_is_near_the_dense_inverse():
    data = make_graph(200, num_classes=3, num_features=20)
    A = prepare(data).adjacency.normalized
    eye = torch.eye(200)
    exact = dense_diffusion(A.dense)
    found = Diffusion(A, mvgrl.MVGRLConfig().alpha, mvgrl.MVGRLConfig().steps) @ eye
    assert float((found - exact).abs().sum(1).max()) < 0.05  # 0.8^20 = 0.012 of a row's weight
    assert float((exact.diagonal() - found.diagonal()).abs().max()) < 0.002


# The loss


def test_scores_of_zero_cost_the_log_of_two():
    discriminator = Discriminator(3, seeded())
    codes = [[torch.zeros(5, 3), torch.zeros(5, 3)]]
    assert infomax_loss(discriminator, [nn.Identity()], codes).item() == pytest.approx(math.log(2))


def test_the_loss_by_hand():
    discriminator = Discriminator(2, seeded())
    discriminator.weight.data = torch.eye(2)
    discriminator.bias.data = torch.tensor(0.5)
    nodes, negatives = torch.tensor([[1.0, 0], [3, 0]]), torch.tensor([[0.0, 2], [0, -2]])
    s = 1 / (1 + math.exp(-2.0)), 0.5  # sigmoid of the mean (2, 0)
    scores = [s[0] + 0.5, 3 * s[0] + 0.5, 2 * s[1] + 0.5, -2 * s[1] + 0.5]
    terms = [math.log(1 + math.exp(-v if i < 2 else v)) for i, v in enumerate(scores)]
    found = infomax_loss(discriminator, [nn.Identity()], [[nodes, negatives]])
    assert found.item() == pytest.approx(sum(terms) / 4)


def test_with_two_views_each_is_scored_against_the_other():
    discriminator = Discriminator(2, seeded())
    first, second = ([torch.randn(4, 2, generator=seeded(i)) for i in (j, j + 1)] for j in (0, 2))
    both = infomax_loss(discriminator, [nn.Identity()] * 2, [first, second])

    def one_way(codes, summary_of):
        summary = summary_of[0].mean(0).sigmoid()
        good, bad = (rows @ discriminator.weight @ summary for rows in codes)
        return (F.softplus(-good).mean() + F.softplus(bad).mean()) / 2

    expected = (one_way(first, second) + one_way(second, first)) / 2
    assert both.item() == pytest.approx(expected.item(), rel=1e-6)
    own = (one_way(first, first) + one_way(second, second)) / 2
    assert abs(both.item() - own.item()) > 1e-4


def test_a_diffusion_cut_in_tiles_is_the_dense_one_cut(monkeypatch):
    monkeypatch.setattr(mvgrl, "COLUMNS_PER_TILE", 64)  # the last tile is not full
    A = prepare(make_graph(200, num_classes=3, num_features=20)).adjacency.normalized
    found = mvgrl.cut(Diffusion(A, 0.2, 100), cutoff=0.011)
    expected = dense_cut(dense_diffusion(A.dense), 0.011)
    assert torch.allclose(found.dense, expected, atol=1e-5)
    assert found.num_stored == int((expected > 0).sum()) < 200 * 200 / 2


def test_columns_that_are_cut_whole_stay_zero():
    A = prepare(GRAPH).adjacency.normalized
    found = mvgrl.cut(Diffusion(A, 0.2, 100), cutoff=0.405).dense
    assert torch.isfinite(found).all()
    empty = dense_diffusion(dense_adjacency()).max(0).values < 0.405
    assert 0 < int(empty.sum()) < 6
    assert bool((found[:, empty] == 0).all())
