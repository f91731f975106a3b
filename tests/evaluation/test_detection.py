import pytest
import torch

from brgcl.data import make_graph
from brgcl.detectors.contract import Detected
from brgcl.detectors.registry import DETECTORS
from brgcl.evaluation.detection import detect_one
from brgcl.evaluation.protocol import draw_noisy_graph
from brgcl.noise import NoiseSpec
from brgcl.noise.graph import Noise


@pytest.fixture(scope="module")
def data():
    return make_graph(200, num_classes=3, num_features=30, labels_per_class=10, num_val=40)


@pytest.fixture(scope="module")
def noisy(data):
    noise = Noise(NoiseSpec("symmetric", 0.2))
    return draw_noisy_graph(data, noise=noise, labelled="all", protocol="no-val")


def told_the_truth(monkeypatch, noisy, **changes):
    """Let a detector know all; returns the scores that it gets."""
    nodes = (noisy.labels.train >= 0).nonzero().squeeze(1)
    wrong = noisy.labels.train[nodes] != noisy.truth.y[nodes]
    found = Detected(nodes, (~wrong).double(), noisy.truth.y[nodes], wrong, **changes)
    entry = DETECTORS["neighbours"]
    monkeypatch.setattr(type(entry), "run", lambda *_, **__: found)
    return detect_one(noisy, "neighbours", None, 0).metrics


def test_an_oracle_has_the_best_scores(noisy, monkeypatch):
    scores = told_the_truth(monkeypatch, noisy)
    best = dict.fromkeys(("auroc", "average_precision", "precision", "recall", "f1", "mcc"), 1.0)
    assert scores == pytest.approx({**best, "error_rate_error": 0.0, "calibration_error": 0.0})


def test_an_estimate_of_the_error_rate_is_taken_at_its_word(noisy, monkeypatch):
    scores = told_the_truth(monkeypatch, noisy, error_rate=0.5)
    assert scores["error_rate_error"] == pytest.approx(0.5 - noisy.label_noise)


def test_without_wrong_labels_the_share_that_is_flagged_is_the_error(data):
    clean = draw_noisy_graph(data, noise=Noise(), labelled="all")
    found = detect_one(clean, "neighbours", None, 0)
    flagged = float(found.detected.is_error.double().mean())
    assert found.metrics["error_rate_error"] == pytest.approx(flagged)
    assert set(found.metrics) == {"error_rate_error", "calibration_error"}


def test_without_a_truth_there_are_no_scores(data):
    own = data.clone()
    for mask in ("train_mask", "val_mask", "test_mask"):
        del own[mask]
    noisy = draw_noisy_graph(own, noise=Noise())
    found = detect_one(noisy, "neighbours", None, 0)
    assert found.metrics == {}
    assert len(found.detected.score) == int((own.y >= 0).sum())


def test_validation_labels_are_not_read(data):
    noise = Noise(NoiseSpec("symmetric", 0.2))
    with_them, without = (
        detect_one(draw_noisy_graph(data, noise=noise, protocol=p), "neighbours", None, 0)
        for p in ("clean-val", "no-val")
    )
    assert torch.equal(with_them.detected.score, without.detected.score)
