import pytest
import torch

from brgcl.data import make_graph
from brgcl.detectors.graph_cleaner import (
    Steps,
    entries,
    replace_labels,
    train_classifier,
    transition_of_joint,
)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def dense_features(edge_index, proba, labels):
    """The seven matrices from dense powers whose diagonals are set to 0."""
    N, C = proba.shape
    a = torch.zeros(N, N).double()
    a[edge_index[0], edge_index[1]] = 1
    a.fill_diagonal_(0)
    scale = a.sum(1).clamp_min(1).rsqrt()
    s = scale[:, None] * a * scale
    powers = [s, s @ s, s @ s @ s]
    for power in powers[1:]:
        power.fill_diagonal_(0)
    one_hot = torch.zeros(N, C).double()
    one_hot[labels >= 0, labels[labels >= 0]] = 1
    p = proba.double()
    return [p, *(power @ p for power in powers), *(power @ one_hot for power in powers)]


def example():
    graph = make_graph(50, num_classes=3, num_features=20, avg_degree=6)
    labels = graph.y.clone()
    labels[::7] = -1
    loop = torch.tensor([[4, 9], [4, 9]])
    edges = torch.cat([graph.edge_index, loop, graph.edge_index[:, :5]], dim=1)
    return edges, torch.rand(50, 3, generator=seeded()).softmax(1), labels


def test_features_are_those_of_dense_powers():
    edges, proba, labels = example()
    ours = Steps.of(edges, 50).features(proba, labels)
    wanted = dense_features(edges, proba, labels)
    assert len(ours) == 7
    for mine, reference in zip(ours, wanted, strict=True):
        assert torch.allclose(mine.double(), reference, atol=1e-6)


def test_no_label_counts_for_itself():
    edges, proba, labels = example()
    steps, other = Steps.of(edges, 50), labels.clone()
    node = 3
    other[node] = (labels[node] + 1) % 3
    before, after = (torch.stack(steps.features(proba, given), 2) for given in (labels, other))
    assert torch.allclose(before[node], after[node], atol=1e-7)
    assert not torch.allclose(before, after)


def test_entries_are_picked_by_label():
    values = torch.arange(2 * 3 * 7).view(2, 3, 7)
    assert torch.equal(entries(values, torch.tensor([2, 0])), values[[0, 1], [2, 0]])


def test_transition_of_sure_predictions_is_the_share_of_flips():
    truth = torch.tensor([0] * 10 + [1] * 10 + [2] * 10)
    given = truth.clone()
    given[:3], given[10] = 1, 2
    proba = 0.94 * torch.nn.functional.one_hot(truth, 3) + 0.02
    T = transition_of_joint(proba, given)
    wanted = [[0.7, 0.3, 0], [0, 0.9, 0.1], [0, 0, 1]]
    assert T.tolist() == [pytest.approx(row) for row in wanted]


def test_half_of_the_labels_are_replaced_as_the_matrix_says():
    given = torch.tensor([0, 1, 2]).repeat_interleave(1000)
    T = torch.tensor([[0.8, 0.15, 0.05], [0.1, 0.9, 0.0], [0.0, 0.0, 1.0]]).double()
    replaced = replace_labels(given, T, seeded())
    changed = replaced != given
    assert not changed[given == 2].any()  # never taken for another
    for c in (0, 1):
        assert float(changed[given == c].float().mean()) == pytest.approx(0.5, abs=0.05)
    assert (replaced[changed & (given == 1)] == 0).all()
    to_one = (replaced[changed & (given == 0)] == 1).float().mean()
    assert float(to_one) == pytest.approx(0.75, abs=0.06)


def test_the_classifier_learns_what_tells_replaced_labels_from_others():
    wrong = torch.arange(200) % 2 == 0
    features = torch.rand(200, 7, generator=seeded()) * 0.2
    features[~wrong] += 0.7
    network = train_classifier(features, wrong, seeded())
    with torch.no_grad():
        said = network(features).softmax(1)[:, 1] > 0.5
    assert torch.equal(said, wrong)
