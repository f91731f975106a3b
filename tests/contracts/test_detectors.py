"""What every detector promises, whoever wrote it."""

import dataclasses
from functools import cache

import pytest
import torch

from brgcl.data import check_graph, make_graph
from brgcl.detectors.registry import DETECTORS
from brgcl.noise.labels import flip_labels

SHORT = {
    "brgcl": {"epochs": 10, "warmup_epochs": 5, "hidden": 32, "dim": 16, "num_negatives": 32},
    "gcn": {"hidden": 16},
    "mlp": {"hidden": 16},
}


@pytest.fixture(scope="module", autouse=True)
def folds_once():
    """Labels are judged with one choice of folds, not with five."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("brgcl.tasks.out_of_fold.REPEATS", ())
        yield


@cache
def planted():
    """Two blocks with a tenth of the labels flipped: graph, given labels, wrong ones."""
    graph = make_graph(120, num_classes=2, homophily=0.95, topic_strength=0.6, num_features=40)
    truth = graph.y
    generator = torch.Generator().manual_seed(0)
    noisy = flip_labels(truth, "symmetric", 0.1, num_classes=2, generator=generator, exact=True)
    labels = noisy.labels.clone()
    labels[::12] = -1  # some nodes have none
    return check_graph(graph), labels, noisy.flipped & (labels >= 0)


def short(name):
    detector = DETECTORS[name]
    return detector.config(**SHORT.get(detector.method, {}))


@cache
def found(name):
    graph, labels, _ = planted()
    return DETECTORS[name].run(graph, labels, config=short(name))


@pytest.mark.parametrize("name", DETECTORS)
def test_judges_every_labelled_node(name):
    _, labels, _ = planted()
    result, given = found(name), (labels >= 0).nonzero().squeeze(1)
    assert result.nodes.tolist() == given.tolist()
    for values in (result.score, result.suggested, result.is_error):
        assert values.shape == given.shape
    assert result.is_error.dtype == torch.bool
    assert 0 <= float(result.score.min()) <= float(result.score.max()) <= 1
    assert set(result.suggested.tolist()) <= {0, 1}
    assert result.error_rate is None or 0 <= result.error_rate <= 1


@pytest.mark.parametrize("name", DETECTORS)
def test_ranks_flipped_labels_first(name):
    _, labels, wrong = planted()
    result = found(name)
    is_wrong = wrong[result.nodes]
    first = result.score.argsort()[: int(is_wrong.sum())]
    chance = float(is_wrong.float().mean())
    assert float(is_wrong[first].float().mean()) > max(0.6, 5 * chance)
    flagged = result.is_error
    if not bool(flagged.any()):  # with so few labels ours may dare to flag none
        assert name in ("brgcl", "smooth")
        return
    assert float(is_wrong[flagged].float().mean()) > 0.5
    other = result.suggested[flagged] != labels[result.nodes][flagged]
    assert float(other.float().mean()) > 0.7


@pytest.mark.parametrize("name", DETECTORS)
def test_the_seed_decides_and_neither_truth_nor_inputs_are_touched(name):
    graph, labels, _ = planted()
    blind, before = graph.clone(), labels.clone()
    blind.y = torch.zeros_like(graph.y)
    again = DETECTORS[name].run(blind, labels, config=short(name))
    assert torch.equal(again.score, found(name).score)
    assert torch.equal(again.is_error, found(name).is_error)
    assert torch.equal(labels, before)


@pytest.mark.parametrize("name", DETECTORS)
def test_states_its_facts(name):
    detector = DETECTORS[name]
    assert detector.name == name
    assert detector.citation
    assert detector.cost
    assert (detector.kind == "labels") == (detector.method == "")
    if detector.trained is not None:
        assert detector.trained.uses_labels == (detector.kind == "classifier")
    newer = dataclasses.replace(detector, revision=detector.revision + 1)
    assert newer.version == detector.version + 1
