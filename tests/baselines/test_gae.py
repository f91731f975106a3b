import torch
import torch.nn.functional as F
from torch_geometric.data import Data

from brgcl.baselines.gae import GAEConfig, fit
from brgcl.method.encoder import Encoder

# Two triangles with a bridge, 2-3, and a node apart, 6.
ENDS = torch.tensor([[0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5]])
EDGES = torch.cat([ENDS, ENDS.flip(0)], dim=1)
EDGES = EDGES[:, (EDGES[0] * 7 + EDGES[1]).argsort()]
X = torch.eye(7)
X[6] = 0
GRAPH = Data(x=X, edge_index=EDGES)
TARGET = torch.eye(7)
TARGET[EDGES[0], EDGES[1]] = 1


def run(seed=0, report=None, graph=GRAPH, **settings) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return fit(graph, None, GAEConfig(**settings), generator, report).representations


def dense_training(config):
    """The same training with dense matrices: losses and the last codes."""
    scale = TARGET.sum(1).rsqrt()
    A = scale[:, None] * TARGET * scale
    generator = torch.Generator().manual_seed(0)
    start = Encoder(7, hidden=config.hidden, dim=config.dim, generator=generator)
    W0, W1 = (weight.detach().clone().requires_grad_() for weight in start.weights)
    optimizer = torch.optim.Adam([W0, W1], lr=config.lr)
    weight, norm = torch.tensor((49 - 14) / 14), 49 / (2 * (49 - 14))
    losses = []
    for _ in range(config.epochs):
        z = A @ (A @ X @ W0).clamp_min(0) @ W1
        loss = norm * F.binary_cross_entropy_with_logits(z @ z.T, TARGET, pos_weight=weight)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, A @ (A @ X @ W0).clamp_min(0) @ W1


def test_training_equals_a_dense_reference():
    settings = {"hidden": 5, "dim": 3, "epochs": 12, "lr": 0.05}
    said = []
    z = run(report=lambda *state: said.append(state), **settings)
    losses, expected = dense_training(GAEConfig(**settings))
    assert torch.allclose(z, expected, atol=1e-4)
    assert said == [(t, 12, f"loss {loss:.3f}") for t, loss in enumerate(losses, 1)]


def test_neighbours_score_higher_than_others_after_training():
    z = run(hidden=8, dim=4, epochs=200)[:6]
    score, joined = z @ z.T, TARGET[:6, :6] > 0
    assert score[joined].mean() > score[~joined].mean() + 1


def test_there_are_no_biases():
    """A node without neighbours and attributes has a code of zeros, however long training lasts."""
    assert torch.equal(run(epochs=30)[6], torch.zeros(16))


def test_sampled_pairs_train_too_and_are_drawn_from_the_generator():
    exact, sampled, again = (run(epochs=20, num_negatives=count) for count in (None, 3, 3))
    assert torch.equal(sampled, again)
    assert not torch.equal(exact, sampled)
    assert torch.equal(run(epochs=20, num_negatives=7), exact)  # all nodes, so none is drawn


def test_attributes_are_taken_as_given_unless_told_otherwise():
    rows = Data(x=X * torch.arange(1.0, 8)[:, None], edge_index=EDGES)
    assert not torch.allclose(run(graph=rows, epochs=3), run(epochs=3))
    scaled = (run(graph=graph, epochs=3, attributes="auto") for graph in (rows, GRAPH))
    assert torch.equal(*scaled)
