import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from brgcl.baselines.grace import GRACEConfig, contrast, fit, num_negatives
from brgcl.data import make_graph
from brgcl.errors import InputError
from reference import grace_loss


def codes(num_nodes=23, dim=5, seed=0):
    rng = torch.Generator().manual_seed(seed)
    return [
        torch.randn(num_nodes, dim, generator=rng, dtype=torch.float64).requires_grad_()
        for _ in range(2)
    ]


def gradients(loss, pair):
    return torch.autograd.grad(loss, pair)


def dense_sampled(p1, p2, tau, negatives):
    """The sampled loss, term by term."""
    u, v = F.normalize(p1, dim=1), F.normalize(p2, dim=1)
    N = len(u)
    terms = []
    for a, b in ((u, v), (v, u)):
        for i in range(N):
            others = [j for j in negatives.tolist() if j != i]
            found = sum((a[i] @ x[j] / tau).exp() for x in (a, b) for j in others)
            pair = (a[i] @ b[i] / tau).exp()
            terms.append(-(pair / (pair + (N - 1) / len(others) * found)).log())
    return torch.stack(terms).mean()


# The loss


@pytest.mark.parametrize("tau", [0.2, 0.9])
@pytest.mark.parametrize("rows", [1, 4, 7, 46], ids=lambda rows: f"{rows} rows a tile")
@pytest.mark.parametrize("kept", [True, False], ids=["kept", "twice"])
def test_the_tiled_loss_and_its_gradient_are_those_of_the_dense_formula(
    tau, rows, kept, monkeypatch
):
    pair = codes()
    row_bytes = 46 * 8
    monkeypatch.setattr("brgcl.baselines.grace.CACHE_BYTES", rows * row_bytes)
    budget = 1 << 28 if kept else rows * row_bytes
    found = contrast(*pair, tau, tile_bytes=budget)
    expected = grace_loss(*pair, nn.Identity(), tau)
    assert found.item() == pytest.approx(expected.item(), rel=1e-12)
    for one, other in zip(gradients(3 * found, pair), gradients(3 * expected, pair), strict=True):
        assert torch.allclose(one, other, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("rows", [1, 5, 46])
def test_the_sampled_loss_and_its_gradient_are_as_written(rows):
    pair = codes()
    negatives = torch.tensor([3, 22, 0, 11])
    found = contrast(*pair, 0.5, negatives=negatives, tile_bytes=rows * 8 * 8)
    expected = dense_sampled(*pair, 0.5, negatives)
    assert found.item() == pytest.approx(expected.item(), rel=1e-12)
    for one, other in zip(gradients(found, pair), gradients(expected, pair), strict=True):
        assert torch.allclose(one, other, rtol=1e-10, atol=1e-14)


def test_a_sample_of_all_nodes_is_the_exact_loss():
    pair = codes()
    everyone = torch.randperm(23, generator=torch.Generator().manual_seed(1))
    found = contrast(*pair, 0.5, negatives=everyone)
    expected = contrast(*pair, 0.5)
    assert found.item() == pytest.approx(expected.item(), rel=1e-12)
    for one, other in zip(gradients(found, pair), gradients(expected, pair), strict=True):
        assert torch.allclose(one, other, rtol=1e-10, atol=1e-14)


def test_two_nodes_by_hand():
    # u1 = v1 = e1, u2 = v2 = e2: the pair has similarity e^(1/tau), the two negatives 1 each
    p = torch.tensor([[2.0, 0.0], [0.0, 0.5]])
    assert contrast(p, p, 0.5).item() == pytest.approx(math.log((math.e**2 + 2) / math.e**2))


def test_equal_codes_give_the_log_of_the_count():
    p = torch.ones(10, 3)
    assert contrast(p, p, 0.3).item() == pytest.approx(math.log(19), rel=1e-5)
    some = torch.tensor([0, 4, 5])
    assert contrast(p, p, 0.3, negatives=some).item() == pytest.approx(math.log(19), rel=1e-5)


def test_rows_of_zeros_and_a_small_temperature_stay_finite():
    p1, p2 = (p.detach().float().requires_grad_() for p in codes())
    with torch.no_grad():
        p1[3] = 0
    for negatives in (None, torch.tensor([3, 7])):
        loss = contrast(p1, p2, 0.05, negatives=negatives)
        assert loss.isfinite()
        assert all(bool(g.isfinite().all()) for g in gradients(loss, (p1, p2)))


# Settings and training


def test_auto_takes_all_nodes_up_to_four_thousand():
    assert num_negatives(GRACEConfig(), 4000) is None
    assert num_negatives(GRACEConfig(), 4001) == 512
    assert num_negatives(GRACEConfig(num_negatives=7), 3) == 7
    assert num_negatives(GRACEConfig(num_negatives=None), 10**5) is None
    with pytest.raises(InputError, match="would take days"):
        num_negatives(GRACEConfig(num_negatives=None), 10**6)


def losses_of(**changes):
    graph = make_graph(120, num_classes=3, num_features=40)
    said = []
    settings = {"dim": 16, "projection_dim": 8, "epochs": 15, "lr": 0.01} | changes
    fitted = fit(
        graph,
        None,
        GRACEConfig(**settings),
        torch.Generator().manual_seed(0),
        lambda *state: said.append(float(state[2].split()[1])),
    )
    return said, fitted.representations


@pytest.mark.parametrize("count", [None, 30])
def test_training_lowers_the_loss(count):
    said, _ = losses_of(num_negatives=count, drop1=0.0, drop2=0.1, mask1=0.0, mask2=0.1)
    assert said[-1] < said[0] - 0.3


def test_representations_are_those_before_the_projection_and_after_an_activation():
    _, z = losses_of()
    assert z.shape == (120, 16)
    assert float(z.min()) == 0
    _, z = losses_of(activation="prelu")
    assert float(z.min()) < 0


def test_sampled_negatives_change_what_is_learned():
    assert not torch.equal(losses_of()[1], losses_of(num_negatives=10)[1])
