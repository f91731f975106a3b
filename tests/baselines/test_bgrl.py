import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from brgcl.baselines.bgrl import (
    BGRLConfig,
    Network,
    cosine_decay,
    disagreement,
    fit,
    follow,
)
from brgcl.data import make_graph
from brgcl.method.inputs import prepare

SMALL = {"hidden": 8, "dim": 4, "predictor_hidden": 6}


def seeded(seed=0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def small_graph():
    return make_graph(120, num_classes=3, num_features=40)


# The parts


def test_the_loss_by_hand():
    q, t = torch.tensor([[1.0, 0], [0, 2], [1, 1]]), torch.tensor([[3.0, 0], [0, -1], [0, 1]])
    # cosines 1, -1 and 1 / sqrt(2)
    assert disagreement(q, t).item() == pytest.approx(1 - math.sqrt(0.5) / 3)
    assert disagreement(q, 5 * q).item() == pytest.approx(0, abs=1e-6)
    assert disagreement(q, -q).item() == pytest.approx(2)


def test_the_rate_rises_linearly_and_falls_along_a_cosine():
    found = [cosine_decay(t, 4, 12) for t in range(13)]
    assert found[:5] == pytest.approx([0, 0.25, 0.5, 0.75, 1])
    assert found[8] == pytest.approx(0.5)
    assert found[6] == pytest.approx((1 + math.cos(math.pi / 4)) / 2)
    assert found[12] == pytest.approx(0)
    assert cosine_decay(0, 0, 10) == 1
    assert cosine_decay(3, 5, 5) == 0.6  # a warm-up as long as the training


def test_the_target_moves_a_share_of_the_way():
    target, online = nn.Linear(2, 1), nn.Linear(2, 1)
    before = [p.detach().clone() for p in target.parameters()]
    goal = [p.detach().clone() for p in online.parameters()]
    follow(target, online, 0.25)
    for found, start, end in zip(target.parameters(), before, goal, strict=True):
        assert torch.allclose(found, 0.75 * start + 0.25 * end)
    assert all(torch.equal(a, b) for a, b in zip(online.parameters(), goal, strict=True))


def test_the_network_equals_a_dense_reference():
    graph = prepare(small_graph())
    network = Network(40, 8, 4, seeded())
    with torch.no_grad():
        for norm in network.norms:
            norm.weight.uniform_(0.5, 2, generator=seeded(1))
            norm.bias.uniform_(-1, 1, generator=seeded(2))
        network.activations[1].weight.fill_(0.1)
    columns = (torch.rand(40, generator=seeded(3)) < 0.7).float()
    A, x = graph.adjacency.normalized.data.to_dense(), graph.x.data.to_dense() * columns
    h = x
    for weight, norm, activation in zip(
        network.weights, network.norms, network.activations, strict=True
    ):
        h = A @ h @ weight
        h = (h - h.mean(0)) / (h.var(0, correction=0) + norm.eps).sqrt() * norm.weight + norm.bias
        h = torch.where(h > 0, h, activation.weight * h)
    found = network(graph.x, graph.adjacency.normalized, columns)
    assert torch.allclose(found, h, atol=1e-5)


# Training


def test_two_epochs_on_whole_views_equal_a_reference():
    config = BGRLConfig(
        **SMALL, drop1=0.0, drop2=0.0, mask1=0.0, mask2=0.0, epochs=2, warmup_epochs=0, lr=0.01
    )
    said = []
    fitted = fit(small_graph(), None, config, seeded(), lambda *state: said.append(state))
    graph, rng = prepare(small_graph()), seeded()
    x, A = graph.x, graph.adjacency.normalized
    online, target = Network(40, 8, 4, rng), Network(40, 8, 4, rng)
    torch.manual_seed(int(torch.randint(2**31 - 1, (), generator=rng)))
    predictor = nn.Sequential(nn.Linear(4, 6), nn.PReLU(), nn.Linear(6, 4))
    optimizer = torch.optim.AdamW(
        [*online.parameters(), *predictor.parameters()], lr=0.01, weight_decay=1e-5
    )
    losses = []
    for epoch in range(2):
        factor = (1 + math.cos(math.pi * epoch / 2)) / 2
        optimizer.param_groups[0]["lr"] = 0.01 * factor
        online(x, A)  # either view counts in the running statistics
        q, t = F.normalize(predictor(online(x, A))), F.normalize(target(x, A)).detach()
        loss = 2 - 2 * (q * t).sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        share = 0.01 * factor
        for slow, fast in zip(target.parameters(), online.parameters(), strict=True):
            slow.data = (1 - share) * slow.data + share * fast.data
    assert said == [(t, 2, f"loss {loss:.3f}") for t, loss in enumerate(losses, 1)]
    assert torch.allclose(fitted.representations, online.eval()(x, A), atol=1e-4)


def test_training_lowers_the_loss():
    said = []
    config = BGRLConfig(**SMALL, epochs=60, warmup_epochs=5, lr=0.01, momentum=0.9)
    fit(small_graph(), None, config, seeded(), lambda *s: said.append(float(s[2].split()[1])))
    assert sum(said[-5:]) < 0.7 * sum(said[:5])


def test_the_target_never_gets_a_gradient():
    parameters = []
    make = torch.optim.AdamW.__init__

    def watched(self, given, **settings):
        parameters.extend(given)
        make(self, parameters, **settings)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.optim.AdamW, "__init__", watched)
        fit(small_graph(), None, BGRLConfig(**SMALL, epochs=1), seeded())
    # of the online network two weights, four of norms, two slopes; of the predictor five
    assert len(parameters) == 13
