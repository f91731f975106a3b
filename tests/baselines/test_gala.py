import dataclasses

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from brgcl.baselines.gala import GALAConfig, attribute_loss, fit, hold_out, sharpening, widths
from brgcl.baselines.shared import inputs
from brgcl.data import make_graph
from brgcl.errors import InputError
from brgcl.method.encoder import Encoder
from brgcl.method.graph import adjacency_from_edges
from brgcl.method.sparse import Matrix

# Two triangles with a bridge, 2-3, and a node apart, 6.
ENDS = torch.tensor([[0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5]])
EDGES = torch.cat([ENDS, ENDS.flip(0)], dim=1)
EDGES = EDGES[:, (EDGES[0] * 7 + EDGES[1]).argsort()]
X = torch.tensor([[2.0, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 1], [0, 3, 0], [1, 1, 1], [1, 0, 2]])


def dense_operators(weight=1.0):
    A = torch.zeros(7, 7)
    A[EDGES[0], EDGES[1]] = weight
    smooth, sharp = A + torch.eye(7), 2 * torch.eye(7) - A
    near, far = (A.sum(1) + 1).rsqrt(), (A.sum(1) + 2).rsqrt()
    return near[:, None] * smooth * near, far[:, None] * sharp * far


def run(x=X, report=None, **settings) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    graph = Data(x=x, edge_index=EDGES)
    return fit(graph, None, GALAConfig(**settings), generator, report).representations


# The operator


@pytest.mark.parametrize("weighted", [False, True])
def test_sharpening_equals_its_dense_form(weighted):
    low, high = EDGES.min(0).values, EDGES.max(0).values
    weight = 0.5 + low + high if weighted else None
    found = sharpening(adjacency_from_edges(EDGES, 7, weight)).data.to_dense()
    _, expected = dense_operators(1.0 if weight is None else weight)
    assert torch.allclose(found, expected, atol=1e-6)


def test_sharpening_has_the_values_computed_by_hand():
    pair = adjacency_from_edges(torch.tensor([[0, 1], [1, 0]]), 3)
    expected = torch.tensor([[2 / 3, -1 / 3, 0], [-1 / 3, 2 / 3, 0], [0, 0, 1]])
    assert torch.allclose(sharpening(pair).data.to_dense(), expected)


def test_sharpening_takes_a_node_away_from_its_neighbours_but_never_blows_up():
    _, sharp = dense_operators()
    assert torch.linalg.eigvalsh(sharp).abs().max() <= 1 + 1e-6
    signal = torch.tensor([1.0, 0, 0, 0, 0, 0, 0])
    assert (sharp @ signal)[1] < 0


# The loss


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("hidden", [2, 9])
def test_the_loss_equals_the_plain_formula(layout, hidden):
    generator = torch.Generator().manual_seed(0)
    p, weight = (
        torch.randn(*shape, generator=generator).requires_grad_()
        for shape in ((7, hidden), (hidden, 3))
    )
    x = Matrix(X.to_sparse_csr() if layout == "sparse" else X)
    loss = attribute_loss(p, weight, x)
    gradients = torch.autograd.grad(3 * loss, (p, weight))
    plain = (X - p @ weight).square().sum() / (2 * 7)
    expected = torch.autograd.grad(3 * plain, (p, weight))
    assert torch.allclose(loss, plain, rtol=1e-5)
    for found, wanted in zip(gradients, expected, strict=True):
        assert torch.allclose(found, wanted, atol=1e-5)


def test_the_loss_has_the_value_computed_by_hand():
    x = Matrix(torch.tensor([[1.0, 2.0], [0.0, 1.0]]))
    p, weight = torch.tensor([[1.0], [2.0]]), torch.tensor([[1.0, 1.0]])
    # X - P W = [[0, 1], [-2, -1]]
    assert attribute_loss(p, weight, x) == pytest.approx(6 / 4)


# The training


def test_training_equals_a_dense_reference():
    settings = {"hidden": 6, "dim": 4, "lr": 0.02, "epochs": 10, "held_out": 0.0}
    said = []
    z = run(report=lambda *state: said.append(state), **settings)
    smooth, sharp = dense_operators()
    generator = torch.Generator().manual_seed(0)
    start = [
        *Encoder(3, hidden=6, dim=4, generator=generator).weights,
        *Encoder(4, hidden=6, dim=3, generator=generator).weights,
    ]
    weights = [weight.detach().clone().requires_grad_() for weight in start]
    optimizer = torch.optim.Adam(weights, lr=0.02)
    losses = []
    for _ in range(10):
        code = smooth @ (smooth @ X @ weights[0]).clamp_min(0) @ weights[1]
        shown = sharp @ (sharp @ code @ weights[2]).clamp_min(0) @ weights[3]
        loss = (X - shown).square().sum() / 14
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    assert torch.allclose(
        z, smooth @ (smooth @ X @ weights[0]).clamp_min(0) @ weights[1], atol=1e-4
    )
    assert said == [(t, 10, f"loss {loss:.3f}") for t, loss in enumerate(losses, 1)]


def test_sparse_and_dense_attributes_give_the_same():
    settings = {"hidden": 6, "dim": 4, "lr": 0.02, "epochs": 10}
    assert torch.allclose(run(**settings), run(X.to_sparse_csr(), **settings), atol=1e-4)


# Attributes held out


@pytest.fixture
def attributes():
    generator = torch.Generator().manual_seed(1)
    return (torch.rand(40, 30, generator=generator) < 0.2).float()


@pytest.mark.parametrize("sparse", [False, True])
def test_a_tenth_of_the_attributes_is_taken_away(attributes, sparse):
    x = Matrix(attributes.to_sparse_csr() if sparse else attributes.clone())
    seen, held = hold_out(x, 0.1, torch.Generator().manual_seed(0))
    assert torch.equal(x.data.to_dense(), attributes)
    assert torch.equal(held.value, attributes[held.row, held.col])
    left = seen.data.to_dense()
    count = int(0.1 * attributes.sum())
    assert (held.value == 1).sum() == count
    assert (held.value == 0).sum() > count / 2
    assert left.sum() == attributes.sum() - count
    assert bool((left[held.row, held.col] == 0).all())


def test_what_is_told_is_a_correlation(attributes):
    _, held = hold_out(Matrix(attributes), 0.2, torch.Generator().manual_seed(0))
    p, weight = torch.randn(40, 5), torch.randn(5, 30)
    shown = (p @ weight)[held.row, held.col]
    wanted = np.corrcoef(shown.numpy(), held.value.numpy())[0, 1]
    assert held.told(p, weight) == pytest.approx(wanted, abs=1e-5)
    assert held.told(torch.zeros(40, 5), weight) == -1


def test_nothing_is_held_out_where_there_is_too_little():
    x = Matrix(torch.eye(4))
    assert hold_out(x, 0.0, torch.Generator()) == (x, None)
    assert hold_out(x, 0.3, torch.Generator()) == (x, None)


def test_training_stops_when_the_attributes_held_out_are_told_no_better():
    graph = make_graph(300, num_classes=3, num_features=60)
    said = []
    config = GALAConfig(hidden=64, dim=16, lr=0.02, epochs=400, patience=20)
    fitted = fit(graph, None, config, torch.Generator().manual_seed(0), lambda *s: said.append(s))
    assert 20 < len(said) < 400
    until = len(said) + 1 - config.patience  # the best look
    again = fit(
        graph, None, dataclasses.replace(config, epochs=until, patience=400),
        torch.Generator().manual_seed(0),
    )  # fmt: skip
    assert torch.equal(fitted.representations, again.representations)


# Limits


def test_large_graphs_get_a_narrower_network():
    assert widths(GALAConfig(), 5000) == (1600, 400)
    assert widths(GALAConfig(), 5001) == (256, 64)
    assert widths(GALAConfig(hidden=9, dim=5), 5001) == (9, 5)
    assert widths(GALAConfig(dim=5), 100) == (1600, 5)


def test_what_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr(inputs, "MOST_BYTES", 1000)
    with pytest.raises(InputError, match=r"gala would need .* narrower"):
        run()
