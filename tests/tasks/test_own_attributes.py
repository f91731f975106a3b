import itertools

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Data

from brgcl import NodeClassifier
from brgcl.data import make_graph
from brgcl.method.sparse import Matrix
from brgcl.tasks import own_attributes
from brgcl.tasks.attribute_rows import AttributeViews
from brgcl.tasks.checks import transition_of
from brgcl.tasks.classifiers import LabelledRows
from brgcl.tasks.own_attributes import (
    ENOUGH,
    LOW,
    assortativity,
    estimated_assortativity,
    fit_attributes,
    fit_joined,
    fit_where_edges_mislead,
    neighbours,
    of_graph,
    rows_of_rule,
    sampled_rows,
)


@pytest.fixture(scope="module")
def mixed():
    """Neighbours of random classes, so that rows averaged over them say nothing."""
    data = make_graph(400, num_classes=3, homophily=1 / 3, topic_strength=0.6, avg_degree=10)
    labels = torch.where(data.train_mask, data.y, -1)
    useless = torch.randn(400, 8, generator=torch.Generator().manual_seed(0))
    return data, labels, useless


@pytest.fixture(scope="module")
def alike():
    """Neighbours of one class, more alike than their class explains; and rows that say nothing."""
    data = make_graph(400, num_classes=3, homophily=0.9)
    data.x = transition_of(data, 400) @ data.x.to_dense()
    labels = torch.where(data.train_mask, data.y, -1)
    return data, labels, torch.randn(400, 8, generator=torch.Generator().manual_seed(0))


def test_estimated_assortativity_is_the_line_through_all_pairs():
    rng = torch.Generator().manual_seed(0)
    unit = F.normalize(torch.randn(12, 5, generator=rng), dim=1)
    classes = torch.rand(12, 3, generator=rng).softmax(1)
    classes = classes + 0.3 * F.normalize(unit[:, :3].abs(), dim=1)  # related to the rows
    pairs = list(itertools.permutations(range(12), 2))
    s = [float(unit[i] @ unit[j]) for i, j in pairs]
    t = [float(classes[i] @ classes[j]) for i, j in pairs]
    slope, intercept = np.polyfit(t, s, 1)
    assert slope > 0
    chance = np.mean(t)
    wanted = ((0.3 - intercept) / slope - chance) / (1 - chance)
    assert estimated_assortativity(0.3, unit, classes) == pytest.approx(wanted, rel=1e-3)


@pytest.mark.parametrize("homophily", [0.1, 0.5, 0.8])
def test_assortativity_is_found_from_attributes(homophily):
    data = make_graph(1500, num_classes=4, homophily=homophily, topic_strength=0.6)
    labels = torch.where(data.test_mask, -1, data.y)
    assert assortativity(labelled(data, labels)) == pytest.approx(true_assortativity(data), abs=0.1)


def test_wrong_labels_do_not_make_edges_look_right():
    data = make_graph(1500, num_classes=4, homophily=0.5, topic_strength=0.6)
    labels = torch.where(data.test_mask, -1, data.y)
    rng = torch.Generator().manual_seed(0)
    wrong = (torch.rand(1500, generator=rng) < 0.3) & (labels >= 0)
    labels[wrong] = (labels[wrong] + 1 + torch.randint(3, (1500,), generator=rng)[wrong]) % 4
    rows, truth = labelled(data, labels), true_assortativity(data)
    alike, nodes, unit = sampled_rows(rows.attributes.x, rows.transition, labels)
    as_given = estimated_assortativity(alike, unit, F.one_hot(labels[nodes], 4).float())
    assert abs(assortativity(rows) - truth) < abs(as_given - truth) / 2


def true_assortativity(data):
    start, end = neighbours(transition_of(data, data.num_nodes))
    same = float((data.y[start] == data.y[end]).double().mean())
    chance = float((data.y.bincount() / data.num_nodes).square().sum())
    return (same - chance) / (1 - chance)


def test_labels_are_sampled_once_each():
    data = make_graph(300, num_classes=4)
    labels = torch.where(data.test_mask, -1, data.y)
    _, nodes, _ = sampled_rows(of_graph(data), transition_of(data, 300), labels)
    assert sorted(nodes.tolist()) == (labels >= 0).nonzero().squeeze(1).tolist()


def labelled(data, labels, z=None):
    transition = transition_of(data, data.num_nodes)
    views = AttributeViews(of_graph(data), transition)
    C = int(labels.max()) + 1
    return LabelledRows(views.own if z is None else z, labels, C, transition, None, views)


@pytest.mark.parametrize(
    ("found", "names"),
    [
        (ENOUGH, ["bayes"]),
        (LOW, ["bayes", "attributes", "smoothed attributes"]),
        (LOW - 0.01, ["attributes", "smoothed attributes", "bayes"]),
        (float("inf"), ["bayes"]),
    ],
)
def test_the_less_edges_say_the_more_attributes_are_preferred(monkeypatch, mixed, found, names):
    data, labels, z = mixed
    monkeypatch.setattr(own_attributes, "assortativity", lambda rows: found)
    rows = labelled(data, labels, z)
    assert list(fit_where_edges_mislead(rows, fit_joined(rows))) == names


def test_attributes_that_say_nothing_are_not_tried():
    unit = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    classes = F.one_hot(torch.tensor([0, 0, 1, 1])).float()  # unlike in a class, alike between
    assert estimated_assortativity(0.0, unit, classes) == np.inf


def test_sampled_rows_are_centred_whatever_the_layout():
    x = torch.rand(30, 6, generator=torch.Generator().manual_seed(0))
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    transition = transition_of(Data(x=x, edge_index=edges), 30)
    labels = torch.full((30,), -1)
    labels[[3, 5]] = torch.tensor([0, 1])
    for matrix in (Matrix(x), Matrix(x.to_sparse_csr())):
        alike, nodes, unit = sampled_rows(matrix, transition, labels)
        rows = F.normalize(x - x.mean(0), dim=1)
        np.testing.assert_allclose(unit, rows[nodes], atol=1e-6)
        assert alike == pytest.approx(float((rows[edges[0]] * rows[edges[1]]).sum(1).mean()))


def test_a_graph_without_edges_has_no_neighbours_that_are_alike():
    graph = Data(x=torch.eye(3), edge_index=torch.zeros(2, 0, dtype=torch.long))
    alike, _, _ = sampled_rows(of_graph(graph), transition_of(graph, 3), torch.tensor([0, 1, -1]))
    assert alike == 0


def test_attributes_are_taken_where_edges_say_nothing(mixed):
    data, labels, z = mixed
    classifier = NodeClassifier().fit(z, labels, graph=data)
    assert classifier.rule_ == "attributes"
    assert classifier.scores_["attributes"] > classifier.scores_["bayes"]
    right = (classifier.predict(z) == data.y)[data.test_mask].float().mean()
    alone = NodeClassifier("bayes").fit(z, labels, graph=data)
    assert right > 0.2 + (alone.predict(z) == data.y)[data.test_mask].float().mean()
    others = classifier.predict_proba(z[:5])  # nodes that are not in the graph
    assert torch.equal(others, classifier._predictor.others.alone.predictor(F.normalize(z[:5])))


def test_validation_labels_may_choose_attributes_too(mixed):
    data, labels, z = mixed
    validation = torch.where(data.val_mask, data.y, -1)
    assert NodeClassifier().fit(z, labels, graph=data, validation=validation).rule_ == "attributes"


def test_representations_that_are_clearly_better_stay(mixed):
    data, labels, _ = mixed
    noise = torch.randn(400, 3, generator=torch.Generator().manual_seed(1))
    z = F.one_hot(data.y, 3) + 0.2 * noise
    with_graph = NodeClassifier().fit(z, labels, graph=data)
    assert with_graph.rule_ == "bayes"
    joined = rows_of_rule("bayes", z, data)
    same = NodeClassifier("bayes").fit(joined, labels, graph=data).predict_proba(joined)
    np.testing.assert_allclose(with_graph.predict_proba(z), same, atol=1e-4)


def test_attributes_around_stand_beside_representations(alike):
    data, labels, z = alike
    joined = NodeClassifier().fit(z, labels, graph=data)
    alone = NodeClassifier("bayes").fit(z, labels, graph=data)
    test = data.test_mask
    assert (joined.predict(z) == data.y)[test].float().mean() > 0.2 + float(
        (alone.predict(z) == data.y)[test].float().mean()
    )
    other = joined.predict_proba(-z)  # the rows that are given count, not those of fit
    assert not torch.equal(other, joined.predict_proba(z))
    assert joined.predict_proba(z[:7]).shape == (7, 3)


def test_the_rows_of_a_rule_are_what_it_is_fitted_to():
    data = make_graph(60, num_classes=3)
    z = torch.randn(60, 5, generator=torch.Generator().manual_seed(0))
    views = AttributeViews(of_graph(data), transition_of(data, 60))
    assert torch.equal(rows_of_rule("attributes", z, data), views.own)
    assert torch.equal(rows_of_rule("smoothed attributes", z, data), views.around)
    joined = rows_of_rule("bayes", z, data)
    np.testing.assert_allclose(joined.norm(dim=1), 1, atol=1e-6)
    np.testing.assert_allclose(F.normalize(joined[:, :5]), F.normalize(z), atol=1e-6)
    assert rows_of_rule("bayes", z, Data(edge_index=data.edge_index)) is z


def test_nothing_is_tried_where_neighbours_are_more_alike_than_their_classes(alike):
    data, labels, z = alike
    classifier = NodeClassifier().fit(z, labels, graph=data)
    assert (classifier.rule_, classifier.scores_) == ("bayes", {})


def test_without_attributes_or_graph_there_is_nothing_to_try(mixed):
    data, labels, z = mixed
    rows = LabelledRows(z, labels, 3)
    assert fit_attributes(rows, lambda z: z) == {}
    assert assortativity(rows) == np.inf
    assert of_graph(Data(edge_index=data.edge_index)) is None


def test_rows_of_other_nodes_are_classified_by_themselves(mixed):
    data, labels, z = mixed
    transition = transition_of(data, len(z))
    views = AttributeViews(of_graph(data), transition)
    rows = LabelledRows(z, labels, 3, transition, attributes=views)
    classify = fit_attributes(rows, lambda z: torch.zeros(len(z), 3))["attributes"]
    assert torch.equal(classify(z), classify.fit(views.own))
    assert classify(z[:5]).sum() == 0
