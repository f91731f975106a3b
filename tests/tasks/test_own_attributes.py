from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Data

from brgcl import NodeClassifier
from brgcl.data import make_graph
from brgcl.tasks import classify, own_attributes
from brgcl.tasks.assortativity import ENOUGH, LOW
from brgcl.tasks.attribute_rows import AttributeViews
from brgcl.tasks.checks import transition_of
from brgcl.tasks.classifiers import LabelledRows
from brgcl.tasks.own_attributes import (
    fit_attributes,
    of_graph,
    rows_of_rule,
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


def labelled(data, labels, z=None):
    transition = transition_of(data, data.num_nodes)
    views = AttributeViews(of_graph(data), transition)
    C = int(labels.max()) + 1
    return LabelledRows(views.own if z is None else z, labels, C, transition, None, views)


@pytest.mark.parametrize(
    ("found", "lead", "name"),
    [
        (ENOUGH, 40, "bayes"),
        (np.inf, 40, "bayes"),
        (LOW, 3, "bayes"),  # not clearly better
        (LOW, 40, "attributes"),
        (LOW - 0.01, 3, "attributes"),
        (LOW - 0.01, 0, "attributes"),
        (LOW - 0.01, -3, "attributes"),  # not better by a standard error
        (LOW - 0.01, -8, "bayes"),
    ],
)
def test_the_less_edges_say_the_more_attributes_are_preferred(
    monkeypatch, mixed, found, lead, name
):
    data, labels, z = mixed
    right = {"bayes": (0, 20), "attributes": (10, 30 + lead), "smoothed attributes": (0, 9)}
    nodes = torch.arange(100)
    fits = {k: SimpleNamespace(right=(nodes >= a) & (nodes < b)) for k, (a, b) in right.items()}
    monkeypatch.setattr(classify, "assortativity", lambda rows: found)
    monkeypatch.setattr(own_attributes, "fit_joined", lambda rows: fits["bayes"])
    by_attributes = {k: fit for k, fit in fits.items() if k != "bayes"}
    monkeypatch.setattr(own_attributes, "fit_attributes", lambda rows, by_rows: by_attributes)
    assert NodeClassifier().fit(z, labels, graph=data).rule_ == name


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
    assert of_graph(Data(edge_index=data.edge_index)) is None


def test_rows_of_other_nodes_are_classified_by_themselves(mixed):
    data, labels, z = mixed
    transition = transition_of(data, len(z))
    views = AttributeViews(of_graph(data), transition)
    rows = LabelledRows(z, labels, 3, transition, attributes=views)
    classify = fit_attributes(rows, lambda z: torch.zeros(len(z), 3))["attributes"]
    assert torch.equal(classify(z), classify.fit(views.own))
    assert classify(z[:5]).sum() == 0
