"""Draws as files: the same that methods meet here, readable with numpy alone."""

import csv
import hashlib
import json
import sys

import numpy as np
import pytest
import scipy.sparse
import torch

from brgcl.benchmark.experiment import Selection, load_experiment
from brgcl.benchmark.export import draw_arrays, graph_arrays, write_draws
from brgcl.benchmark.run_spec import RunSpec
from brgcl.cli import main as cli
from brgcl.data import load_dataset
from brgcl.errors import InputError
from brgcl.evaluation.protocol import draw_noisy_graph
from brgcl.noise import NoiseSpec
from brgcl.noise.graph import Noise

TABLE = """
title = "A table"
source = "a test"
protocol = "{protocol}"
noise = ["symmetric", "within", "rewire"]
levels = [0.0, 0.3]
datasets = ["demo"]
seeds = {{ default = 2 }}
[rows.brgcl]
[rows.gcn]
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    def write(protocol):
        path = tmp_path_factory.mktemp("table") / "own.toml"
        path.write_text(TABLE.format(protocol=protocol))
        return path

    return write


@pytest.fixture(scope="module")
def folder(table, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    assert write_draws(load_experiment(str(table("noisy-val"))), out) == 8
    return out


@pytest.fixture(scope="module")
def index(folder):
    with (folder / "index.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def read(path):
    with np.load(path, allow_pickle=False) as file:
        return dict(file)


def sparse(arrays):
    csr = (arrays["x_data"], arrays["x_indices"], arrays["x_indptr"])
    return scipy.sparse.csr_array(csr, shape=arrays["x_shape"])


def test_the_folder_holds_an_index_a_readme_graphs_and_draws(folder, index):
    assert list(index[0]) == [
        "file", "graph", "dataset", "protocol", "noise", "level", "seed", "label_noise",
        "attribute_noise", "edge_noise", "sha256",
    ]  # fmt: skip
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files == {
        "README.txt", "index.csv",
        *(line["file"] for line in index), *(line["graph"] for line in index),
    }  # fmt: skip
    assert {line["graph"] for line in index} == {"graphs/demo-seed0.npz", "graphs/demo-seed1.npz"}
    assert [line["file"] for line in index[:2]] == [
        "draws/demo-clean-seed0.npz",
        "draws/demo-symmetric-0.3-seed0.npz",
    ]


def test_a_draw_is_the_one_that_methods_meet(folder, index):
    for line in index:
        seed, spec = int(line["seed"]), None
        if line["noise"] != "none":
            spec = NoiseSpec(line["noise"], float(line["level"]))
        noise = Noise(
            labels=spec if line["noise"] == "symmetric" else None,
            attributes=spec if line["noise"] == "within" else None,
            edges=spec if line["noise"] == "rewire" else None,
        )
        data = load_dataset("demo", seed=seed)
        noisy = draw_noisy_graph(data, noise=noise, protocol="noisy-val", seed=seed)
        arrays, graph = read(folder / line["file"]), read(folder / line["graph"])
        assert np.array_equal(arrays["train_labels"], noisy.labels.train)
        assert np.array_equal(arrays["val_labels"], noisy.labels.validation)
        assert np.array_equal(arrays["train_mask"], data.train_mask)
        assert np.array_equal(arrays["val_mask"], data.val_mask)
        assert np.array_equal(arrays["test_mask"], noisy.truth.test)
        assert arrays["num_classes"] == noisy.labels.num_classes
        assert ("x_data" in arrays) == (line["noise"] == "within")
        assert ("edge_index" in arrays) == (line["noise"] == "rewire")
        seen = graph | arrays  # where a draw has none, the graph's hold
        assert np.array_equal(sparse(seen).toarray(), noisy.graph.x.to_dense())
        assert np.array_equal(seen["edge_index"], noisy.graph.edge_index)
        assert np.array_equal(graph["true_labels"], data.y)
        rates = [float(line[name]) for name in ("label_noise", "attribute_noise", "edge_noise")]
        assert rates == [noisy.label_noise, noisy.attribute_noise, noisy.edge_noise]


def test_a_draw_holds_no_true_labels(folder, index):
    for line in index:
        arrays = read(folder / line["file"])
        assert "true_labels" not in arrays
        hidden = arrays["test_mask"]
        assert (arrays["train_labels"][hidden] == -1).all()
        assert (arrays["val_labels"][hidden] == -1).all()


def test_checksums_are_right_and_the_same_when_written_again(table, folder, index, tmp_path):
    write_draws(load_experiment(str(table("noisy-val"))), tmp_path, Selection(seeds=1))
    for line in index:
        if line["seed"] == "0":
            for place in (folder, tmp_path):
                digest = hashlib.sha256((place / line["file"]).read_bytes()).hexdigest()
                assert digest == line["sha256"]


def test_without_validation_labels_there_are_none(table, tmp_path):
    write_draws(load_experiment(str(table("no-val"))), tmp_path, Selection(levels=[0.0], seeds=1))
    arrays = read(tmp_path / "draws" / "demo-clean-seed0.npz")
    assert (arrays["val_labels"] == -1).all()
    assert not arrays["val_mask"].any()
    assert arrays["test_mask"].any()


def test_dense_attributes_and_weights_stay_what_they_are():
    data = load_dataset("demo")
    data.x = data.x.to_dense()
    data.edge_weight = torch.arange(data.edge_index.shape[1]).float()
    assert set(graph_arrays(data)) == {"x", "edge_index", "edge_weight"}
    draw = RunSpec(dataset="demo", method="gcn", seed=0, noise="cell", level=0.1)
    noisy = draw_noisy_graph(data, noise=draw.noise_spec(), seed=0)
    arrays = draw_arrays(draw, noisy)
    assert np.array_equal(arrays["x"], noisy.graph.x)
    assert "edge_index" not in arrays


def test_the_readme_names_every_array_and_its_code_runs(folder, index, monkeypatch):
    text = (folder / "README.txt").read_text()
    for line in index:
        for name in {**read(folder / line["file"]), **read(folder / line["graph"])}:
            assert name in text
    code = text.partition("In Python:\n")[2].partition("\n\n")[0]
    monkeypatch.chdir(folder)
    scope = {}
    exec("\n".join(line.strip() for line in code.splitlines()), scope)  # the page's own code
    assert scope["x"].shape == (2000, 1000)


def test_a_table_of_facts_has_no_draws(tmp_path):
    with pytest.raises(InputError, match="has no draws"):
        write_draws(load_experiment("dataset-statistics"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_command(table, tmp_path, monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["brgcl", "bench", "draws", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit:
            cli.main()
        streams = capsys.readouterr()
        return exit.value.code or 0, streams.out, streams.err

    path, out = table("clean-val"), tmp_path / "out"
    chosen = ("--levels", "0.3", "--seeds", "1", "--datasets", "demo")
    code, text, _ = run(path, "--out", out, *chosen, "--json")
    assert code == 0
    assert json.loads(text) == {"experiment": "own", "draws": 3, "folder": str(out)}
    code, _, error = run(path, "--out", out, *chosen)
    assert code == 2
    assert "is not empty" in " ".join(error.split())
    code, text, _ = run(path, "--out", out, *chosen, "--overwrite")
    assert code == 0
    assert text.startswith("3 draws written")
