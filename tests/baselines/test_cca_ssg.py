import pytest
import torch
from torch_geometric.data import Data

from brgcl.baselines.cca_ssg import CCASSGConfig, fit
from brgcl.data import make_graph
from brgcl.method.encoder import Encoder
from brgcl.methods import METHODS

# Two triangles with a bridge, 2-3.
ENDS = torch.tensor([[0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5]])
EDGES = torch.cat([ENDS, ENDS.flip(0)], dim=1)
EDGES = EDGES[:, (EDGES[0] * 6 + EDGES[1]).argsort()]
X = torch.tensor([[2.0, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 1], [0, 3, 0], [1, 1, 1]])
GRAPH = Data(x=X, edge_index=EDGES)
PLAIN = {"hidden": 4, "dim": 3, "drop": 0.0, "mask": 0.0, "epochs": 6, "lr": 0.05}


def seeded(seed=0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def dense_training(config, layers):
    """The same training with dense matrices, on views from which nothing is missing."""
    A = torch.eye(6)
    if config.encoder == "gcn":
        A[EDGES[0], EDGES[1]] = 1
    scale = A.sum(1).rsqrt()
    A = scale[:, None] * A * scale
    x = X / X.sum(1, keepdim=True)
    start = Encoder(3, hidden=config.hidden, dim=config.dim, num_layers=layers, generator=seeded())
    weights = [w.detach().clone().requires_grad_() for w in start.weights]
    biases = [b.detach().clone().requires_grad_() for b in start.biases]
    gain = torch.ones(config.hidden, requires_grad=True)
    shift = torch.zeros(config.hidden, requires_grad=True)
    optimizer = torch.optim.Adam([*weights, *biases[:-1], gain, shift], lr=config.lr)

    def forward():
        h = x
        for number, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
            if number and config.encoder == "mlp":
                spread = h.var(0, correction=0)
                h = (h - h.mean(0)) / (spread + 1e-5).sqrt() * gain + shift
            h = A @ (h.clamp_min(0) if number else h) @ weight + bias
        return h

    said = []
    for _ in range(config.epochs):
        h = forward()
        z = (h - h.mean(0)) / h.std(0)
        together = z.T @ z / 6
        redundancy = (together - torch.eye(config.dim)).pow(2).sum()
        loss = -together.trace() + 2 * config.decorrelation_weight * redundancy
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        said.append(loss.item() / config.dim)
    return said, forward().detach()


@pytest.mark.parametrize(
    ("changes", "layers"),
    [({}, 2), ({"num_layers": 1}, 1), ({"encoder": "mlp"}, 2)],
    ids=["gcn", "one layer", "mlp"],
)
def test_training_on_whole_views_equals_a_dense_reference(changes, layers):
    config = CCASSGConfig(**PLAIN, decorrelation_weight=0.2, **changes)
    said = []
    fitted = fit(GRAPH, None, config, seeded(), lambda *state: said.append(state))
    losses, codes = dense_training(config, layers)
    assert said == [(t, 6, f"loss {loss:.3f}") for t, loss in enumerate(losses, 1)]
    assert torch.allclose(fitted.representations, codes, atol=1e-4)


def test_the_perceptron_sees_no_edges():
    apart = Data(x=X, edge_index=torch.empty(2, 0, dtype=torch.long))
    config = CCASSGConfig(encoder="mlp", hidden=4, dim=3, epochs=3)
    one, other = (fit(graph, None, config, seeded()).representations for graph in (GRAPH, apart))
    assert torch.equal(one, other)
    config = CCASSGConfig(hidden=4, dim=3, epochs=3)
    one, other = (fit(graph, None, config, seeded()).representations for graph in (GRAPH, apart))
    assert not torch.allclose(one, other, atol=0.01)


@pytest.mark.parametrize("encoder", ["gcn", "mlp"])
@pytest.mark.parametrize("missing", ["drop", "mask"])
def test_views_miss_what_the_settings_say(encoder, missing):
    plain, dropped = (
        fit(
            GRAPH, None, CCASSGConfig(**PLAIN | {"encoder": encoder, missing: share}), seeded()
        ).representations
        for share in (0.0, 0.4)
    )
    unused = encoder == "mlp" and missing == "drop"  # it sees no edges that could be dropped
    assert torch.equal(plain, dropped) == unused


def test_decorrelation_makes_the_dimensions_differ():
    graph = make_graph(150, num_classes=3, num_features=40)

    def largest_correlation(weight):
        config = CCASSGConfig(
            hidden=16, dim=6, epochs=60, lr=0.01, drop=0.2, decorrelation_weight=weight
        )
        codes = fit(graph, None, config, seeded()).representations
        return float((codes.T.corrcoef() - torch.eye(6)).abs().mean())

    assert largest_correlation(1.0) < 0.5 * largest_correlation(0.0)


def test_the_presets_are_those_of_the_authors():
    entry = METHODS["cca-ssg"]
    assert (entry.config("citeseer").num_layers, entry.config("citeseer").epochs) == (1, 20)
    assert entry.config("pubmed").epochs == 100
    assert entry.config("coauthor-cs").encoder == "mlp"
    assert entry.config("cora") == entry.config() == CCASSGConfig()
