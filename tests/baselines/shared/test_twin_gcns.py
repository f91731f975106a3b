import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Data

from brgcl.baselines.shared.gcn_training import BestEpoch, make_gcn, run_gcn
from brgcl.baselines.shared.twin_gcns import (
    PeersConfig,
    kept_share,
    mean_log_probabilities,
    smallest,
    train_peers,
)
from brgcl.contract import ObservedLabels
from brgcl.method.inputs import prepare

# Two triangles with a bridge, 2-3.
ENDS = torch.tensor([[0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5]])
EDGES = torch.cat([ENDS, ENDS.flip(0)], dim=1)
EDGES = EDGES[:, (EDGES[0] * 6 + EDGES[1]).argsort()]
X = torch.tensor([[2.0, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 1], [0, 3, 0], [1, 1, 1]])
GRAPH = prepare(Data(x=X, edge_index=EDGES))
LABELS = ObservedLabels(torch.tensor([0, 0, -1, -1, 1, 1]), None, 2)
NODES = torch.tensor([0, 1, 4, 5])


def seeded(seed=0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_the_kept_share_falls_to_one_minus_the_forget_rate():
    config = PeersConfig(forget_rate=0.4, ramp_epochs=4)
    found = [kept_share(epoch, config) for epoch in range(1, 7)]
    assert found == pytest.approx([0.9, 0.8, 0.7, 0.6, 0.6, 0.6])


def test_the_smallest_losses_are_found():
    losses = torch.tensor([3.0, 1.0, 2.0, 5.0, 4.0], requires_grad=True)
    assert smallest(losses, 0.6).tolist() == [1, 2, 0]
    assert smallest(losses, 0.59).tolist() == [1, 2]  # rounded down
    assert smallest(losses, 1.0).tolist() == [1, 2, 0, 4, 3]
    assert smallest(losses, 0.0).tolist() == [1]


def test_the_mean_is_that_of_probabilities():
    first, second = torch.randn(2, 5, 3, generator=seeded())
    found = mean_log_probabilities(first, second)
    assert torch.allclose(found.exp(), (first.softmax(1) + second.softmax(1)) / 2, atol=1e-6)
    far = torch.tensor([[500.0, -500.0]])
    assert bool(mean_log_probabilities(far, far).isfinite().all())


def test_two_networks_learn_side_by_side_from_their_own_weights():
    """The sum of two plain losses trains each network as it would be trained alone."""
    config = PeersConfig(hidden=4, dropout=0.0, epochs=6, lr=0.05)
    given = LABELS.train[NODES]

    def plain(first, second, target, share):
        return sum(F.cross_entropy(logits, target) for logits in (first, second))

    best = train_peers(GRAPH, LABELS, NODES, config, seeded(), plain)
    draw = seeded()
    pair = [make_gcn(GRAPH, config, 2, draw) for _ in range(2)]
    outputs = []
    for network in pair:
        optimizer = torch.optim.Adam(network.parameters(), lr=0.05, weight_decay=5e-4)
        for _ in range(6):
            loss = F.cross_entropy(run_gcn(network, GRAPH)[1][NODES], given)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        outputs.append(run_gcn(network, GRAPH))
    (hidden1, logits1), (hidden2, logits2) = outputs
    assert not torch.allclose(logits1, logits2, atol=1e-3)  # they started apart
    fitted = best.fitted()
    assert isinstance(best, BestEpoch)
    assert torch.allclose(fitted.representations, torch.cat([hidden1, hidden2], 1), atol=1e-5)
    mean = (logits1.softmax(1) + logits2.softmax(1)) / 2
    assert torch.allclose(fitted.probabilities, mean, atol=1e-5)


def test_the_share_is_that_of_epochs_counted_from_one():
    seen = []

    def loss(first, second, target, share):
        assert first.shape == second.shape == (4, 2)
        assert target.tolist() == [0, 0, 1, 1]
        seen.append(share)
        return first.sum() + second.sum()

    config = PeersConfig(hidden=2, epochs=3, forget_rate=0.4, ramp_epochs=4)
    train_peers(GRAPH, LABELS, NODES, config, seeded(), loss)
    assert seen == pytest.approx([0.9, 0.8, 0.7])
