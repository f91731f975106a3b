import math

import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Data

from brgcl.baselines import graphmae
from brgcl.baselines.graphmae import (
    Autoencoder,
    GraphMAEConfig,
    cosines,
    draw_mask,
    fit,
)
from brgcl.data import make_graph
from brgcl.errors import InputError
from brgcl.method.attention import links_of
from brgcl.method.inputs import prepare
from brgcl.method.sparse import Matrix
from dense_attention import LINKS, dense_attention, normal, seeded

# The error


@pytest.mark.parametrize("sparse", [False, True])
def test_cosines_are_those_of_the_rebuilt_attributes(sparse):
    x = normal(7, 9) * (normal(7, 9, seed=1) > 0)
    z, weight = normal(3, 4, seed=2).requires_grad_(), normal(4, 9, seed=3).requires_grad_()
    bias = normal(9, seed=4).requires_grad_()
    nodes = torch.tensor([5, 0, 3])
    matrix = Matrix(x.to_sparse_csr() if sparse else x)
    found = cosines(matrix, z, weight, bias, nodes)
    expected = F.cosine_similarity(x[nodes], z @ weight + bias)
    assert torch.allclose(found, expected)
    parts = (z, weight, bias)
    ours, theirs = (torch.autograd.grad(out.square().sum(), parts) for out in (found, expected))
    assert all(torch.allclose(a, b) for a, b in zip(ours, theirs, strict=True))


def test_a_row_of_zeros_has_a_cosine_of_zero_and_no_gradient():
    x = torch.tensor([[0.0, 0], [1, 2]])
    z, bias = torch.tensor([[1.0], [0.0]]).requires_grad_(), torch.zeros(2, requires_grad=True)
    weight = torch.ones(1, 2, requires_grad=True)
    found = cosines(Matrix(x), z, weight, bias, torch.tensor([0, 1]))
    assert found.tolist() == [0, 0]  # the first has no attributes, of the second zeros are rebuilt
    for gradient in torch.autograd.grad(found.sum(), (z, weight, bias)):
        assert not gradient.any()


def test_the_loss_equals_a_dense_reference():
    config = GraphMAEConfig(
        dim=6, heads=2, replace=0.4, exponent=2.5, input_dropout=0.0, attention_dropout=0.0
    )
    torch.manual_seed(0)
    model = Autoencoder(4, config).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(normal(*parameter.shape, seed=parameter.numel()))
    x = normal(7, 4).abs()
    mask = draw_mask(7, GraphMAEConfig(mask=0.8, replace=0.4), seeded(3))
    assert len(mask.hidden) == 5
    assert int(mask.token.sum()) == 3
    found = model(Matrix(x), LINKS, mask, seeded())

    def layer(part, h, heads):
        projected = h @ part.weight
        split = projected.view(7, heads, -1)
        shares = dense_attention((split * part.receive).sum(2), (split * part.send).sum(2))
        return torch.einsum("kij,jkd->ikd", shares, split).reshape(7, -1) + part.bias

    shown = x.clone()
    replaced = [i for i in mask.hidden.tolist() if not mask.token[i]]
    shown[replaced] = x[mask.shown[replaced]]
    shown[mask.token] = model.token
    h = model.activations[0](layer(model.first, shown, 2))
    h = model.activations[1](layer(model.second, h, 2))
    h = model.bridge(h)
    h[mask.hidden] = 0
    rebuilt = layer(model.decoder, h, 1)
    cosine = F.cosine_similarity(x[mask.hidden], rebuilt[mask.hidden])
    assert found.item() == pytest.approx((1 - cosine).pow(2.5).mean().item(), rel=1e-9)


# The mask


def test_masks_have_the_sizes_that_the_settings_say():
    mask = draw_mask(1000, GraphMAEConfig(mask=0.6, replace=0.1), seeded())
    assert len(mask.hidden) == len(set(mask.hidden.tolist())) == 600
    assert int(mask.token.sum()) == 540
    assert set(mask.token.nonzero().squeeze(1).tolist()) < set(mask.hidden.tolist())
    moved = (mask.shown != torch.arange(1000)).nonzero().squeeze(1)
    assert 58 <= len(moved) <= 60  # chance may pick a node itself
    assert not mask.token[moved].any()
    assert set(moved.tolist()) < set(mask.hidden.tolist())


def test_something_is_hidden_on_the_smallest_graph():
    assert len(draw_mask(2, GraphMAEConfig(mask=0.1), seeded()).hidden) == 1


# Training


def small_fit(**changes):
    said = []
    config = GraphMAEConfig(**({"dim": 16, "heads": 2, "epochs": 40, "lr": 0.01} | changes))
    graph = make_graph(120, num_classes=3, num_features=40)
    fitted = fit(graph, None, config, seeded(), lambda *s: said.append(float(s[2].split()[1])))
    return said, fitted.representations


def test_training_lowers_the_error():
    said, codes = small_fit()
    assert sum(said[-5:]) < 0.8 * sum(said[:5])
    assert codes.shape == (120, 16)


def test_representations_are_those_of_the_whole_graph_without_dropout():
    _, plain = small_fit(epochs=1, lr=1e-12, weight_decay=0.0)
    graph = prepare(make_graph(120, num_classes=3, num_features=40))
    torch.manual_seed(int(torch.randint(2**31 - 1, (), generator=seeded())))
    model = Autoencoder(40, GraphMAEConfig(dim=16, heads=2)).eval()
    expected = model.encode(graph.x @ model.first.weight, links_of(graph.adjacency))
    assert torch.allclose(plain, expected, atol=1e-5)


def test_the_learning_rate_falls_along_a_cosine(monkeypatch):
    rates = []
    step = torch.optim.Adam.step

    def watched(self, *arguments, **more):
        rates.append(self.param_groups[0]["lr"])
        return step(self, *arguments, **more)

    monkeypatch.setattr(torch.optim.Adam, "step", watched)
    small_fit(epochs=4, lr=0.02)
    assert rates == pytest.approx([0.01 * (1 + math.cos(math.pi * t / 4)) for t in range(4)])


def test_what_cannot_fit_is_refused_before_any_work(monkeypatch):
    monkeypatch.setattr(graphmae, "prepare", None)
    graph = Data(x=torch.ones(1, 1), edge_index=torch.empty(2, 0), num_nodes=10**6)
    with pytest.raises(InputError, match=r"graphmae would need about 33 GB .*; set dim below 512"):
        fit(graph, None, GraphMAEConfig(), seeded())
