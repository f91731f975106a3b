import dataclasses
import math

import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Data

from brgcl.baselines.erase import (
    ERASEConfig,
    among,
    class_cosines,
    classify,
    denoise,
    fit,
    log_det,
    rate_loss,
)
from brgcl.contract import ObservedLabels
from brgcl.method.inputs import prepare

# Two triangles with a bridge, 2-3.
ENDS = torch.tensor([[0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5]])
EDGES = torch.cat([ENDS, ENDS.flip(0)], dim=1)
EDGES = EDGES[:, (EDGES[0] * 6 + EDGES[1]).argsort()]
X = torch.tensor([[2.0, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 1], [0, 3, 0], [1, 1, 1]])
GRAPH = Data(x=X, edge_index=EDGES, num_nodes=6)
LABELS = ObservedLabels(torch.tensor([0, 0, -1, -1, 1, 1]), None, 2)
SMALL = {"hidden": 8, "heads": 2, "dim": 4, "epochs": 12, "lr": 0.01}


def rng(seed=0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def rows(n, k, seed=0):
    return F.normalize(torch.randn(n, k, generator=rng(seed)), dim=1)


# Rates


@pytest.mark.parametrize(("n", "k"), [(3, 7), (7, 3), (4, 4)])
def test_the_log_determinant_and_its_gradient_equal_torchs(n, k):
    z = torch.randn(n, k, generator=rng(), dtype=torch.float64, requires_grad=True)
    found, wanted = log_det(z, 1.7), torch.logdet(torch.eye(k) + 1.7 * z.T @ z)
    assert torch.allclose(found, wanted)
    (one,), (two,) = (torch.autograd.grad(3 * value, z) for value in (found, wanted))
    assert torch.allclose(one, two)


def test_the_loss_of_orthogonal_rows_by_hand():
    config = ERASEConfig(gamma1=0.5, gamma2=3.0, eps=0.1)
    # four orthogonal unit rows of eight dimensions: Z Z' = I, classes of one and three rows
    z = torch.eye(8)[:4]
    whole = 4 * math.log(1 + 0.5 * 8 / (4 * 0.1))
    classes = 1 / 8 * math.log(1 + 8 / 0.1) + 3 / 8 * 3 * math.log(1 + 8 / (3 * 0.1))
    found = rate_loss(z, torch.tensor([1, 0, 1, 1]), 3, config)
    assert float(found) == pytest.approx(-3 / 2 * whole + 0.5 * classes, rel=1e-5)


def test_classes_that_are_lines_at_right_angles_cost_less_than_mixed_ones():
    z = torch.eye(4)[torch.tensor([0, 0, 0, 1, 1, 1])]
    config = ERASEConfig()
    apart = rate_loss(z, torch.tensor([0, 0, 0, 1, 1, 1]), 2, config)
    mixed = rate_loss(z, torch.tensor([0, 1, 0, 1, 0, 1]), 2, config)
    assert apart < mixed


def test_a_gradient_step_lowers_the_loss():
    z = rows(12, 5).requires_grad_()
    label = torch.arange(12) % 3
    before = rate_loss(z, label, 3, ERASEConfig())
    (gradient,) = torch.autograd.grad(before, z)
    after = rate_loss(F.normalize(z - 0.01 * gradient, dim=1), label, 3, ERASEConfig())
    assert after < before


# Labels


def test_labels_are_denoised_along_edges_between_labelled_nodes_alone():
    A = among(GRAPH, torch.tensor([True, True, False, False, True, True])).data.to_dense()
    half = torch.full((2, 2), 0.5)
    wanted = torch.block_diag(half, torch.eye(2), half)
    assert torch.allclose(A, wanted)
    soft = F.one_hot(torch.tensor([0, 1, 0, 0, 1, 1]), 2).float()
    found = denoise(soft, among(GRAPH, torch.ones(6, dtype=torch.bool)), 0.6, 3)
    step = 0.4 * prepare(GRAPH).adjacency.transition.data.to_dense() + 0.6 * torch.eye(6)
    assert torch.allclose(found, step @ step @ step @ soft, atol=1e-6)
    assert torch.equal(denoise(soft, prepare(GRAPH).adjacency.transition, 0.6, 0), soft)


def test_edge_weights_count_in_the_propagation():
    weighted = GRAPH.clone()
    weighted.edge_weight = torch.full((EDGES.shape[1],), 3.0)
    A = among(weighted, torch.tensor([True, True, False, False, False, False])).data.to_dense()
    assert torch.allclose(A[0, :2], torch.tensor([0.25, 0.75]))


def test_cosines_with_class_means():
    z = F.normalize(torch.tensor([[1.0, 0], [0, 1], [1, 1], [-1, 0]]), dim=1)
    found = class_cosines(z, torch.tensor([0, 1]), torch.tensor([2, 0]), 3)
    root = math.sqrt(0.5)
    wanted = torch.tensor([[0, 0, 1.0], [1, 0, 0], [root, 0, root], [0, 0, 1]])
    assert torch.allclose(found, wanted, atol=1e-6)


def test_logistic_regression_separates_and_survives_a_single_class():
    z = F.normalize(torch.tensor([[1.0, 0.1], [1, 0], [0, 1], [0.1, 1]]), dim=1)
    found = classify(z, torch.tensor([0, 2]), torch.tensor([2, 0]), 3)
    assert found.argmax(1).tolist() == [2, 2, 0, 0]
    assert torch.allclose(found.exp().sum(1), torch.ones(4))
    alone = classify(z, torch.tensor([0, 2]), torch.tensor([1, 1]), 3)
    assert alone.argmax(1).tolist() == [1] * 4
    assert bool(alone.isfinite().all())


# Training


def test_rows_have_unit_length_and_the_triangles_are_told_apart():
    fitted = fit(GRAPH, LABELS, ERASEConfig(**SMALL), rng())
    assert torch.allclose(fitted.representations.norm(dim=1), torch.ones(6), atol=1e-5)
    assert fitted.probabilities.argmax(1)[[0, 1, 4, 5]].tolist() == [0, 0, 1, 1]


def test_training_lowers_the_loss():
    said = []
    config = ERASEConfig(**{**SMALL, "dropout": 0.0, "epochs": 40})
    fit(GRAPH, LABELS, config, rng(), lambda *state: said.append(state))
    losses = [float(words.split()[1]) for _, _, words in said]
    assert [state[:2] for state in said] == [(t, 40) for t in range(1, 41)]
    assert losses[-1] < losses[0]


def test_patience_ends_training_only_where_validation_labels_are_there():
    config = ERASEConfig(**{**SMALL, "epochs": 30}, patience=4, every=2)
    validation = torch.tensor([-1, -1, 0, 1, -1, -1])
    counts = []
    for labels in (LABELS, dataclasses.replace(LABELS, validation=validation)):
        said = []
        fit(GRAPH, labels, config, rng(), lambda *state, said=said: said.append(state))
        counts.append(len(said))
    assert counts[0] == 30
    assert counts[1] < 30
