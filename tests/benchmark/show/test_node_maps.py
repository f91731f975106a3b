"""Maps of nodes: what they show, and that they are made of trainings that are there."""

import zlib

import numpy as np
import pytest
import torch

pytest.importorskip("matplotlib")
pytest.importorskip("openTSNE")

from brgcl.benchmark.experiment import Selection, load_experiment
from brgcl.benchmark.show.node_maps import mapped_runs, plot_maps
from brgcl.contract import Fitted
from brgcl.errors import InputError
from brgcl.report.figures import place_nodes


def made_up(run, confidence):
    rng = np.random.default_rng(zlib.crc32(run.spec.key.encode()))
    z = torch.from_numpy(rng.normal(size=(40, 8)).astype(np.float32))
    return Fitted(z, confidence=confidence, confident=torch.arange(40) < 25)


def first_two(z, *, seed):
    return np.arange(len(z)), z[:, :2].numpy()


def test_maps_show_confidence_at_each_level():
    experiment = load_experiment("confidence-map")
    runs = mapped_runs(experiment)
    figure = plot_maps(
        experiment, runs, [made_up(run, torch.linspace(0, 1, 40)) for run in runs], first_two
    )
    maps = {axes.get_title(): axes for axes in figure.axes if axes.get_title()}
    assert list(maps)[:2] == ["cora, clean: 62 % confident", "cora, within 10 %: 62 % confident"]
    assert len(maps) == 12
    dots = maps["citeseer, within 50 %: 62 % confident"].collections[0]
    assert dots.get_array().tolist() == torch.linspace(0, 1, 40).tolist()
    low, high = dots.cmap(0.0), dots.cmap(1.0)
    assert low[2] > low[0]  # blue
    assert high[0] > high[2]  # red


def test_the_same_training_gives_the_same_map():
    experiment = load_experiment("confidence-map")
    runs = mapped_runs(experiment, Selection(datasets=["cora"], levels=[0.0]))
    trained = [made_up(run, torch.linspace(0, 1, 40)) for run in runs]
    first, second = (
        plot_maps(experiment, runs, trained, place_nodes).axes[0].collections[0].get_offsets()
        for _ in range(2)
    )
    assert np.array_equal(first, second)


def test_a_method_without_confidence_has_no_map():
    experiment = load_experiment("confidence-map")
    runs = mapped_runs(experiment)
    with pytest.raises(InputError, match="brgcl has no confidence"):
        plot_maps(experiment, runs, [made_up(run, None) for run in runs], first_two)


def test_a_selection_without_runs_is_an_error():
    with pytest.raises(InputError, match="has no such cells"):
        mapped_runs(load_experiment("confidence-map"), Selection(datasets=[]))
