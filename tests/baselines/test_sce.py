import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Data

from brgcl.baselines import gcn
from brgcl.baselines.sce import SCEConfig, fit, symmetric_cross_entropy
from brgcl.contract import ObservedLabels
from brgcl.data import make_graph


def seeded(seed=0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_values_by_hand():
    logits = torch.tensor([[0.25, 0.75], [0.5, 0.5]]).log()
    target = torch.tensor([0, 1])
    assert symmetric_cross_entropy(logits, target, 0.0, 1.0, -4.0).item() == pytest.approx(
        (4 * 0.75 + 4 * 0.5) / 2
    )
    assert symmetric_cross_entropy(logits, target, 1.0, 0.0, -4.0).item() == pytest.approx(
        1.5 * 0.693147, rel=1e-5
    )
    assert symmetric_cross_entropy(logits, target, 0.1, 2.0, -4.0).item() == pytest.approx(
        0.1 * 1.5 * 0.693147 + 2 * 2.5, rel=1e-5
    )


def test_the_second_term_is_cross_entropy_with_prediction_and_label_exchanged():
    logits = torch.randn(6, 3, generator=seeded())
    target = torch.tensor([0, 1, 2, 0, 1, 2])
    log_label = torch.where(F.one_hot(target, 3) == 1, 0.0, -3.0)
    wanted = -(logits.softmax(1) * log_label).sum(1).mean()
    assert torch.allclose(symmetric_cross_entropy(logits, target, 0.0, 1.0, -3.0), wanted)


def test_a_hopeless_label_costs_the_second_term_no_more_than_its_limit():
    logits = torch.tensor([[300.0, -300.0]], requires_grad=True)
    loss = symmetric_cross_entropy(logits, torch.tensor([1]), 0.0, 1.0, -4.0)
    loss.backward()
    assert loss.item() == pytest.approx(4)
    assert bool((logits.grad.abs() < 1e-6).all())


def test_cross_entropy_alone_is_the_gcn():
    data = make_graph(60, num_classes=3, num_features=20)
    graph = Data(x=data.x, edge_index=data.edge_index)
    labels = ObservedLabels(torch.where(data.train_mask, data.y, -1), None, 3)
    shared = {"hidden": 4, "epochs": 5}
    plain = gcn.fit(graph, labels, gcn.GCNConfig(**shared), seeded()).probabilities
    alone, both = (
        fit(graph, labels, SCEConfig(alpha=1.0, beta=beta, **shared), seeded()).probabilities
        for beta in (0.0, 1.0)
    )
    assert torch.allclose(alone, plain, atol=1e-6)
    assert not torch.allclose(both, plain, atol=1e-6)
