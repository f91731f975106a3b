import numpy as np
import pytest
import torch

from brgcl.method.graph import adjacency_from_edges
from brgcl.tasks.classifiers import soft_targets

LABELS = torch.tensor([0, -1, 1, -1, -1, 1])
# one update with alpha 0.1 on the path 0-1-2-3-4-5: 0.9 * mean over neighbours and self + 0.1 * own
SPREAD = torch.tensor(
    [
        [0.9 / 2 + 0.1, 0],
        [0.9 / 3, 0.9 / 3],
        [0, 0.9 / 3 + 0.1],
        [0, 0.9 / 3],
        [0, 0.9 / 3],
        [0, 0.9 / 2 + 0.1],
    ]
)


def path_transition():
    ends = torch.arange(5)
    edges = torch.cat([torch.stack([ends, ends + 1]), torch.stack([ends + 1, ends])], dim=1)
    return adjacency_from_edges(edges, 6).transition


def test_hard_targets_are_the_labels():
    found = soft_targets(LABELS, 2, path_transition(), "hard", 0.1, 2)
    expected = torch.tensor([[1.0, 0], [0, 0], [0, 1], [0, 0], [0, 0], [0, 1]])
    assert torch.equal(found, expected)
    assert torch.equal(soft_targets(LABELS, 2, None, "normalize", 0.1, 2), expected)


def test_normalized_targets_by_hand():
    found = soft_targets(LABELS, 2, path_transition(), "normalize", 0.1, 2)
    expected = torch.tensor([[1.0, 0], [0.5, 0.5], [0, 1], [0, 1], [0, 1], [0, 1]])
    assert torch.allclose(found, expected)


def test_softmax_targets_by_hand_are_nearly_flat():
    found = soft_targets(LABELS, 2, path_transition(), "softmax", 0.1, 2)
    assert torch.allclose(found, SPREAD.softmax(1))
    assert found[0].tolist() == pytest.approx([0.6341, 0.3659], abs=1e-4)
    many = soft_targets(LABELS, 7, path_transition(), "softmax", 0.1, 10)
    assert float(many.max()) < 0.25  # of seven classes; hard labels have 1
    assert float(many.min()) > 0.1


@pytest.mark.parametrize("mode", ["normalize", "softmax"])
def test_ten_steps_against_a_dense_reference(mode):
    T = np.zeros((6, 6))
    for i in range(6):
        near = [j for j in (i - 1, i, i + 1) if 0 <= j < 6]
        T[i, near] = 1 / len(near)
    start = np.zeros((6, 2))
    start[[0, 2, 5], [0, 1, 1]] = 1
    soft = start.copy()
    for _ in range(9):
        soft = 0.8 * T @ soft + 0.2 * start
    if mode == "softmax":
        soft = np.exp(soft)
    expected = soft / soft.sum(1, keepdims=True)
    found = soft_targets(LABELS, 2, path_transition(), mode, 0.2, 10)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-6)


def test_nodes_that_no_label_reaches_keep_a_row_of_zeros():
    apart = adjacency_from_edges(torch.empty(2, 0, dtype=torch.long), 3).transition
    found = soft_targets(torch.tensor([0, 1, -1]), 2, apart, "normalize", 0.1, 10)
    assert found.tolist() == [[1, 0], [0, 1], [0, 0]]
