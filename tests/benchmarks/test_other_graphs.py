"""Graphs that nothing was tuned on: how files are read, and what is skipped and shown."""

import json

import numpy as np
import pytest
import torch

import other_graphs as other
from brgcl.data import make_graph
from brgcl.methods import METHODS


@pytest.fixture
def folder(tmp_path):
    data = make_graph(200, num_classes=3, num_features=40)
    y = data.y.numpy()
    y[:4] = 3  # a class with too few nodes
    rng = np.random.default_rng(0)
    keep = data.edge_index[0] < data.edge_index[1]
    np.savez(
        tmp_path / "pages.npz",
        node_features=data.x.to_dense().numpy(),
        node_labels=y,
        edges=data.edge_index[:, keep].T.numpy(),
        train_masks=rng.random((10, 200)) < 0.5,
    )
    return tmp_path


def test_half_of_the_nodes_are_labelled_as_the_file_says(folder):
    data = other.load(folder / "pages.npz", "half", 13)
    with np.load(folder / "pages.npz") as arrays:
        mask = torch.from_numpy(arrays["train_masks"][3])
    assert torch.equal(data.train_mask, mask & (data.y >= 0))
    assert not (data.train_mask & data.test_mask).any()
    assert data.y.max() == 2  # the fourth class is left out
    assert (data.y == -1).sum() == 4


def test_twenty_labels_per_class_vary_with_the_draw(folder):
    first, second = (other.load(folder / "pages.npz", "20", draw) for draw in (0, 1))
    assert first.y[first.train_mask].bincount().tolist() == [20, 20, 20]
    assert not torch.equal(first.train_mask, second.train_mask)


def test_facts_are_those_of_the_true_classes(folder):
    data = other.load(folder / "pages.npz", "half", 0)
    start, end = data.edge_index
    known = (data.y[start] >= 0) & (data.y[end] >= 0)
    same = (data.y[start] == data.y[end])[known].double().mean()
    assert other.describe(data)["homophily"] == pytest.approx(float(same))


def test_what_is_there_is_skipped_and_shown(folder, tmp_path, monkeypatch):
    calls = []

    def measure(data, method, draw):
        calls.append((method, draw))
        rule = "attributes" if method == "brgcl" and draw else "own"
        score = {"accuracy": 0.5 + draw / 10, "macro_f1": 0.4, "rule": rule, "noise_realised": 0.0}
        return {"0": score, "0.4": score}

    monkeypatch.setattr(other, "measure", measure)
    file = tmp_path / "records.jsonl"
    other.run(folder, file, draws=2, budget=1e9)
    assert len(calls) == 2 * 2 * len(other.COMPARED)
    other.run(folder, file, draws=2, budget=1e9)
    assert len(calls) == 2 * 2 * len(other.COMPARED)
    assert "| 2 | 55.0 ± 7.1 | " in other.table(other.read(file))
    assert "| 1 of 2 |" in other.table(other.read(file))
    old = [json.loads(line) | {"version": "old"} for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps(record) + "\n" for record in old))
    assert other.read(file) == {}


def test_a_method_is_measured_as_the_commands_do(folder):
    data = other.load(folder / "pages.npz", "20", 0)
    found = other.measure(data, "smooth", 0)
    assert METHODS["smooth"].uses_labels is False
    assert set(found) == {"0", "0.4"}
    assert 0.3 < found["0"]["accuracy"] <= 1
    assert found["0.4"]["noise_realised"] > 0.2
