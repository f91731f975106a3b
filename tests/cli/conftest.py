"""Commands called as a shell would call them: arguments in, two streams and a code out."""

import importlib
import sys

import numpy as np
import pandas as pd
import pytest

from brgcl.cli import main as cli
from brgcl.data import make_graph

# It keeps the load_dataset that it finds when it is imported: not one that a test put in its place.
importlib.import_module("brgcl.evaluation.evaluate")

CLASSES = ["<script>alert(1)</script>", "red & blue", "zoo"]


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a command; returns its exit code, stdout and stderr."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["brgcl", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit:
            cli.main()
        streams = capsys.readouterr()
        return exit.value.code or 0, streams.out, streams.err

    return call


@pytest.fixture
def small(monkeypatch):
    """Every named data set is a small generated graph."""

    def load(name, root=None, *, seed=0):
        data = make_graph(
            150, num_classes=3, num_features=40, labels_per_class=10, num_val=30, seed=seed
        )
        data.name = name
        return data

    monkeypatch.setattr("brgcl.data.datasets.load_dataset", load)
    monkeypatch.setattr("brgcl.evaluation.evaluate.load_dataset", load)


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """A user's graph in three files, with text ids; two nodes in three are labelled."""
    folder = tmp_path_factory.mktemp("own")
    data = make_graph(60, num_classes=3, num_features=12, avg_degree=3)
    ids = np.array([f"node-{i:03d}" for i in range(60)])
    ends = data.edge_index[:, data.edge_index[0] < data.edge_index[1]].numpy()
    pd.DataFrame({"from": ids[ends[0]], "to": ids[ends[1]]}).to_csv(
        folder / "links.csv", index=False
    )
    x = pd.DataFrame(data.x.to_dense().numpy(), columns=[f"word{i}" for i in range(12)])
    x.insert(0, "id", ids)
    x.to_csv(folder / "words.csv", index=False)
    shown = np.arange(60) % 3 != 0
    names = np.array(CLASSES)[data.y.numpy()]
    labels = pd.DataFrame({"id": ids[shown], "kind": names[shown]})
    labels.to_csv(folder / "kinds.csv", index=False)
    return folder


@pytest.fixture
def own(files):
    """Make the arguments that name the user's files."""
    given = {"edges": "links.csv", "features": "words.csv", "labels": "kinds.csv"}

    def arguments(*names):
        return [part for name in names or given for part in (f"--{name}", files / given[name])]

    return arguments


@pytest.fixture
def no_training(monkeypatch):
    """Any training is an error: what is wrong has to be found before."""

    def train(*arguments, **options):
        raise RuntimeError("a training has begun")

    monkeypatch.setattr("brgcl.model.BRGCL.fit", train)
