"""What every method promises, whoever wrote it.

A new entry of METHODS is covered as soon as it has settings in FAST with which it trains in about a
second on a hundred nodes and still learns the two blocks.
"""

import dataclasses

import pytest
import torch
from torch_geometric.data import Data

from brgcl.data import check_graph, make_graph
from brgcl.errors import InputError
from brgcl.evaluate.protocol import draw_noisy_graph
from brgcl.evaluate.score import classify_one, fit_one
from brgcl.methods import METHODS
from brgcl.noise import NoiseSpec
from brgcl.noise.graph import Noise
from brgcl.tasks.classify import NodeClassifier
from brgcl.tasks.metrics import accuracy

FAST = {
    "brgcl": {"epochs": 12, "hidden": 32, "dim": 16, "warmup_epochs": 6, "lr": 0.01},
    "brgcl-paper": {"epochs": 12, "hidden": 32, "dim": 16, "lr": 0.01},
    "gcn": {"epochs": 40},
    "s2gc": {"epochs": 40},
    "gce": {"epochs": 40},
    "nrgnn": {"epochs": 40, "lr": 0.01, "n_p": 10},
    "co-teaching": {"epochs": 40, "ramp_epochs": 20},
    "self-training": {"epochs": 40},
    "brgcl-joint": {"epochs": 12, "hidden": 32, "dim": 16, "warmup_epochs": 6, "lr": 0.01},
    "sce": {"epochs": 40},
    "forward": {"pretrain_epochs": 40, "epochs": 40},
    "jocor": {"epochs": 40, "ramp_epochs": 20},
    "clnode": {"epochs": 40, "full_after": 20},
    "unionnet": {"epochs": 40, "warmup_epochs": 20},
    "erase": {"epochs": 20, "hidden": 16, "heads": 2, "dim": 16, "lr": 0.01, "every": 5},
    "kmeans": {},
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

BLIND = {"kmeans"}  # sees no edges: the floor that the others are measured against
SUPERVISED = [name for name, method in METHODS.items() if method.uses_labels]
UNSUPERVISED = [name for name, method in METHODS.items() if not method.uses_labels]
every_method = pytest.mark.parametrize("name", METHODS)


def config_of(name):
    return METHODS[name].config(**FAST[name])


def small_graph(seed=0, **changes) -> Data:
    data = make_graph(
        100, num_classes=3, num_features=40, labels_per_class=10, num_val=20, seed=seed
    )
    for key, value in changes.items():
        data[key] = value
    return data


NOISE = Noise(labels=NoiseSpec("symmetric", 0.2))


def trial_of(data, protocol="clean-val"):
    return draw_noisy_graph(data, noise=NOISE, protocol=protocol, seed=0)


def run(name, data, protocol="clean-val"):
    trial = trial_of(data, protocol)
    fitted = fit_one(trial, name, config_of(name), 0)
    return fitted, classify_one(trial, fitted, NodeClassifier(epochs=20))


def parts(run):
    """Every tensor that a method gives back."""
    fitted, outcome = run
    found = {"representations": fitted.representations}
    if fitted.probabilities is not None:
        found["probabilities"] = fitted.probabilities
    return found | {"predictions": outcome.probabilities}


def assert_same_bytes(one, two):
    assert one.keys() == two.keys()
    for key in one:
        assert one[key].numpy().tobytes() == two[key].numpy().tobytes(), key


# The entry


def test_every_method_has_fast_settings_here():
    assert set(FAST) == set(METHODS)


@every_method
def test_the_entry_is_complete(name):
    method = METHODS[name]
    assert method.kind in ("classifier", "representation")
    assert method.uses_labels or method.kind == "representation"  # nobody predicts without labels
    assert method.citation
    assert method.cost
    assert dataclasses.is_dataclass(method.Config)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(method.Config(), dataclasses.fields(method.Config)[0].name, None)
    hash(method.Config())


# What comes out


@every_method
def test_results_are_finite_and_of_the_right_shape(name):
    data = small_graph()
    fitted = fit_one(trial_of(data), name, config_of(name), 0)
    assert fitted.representations.shape[0] == data.num_nodes
    assert fitted.representations.dtype == torch.float32
    assert bool(fitted.representations.isfinite().all())
    assert not fitted.representations.requires_grad
    assert (fitted.probabilities is not None) == (METHODS[name].kind == "classifier")
    if fitted.probabilities is not None:
        assert fitted.probabilities.shape == (data.num_nodes, 3)
        assert torch.allclose(fitted.probabilities.sum(1), torch.ones(100), atol=1e-5)
        assert not fitted.probabilities.requires_grad


@every_method
def test_progress_moves_forward_to_a_known_end(name):
    said = []
    fit_one(trial_of(small_graph()), name, config_of(name), 0, lambda *s: said.append(s))
    done, total, words = zip(*said, strict=True)
    assert list(done) == sorted(done)
    assert len(set(total)) == 1
    assert 0 < done[-1] <= total[-1]
    assert all(isinstance(text, str) for text in words)


# No leaks


@every_method
@pytest.mark.parametrize("protocol", ["clean-val", "noisy-val", "no-val"])
def test_test_labels_change_no_byte_of_the_result(name, protocol):
    data = small_graph()
    random = torch.randint(0, 3, (100,), generator=torch.Generator().manual_seed(7))
    hidden = data.test_mask if protocol != "no-val" else data.test_mask | data.val_mask
    other = small_graph(y=torch.where(hidden, random, data.y))
    assert int((other.y != data.y).sum()) > 20
    assert_same_bytes(parts(run(name, data, protocol)), parts(run(name, other, protocol)))


@pytest.mark.parametrize("name", UNSUPERVISED)
def test_no_label_at_all_changes_a_byte_of_a_representation(name):
    data = small_graph()
    random = torch.randint(0, 3, (100,), generator=torch.Generator().manual_seed(7))
    one, two = (
        fit_one(trial_of(graph), name, config_of(name), 0).representations
        for graph in (data, small_graph(y=random))
    )
    assert one.numpy().tobytes() == two.numpy().tobytes()


@pytest.mark.parametrize("name", UNSUPERVISED)
def test_a_method_without_labels_does_not_read_those_it_is_handed(name):
    trial = trial_of(small_graph())
    one, two = (
        METHODS[name]
        .fit(trial.graph, labels, config_of(name), torch.Generator().manual_seed(0))
        .representations
        for labels in (None, trial.labels)
    )
    assert torch.equal(one, two)


@pytest.mark.parametrize("name", SUPERVISED)
def test_training_labels_do_reach_a_supervised_method(name):
    data = small_graph()
    other = small_graph(y=torch.where(data.train_mask, (data.y + 1) % 3, data.y))
    one, two = (fit_one(trial_of(g), name, config_of(name), 0) for g in (data, other))
    assert not torch.equal(one.representations, two.representations)


# Randomness and inputs


@every_method
def test_the_same_generator_gives_the_same_bytes(name):
    data = small_graph()
    assert_same_bytes(parts(run(name, data)), parts(run(name, data)))


@every_method
def test_the_global_generator_is_left_alone(name):
    trial = trial_of(small_graph())
    torch.manual_seed(5)
    before = torch.get_rng_state()
    fit_one(trial, name, config_of(name), 0)
    assert torch.equal(torch.get_rng_state(), before)


@every_method
def test_inputs_are_left_as_they_were(name):
    trial = trial_of(small_graph(x=small_graph().x.to_dense()))
    copies = {key: trial.graph[key].clone() for key in ("x", "edge_index")}
    labels = trial.labels.train.clone(), trial.labels.validation.clone()
    keys = sorted(trial.graph.keys())
    fit_one(trial, name, config_of(name), 0)
    assert sorted(trial.graph.keys()) == keys
    assert all(torch.equal(trial.graph[key], copies[key]) for key in copies)
    assert torch.equal(trial.labels.train, labels[0])
    assert torch.equal(trial.labels.validation, labels[1])


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


@every_method
@pytest.mark.parametrize("protocol", ["clean-val", "no-val"])
def test_it_learns_two_blocks(name, protocol):
    data = two_blocks()
    trial = draw_noisy_graph(data, noise=Noise(), protocol=protocol, seed=0)
    fitted = fit_one(trial, name, config_of(name), 0)
    outcome = classify_one(trial, fitted, NodeClassifier(epochs=40))
    assert outcome.accuracy > (0.7 if name in BLIND else 0.9)
    predicted = outcome.probabilities.argmax(1)[data.test_mask]
    assert outcome.accuracy == accuracy(predicted, data.y[data.test_mask])


@every_method
def test_isolated_nodes_and_empty_rows_are_survived(name):
    data = small_graph()
    x = data.x.to_dense()
    x[:5] = 0
    kept = (data.edge_index >= 10).all(0)
    outcome = run(name, small_graph(x=x, edge_index=data.edge_index[:, kept]))
    assert all(bool(tensor.isfinite().all()) for tensor in parts(outcome).values())


@every_method
def test_a_graph_without_edges_is_survived(name):
    outcome = run(name, small_graph(edge_index=torch.empty(2, 0, dtype=torch.long)))
    assert all(bool(tensor.isfinite().all()) for tensor in parts(outcome).values())


@every_method
def test_sparse_and_dense_attributes_are_both_taken(name):
    sparse = small_graph()
    dense = small_graph(x=sparse.x.to_dense())
    assert sparse.x.layout == torch.sparse_csr
    for graph in (sparse, dense):
        found = fit_one(trial_of(graph), name, config_of(name), 0).representations
        assert bool(found.isfinite().all())


@pytest.mark.parametrize("name", SUPERVISED)
def test_a_supervised_method_wants_labels(name):
    trial = trial_of(small_graph())
    nothing = dataclasses.replace(trial.labels, train=torch.full((100,), -1))
    for labels in (None, nothing):
        with pytest.raises(InputError, match="labels"):
            METHODS[name].fit(trial.graph, labels, config_of(name), torch.Generator())
