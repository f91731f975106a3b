import itertools

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Data

from brgcl.data import make_graph
from brgcl.method.sparse import Matrix
from brgcl.tasks.assortativity import (
    LOW,
    WORTH,
    assortativity,
    count_labelled_edges,
    homophily_by_attributes,
    homophily_of_labelled_edges,
    neighbours,
    sampled_rows,
)
from brgcl.tasks.attribute_rows import AttributeViews
from brgcl.tasks.checks import transition_of
from brgcl.tasks.classifiers import LabelledRows
from brgcl.tasks.own_attributes import of_graph


def labelled(data, labels):
    transition = transition_of(data, data.num_nodes)
    views = AttributeViews(of_graph(data), transition)
    return LabelledRows(views.own, labels, int(labels.max()) + 1, transition, None, views)


def true_assortativity(data):
    start, end = neighbours(transition_of(data, data.num_nodes))
    same = float((data.y[start] == data.y[end]).double().mean())
    chance = float((data.y.bincount() / data.num_nodes).square().sum())
    return (same - chance) / (1 - chance)


def make_wrong(labels, rate, num_classes):
    """Labels of which some are another class at random."""
    rng = torch.Generator().manual_seed(0)
    wrong = (torch.rand(len(labels), generator=rng) < rate) & (labels >= 0)
    other = 1 + torch.randint(num_classes - 1, (len(labels),), generator=rng)
    return torch.where(wrong, (labels + other) % num_classes, labels)


def test_homophily_by_attributes_is_the_line_through_all_pairs():
    rng = torch.Generator().manual_seed(0)
    unit = F.normalize(torch.randn(12, 5, generator=rng), dim=1)
    classes = torch.rand(12, 3, generator=rng).softmax(1)
    classes = classes + 0.3 * F.normalize(unit[:, :3].abs(), dim=1)  # related to the rows
    pairs = list(itertools.permutations(range(12), 2))
    s = [float(unit[i] @ unit[j]) for i, j in pairs]
    t = [float(classes[i] @ classes[j]) for i, j in pairs]
    slope, intercept = np.polyfit(t, s, 1)
    assert slope > 0
    wanted = (0.3 - intercept) / slope
    assert homophily_by_attributes(0.3, unit, classes) == pytest.approx(wanted, rel=1e-3)


@pytest.mark.parametrize("homophily", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("labels", ["few", "many"])
def test_assortativity_is_found(homophily, labels):
    data = make_graph(1500, num_classes=4, homophily=homophily, topic_strength=0.6)
    given = torch.where(data.test_mask, -1, data.y) if labels == "few" else data.y
    assert assortativity(labelled(data, given)) == pytest.approx(true_assortativity(data), abs=0.1)


def test_wrong_labels_do_not_make_edges_look_right():
    data = make_graph(1500, num_classes=4, homophily=0.5, topic_strength=0.6)
    labels = make_wrong(torch.where(data.test_mask, -1, data.y), 0.3, 4)
    rows, truth = labelled(data, labels), true_assortativity(data)
    alike, nodes, unit = sampled_rows(rows.attributes.x, neighbours(rows.transition), labels)
    h = homophily_by_attributes(alike, unit, F.one_hot(labels[nodes], 4).float())
    assert abs(assortativity(rows) - truth) < abs((h - 0.25) / 0.75 - truth) / 2


@pytest.mark.parametrize("rate", [0, 0.4])
def test_labelled_edges_tell_where_neighbours_are_alike_for_another_reason(rate):
    data = make_graph(600, num_classes=3, homophily=0.05, avg_degree=6)
    data.x = transition_of(data, 600) @ data.x.to_dense()
    labels = make_wrong(torch.where(torch.arange(600) % 2 == 0, data.y, -1), rate, 3)
    rows = labelled(data, labels)
    alike, nodes, unit = sampled_rows(rows.attributes.x, neighbours(rows.transition), labels)
    assert homophily_by_attributes(alike, unit, F.one_hot(labels[nodes], 3).float()) > 0.5
    assert true_assortativity(data) < assortativity(rows) < LOW


def test_labels_of_edges_count_as_they_are_where_they_are_right():
    joint = torch.diag(torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64))
    edges = torch.tensor([[7, 1, 0], [2, 5, 3], [0, 0, 2]])
    wanted = (14 + WORTH * 0.4) / (20 + WORTH)
    assert homophily_of_labelled_edges(edges, joint, 0.4) == pytest.approx(wanted)
    assert homophily_of_labelled_edges(0 * edges, joint, 0.4) == pytest.approx(0.4)


def test_the_share_of_equal_classes_is_the_best_of_a_grid():
    rng = np.random.default_rng(0)
    transition = rng.dirichlet([1, 1, 1], 3) / 2 + np.eye(3) / 2
    joint = torch.from_numpy(np.array([[0.5], [0.3], [0.2]]) * transition)
    edges = torch.from_numpy(rng.integers(0, 20, (3, 3)))
    share, same, other = joint.sum(1), torch.zeros(3, 3), torch.zeros(3, 3)
    for c, d in itertools.product(range(3), range(3)):  # the two classes of an edge, one by one
        both = torch.outer(joint[c], joint[d])
        if c == d:
            same += both / share[c]
        else:
            other += both / (1 - share @ share)
    assert same.sum() == pytest.approx(1)
    assert other.sum() == pytest.approx(1)
    grid = torch.linspace(0.001, 0.999, 999).double()[:, None, None]
    fit = (edges * (grid * same + (1 - grid) * other).log()).sum((1, 2))
    prior = WORTH * (0.7 * grid.log() + 0.3 * (1 - grid).log()).flatten()
    best = float(grid.flatten()[(fit + prior).argmax()])
    assert homophily_of_labelled_edges(edges, joint, 0.7) == pytest.approx(best, abs=1e-3)


def test_edges_between_labelled_nodes_are_counted_once():
    edges = torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]])
    graph = Data(x=torch.eye(5), edge_index=torch.cat([edges, edges.flip(0)], 1))
    counts = count_labelled_edges(
        neighbours(transition_of(graph, 5)), torch.tensor([0, 1, 1, -1, 0]), 2
    )
    assert counts.sum() == 3
    assert counts[0, 1] + counts[1, 0] == 2
    assert counts[1, 1] == 1


def test_labels_are_sampled_once_each():
    data = make_graph(300, num_classes=4)
    labels = torch.where(data.test_mask, -1, data.y)
    _, nodes, _ = sampled_rows(of_graph(data), neighbours(transition_of(data, 300)), labels)
    assert sorted(nodes.tolist()) == (labels >= 0).nonzero().squeeze(1).tolist()


def test_attributes_that_say_nothing_say_nothing_of_edges():
    unit = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    classes = F.one_hot(torch.tensor([0, 0, 1, 1])).float()  # unlike in a class, alike between
    assert homophily_by_attributes(0.0, unit, classes) == np.inf


def test_without_attributes_nothing_is_found():
    data = make_graph(60, num_classes=3)
    rows = LabelledRows(torch.eye(60), data.y, 3, transition_of(data, 60))
    assert assortativity(rows) == np.inf


def test_sampled_rows_are_centred_whatever_the_layout():
    x = torch.rand(30, 6, generator=torch.Generator().manual_seed(0))
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    transition = transition_of(Data(x=x, edge_index=edges), 30)
    labels = torch.full((30,), -1)
    labels[[3, 5]] = torch.tensor([0, 1])
    for matrix in (Matrix(x), Matrix(x.to_sparse_csr())):
        alike, nodes, unit = sampled_rows(matrix, neighbours(transition), labels)
        rows = F.normalize(x - x.mean(0), dim=1)
        np.testing.assert_allclose(unit, rows[nodes], atol=1e-6)
        assert alike == pytest.approx(float((rows[edges[0]] * rows[edges[1]]).sum(1).mean()))


def test_a_graph_without_edges_has_no_neighbours_that_are_alike():
    graph = Data(x=torch.eye(3), edge_index=torch.zeros(2, 0, dtype=torch.long))
    alike, _, _ = sampled_rows(
        of_graph(graph), neighbours(transition_of(graph, 3)), torch.tensor([0, 1, -1])
    )
    assert alike == 0
