"""A small graph with noisy labels, a small grid, and a search over it."""

import pytest

from brgcl import BRGCLConfig, make_graph
from brgcl.evaluation.protocol import draw_noisy_graph
from brgcl.noise import NoiseSpec
from brgcl.noise.graph import Noise
from brgcl.tune import tune


@pytest.fixture(scope="session")
def tiny():
    return BRGCLConfig(hidden=16, dim=8, epochs=4, warmup_epochs=1, reported="prototypes")


@pytest.fixture(scope="session")
def grid():
    return {"xi": (0.1, 0.3, 0.5), "gamma0": (0.3, 0.6)}


@pytest.fixture(scope="session")
def data():
    return make_graph(120, num_classes=3, num_features=30, labels_per_class=8, num_val=20)


@pytest.fixture(scope="session")
def labels(data):
    noise = Noise(labels=NoiseSpec("symmetric", 0.3))
    return draw_noisy_graph(data, noise=noise, protocol="no-val").labels.train


@pytest.fixture(scope="session")
def tuned(data, labels, tiny, grid):
    pytest.importorskip("optuna")
    return tune(data, labels, config=tiny, **grid)


@pytest.fixture(scope="session")
def scores():
    """All of a search but its seconds."""

    def of(tuning):
        return [(each.point, each.score, each.gain, each.pruned) for each in tuning.tried]

    return of


@pytest.fixture
def clock(monkeypatch):
    """A clock that only a training moves: a second per epoch."""
    now = [0.0]
    for module in ("budget", "tried_setting"):
        monkeypatch.setattr(f"brgcl.tune.{module}.monotonic", lambda: now[0])
    return now
