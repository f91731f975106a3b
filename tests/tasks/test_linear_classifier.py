from dataclasses import replace

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from brgcl.data import make_graph
from brgcl.errors import InputError
from brgcl.tasks.attribute_rows import AttributeViews
from brgcl.tasks.checks import by_class_number, encode_classes, transition_of
from brgcl.tasks.classifiers import LabelledRows
from brgcl.tasks.classify import NodeClassifier
from brgcl.tasks.linear_classifier import LinearClassifier
from brgcl.tasks.own_attributes import fit_attributes, of_graph

NAMES = ["a", "b", "c", "d"]


@pytest.fixture(scope="module")
def rows():
    """Representations of a graph with labels of the classes 0, 2 and 3."""
    graph = make_graph(90, num_classes=3, num_features=20, labels_per_class=8, seed=2)
    labels = torch.tensor([0, 2, 3])[graph.y]
    z = torch.nn.functional.one_hot(labels, 4) + 0.6 * torch.from_numpy(
        np.random.default_rng(0).normal(size=(90, 4))
    )
    return graph, z.float(), torch.where(torch.arange(90) % 3 == 0, -1, labels)


@pytest.mark.parametrize("rule", ["bayes", "centroid", "logistic", "logistic+", "probe"])
@pytest.mark.parametrize("two", [False, True])
def test_a_stored_classifier_predicts_as_the_one_it_was_made_of(rows, tmp_path, rule, two):
    graph, z, labels = rows
    if two:
        labels = torch.where(labels == 2, -1, labels)
    classifier = NodeClassifier(rule).fit(z, labels, graph=graph)
    LinearClassifier.of(classifier, NAMES).save(tmp_path / "c.safetensors")
    stored = LinearClassifier.load(tmp_path / "c.safetensors")
    expected = by_class_number(classifier.predict_proba(z), classifier.classes_)
    found = stored.predict_proba(z, graph)
    assert torch.allclose(found[:, : expected.shape[1]], expected, atol=1e-5)
    assert found[:, 1].max() == 0
    assert (stored.rule, stored.class_names) == (rule, tuple(NAMES))


@pytest.mark.parametrize("rule", ["attributes", "smoothed attributes"])
def test_a_stored_classifier_by_attributes_predicts_by_them(tmp_path, rule):
    mixed = make_graph(300, num_classes=3, homophily=1 / 3, topic_strength=0.7)
    labels = torch.where(mixed.test_mask, -1, torch.tensor([0, 2, 3])[mixed.y])
    z = torch.randn(300, 4, generator=torch.Generator().manual_seed(0))
    classifier = NodeClassifier().fit(z, labels, graph=mixed)
    assert classifier.rule_ == "attributes"
    if rule != "attributes":  # what it did not choose here
        views = AttributeViews(of_graph(mixed), transition_of(mixed, 300))
        codes = torch.from_numpy(encode_classes(labels, 300)[1])
        rows = LabelledRows(z, codes, 3, transition_of(mixed, 300), attributes=views)
        classifier.rule_ = rule
        classifier._predictor = fit_attributes(rows, lambda z: z)[rule]
    LinearClassifier.of(classifier, NAMES).save(tmp_path / "c.safetensors")
    stored = LinearClassifier.load(tmp_path / "c.safetensors")
    assert stored.rule == rule
    expected = by_class_number(classifier.predict_proba(z), classifier.classes_)
    assert torch.allclose(stored.predict_proba(z, mixed), expected, atol=1e-4)
    with pytest.raises(InputError, match="give the graph of the nodes"):
        stored.predict_proba(z)


@pytest.mark.parametrize("negative", [False, True])
def test_a_stored_classifier_sees_the_attributes_of_any_graph(rows, tmp_path, negative):
    graph, z, labels = rows
    graph = graph.clone()
    if negative:  # columns are then standardised, by the graph that the classifier was fitted to
        graph.x = graph.x.to_dense() - 0.3
    classifier = NodeClassifier().fit(z, labels, graph=graph)
    LinearClassifier.of(classifier, NAMES).save(tmp_path / "c.safetensors")
    stored = LinearClassifier.load(tmp_path / "c.safetensors")
    expected = by_class_number(classifier.predict_proba(z), classifier.classes_)
    found = stored.predict_proba(z, graph)
    assert torch.allclose(found[:, : expected.shape[1]], expected, atol=1e-4)
    # the same nodes in another order, beside a node that has no edge
    order = torch.randperm(90, generator=torch.Generator().manual_seed(0))
    place = torch.empty(90, dtype=torch.long).scatter_(0, order, torch.arange(90))
    x = graph.x.to_dense()[order]
    other = Data(x=torch.cat([x, x[:1]]), edge_index=place[graph.edge_index], num_nodes=91)
    stored = replace(stored, coupling=0.0)  # smoothing compares with the mean of all nodes
    found = stored.predict_proba(z, graph)
    again = stored.predict_proba(torch.cat([z[order], z[:1]]), other)
    assert torch.allclose(again[:90], found[order], atol=1e-4)
    with pytest.raises(InputError, match="give the graph of the nodes, with the same 20"):
        stored.predict_proba(z)
    with pytest.raises(InputError, match="z has 3 columns but the classifier was fitted with 4"):
        stored.predict_proba(z[:, :3], graph)


def test_the_perceptron_is_not_kept(rows):
    _, z, labels = rows
    classifier = NodeClassifier("mlp", epochs=2).fit(z, labels)
    assert LinearClassifier.of(classifier, NAMES) is None


def test_other_files_and_other_rows_are_refused(rows, tmp_path):
    _, z, labels = rows
    stored = LinearClassifier.of(NodeClassifier("centroid").fit(z, labels), NAMES)
    with pytest.raises(InputError, match="z has 3 columns but the classifier was fitted with 4"):
        stored.predict_proba(z[:, :3])
    (tmp_path / "c.safetensors").write_bytes(b"?")
    with pytest.raises(InputError, match="is damaged"):
        LinearClassifier.load(tmp_path / "c.safetensors")
