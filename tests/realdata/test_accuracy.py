"""Coarse floors on real graphs: a broken method falls through, a good one is not measured here."""

import pytest
import torch
from torch_geometric.data import Data

import brgcl
from brgcl.baselines.gcn import GCNConfig
from brgcl.evaluation.protocol import draw_noisy_graph
from brgcl.evaluation.score import classify_one, fit_one
from brgcl.noise import NoiseSpec
from brgcl.noise.graph import Noise
from brgcl.tasks.metrics import nmi

pytestmark = pytest.mark.data

SHORT = {"epochs": 30, "warmup_epochs": 20, "num_negatives": 256, "hidden": 128, "dim": 64}


@pytest.fixture(scope="module")
def cora(real_data) -> Data:
    return real_data("cora")


@pytest.fixture(scope="module")
def model(cora) -> brgcl.BRGCL:
    return brgcl.BRGCL(lr=0.005, **SHORT).fit(cora)


def accuracy_of(z, data, labels) -> float:
    predicted = brgcl.NodeClassifier("centroid").fit(z, labels).predict(z)
    return float((predicted == data.y)[data.test_mask].float().mean())


def training_labels(data: Data, level: float) -> torch.Tensor:
    noise = Noise(NoiseSpec("symmetric", level))
    return draw_noisy_graph(data, noise=noise, protocol="no-val", seed=0).labels.train


@pytest.mark.parametrize(("level", "floor"), [(0.0, 0.70), (0.4, 0.55)])
def test_representations_beat_raw_attributes_on_cora(cora, model, level, floor):
    labels = training_labels(cora, level)
    raw = accuracy_of(cora.x.to_dense(), cora, labels)
    ours = accuracy_of(model.representations_, cora, labels)
    assert ours > raw + 0.1
    assert ours > floor


def test_clusters_beat_those_of_raw_attributes_on_cora(cora, model):
    raw = brgcl.cluster(cora.x.to_dense(), 7).assignment
    assert nmi(model.cluster(7), cora.y) > nmi(raw, cora.y) + 0.1


def test_training_lowers_the_loss_and_finds_prototypes_on_cora(model):
    losses = [epoch.node_loss for epoch in model.history_]
    assert losses[-1] < losses[0]
    assert 1 < model.num_prototypes_ <= 64


def test_label_errors_planted_in_cora_come_first(cora, model):
    labels = training_labels(cora, 0.3)
    frame = brgcl.find_label_errors(model.representations_, labels, graph=cora)
    wrong = labels[frame["node"].tolist()] != cora.y[frame["node"].tolist()]
    half = len(frame) // 2
    assert int(wrong[:half].sum()) > 2 * int(wrong[half:].sum())


def test_a_gcn_reaches_its_published_accuracy_on_cora(cora):
    trial = draw_noisy_graph(cora, noise=Noise(), protocol="clean-val", seed=0)
    outcome = classify_one(trial, fit_one(trial, "gcn", GCNConfig(), 0))
    assert 0.78 < outcome.accuracy < 0.85  # published: 0.815
