import dataclasses

import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Data

from brgcl.baselines.brgcl_joint import BRGCLJointConfig, fit, make_head
from brgcl.config import BRGCLConfig
from brgcl.contract import ObservedLabels
from brgcl.method.encoder import Encoder
from brgcl.method.inputs import prepare
from brgcl.method.train import train
from brgcl.tasks.classifiers import soft_targets

# Two triangles with a bridge, 2-3.
ENDS = torch.tensor([[0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5]])
EDGES = torch.cat([ENDS, ENDS.flip(0)], dim=1)
EDGES = EDGES[:, (EDGES[0] * 6 + EDGES[1]).argsort()]
X = torch.tensor([[2.0, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 1], [0, 3, 0], [1, 1, 1]])
GRAPH = Data(x=X, edge_index=EDGES, num_nodes=6)
LABELS = ObservedLabels(torch.tensor([0, 0, -1, -1, 1, 1]), None, 2)
SMALL = {"hidden": 4, "dim": 3, "head_units": 5, "lr": 0.05, "head_lr": 0.05, "epochs": 6}


def rng(seed=0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def dense_training(config, targets, nodes):
    """The classifier's loss alone, without sparse products: unit rows and logits at the end."""
    A = torch.eye(6)
    A[EDGES[0], EDGES[1]] = 1
    scale = A.sum(1).rsqrt()
    A = scale[:, None] * A * scale
    x = X / X.sum(1, keepdim=True)
    generator = rng()
    head = make_head(config.dim, config.head_units, 2, generator)
    start = Encoder(3, hidden=config.hidden, dim=config.dim, generator=generator)
    W0, W1 = (weight.detach().clone().requires_grad_() for weight in start.weights)
    b0, b1 = (bias.detach().clone().requires_grad_() for bias in start.biases)
    optimizer = torch.optim.Adam(
        [{"params": [W0, W1, b0, b1], "lr": config.lr}, {"params": head.parameters()}],
        lr=config.head_lr,
    )

    def forward():
        h = A @ (A @ x @ W0 + b0).clamp_min(0) @ W1 + b1
        h = h / h.norm(dim=1, keepdim=True)
        return h, head(h)

    for _ in range(config.epochs):
        _, logits = forward()
        loss = -(targets * logits[nodes].log_softmax(1)).sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        return forward()


@pytest.mark.parametrize("soft_labels", ["normalize", "softmax", "hard"])
def test_without_contrasts_training_equals_a_dense_reference(soft_labels):
    config = BRGCLJointConfig(**SMALL, node_weight=0.0, proto_weight=0.0, soft_labels=soft_labels)
    nodes = torch.tensor([0, 1, 4, 5])
    transition = prepare(GRAPH).adjacency.transition
    targets = soft_targets(LABELS.train, 2, transition, soft_labels, 0.1, 10)[nodes]
    h, logits = dense_training(config, targets, nodes)
    fitted = fit(GRAPH, LABELS, config, rng())
    assert torch.allclose(fitted.representations, h, atol=1e-5)
    assert torch.allclose(fitted.probabilities, logits.softmax(1), atol=1e-5)


def test_without_the_classifiers_loss_the_representations_are_those_of_brgcl():
    shared = {"hidden": 4, "dim": 3, "epochs": 8, "warmup_epochs": 3, "lr": 0.05}
    config = BRGCLJointConfig(**shared, class_weight=0.0)
    generator = rng()
    make_head(3, config.head_units, 2, generator)  # takes its numbers first
    prepared = prepare(GRAPH)
    encoder, _ = train(prepared, BRGCLConfig(**shared), generator)
    with torch.no_grad():
        h = F.normalize(encoder(prepared.x, prepared.adjacency.normalized), dim=1)
    assert torch.allclose(fit(GRAPH, LABELS, config, rng()).representations, h, atol=1e-5)


def test_the_classifiers_loss_reaches_the_representations():
    one, two = (
        fit(GRAPH, LABELS, BRGCLJointConfig(**SMALL, class_weight=weight), rng())
        for weight in (0.5, 1.0)
    )
    assert not torch.allclose(one.representations, two.representations)


def test_the_reported_loss_is_the_weighted_sum():
    said = {}
    base = BRGCLJointConfig(**{**SMALL, "epochs": 2}, warmup_epochs=0, xi=0.01)
    for name, changes in (
        ("all", {}),
        ("node", {"proto_weight": 0.0, "class_weight": 0.0}),
        ("proto", {"node_weight": 0.0, "class_weight": 0.0}),
        ("class", {"node_weight": 0.0, "proto_weight": 0.0}),
    ):
        config = dataclasses.replace(base, **changes)
        words = []
        fit(GRAPH, LABELS, config, rng(), lambda *state, words=words: words.append(state))
        assert [state[:2] for state in words] == [(1, 2), (2, 2)]
        said[name] = float(words[0][2].split()[1])
    assert said["all"] == pytest.approx(said["node"] + said["proto"] + said["class"], abs=2e-3)
    assert min(said.values()) > 0


def test_validation_labels_choose_the_epoch():
    validation = torch.tensor([-1, -1, 1, 0, -1, -1])  # the wrong way round: early epochs win
    config = dataclasses.replace(config_of(30), warmup_epochs=2)
    chosen = fit(GRAPH, dataclasses.replace(LABELS, validation=validation), config, rng())
    last = fit(GRAPH, LABELS, config, rng())
    assert not torch.equal(chosen.representations, last.representations)
    assert last.probabilities.argmax(1)[[0, 1, 4, 5]].tolist() == [0, 0, 1, 1]


def test_epochs_of_the_warm_up_can_be_chosen():
    validation = torch.tensor([-1, -1, 1, 0, -1, -1])  # the wrong way round: early epochs win
    labels = dataclasses.replace(LABELS, validation=validation)
    config = dataclasses.replace(config_of(30), warmup_epochs=29)
    chosen = fit(GRAPH, labels, config, rng()).representations
    alone = dataclasses.replace(config, proto_weight=0.0)  # the same epochs but for the last
    assert torch.equal(chosen, fit(GRAPH, labels, alone, rng()).representations)
    assert not torch.equal(chosen, fit(GRAPH, LABELS, config, rng()).representations)


def config_of(epochs):
    return BRGCLJointConfig(**{**SMALL, "epochs": epochs})
