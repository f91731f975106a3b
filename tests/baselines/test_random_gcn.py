import pytest
import torch
from torch_geometric.data import Data

from brgcl.baselines.random_gcn import RandomGCNConfig, fit
from brgcl.baselines.shared import inputs
from brgcl.errors import InputError
from brgcl.method.encoder import Encoder

# A path of three nodes and one apart.
EDGES = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
X = torch.tensor([[1.0, 3], [2, 0], [1, 1], [0, 5]])
A = torch.tensor([[1.0, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1]])


def run(seed=0, **settings) -> torch.Tensor:
    graph = Data(x=X, edge_index=EDGES)
    generator = torch.Generator().manual_seed(seed)
    return fit(graph, None, RandomGCNConfig(**settings), generator).representations


def test_representations_are_those_of_an_untrained_encoder():
    start = Encoder(2, hidden=5, dim=4, generator=torch.Generator().manual_seed(0))
    W0, W1 = (weight.detach() for weight in start.weights)
    scale = A.sum(1).rsqrt()
    smooth = scale[:, None] * A * scale
    x = X / X.sum(1, keepdim=True)
    expected = smooth @ (smooth @ x @ W0).clamp_min(0) @ W1
    assert torch.allclose(run(hidden=5, dim=4), expected, atol=1e-6)


def test_weights_come_from_the_generator():
    assert torch.equal(run(0), run(0))
    assert not torch.equal(run(0), run(1))


def test_any_number_of_layers():
    assert run(num_layers=1, dim=3).shape == (4, 3)
    assert run(num_layers=4, hidden=6, dim=3).shape == (4, 3)


def test_what_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr(inputs, "MOST_BYTES", 1000)
    with pytest.raises(InputError, match=r"random-gcn would need .* narrower"):
        run()
