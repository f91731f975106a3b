import torch
import torch.nn.functional as F
from torch_geometric.data import Data

from brgcl.baselines.mlp import MLPConfig, fit
from brgcl.contract import ObservedLabels
from brgcl.method.encoder import Encoder

EDGES = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
X = torch.tensor([[2.0, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 1], [0, 3, 0], [1, 1, 1]])
LABELS = ObservedLabels(torch.tensor([0, 0, -1, -1, 1, 1]), None, 2)


def run(edges=EDGES, said=None, **settings):
    graph = Data(x=X, edge_index=edges, num_nodes=6)
    config = MLPConfig(**{"hidden": 4, "epochs": 8, "lr": 0.05, **settings})
    report = None if said is None else lambda *state: said.append(state)
    return fit(graph, LABELS, config, torch.Generator().manual_seed(0), report)


def test_without_dropout_training_equals_a_reference_of_plain_layers():
    start = Encoder(3, hidden=4, dim=2, generator=torch.Generator().manual_seed(0))
    first, second = torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)
    for layer, weight in zip((first, second), start.weights, strict=True):
        layer.weight.data.copy_(weight.T)
        torch.nn.init.zeros_(layer.bias)
    parameters = [*first.parameters(), *second.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=0.05, weight_decay=5e-4)
    x, nodes, losses = X / X.sum(1, keepdim=True), [0, 1, 4, 5], []
    for _ in range(8):
        loss = F.cross_entropy(second(F.relu(first(x)))[nodes], LABELS.train[nodes])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    said = []
    fitted = run(said=said, dropout=0.0)
    hidden = F.relu(first(x)).detach()
    assert torch.allclose(fitted.representations, hidden, atol=1e-5)
    assert torch.allclose(fitted.probabilities, second(hidden).softmax(1).detach(), atol=1e-5)
    assert said == [(t, 8, f"loss {value:.3f}") for t, value in enumerate(losses, 1)]


def test_no_edge_changes_a_byte():
    with_edges, without = run(), run(edges=torch.empty(2, 0, dtype=torch.long))
    assert torch.equal(with_edges.representations, without.representations)
    assert torch.equal(with_edges.probabilities, without.probabilities)
