import math

import pytest
import torch

from brgcl.method.prototypes import prototype_loss, robust_prototypes


def slow_prototype_loss(h, label, prototypes, tau):
    """Eq. (2) as printed, k being the node's own cluster."""
    total = 0
    for i in range(len(h)):
        numerator = torch.exp(h[i] @ prototypes[label[i]] / tau)
        denominator = sum(torch.exp(h[i] @ c / tau) for c in prototypes)
        total = total + torch.log(numerator / denominator)
    return -total / len(h)


def example(N=60, K=5, D=7, seed=0):
    generator = torch.Generator().manual_seed(seed)
    h = torch.randn(N, D, generator=generator, dtype=torch.float64).requires_grad_()
    label = torch.randint(0, K, (N,), generator=generator)
    prototypes = torch.randn(K, D, generator=generator, dtype=torch.float64)
    return h, label, prototypes


@pytest.mark.parametrize("tau", [0.1, 0.4, 3.0])
def test_prototype_loss_equals_the_formula_with_its_gradient(tau):
    h, label, prototypes = example()
    expected = slow_prototype_loss(h, label, prototypes, tau)
    found = prototype_loss(h, label, prototypes, tau)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(
        torch.autograd.grad(found, h)[0],
        torch.autograd.grad(expected, h)[0],
        rtol=1e-10,
        atol=1e-12,
    )


def test_one_prototype_leaves_nothing_to_contrast():
    h, _, prototypes = example(K=1)
    loss = prototype_loss(h, torch.zeros(60, dtype=torch.long), prototypes, 0.4)
    assert loss.item() == 0
    assert torch.equal(torch.autograd.grad(loss, h)[0], torch.zeros_like(h))


def test_equal_prototypes_give_the_log_of_their_number():
    h, label, prototypes = example(K=5)
    loss = prototype_loss(h, label, prototypes[:1].repeat(5, 1), 0.4)
    assert loss.item() == pytest.approx(math.log(5), abs=1e-12)


def test_a_small_temperature_stays_finite():
    h, label, prototypes = example()
    assert prototype_loss(h, label, prototypes, 1e-4).isfinite()


def test_a_gradient_step_lowers_the_prototype_loss():
    h, label, prototypes = example()
    loss = prototype_loss(h, label, prototypes, 0.4)
    (gradient,) = torch.autograd.grad(loss, h)
    assert prototype_loss(h - 1e-2 * gradient, label, prototypes, 0.4) < loss


def test_six_nodes_by_hand():
    h = torch.tensor([[1.0, 0], [3, 0], [9, 9], [0, 2], [0, 4], [5, 7]])
    label = torch.tensor([0, 0, 0, 1, 1, 2])
    trusted = torch.tensor([True, True, False, False, True, False])
    # cluster 0: mean of the first two; cluster 1: its second node; cluster 2 is deserted
    expected = torch.tensor([[2.0, 0], [0, 4], [5, 7]])
    assert torch.equal(robust_prototypes(h, label, trusted, 3), expected)


def test_all_nodes_trusted_gives_plain_means():
    h = torch.tensor([[1.0, 0], [3, 0], [8, 3], [0, 2], [0, 4], [5, 7]])
    label = torch.tensor([0, 0, 0, 1, 1, 2])
    expected = torch.tensor([[4.0, 1], [0, 3], [5, 7]])
    found = robust_prototypes(h, label, torch.ones(6, dtype=torch.bool), 3)
    assert torch.equal(found, expected)


def test_without_any_trusted_node_every_cluster_keeps_its_plain_mean():
    h = torch.tensor([[1.0, 0], [3, 0], [8, 3], [0, 2], [0, 4], [5, 7]])
    label = torch.tensor([0, 0, 0, 1, 1, 2])
    nobody = robust_prototypes(h, label, torch.zeros(6, dtype=torch.bool), 3)
    everybody = robust_prototypes(h, label, torch.ones(6, dtype=torch.bool), 3)
    assert torch.equal(nobody, everybody)
