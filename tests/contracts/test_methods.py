"""What every method promises, whoever wrote it.

A new entry of METHODS is covered as soon as it has settings in FAST with which it trains in about a
second on a hundred nodes and still learns the two blocks. Trainings that several tests look at are
done once. Where bytes are compared, representations are classified by the quick rule "centroid": a
classifier does not know which method it stands on. `AUTO` has the rule that is chosen.
"""

import dataclasses
from functools import cache
from typing import NamedTuple

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from brgcl.contract import Fitted
from brgcl.data import check_graph, make_graph
from brgcl.errors import InputError
from brgcl.evaluation.protocol import draw_noisy_graph
from brgcl.evaluation.score import classify_one, fit_one
from brgcl.methods import METHODS
from brgcl.noise import NoiseSpec
from brgcl.noise.graph import Noise
from brgcl.tasks.classify import NodeClassifier
from brgcl.tasks.metrics import accuracy

OURS = {"epochs": 12, "hidden": 32, "dim": 16, "lr": 0.01}
FAST = {
    # what is learned does not depend on the clusters that are looked for afterwards
    "brgcl": OURS | {"warmup_epochs": 6, "reported": "prototypes"},
    "brgcl-paper": OURS,
    "gcn": {"epochs": 40},
    "gcn-wide": {"epochs": 40, "hidden": 32},
    "mlp": {"epochs": 40},
    "s2gc": {"epochs": 40},
    "gce": {"epochs": 40},
    "nrgnn": {"epochs": 40, "lr": 0.01, "n_p": 10},
    "co-teaching": {"epochs": 40, "ramp_epochs": 20},
    "self-training": {"epochs": 40},
    "brgcl-joint": OURS | {"warmup_epochs": 6},
    "sce": {"epochs": 40},
    "forward": {"pretrain_epochs": 40, "epochs": 40},
    "jocor": {"epochs": 40, "ramp_epochs": 20},
    "clnode": {"epochs": 40, "full_after": 20},
    "unionnet": {"epochs": 40, "warmup_epochs": 20},
    "erase": {"epochs": 20, "hidden": 16, "heads": 2, "dim": 16, "lr": 0.003, "every": 5},
    "kmeans": {},
    "smooth": {"dim": 8},
    "random-gcn": {"hidden": 32, "dim": 16},
    "s2gc-features": {"num_clusters": 2, "dim": 4, "max_power": 8, "repeats": 1},
    "gae": {"epochs": 40, "lr": 0.05},
    "arga": {"iterations": 15, "lr": 0.01},
    "arvga": {"iterations": 15, "lr": 0.01},
    "gala": {"epochs": 40, "hidden": 32, "dim": 8, "lr": 0.01},
    "cca-ssg": {"epochs": 20, "hidden": 32, "dim": 16, "lr": 0.01},
    "grace": {"epochs": 20, "dim": 16, "projection_dim": 16, "lr": 0.01},
    "dgi": {"epochs": 40, "dim": 32, "lr": 0.01},
    "mvgrl": {"epochs": 40, "dim": 32, "lr": 0.01},
    "bgrl": {"epochs": 20, "hidden": 32, "dim": 16, "predictor_hidden": 16, "warmup_epochs": 2},
    "graphmae": {"epochs": 30, "dim": 16, "heads": 2, "lr": 0.01},
}

# Settings without randomness per node or edge, for methods whose outputs then follow their nodes.
NO_DROPOUT = {"dropout": 0.0, "epochs": 10}
EQUIVARIANT = {
    "brgcl": {"drop1": 0.0, "drop2": 0.0, "epochs": 5, "warmup_epochs": 2},
    "brgcl-paper": {"drop1": 0.0, "drop2": 0.0, "epochs": 5},
    **dict.fromkeys(
        ("gcn", "gcn-wide", "mlp", "gce", "sce", "self-training", "clnode"), NO_DROPOUT
    ),
    **dict.fromkeys(("co-teaching", "jocor"), NO_DROPOUT),
    "forward": {**NO_DROPOUT, "pretrain_epochs": 10},
    "s2gc": {},
    "brgcl-joint": {"drop1": 0.0, "drop2": 0.0, "epochs": 5, "warmup_epochs": 2},
    "kmeans": {},
    "smooth": {},
    "random-gcn": {},
    "gae": {"epochs": 10},
    "gala": {"held_out": 0.0, "epochs": 10},
    "cca-ssg": {"drop": 0.0, "epochs": 5},
    "grace": {"drop1": 0.0, "drop2": 0.0, "epochs": 5},
    "bgrl": {"drop1": 0.0, "drop2": 0.0, "epochs": 5},
}

AUTO = "smooth"  # the method whose representations are classified by the usual rule throughout
BLIND = {"kmeans", "mlp"}  # see no edges
SUPERVISED = [name for name, method in METHODS.items() if method.uses_labels]
UNSUPERVISED = [name for name, method in METHODS.items() if not method.uses_labels]
NOISE = Noise(labels=NoiseSpec("symmetric", 0.2))
every_method = pytest.mark.parametrize("name", METHODS)


class Run(NamedTuple):
    """One training, and what it said and did on the way."""

    fitted: Fitted
    predictions: Tensor
    said: list
    left_alone: bool  # inputs and torch's global generator are as they were


def config_of(name, **changes):
    return METHODS[name].config(**{**FAST[name], **changes})


def small_graph(seed=0, **changes) -> Data:
    data = make_graph(
        100, num_classes=3, num_features=40, labels_per_class=10, num_val=20, seed=seed
    )
    for key, value in changes.items():
        data[key] = value
    return data


def noisy_graph(data, protocol="clean-val"):
    return draw_noisy_graph(data, noise=NOISE, protocol=protocol, seed=0)


def train(name, data, protocol="clean-val", rule="centroid"):
    noisy, said = noisy_graph(data, protocol), []
    before, state = copies(noisy), torch.get_rng_state()
    fitted = fit_one(noisy, name, config_of(name), 0, lambda *words: said.append(words))
    after = copies(noisy)
    same = equal(before, after) and torch.equal(torch.get_rng_state(), state)
    return Run(fitted, predictions(name, noisy, fitted, rule), said, same)


def predictions(name, noisy, fitted, rule="centroid"):
    classifier = NodeClassifier("auto" if name == AUTO else rule, epochs=20)
    return classify_one(noisy, fitted, classifier).probabilities


def tensors(**given):
    return {k: v.to_dense().clone() for k, v in given.items() if isinstance(v, Tensor)}


def copies(noisy):
    """Every tensor that a method is handed."""
    labels = {name: getattr(noisy.labels, name) for name in ("train", "validation")}
    return tensors(**noisy.graph.to_dict(), **labels)


def equal(one, two):
    return one.keys() == two.keys() and all(torch.equal(one[k], two[k]) for k in one)


@cache
def usual(name, protocol="clean-val"):
    """The training that others are compared with."""
    return under(name, protocol, small_graph(), usual)


@cache
def on_other_test_labels(name, protocol):
    """The same with random labels in place of those that nobody may look at."""
    data = small_graph()
    random = torch.randint(0, 3, (100,), generator=torch.Generator().manual_seed(7))
    hidden = data.test_mask if protocol != "no-val" else data.test_mask | data.val_mask
    other = small_graph(y=torch.where(hidden, random, data.y))
    assert int((other.y != data.y).sum()) > 20
    return under(name, protocol, other, on_other_test_labels)


def under(name, protocol, data, run):
    """A training under a protocol, or the one under clean-val if no byte of the input differs."""
    if METHODS[name].uses_labels or protocol == "clean-val":
        return train(name, data, protocol)
    noisy, known = noisy_graph(data, protocol), noisy_graph(small_graph())
    assert equal(tensors(**noisy.graph.to_dict()), tensors(**known.graph.to_dict()))
    found = run(name, "clean-val")
    return found._replace(predictions=predictions(name, noisy, found.fitted))


@cache
def on_dense_attributes(name):
    return train(name, small_graph(x=small_graph().x.to_dense()))


def assert_same_bytes(one, two):
    for a, b in (
        (one.fitted.representations, two.fitted.representations),
        (one.fitted.probabilities, two.fitted.probabilities),
        (one.predictions, two.predictions),
    ):
        assert (a is None) == (b is None)
        assert a is None or a.numpy().tobytes() == b.numpy().tobytes()


def assert_finite(run):
    assert bool(run.fitted.representations.isfinite().all())
    assert bool(run.predictions.isfinite().all())


# The entry


def test_every_method_has_fast_settings_here():
    assert set(FAST) == set(METHODS)


@every_method
def test_the_entry_is_complete(name):
    method = METHODS[name]
    assert method.name == name
    assert method.kind in ("classifier", "representation")
    assert method.citation
    assert method.cost
    assert method.source
    assert method.version >= 1
    settings = {field.name for field in dataclasses.fields(method.Config)}
    assert settings >= {*method.ours, *method.sources}
    for changes in (*method.presets.values(), *method.reduced.values()):
        assert settings >= set(changes)
    for dataset in {*method.presets, *method.reduced}:
        method.config(dataset, **method.reduced.get(dataset, {}))


# What comes out


@every_method
def test_results_are_finite_and_of_the_right_shape(name):
    fitted = usual(name).fitted
    assert fitted.representations.shape[0] == 100
    assert fitted.representations.dtype == torch.float32
    assert bool(fitted.representations.isfinite().all())
    assert not fitted.representations.requires_grad
    assert (fitted.probabilities is not None) == (METHODS[name].kind == "classifier")
    if fitted.probabilities is not None:
        assert fitted.probabilities.shape == (100, 3)
        assert torch.allclose(fitted.probabilities.sum(1), torch.ones(100), atol=1e-5)
        assert not fitted.probabilities.requires_grad


@every_method
def test_clusters_come_with_a_confidence_in_them(name):
    fitted = usual(name).fitted
    found = (fitted.clustering, fitted.confidence, fitted.confident)
    if name in ("brgcl", "brgcl-paper"):
        assert fitted.clustering.assignment.shape == (100,)
        assert int(fitted.clustering.assignment.max()) < fitted.clustering.num_clusters
        assert bool(((fitted.confidence >= 0) & (fitted.confidence <= 1)).all())
        assert fitted.confident.dtype == torch.bool
    else:
        assert found == (None, None, None)


@every_method
def test_progress_moves_forward_to_a_known_end(name):
    done, total, words = zip(*usual(name).said, strict=True)
    assert list(done) == sorted(done)
    assert len(set(total)) == 1
    assert 0 < done[-1] <= total[-1]
    assert all(isinstance(text, str) for text in words)


# No leaks


@every_method
@pytest.mark.parametrize("protocol", ["clean-val", "noisy-val", "no-val"])
def test_test_labels_change_no_byte_of_the_result(name, protocol):
    assert_same_bytes(usual(name, protocol), on_other_test_labels(name, protocol))


@pytest.mark.parametrize("name", UNSUPERVISED)
def test_no_label_at_all_changes_a_byte_of_a_representation(name):
    random = torch.randint(0, 3, (100,), generator=torch.Generator().manual_seed(7))
    noisy = noisy_graph(small_graph(y=random))
    found = fit_one(noisy, name, config_of(name), 0).representations
    assert found.numpy().tobytes() == usual(name).fitted.representations.numpy().tobytes()


@pytest.mark.parametrize("name", UNSUPERVISED)
def test_a_method_without_labels_does_not_read_those_it_is_handed(name):
    noisy = noisy_graph(small_graph())
    one, two = (
        METHODS[name]
        .fit(noisy.graph, labels, config_of(name), torch.Generator().manual_seed(0))
        .representations
        for labels in (None, noisy.labels)
    )
    assert torch.equal(one, two)


@pytest.mark.parametrize("name", SUPERVISED)
def test_training_labels_do_reach_a_supervised_method(name):
    data = small_graph()
    other = small_graph(y=torch.where(data.train_mask, (data.y + 1) % 3, data.y))
    found = fit_one(noisy_graph(other), name, config_of(name), 0)
    assert not torch.equal(found.representations, usual(name).fitted.representations)


# Randomness and inputs


@every_method
def test_the_same_generator_gives_the_same_bytes(name):
    assert_same_bytes(usual(name), train(name, small_graph()))


@every_method
def test_inputs_and_the_global_generator_are_left_as_they_were(name):
    assert usual(name).left_alone
    assert on_dense_attributes(name).left_alone


@every_method
def test_sparse_and_dense_attributes_agree(name):
    """With dropout off: it draws for each stored value."""
    fields = {field.name for field in dataclasses.fields(METHODS[name].Config)}
    config = config_of(name, **dict.fromkeys(fields & {"dropout", "input_dropout"}, 0.0))
    assert small_graph().x.layout == torch.sparse_csr
    if config == config_of(name):
        one, two = (run(name).fitted.representations for run in (usual, on_dense_attributes))
    else:
        one, two = (
            fit_one(noisy_graph(graph), name, config, 0).representations
            for graph in (small_graph(), small_graph(x=small_graph().x.to_dense()))
        )
    assert torch.allclose(one, two, atol=1e-3)


@pytest.mark.parametrize("name", EQUIVARIANT)
def test_permuting_nodes_permutes_outputs(name):
    noisy = noisy_graph(small_graph())
    order = torch.randperm(100, generator=torch.Generator().manual_seed(1))  # new -> old
    place = order.argsort()
    graph = check_graph(
        Data(x=noisy.graph.x.to_dense()[order], edge_index=place[noisy.graph.edge_index]),
        announce=False,
    )
    given = dataclasses.replace(
        noisy.labels,
        train=noisy.labels.train[order],
        validation=noisy.labels.validation[order],
    )
    config = config_of(name, **EQUIVARIANT[name])
    one, two = (
        METHODS[name].fit(
            seen, labels if METHODS[name].uses_labels else None, config, seeded_generator()
        )
        for seen, labels in ((noisy.graph, noisy.labels), (graph, given))
    )
    assert torch.allclose(one.representations[order], two.representations, atol=1e-3)


def seeded_generator():
    return torch.Generator().manual_seed(0)


# Graphs of every kind


def two_blocks(num_nodes=100) -> Data:
    """Two groups with dense edges inside and few between, and attributes that say little."""
    rng = torch.Generator().manual_seed(0)
    y = torch.arange(num_nodes) % 2
    same = y[:, None] == y
    chance = torch.where(same, 0.15, 0.005)
    edges = (torch.rand(num_nodes, num_nodes, generator=rng) < chance).triu(1).nonzero().T
    x = torch.randn(num_nodes, 6, generator=rng)
    x[:, 0] += 2.0 * y - 1
    place = torch.arange(num_nodes)
    return check_graph(
        Data(
            x=x,
            edge_index=edges,
            y=y,
            train_mask=place < 20,
            val_mask=(place >= 20) & (place < 40),
            test_mask=place >= 40,
        ),
        announce=False,
    )


@cache
def on_two_blocks(name, protocol):
    """A training; the graph alone, all that a method without labels sees, has no protocol."""
    protocol = "clean-val" if protocol == "any" else protocol
    noisy = draw_noisy_graph(two_blocks(), noise=Noise(), protocol=protocol, seed=0)
    return fit_one(noisy, name, config_of(name), 0)


@every_method
@pytest.mark.parametrize("protocol", ["clean-val", "no-val"])
def test_it_learns_two_blocks(name, protocol):
    data = two_blocks()
    noisy = draw_noisy_graph(data, noise=Noise(), protocol=protocol, seed=0)
    fitted = on_two_blocks(name, protocol if METHODS[name].uses_labels else "any")
    outcome = classify_one(noisy, fitted, NodeClassifier(epochs=40))
    assert outcome.accuracy > (0.7 if name in BLIND else 0.9)
    predicted = outcome.probabilities.argmax(1)[data.test_mask]
    assert outcome.accuracy == accuracy(predicted, data.y[data.test_mask])


@every_method
def test_isolated_nodes_and_empty_rows_are_survived(name):
    data = small_graph()
    x = data.x.to_dense()
    x[:5] = 0
    kept = (data.edge_index >= 10).all(0)
    graph = small_graph(x=x, edge_index=data.edge_index[:, kept])
    assert_finite(train(name, graph, rule="auto"))


@every_method
def test_a_graph_without_edges_is_survived(name):
    graph = small_graph(edge_index=torch.empty(2, 0, dtype=torch.long))
    assert_finite(train(name, graph, rule="auto"))


@pytest.mark.parametrize("name", SUPERVISED)
def test_a_supervised_method_wants_labels(name):
    noisy = noisy_graph(small_graph())
    nothing = dataclasses.replace(noisy.labels, train=torch.full((100,), -1))
    for labels in (None, nothing):
        with pytest.raises(InputError, match="labels"):
            METHODS[name].fit(noisy.graph, labels, config_of(name), torch.Generator())
