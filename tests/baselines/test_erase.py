import dataclasses
import math

import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Data

from brgcl.baselines.erase import (
    GAT,
    ERASEConfig,
    class_cosines,
    classify,
    denoise,
    fit,
    log_det,
    rate_loss,
    spreading,
    squash,
)
from brgcl.baselines.shared.inputs import seeded
from brgcl.contract import ObservedLabels

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


@pytest.mark.parametrize("eps", [0.05, 0.4])
def test_the_loss_of_squashed_rows_equals_a_sum_over_eigenvalues(eps):
    z, label = squash(torch.randn(9, 6, generator=rng())), torch.arange(9) % 3
    config = ERASEConfig(eps=eps)

    def rate(part):
        values = torch.linalg.eigvalsh(part.T.double() @ part.double())
        return sum(math.log(1 + 6 / (len(part) * eps) * float(v)) for v in values)

    wanted = -rate(z) + sum(3 / 18 * rate(z[label == c]) for c in range(3))
    assert float(rate_loss(z, label, 3, config)) == pytest.approx(wanted, rel=1e-4)


# Labels


def dense_spreading(known=None, weight=1.0):
    """A D^-1 entry by entry."""
    A = torch.zeros(6, 6)
    for i, j in EDGES.T.tolist():
        if known is None or (known[i] and known[j]):
            A[i, j] = weight
    return A / A.sum(0).clamp_min(1e-9)


def test_labels_are_denoised_along_edges_between_labelled_nodes_alone():
    known = torch.tensor([True, True, False, False, True, True])
    A = spreading(GRAPH, known).data.to_dense()
    assert torch.equal(A, dense_spreading(known))
    assert A.sum(0).tolist() == [1, 1, 0, 0, 1, 1]
    assert A.diagonal().tolist() == [0] * 6


def test_denoising_equals_powers_of_a_dense_matrix():
    soft = F.one_hot(torch.tensor([0, 1, 0, 0, 1, 1]), 2).float()
    found = denoise(soft, spreading(GRAPH), 0.6, 3)
    step = 0.4 * dense_spreading() + 0.6 * torch.eye(6)
    assert torch.allclose(found, step @ step @ step @ soft, atol=1e-6)
    assert torch.allclose(found.sum(0), soft.sum(0))  # labels are handed on, none is lost
    assert torch.equal(denoise(soft, spreading(GRAPH), 0.6, 0), soft)


def test_edge_weights_count_in_the_propagation():
    weighted = GRAPH.clone()
    row, col = EDGES
    weighted.edge_weight = torch.where((row == 0) | (col == 0), 3.0, 1.0)
    A = spreading(weighted).data.to_dense()
    assert torch.allclose(A[:, 1], torch.tensor([0.75, 0, 0.25, 0, 0, 0]))


def test_a_node_without_neighbours_keeps_its_label():
    alone = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=3)
    soft = torch.tensor([[1.0, 0], [0, 1], [0.2, 0.8]])
    found = denoise(soft, spreading(alone), 0.6, 5)
    assert bool(found.isfinite().all())
    assert torch.allclose(found[2], soft[2] * 0.6**5)


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


def test_rows_are_squashed_by_their_absolute_sum():
    found = squash(torch.tensor([[2.0, -1, 1], [0, 0, 0], [-1, -3, 0]]))
    wanted = torch.tensor([[0.5, 0, 0.25], [0, 0, 0], [0, 0, 0]])
    assert torch.equal(found, wanted)


def dense_network(network, x):
    """Both attention layers with loops over nodes."""

    def attend(layer, h):
        heads, units = layer.receive.shape
        split = (h @ layer.weight).view(6, heads, units)
        out = []
        for i in range(6):
            near = [i, *EDGES[1][EDGES[0] == i].tolist()]
            logits = (split[i] * layer.receive).sum(1) + (split[near] * layer.send).sum(2)
            share = F.leaky_relu(logits, 0.2).softmax(0)  # (near, heads)
            out.append((share[:, :, None] * split[near]).sum(0).flatten() + layer.bias)
        return torch.stack(out)

    def rows_by_sum(h):
        total = h.abs().sum(1, keepdim=True)
        return (h / torch.where(total > 0, total, 1)).clamp_min(0)

    h = attend(network.first, x)
    h = rows_by_sum(torch.where(h > 0, h, 0.01 * h))
    return rows_by_sum(attend(network.second, h))


def slow_training(config, seed=0):
    """The losses and last representations of a training without dropout, written out."""
    generator = rng(seed)
    with seeded(generator):
        network = GAT(3, config)
    x = X / X.sum(1, keepdim=True)
    optimizer = torch.optim.Adam(
        network.parameters(), lr=config.lr, weight_decay=config.weight_decay, amsgrad=True
    )
    nodes, losses = [0, 1, 4, 5], []
    step = (1 - config.alpha) * dense_spreading() + config.alpha * torch.eye(6)
    inner = (1 - config.alpha) * dense_spreading(LABELS.train >= 0) + config.alpha * torch.eye(6)
    start = torch.zeros(6, 2)
    start[nodes, LABELS.train[nodes]] = 1
    start = torch.linalg.matrix_power(inner, config.steps) @ start
    for _ in range(config.epochs):
        z = dense_network(network, x)
        unit = F.normalize(z.detach(), dim=1)
        means = [unit[[i for i in nodes if start[i].argmax() == c]].mean(0) for c in range(2)]
        cosine = F.cosine_similarity(unit[:, None], torch.stack(means)[None], dim=2).abs()
        soft = (config.beta * start + (1 - config.beta) * cosine).softmax(1)
        label = (torch.linalg.matrix_power(step, config.steps) @ soft).argmax(1)
        scale = config.dim / config.eps
        loss = -torch.logdet(torch.eye(config.dim) + scale / 6 * z.T @ z)
        for c in range(2):
            part = z[label == c]
            if len(part):
                gram = torch.eye(config.dim) + scale / len(part) * part.T @ part
                loss = loss + len(part) / 12 * torch.logdet(gram)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, F.normalize(dense_network(network, x).detach(), dim=1)


def test_training_equals_a_slow_reference():
    config = ERASEConfig(**{**SMALL, "dropout": 0.0, "epochs": 6})
    said = []
    fitted = fit(GRAPH, LABELS, config, rng(), lambda *state: said.append(state))
    losses, z = slow_training(config)
    assert [float(words.split()[1]) for *_, words in said] == pytest.approx(losses, abs=2e-3)
    assert torch.allclose(fitted.representations, z, atol=1e-3)


def test_rows_have_unit_length_and_the_triangles_are_told_apart():
    fitted = fit(GRAPH, LABELS, ERASEConfig(**SMALL), rng())
    assert torch.allclose(fitted.representations.norm(dim=1), torch.ones(6), atol=1e-5)
    assert bool((fitted.representations >= 0).all())
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
