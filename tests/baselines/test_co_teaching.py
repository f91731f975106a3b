import math

import pytest
import torch
from torch_geometric.data import Data

from brgcl.baselines import co_teaching
from brgcl.baselines.co_teaching import PeersConfig, exchanged_loss, fit
from brgcl.contract import ObservedLabels
from brgcl.data import make_graph


def logits_with_losses(losses):
    """Logits of two classes whose cross-entropy at class 0 is as given."""
    p = torch.tensor([-loss for loss in losses]).exp()
    return torch.stack([p, 1 - p], dim=1).log().requires_grad_()


FIRST = [0.1, 0.2, 0.9, 2.0]
SECOND = [1.5, 0.3, 0.4, 0.05]
ZERO = torch.zeros(4, dtype=torch.long)


def test_each_learns_from_what_is_easy_for_the_other():
    first, second = logits_with_losses(FIRST), logits_with_losses(SECOND)
    loss = exchanged_loss(first, second, ZERO, 0.5)
    # easy for the first: nodes 0, 1; for the second: nodes 3, 1
    wanted = (FIRST[3] + FIRST[1]) / 2 + (SECOND[0] + SECOND[1]) / 2
    assert loss.item() == pytest.approx(wanted, rel=1e-5)
    loss.backward()
    assert first.grad.abs().sum(1).gt(0).tolist() == [False, True, False, True]
    assert second.grad.abs().sum(1).gt(0).tolist() == [True, True, False, False]


def test_with_nothing_forgotten_it_is_the_sum_of_two_cross_entropies():
    loss = exchanged_loss(logits_with_losses(FIRST), logits_with_losses(SECOND), ZERO, 1.0)
    assert loss.item() == pytest.approx((sum(FIRST) + sum(SECOND)) / 4, rel=1e-5)


def test_the_share_follows_the_epoch(monkeypatch):
    data = make_graph(60, num_classes=3, num_features=20)
    labels = ObservedLabels(torch.where(data.train_mask, data.y, -1), None, 3)
    shares = []
    original = co_teaching.exchanged_loss

    def spy(first, second, target, share):
        shares.append(share)
        assert first.shape[0] == int((labels.train >= 0).sum())
        return original(first, second, target, share)

    monkeypatch.setattr(co_teaching, "exchanged_loss", spy)
    config = PeersConfig(hidden=4, epochs=4, forget_rate=0.3, ramp_epochs=2)
    fitted = fit(Data(x=data.x, edge_index=data.edge_index), labels, config, torch.Generator())
    assert shares == pytest.approx([0.85, 0.7, 0.7, 0.7])
    assert fitted.representations.shape == (60, 8)  # both hidden layers


def test_one_label_is_enough():
    data = make_graph(30, num_classes=3, num_features=10)
    train = torch.full((30,), -1)
    train[4] = 1
    said = []
    fit(
        Data(x=data.x, edge_index=data.edge_index),
        ObservedLabels(train, None, 3),
        PeersConfig(hidden=4, epochs=12, forget_rate=0.5, ramp_epochs=2),
        torch.Generator(),
        lambda *state: said.append(float(state[2].split()[1])),
    )
    assert all(math.isfinite(value) and value > 0 for value in said)
