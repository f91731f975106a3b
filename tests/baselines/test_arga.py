import math

import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Data

from brgcl.baselines import arga
from brgcl.baselines.arga import ARGAConfig, NoisyEncoder, fit, make_model
from brgcl.method.inputs import prepare

# Two triangles with a bridge, 2-3.
ENDS = torch.tensor([[0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5]])
EDGES = torch.cat([ENDS, ENDS.flip(0)], dim=1)
EDGES = EDGES[:, (EDGES[0] * 6 + EDGES[1]).argsort()]
X = torch.tensor([[2.0, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 1], [0, 3, 0], [1, 1, 1]])
GRAPH = Data(x=X, edge_index=EDGES)
PREPARED = prepare(GRAPH, "none")
TARGET = torch.eye(6)
TARGET[EDGES[0], EDGES[1]] = 1
SCALE = TARGET.sum(1).rsqrt()
A = SCALE[:, None] * TARGET * SCALE

both = pytest.mark.parametrize("variational", [False, True])


def generator_after_seeding(seed=0):
    """A generator as `fit` uses it for the first weights: one draw has seeded the library."""
    generator = torch.Generator().manual_seed(seed)
    torch.randint(2**31 - 1, (), generator=generator)
    return generator


def run(report=None, **settings) -> torch.Tensor:
    config = ARGAConfig(**settings)
    generator = torch.Generator().manual_seed(0)
    return fit(GRAPH, None, config, generator, report).representations


# The encoder


@both
def test_codes_without_noise_are_those_of_the_dense_formula(variational):
    config = ARGAConfig(variational=variational, hidden=5, dim=4)
    encoder = NoisyEncoder(3, config, torch.Generator().manual_seed(0)).eval()
    W0, W1, *rest = encoder.weights
    hidden = (A @ X @ W0).clamp_min(0)
    found = encoder(PREPARED)
    if variational:
        assert torch.allclose(found[0], A @ hidden @ W1, atol=1e-5)
        assert torch.allclose(found[1], A @ hidden @ rest[0], atol=1e-5)
    else:
        assert not rest
        assert torch.allclose(found, A @ hidden @ W1, atol=1e-5)


def test_noise_falls_on_the_hidden_layer_in_training_only():
    config = ARGAConfig(hidden=200, dim=4, noise=0.1)
    encoder = NoisyEncoder(3, config, torch.Generator().manual_seed(0))
    torch.manual_seed(0)
    with torch.no_grad():
        calm = encoder.eval()(PREPARED)
        draws = torch.stack([encoder.train()(PREPARED) - calm for _ in range(200)])
        W1 = encoder.weights[1]
        # noise of deviation 0.1 on every hidden unit of every node, then averaged over neighbours
        expected = 0.1 * A.square().sum(1).sqrt()[:, None] * W1.square().sum(0).sqrt()
    assert torch.allclose(draws.std(0), expected, rtol=0.25)


@both
def test_the_discriminator_has_the_sizes_and_start_of_the_authors(variational):
    config = ARGAConfig(variational=variational)
    torch.manual_seed(0)
    model = make_model(3, config, torch.Generator().manual_seed(0))
    weights = [tuple(p.shape) for p in model.discriminator.parameters() if p.ndim == 2]
    assert weights == [(64, 32), (32, 64), (1, 32)]
    values = torch.cat([p.flatten() for p in model.discriminator.parameters() if p.ndim == 2])
    assert values.detach().std() == pytest.approx(0.01, rel=0.1)
    assert all(p.abs().sum() == 0 for p in model.discriminator.parameters() if p.ndim == 1)


# The training


def test_without_noise_and_opponent_training_equals_a_dense_reference():
    settings = {"hidden": 5, "dim": 4, "noise": 0.0, "lr": 0.02, "iterations": 4, "steps": 3}
    z = run(adversarial_lr=1e-9, **settings)
    start = NoisyEncoder(3, ARGAConfig(hidden=5, dim=4), generator_after_seeding()).weights
    W0, W1 = (weight.detach().clone().requires_grad_() for weight in start)
    optimizer = torch.optim.Adam([W0, W1], lr=0.02)
    weight, norm = torch.tensor((36 - 14) / 14), 36 / (2 * (36 - 14))
    for _ in range(12):
        codes = A @ (A @ X @ W0).clamp_min(0) @ W1
        loss = F.binary_cross_entropy_with_logits(codes @ codes.T, TARGET, pos_weight=weight)
        optimizer.zero_grad()
        (norm * loss).backward()
        optimizer.step()
    assert torch.allclose(z, A @ (A @ X @ W0).clamp_min(0) @ W1, atol=1e-3)


@pytest.mark.parametrize(("variational", "calls"), [(False, 3 * (4 + 1)), (True, 3 * 4)])
def test_an_iteration_has_its_steps_and_arga_fools_with_the_reconstruction(
    monkeypatch, variational, calls
):
    seen = []
    loss = arga.reconstruction_loss
    monkeypatch.setattr(arga, "reconstruction_loss", lambda *a: seen.append(a) or loss(*a))
    run(variational=variational, iterations=3, steps=4)
    assert len(seen) == calls


def test_the_divergence_is_divided_by_the_number_of_nodes(monkeypatch):
    monkeypatch.setattr(arga, "reconstruction_loss", lambda z, *_: 0 * z.sum())
    said = []
    config = {"variational": True, "hidden": 50, "dim": 40, "iterations": 1, "steps": 1}
    run(report=lambda *state: said.append(state), **config)
    start = NoisyEncoder(3, ARGAConfig(**config), generator_after_seeding())
    mean, log_deviation = (part.detach() for part in start(PREPARED))
    divergence = sum(
        (m * m + math.exp(2 * s) - 1 - 2 * s) / 2
        for m, s in zip(mean.flatten().tolist(), log_deviation.flatten().tolist(), strict=True)
    )
    assert divergence / 36 > 0.1  # the mean over 6 nodes, and then 1/6 of it
    assert said == [(1, 1, f"loss {divergence / 36:.3f}")]


@both
def test_fooling_reaches_the_codes_and_the_discriminator_only_its_own_weights(
    monkeypatch, variational
):
    """Without reconstruction, codes move by what the discriminator says, and by nothing else."""
    monkeypatch.setattr(arga, "reconstruction_loss", lambda z, *_: 0 * z.sum())
    settings = {"variational": variational, "iterations": 5, "noise": 0.0, "lr": 1e-9}
    moved, still = (run(adversarial_lr=rate, **settings) for rate in (0.01, 1e-9))
    config = ARGAConfig(**settings)
    start = make_model(3, config, generator_after_seeding()).eval().encode(PREPARED).detach()
    assert torch.allclose(still, start, atol=1e-5)
    assert not torch.allclose(moved, start, atol=1e-2)


@both
def test_sampled_pairs_are_drawn_from_the_generator(variational):
    exact, sampled, again = (
        run(variational=variational, iterations=3, num_negatives=count) for count in (None, 3, 3)
    )
    assert torch.equal(sampled, again)
    assert not torch.equal(sampled, exact)
