import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Data

from brgcl.baselines import gce, gcn
from brgcl.baselines.gce import GCEConfig, fit, generalized_cross_entropy, prunes_at
from brgcl.contract import ObservedLabels

# Two triangles with a bridge, 2-3.
ENDS = torch.tensor([[0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5]])
EDGES = torch.cat([ENDS, ENDS.flip(0)], dim=1)
EDGES = EDGES[:, (EDGES[0] * 6 + EDGES[1]).argsort()]
X = torch.tensor([[2.0, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 1], [0, 3, 0], [1, 1, 1]])
GRAPH = Data(x=X, edge_index=EDGES)
LABELS = ObservedLabels(torch.tensor([0, 0, -1, -1, 1, 1]), None, 2)


def seeded(seed=0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_values_by_hand():
    logits = torch.tensor([[0.25, 0.75], [0.5, 0.5], [0.9, 0.1]]).log()
    found = generalized_cross_entropy(logits, torch.tensor([0, 1, 0]), 0.5)
    wanted = torch.tensor([1.0, 2 - 2 * 0.5**0.5, 2 - 2 * 0.9**0.5])  # (1 - sqrt(p)) / 0.5
    assert torch.allclose(found, wanted, atol=1e-6)


def test_it_lies_between_cross_entropy_and_absolute_error():
    logits = torch.randn(20, 4, generator=seeded())
    target = torch.arange(20) % 4
    cross_entropy = F.cross_entropy(logits, target, reduction="none")
    error = 1 - logits.softmax(1)[torch.arange(20), target]
    small, middle, one = (generalized_cross_entropy(logits, target, q) for q in (1e-3, 0.7, 1.0))
    assert torch.allclose(small, cross_entropy, rtol=5e-3)
    assert torch.allclose(one, error, atol=1e-6)
    assert bool(((middle < cross_entropy) & (middle > error)).all())


def test_the_gradient_is_that_of_cross_entropy_times_p_to_the_q():
    target = torch.tensor([1, 0, 2])
    one, two = (torch.randn(3, 3, generator=seeded()).requires_grad_() for _ in range(2))
    generalized_cross_entropy(one, target, 0.7).sum().backward()
    F.cross_entropy(two, target, reduction="sum").backward()
    p = two.detach().softmax(1)[torch.arange(3), target]
    assert torch.allclose(one.grad, two.grad * p[:, None] ** 0.7, atol=1e-6)


def test_a_hopeless_label_keeps_the_gradient_finite():
    logits = torch.tensor([[200.0, -200.0]], requires_grad=True)
    loss = generalized_cross_entropy(logits, torch.tensor([1]), 0.7)
    loss.sum().backward()
    assert loss.item() == pytest.approx((1 - 1e-7**0.7) / 0.7)
    assert bool(logits.grad.isfinite().all())


def test_labels_are_pruned_each_tenth_epoch_from_the_given_one():
    config = GCEConfig(truncate=True, prune_from=15)
    assert [epoch for epoch in range(1, 45) if prunes_at(epoch, config)] == [20, 30, 40]
    assert not any(prunes_at(epoch, GCEConfig(prune_from=15)) for epoch in range(1, 45))


def test_the_first_loss_is_the_mean_over_labelled_nodes():
    """Without dropout the first epoch's loss follows from the first epoch of the GCN."""
    said = []
    config = {"hidden": 4, "dropout": 0.0, "epochs": 1, "lr": 1e-9, "weight_decay": 0.0}
    p = gcn.fit(GRAPH, LABELS, gcn.GCNConfig(**config), seeded()).probabilities
    fit(GRAPH, LABELS, GCEConfig(**config), seeded(), lambda *state: said.append(state))
    own = p[torch.tensor([0, 1, 4, 5]), torch.tensor([0, 0, 1, 1])]
    assert said == [(1, 1, f"loss {((1 - own**0.7) / 0.7).mean().item():.3f}")]


def pruned_run(k, monkeypatch):
    """Loss said at each of 12 epochs, and losses of the labelled nodes at the pruning."""
    monkeypatch.setattr(gce, "PRUNE_EVERY", 10)
    said, seen = [], []
    original = gce.generalized_cross_entropy

    def spy(logits, target, q):
        values = original(logits, target, q)
        seen.append(values.detach())
        return values

    monkeypatch.setattr(gce, "generalized_cross_entropy", spy)
    config = GCEConfig(hidden=4, dropout=0.0, epochs=12, lr=0.05, truncate=True, k=k, prune_from=10)
    fit(GRAPH, LABELS, config, seeded(), lambda *state: said.append(float(state[2].split()[1])))
    return said, seen


def test_truncated_loss_counts_only_labels_above_k(monkeypatch):
    k = 0.59
    said, seen = pruned_run(k, monkeypatch)
    limit = (1 - k**0.7) / 0.7
    before, at_pruning, after = seen[8], seen[9], seen[10]  # epochs 9, 10 (twice)
    assert said[8] == pytest.approx((before - limit).mean().item(), abs=6e-4)
    kept = at_pruning < limit
    assert 0 < int(kept.sum()) < 4  # k separates the labels, or the test says nothing
    wanted = torch.where(kept, after - limit, 0).sum() / 4
    assert said[9] == pytest.approx(wanted.item(), abs=6e-4)


def test_pruning_everything_is_survived(monkeypatch):
    said, _ = pruned_run(0.999, monkeypatch)
    assert said[9:] == [0, 0, 0]
