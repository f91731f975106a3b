import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Data

from brgcl.baselines import gcn
from brgcl.baselines.gcn import GCNConfig, fit
from brgcl.contract import ObservedLabels
from brgcl.data import make_graph
from brgcl.errors import InputError
from brgcl.method.encoder import Encoder

# Two triangles with a bridge, 2-3.
ENDS = torch.tensor([[0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5]])
EDGES = torch.cat([ENDS, ENDS.flip(0)], dim=1)
EDGES = EDGES[:, (EDGES[0] * 6 + EDGES[1]).argsort()]
X = torch.tensor([[2.0, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 1], [0, 3, 0], [1, 1, 1]])
Y = torch.tensor([0, 0, 0, 1, 1, 1])
GRAPH = Data(x=X, edge_index=EDGES)


def observed(train, validation=None) -> ObservedLabels:
    given = None if validation is None else torch.tensor(validation)
    return ObservedLabels(torch.tensor(train), given, 2)


def seeded(seed=0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def dense_training(labels, config, seed=0):
    """The same training without sparse products and without dropout: loss and output per epoch."""
    A = torch.eye(6)
    A[EDGES[0], EDGES[1]] = 1
    scale = A.sum(1).rsqrt()
    A = scale[:, None] * A * scale
    x = X / X.sum(1, keepdim=True)
    start = Encoder(3, hidden=config.hidden, dim=2, generator=seeded(seed))
    W0, W1 = (weight.detach().clone().requires_grad_() for weight in start.weights)
    b0, b1 = (bias.detach().clone().requires_grad_() for bias in start.biases)
    optimizer = torch.optim.Adam([W0, W1, b0, b1], lr=config.lr, weight_decay=config.weight_decay)

    def forward():
        hidden = (A @ x @ W0 + b0).clamp_min(0)
        return hidden, A @ hidden @ W1 + b1

    epochs = []
    known = labels >= 0
    for _ in range(config.epochs):
        _, logits = forward()
        shares = logits.exp() / logits.exp().sum(1, keepdim=True)
        loss = -shares[known, labels[known]].log().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            epochs.append((loss.item(), *forward()))
    return epochs


LABELS = [0, 0, -1, -1, 1, 1]


def test_without_dropout_training_equals_a_dense_reference():
    config = GCNConfig(hidden=4, dropout=0.0, epochs=8, lr=0.05)
    said = []
    fitted = fit(GRAPH, observed(LABELS), config, seeded(), lambda *state: said.append(state))
    reference = dense_training(torch.tensor(LABELS), config)
    _, hidden, logits = reference[-1]
    assert torch.allclose(fitted.representations, hidden, atol=1e-5)
    assert torch.allclose(fitted.probabilities, logits.softmax(1), atol=1e-5)
    assert said == [(t, 8, f"loss {row[0]:.3f}") for t, row in enumerate(reference, 1)]


def test_validation_labels_pick_the_first_best_epoch():
    config = GCNConfig(hidden=4, dropout=0.0, epochs=30, lr=0.05)
    wanted = [-1, -1, 0, 1, -1, -1]
    found = set()
    for seed in range(6):
        reference = dense_training(torch.tensor(LABELS), config, seed)
        scores = [int((logits.argmax(1) == torch.tensor(wanted)).sum()) for *_, logits in reference]
        best = scores.index(max(scores))
        fitted = fit(GRAPH, observed(LABELS, wanted), config, seeded(seed))
        assert torch.allclose(fitted.probabilities, reference[best][2].softmax(1), atol=1e-5)
        found.add(best)
    assert len(found) > 1  # the seeds differ in where their best epoch is


def test_without_validation_labels_the_last_epoch_is_taken():
    config = GCNConfig(hidden=4, dropout=0.0, epochs=30, lr=0.05)
    reference = dense_training(torch.tensor(LABELS), config)
    fitted = fit(GRAPH, observed(LABELS), config, seeded())
    assert torch.allclose(fitted.probabilities, reference[-1][2].softmax(1), atol=1e-5)


def test_validation_labels_touch_nothing_but_the_choice():
    config = GCNConfig(hidden=4, epochs=1)
    found = [
        fit(GRAPH, observed(LABELS, validation), config, seeded()).probabilities
        for validation in (None, [-1, -1, 0, 1, -1, -1], [-1, -1, 1, 0, -1, -1])
    ]
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


def test_dropout_is_drawn_from_the_generator_and_not_used_to_predict():
    plain, dropped = (
        fit(GRAPH, observed(LABELS), GCNConfig(hidden=4, dropout=p, epochs=4), seeded())
        for p in (0.0, 0.5)
    )
    assert not torch.equal(plain.probabilities, dropped.probabilities)
    again = fit(GRAPH, observed(LABELS), GCNConfig(hidden=4, dropout=0.5, epochs=4), seeded())
    assert torch.equal(again.probabilities, dropped.probabilities)


def test_it_learns_two_triangles():
    fitted = fit(GRAPH, observed(LABELS), GCNConfig(epochs=100), seeded())
    assert fitted.probabilities.argmax(1).tolist() == Y.tolist()
    assert F.cross_entropy(fitted.probabilities.log(), Y) < 0.3


@pytest.mark.parametrize("labels", [None, observed([-1] * 6)], ids=["none", "all unlabelled"])
def test_it_wants_labels(labels):
    with pytest.raises(InputError, match="gcn learns from labels, and none are given"):
        fit(GRAPH, labels, GCNConfig(), seeded())


def test_the_wide_gcn_is_the_gcn_with_more_units():
    data = make_graph(60, num_classes=2, num_features=10, seed=0)
    labels = ObservedLabels(torch.where(torch.arange(60) < 20, data.y, -1), None, 2)
    config = gcn.WIDE.config(epochs=5)
    assert config == gcn.METHOD.config(epochs=5, hidden=256)
    wide, same = (
        method.fit(data, labels, config, torch.Generator().manual_seed(0))
        for method in (gcn.WIDE, gcn.METHOD)
    )
    assert wide.representations.shape == (60, 256)
    assert torch.equal(wide.representations, same.representations)
    assert torch.equal(wide.probabilities, same.probabilities)


def test_settings_of_the_wide_gcn_are_those_of_the_gcn():
    for name in (*gcn.METHOD.presets, "cora"):
        assert gcn.WIDE.config(name) == gcn.METHOD.config(name, hidden=256)
