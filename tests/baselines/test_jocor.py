import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Data

from brgcl.baselines import jocor
from brgcl.baselines.jocor import JoCoRConfig, fit, joint_losses
from brgcl.contract import ObservedLabels
from brgcl.data import make_graph


def seeded(seed=0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


FIRST, SECOND = torch.randn(2, 5, 3, generator=seeded())
TARGET = torch.tensor([0, 1, 2, 1, 0])


def test_losses_are_labels_and_divergences_weighed():
    p, q = FIRST.softmax(1), SECOND.softmax(1)
    place = torch.arange(5)
    labels = -p[place, TARGET].log() - q[place, TARGET].log()
    divergence = (p * (p / q).log()).sum(1) + (q * (q / p).log()).sum(1)
    for lam in (0.0, 0.1, 0.9):
        wanted = (1 - lam) * labels + lam * divergence
        assert torch.allclose(joint_losses(FIRST, SECOND, TARGET, lam), wanted, atol=1e-5)


def test_values_by_hand():
    first = torch.tensor([[0.5, 0.5]]).log()
    second = torch.tensor([[0.25, 0.75]]).log()
    ln2, ln3 = 0.693147, 1.098612
    labels = ln2 + 2 * ln2
    divergence = 0.25 * ln2 + 0.25 * (ln3 - ln2)  # (p - q)(log p - log q), class by class
    found = joint_losses(first, second, torch.tensor([0]), 0.5).item()
    assert found == pytest.approx(0.5 * labels + 0.5 * divergence, rel=1e-5)


def test_networks_that_agree_have_no_divergence():
    wanted = 2 * 0.6 * F.cross_entropy(FIRST, TARGET, reduction="none")
    assert torch.allclose(joint_losses(FIRST, FIRST, TARGET, 0.4), wanted, atol=1e-6)


def test_the_divergence_pulls_both_networks():
    first, second = FIRST.clone().requires_grad_(), SECOND.clone().requires_grad_()
    joint_losses(first, second, TARGET, 0.999).sum().backward()
    step = 0.01
    closer = joint_losses(first - step * first.grad, second - step * second.grad, TARGET, 0.999)
    assert closer.sum() < joint_losses(FIRST, SECOND, TARGET, 0.999).sum()
    assert bool(first.grad.abs().sum() > 0)
    assert bool(second.grad.abs().sum() > 0)


def test_only_the_smallest_losses_are_learned_from(monkeypatch):
    data = make_graph(60, num_classes=3, num_features=20)
    labels = ObservedLabels(torch.where(data.train_mask, data.y, -1), None, 3)
    seen, said = [], []
    original = jocor.joint_losses

    def spy(*arguments):
        seen.append(original(*arguments))
        return seen[-1]

    monkeypatch.setattr(jocor, "joint_losses", spy)
    config = JoCoRConfig(hidden=4, epochs=4, forget_rate=0.5, ramp_epochs=2)
    fit(
        Data(x=data.x, edge_index=data.edge_index),
        labels,
        config,
        seeded(),
        lambda *state: said.append(float(state[2].split()[1])),
    )
    n = int((labels.train >= 0).sum())
    for losses, share, value in zip(seen, (0.75, 0.5, 0.5, 0.5), said, strict=True):
        assert losses.shape == (n,)
        wanted = losses.sort().values[: int(share * n)].mean().item()
        assert value == pytest.approx(wanted, abs=6e-4)
