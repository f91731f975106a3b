import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Data

from brgcl.baselines import forward, gcn
from brgcl.baselines.forward import (
    ForwardConfig,
    estimated_transition,
    fit,
    forward_cross_entropy,
)
from brgcl.contract import ObservedLabels
from brgcl.data import make_graph


def seeded(seed=0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_the_surest_node_of_each_class_gives_its_row():
    p = torch.tensor([[0.5, 0.3, 0.2], [0.8, 0.1, 0.1], [0.4, 0.5, 0.1], [0.35, 0.4, 0.25]])
    # nobody is predicted to be of the third class; node 3 comes nearest
    assert torch.equal(estimated_transition(p), p[torch.tensor([1, 2, 3])])


def test_values_by_hand():
    logits = torch.tensor([[0.25, 0.75], [0.5, 0.5]]).log()
    transition = torch.tensor([[0.8, 0.2], [0.4, 0.6]])
    # p T = [0.2 + 0.3, 0.05 + 0.45], [0.6, 0.4]
    wanted = -(torch.tensor(0.5).log() + torch.tensor(0.4).log()) / 2
    found = forward_cross_entropy(logits, torch.tensor([0, 1]), transition)
    assert torch.allclose(found, wanted)


def test_without_mixing_it_is_cross_entropy():
    logits = torch.randn(5, 3, generator=seeded())
    target = torch.tensor([0, 1, 2, 1, 0])
    found = forward_cross_entropy(logits, target, torch.eye(3))
    assert torch.allclose(found, F.cross_entropy(logits, target), atol=1e-6)


def test_a_right_transition_makes_the_truth_the_best_answer():
    """With the true T the loss over noisy labels is lowest at the true probabilities."""
    transition = torch.tensor([[0.7, 0.3], [0.3, 0.7]])
    target = torch.tensor([0] * 7 + [1] * 3)  # what ten nodes of class 0 are called
    sure, torn = (
        forward_cross_entropy(torch.tensor([[p, 1 - p]]).log().expand(10, 2), target, transition)
        for p in (0.999, 0.7)
    )
    assert sure < torn
    plain = [
        F.cross_entropy(torch.tensor([[p, 1 - p]]).log().expand(10, 2), target)
        for p in (0.999, 0.7)
    ]
    assert plain[0] > plain[1]


def test_an_impossible_label_keeps_the_loss_finite():
    logits = torch.zeros(1, 2, requires_grad=True)
    loss = forward_cross_entropy(logits, torch.tensor([1]), torch.tensor([[1.0, 0.0], [1.0, 0.0]]))
    loss.backward()
    assert loss.item() == pytest.approx(11.5129, rel=1e-4)  # -log 1e-5
    assert bool(logits.grad.isfinite().all())


def test_the_first_network_gives_the_transition_for_the_second(monkeypatch):
    data = make_graph(60, num_classes=3, num_features=20)
    graph = Data(x=data.x, edge_index=data.edge_index)
    labels = ObservedLabels(torch.where(data.train_mask, data.y, -1), None, 3)
    seen, said = [], []
    original = forward.forward_cross_entropy

    def spy(logits, target, transition):
        seen.append(transition)
        return original(logits, target, transition)

    monkeypatch.setattr(forward, "forward_cross_entropy", spy)
    config = ForwardConfig(hidden=4, pretrain_epochs=3, epochs=5)
    fit(graph, labels, config, seeded(), lambda *state: said.append(state[:2]))
    first = gcn.fit(graph, labels, gcn.GCNConfig(hidden=4, epochs=3), seeded())
    assert len(seen) == 5
    assert all(torch.equal(t, estimated_transition(first.probabilities)) for t in seen)
    assert said == [(done, 8) for done in range(1, 9)]
