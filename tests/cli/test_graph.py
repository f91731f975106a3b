"""The commands on one graph, the lists and the demonstration."""

import contextlib
import io
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
import typer.main

import brgcl
from brgcl.cli import main as cli
from brgcl.cli.app import app
from brgcl.cli.grouped import flowing
from brgcl.data import DATASETS
from brgcl.methods import METHODS
from brgcl.report.extra import has_report_extra

TINY = ("epochs=2", "hidden=16", "dim=8", "warmup_epochs=1")
USUAL = [part for text in TINY for part in ("--set", text)]
QUICK = [*USUAL, "--set", "reported=prototypes"]  # nothing looks for clusters after training
CLASSES = {"<script>alert(1)</script>", "red & blue", "zoo"}
COMMANDS = sorted(typer.main.get_command(app).commands)


# Help, version, lists


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_every_command_has_help(run, command, flag):
    code, out, err = run(command, flag)
    assert code == 0
    assert "Usage: brgcl" in out
    assert command in out
    assert err == ""


def test_the_first_help_lists_every_command(run):
    code, out, _ = run("--help")
    assert code == 0
    assert all(command in out for command in COMMANDS)


@pytest.mark.parametrize("command", sorted({*COMMANDS, "bench run", "bench plot"} - {"bench"}))
def test_every_command_offers_json(run, command):
    assert "--json" in run(*command.split(), "--help")[1]


def test_a_paragraph_of_help_flows():
    assert flowing("One.\n\n    Two and\n    three.\n    ") == "One.\n\nTwo and three."


def test_version(run):
    code, out, _ = run("version")
    assert code == 0
    assert all(name in out for name in ("version", "commit", "torch", "processor"))
    about = json.loads(run("version", "--json")[1])
    assert about["version"] == brgcl.__version__
    assert about["torch"] == torch.__version__


def test_datasets(run, tmp_path):
    code, out, _ = run("datasets")
    assert code == 0
    assert all(name in out for name in DATASETS)
    found = json.loads(run("datasets", "--json", "--root", tmp_path)[1])["datasets"]
    assert {entry["name"] for entry in found} == set(DATASETS)
    demo = next(entry for entry in found if entry["name"] == "demo")
    assert demo["available"] is True
    assert {"num_nodes", "num_edges", "num_features", "num_classes", "path", "citation"} < set(demo)


def test_methods(run):
    code, out, _ = run("methods")
    assert code == 0
    assert all(name in out for name in METHODS)
    found = json.loads(run("methods", "--json")[1])["methods"]
    assert [entry["name"] for entry in found] == list(METHODS)
    for entry in found:
        assert list(entry) == ["name", "kind", "uses_labels", "oracle", "cost", "citation"]


def test_the_module_runs_in_a_process_of_its_own():
    done = subprocess.run(
        [sys.executable, "-m", "brgcl", "--version"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{brgcl.__version__}\n", "")


# Named data sets


CLASSIFY_KEYS = {
    "method", "dataset", "accuracy_mean", "accuracy_std", "macro_f1_mean", "n", "noise_realised",
    "seconds_mean",
}  # fmt: skip
CLUSTER_KEYS = {"method", "dataset", "acc_mean", "nmi_mean", "ari_mean", "num_clusters", "n"}


def test_classify_prints_the_promised_keys(run, small):
    code, out, _ = run(
        "classify", "cora", *QUICK, "--rule", "centroid", "--seeds", 2,
        "--label-noise", "symmetric:0.3", "--json",
    )  # fmt: skip
    assert code == 0
    found = json.loads(out)  # nothing else is on stdout
    assert set(found) >= CLASSIFY_KEYS
    assert (found["method"], found["dataset"], found["n"]) == ("brgcl", "cora", 2)
    assert 0 <= found["accuracy_mean"] <= 1
    assert found["accuracy_std"] >= 0
    assert 0.1 < found["noise_realised"] < 0.5
    assert found["rules"] == ["centroid", "centroid"]


def test_classify_by_the_linear_probe(run, small):
    code, out, _ = run("classify", "cora", *QUICK, "--rule", "probe", "--json")
    assert code == 0
    assert json.loads(out)["rules"] == ["probe"]


def test_classify_with_a_supervised_method(run, small):
    code, out, _ = run("classify", "cora", "--method", "gcn", "--set", "epochs=3", "--json")
    assert code == 0
    assert json.loads(out)["rules"] == ["own"]


def test_the_generated_data_set_is_there_without_files(run):
    code, out, _ = run("classify", "demo", *QUICK, "--rule", "centroid", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["dataset"] == "demo"
    assert set(found) >= CLASSIFY_KEYS


def test_seeds_repeat_and_differ(run, small):
    def accuracy(seed):
        out = run("classify", "cora", *QUICK, "--rule", "centroid", "--seed", seed, "--json")[1]
        return json.loads(out)["accuracy_mean"]

    found = [accuracy(seed) for seed in range(3)]
    assert accuracy(0) == found[0]
    assert len(set(found)) > 1


@pytest.mark.parametrize("protocol", ["clean-val", "noisy-val", "no-val"])
def test_protocols_are_accepted(run, small, protocol):
    code, out, _ = run(
        "classify", "cora", "--method", "gcn", "--set", "epochs=2", "--protocol", protocol,
        "--attribute-noise", "within:0.3@train", "--edge-noise", "add:0.2", "--json",
    )  # fmt: skip
    assert code == 0
    assert json.loads(out)["edge_noise_realised"] == pytest.approx(0.2, abs=0.02)


def test_cluster_prints_the_promised_keys(run, small):
    code, out, _ = run("cluster", "cora", *QUICK, "--seeds", 2, "--json")
    assert code == 0
    found = json.loads(out)
    assert set(found) >= CLUSTER_KEYS
    assert (found["num_clusters"], found["n"]) == (3, 2)
    assert json.loads(run("cluster", "cora", *QUICK, "-k", 5, "--json")[1])["num_clusters"] == 5


def test_without_json_a_table_is_printed(run, small):
    code, out, _ = run("classify", "cora", "--method", "gcn", "--set", "epochs=2")
    assert code == 0
    assert "accuracy_mean" in out
    with pytest.raises(json.JSONDecodeError):
        json.loads(out)


def test_names_with_brackets_are_printed_as_they_are(run, own, files, tmp_path):
    odd = tmp_path / "my[b]links.csv"
    odd.write_bytes((files / "links.csv").read_bytes())
    arguments = ["--edges", odd, *own("features"), *QUICK, "-k", 2]
    code, out, _ = run("cluster", *arguments)
    assert code == 0
    assert "my[b]links" in out


# A user's own files


@pytest.fixture(scope="module")
def embedded(files, tmp_path_factory):
    """The folder of one `embed` on the user's files, and both streams."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    names = {"edges": "links.csv", "features": "words.csv", "labels": "kinds.csv"}
    given = [part for name, file in names.items() for part in (f"--{name}", files / file)]
    arguments = ["brgcl", "embed", *given, *USUAL, "--out", folder, "--json"]
    out, err = io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        patch.setattr(sys, "argv", list(map(str, arguments)))
        with pytest.raises(SystemExit) as exit:
            cli.main()
    assert not exit.value.code
    return folder, out.getvalue(), err.getvalue()


def test_embed_prints_json_and_nothing_else_on_stdout(embedded):
    folder, out, _ = embedded
    found = json.loads(out)
    assert found["method"] == "brgcl"
    assert found["dataset"] == "links"
    assert found["num_nodes"] == 60
    assert found["dim"] == 8
    assert found["num_clusters"] >= 1
    assert 0 <= found["confident_share"] <= 1
    assert json.loads((folder / "metrics.json").read_text(encoding="utf-8")) == found


def test_embed_says_once_what_it_mended(embedded):
    _, _, err = embedded
    assert err.count("read as undirected") == 1


def test_embeddings_carry_the_users_ids(embedded):
    out, _, _ = embedded
    frame = pd.read_parquet(out / "embeddings.parquet")
    assert frame.columns.tolist() == ["node_id", *(f"z{i}" for i in range(8))]
    assert frame["node_id"].tolist() == [f"node-{i:03d}" for i in range(60)]
    assert frame["z0"].dtype == np.float32
    norms = np.linalg.norm(frame.drop(columns="node_id").to_numpy(), axis=1)
    assert norms == pytest.approx(1, abs=1e-5)


def test_nodes_carry_what_was_found_out(embedded, files):
    out, _, _ = embedded
    nodes = pd.read_parquet(out / "nodes.parquet")
    assert nodes["node_id"].tolist() == [f"node-{i:03d}" for i in range(60)]
    assert set(nodes.columns) >= {"cluster", "confidence", "confident", "label_given"}
    assert nodes["confidence"].between(0, 1).all()
    given = pd.read_csv(files / "kinds.csv").set_index("id")["kind"]
    labelled = nodes.dropna(subset="label_given").set_index("node_id")["label_given"]
    assert labelled.to_dict() == given.to_dict()


def test_the_written_model_loads_and_gives_the_written_embeddings(embedded, files):
    out, _, _ = embedded
    model = brgcl.BRGCL.load(out / "model")
    data = brgcl.read_graph(files / "links.csv", files / "words.csv")
    z = pd.read_parquet(out / "embeddings.parquet").drop(columns="node_id").to_numpy()
    assert torch.allclose(model.transform(data), torch.tensor(z), atol=1e-6)
    nodes = pd.read_parquet(out / "nodes.parquet")
    assert nodes["cluster"].tolist() == model.pseudo_labels_.tolist()


@pytest.mark.skipif(not has_report_extra(), reason="needs the report extra")
def test_the_report_is_a_page(embedded):
    out, _, _ = embedded
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "clusters were found" in page


@pytest.mark.skipif(not has_report_extra(), reason="needs the report extra")
def test_names_of_classes_and_files_are_escaped_in_the_report(run, own, files, tmp_path):
    odd = tmp_path / "<script>alert(2)<b>.csv"
    odd.write_bytes((files / "links.csv").read_bytes())
    code, _, _ = run(
        "classify", "--edges", odd, *own("features", "labels"), *QUICK,
        "--rule", "centroid", "--out", tmp_path / "run",
    )  # fmt: skip
    assert code == 0
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(2)" in page
    nodes = pd.read_parquet(tmp_path / "run" / "nodes.parquet")
    assert set(nodes["label_given"].dropna()) == CLASSES
    assert set(nodes["predicted"]) <= CLASSES
    assert nodes["probability"].between(0, 1).all()


def test_classify_on_own_files_does_not_claim_an_accuracy(run, own):
    code, out, _ = run("classify", *own(), *QUICK, "--rule", "centroid", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["accuracy"] is None
    assert "accuracy_mean" not in found
    assert 0 <= found["cv_agreement"] <= 1
    assert found["cv_ceiling"] == pytest.approx(1 - found["estimated_noise"])
    assert found["noise_realised"] is None


def test_cluster_on_own_files_infers_the_number(run, own):
    code, out, _ = run("cluster", *own("edges", "features"), *USUAL, "--json")
    assert code == 0
    found = json.loads(out)
    assert found["acc_mean"] is None
    assert found["num_clusters"] >= 1


def test_edges_alone_are_enough(run, own, files, tmp_path):
    code, out, err = run("embed", *own("edges"), *QUICK, "--out", tmp_path / "run", "--json")
    assert code == 0
    assert json.loads(out)["num_nodes"] <= 60
    assert "no attributes given" in err


def test_a_graph_without_edges_works_with_a_warning(run, own, files, tmp_path):
    (tmp_path / "none.csv").write_text("from,to\n", encoding="utf-8")
    code, out, err = run(
        "cluster", "--edges", tmp_path / "none.csv", *own("features"), *QUICK, "--json"
    )
    assert code == 0
    assert json.loads(out)["num_clusters"] >= 1
    assert err.count("the graph has no edges") == 1


def test_repeats_and_loops_are_merged_and_said_once(run, own, files, tmp_path):
    text = (files / "links.csv").read_text(encoding="utf-8")
    first = text.splitlines()[1]
    again = f"{first}\n{','.join(first.split(',')[::-1])}\nnode-000,node-000\n"
    (tmp_path / "links.csv").write_text(text + again, encoding="utf-8")
    plain = run("cluster", *own("edges", "features"), *QUICK, "--json")
    code, out, err = run(
        "cluster", "--edges", tmp_path / "links.csv", *own("features"), *QUICK, "--json"
    )
    assert code == 0
    assert err.count("1 self-loops removed") == 1
    assert err.count("1 repeated edges merged") == 1
    same = ("num_clusters", "dataset", "n")
    assert [json.loads(out)[key] for key in same] == [json.loads(plain[1])[key] for key in same]


# Settings


def written_config(folder):
    return json.loads((folder / "model" / "config.json").read_text(encoding="utf-8"))


def test_a_setting_beats_the_file_which_beats_the_preset(run, own, files, tmp_path):
    (tmp_path / "mine.toml").write_text('epochs = 2\nhidden = 12\nxi = 0.9\nview1 = "nodes"\n')
    code, _, err = run(
        "embed", *own("edges", "features"), "--preset", "paper-literal",
        "--config", tmp_path / "mine.toml", "--set", "epochs=1", "--set", "dim=4",
        "--set", "patience=none", "--set", "proto_weight=1/N", "--out", tmp_path / "run", "--json",
    )  # fmt: skip
    assert code == 0, err
    found = written_config(tmp_path / "run")
    assert (found["epochs"], found["dim"]) == (1, 4)  # key=value
    assert (found["hidden"], found["xi"], found["view1"]) == (12, 0.9, "nodes")  # the file
    assert (found["node_objective"], found["gamma0"]) == ("abs", 0.3)  # the preset
    assert (found["patience"], found["proto_weight"]) == (None, "1/N")
    assert found["tau"] == brgcl.BRGCLConfig().tau  # the default


def test_the_encoder_is_an_option(run, own, files, tmp_path):
    code, _, err = run(
        "embed", *own("edges", "features"), *QUICK, "--encoder", "gat", "--out", tmp_path / "run",
        "--json",
    )  # fmt: skip
    assert code == 0, err
    assert written_config(tmp_path / "run")["encoder"] == "gat"
    code, out, err = run("classify", "demo", "--encoder", "transformer", "--json")
    assert (code, out) == (2, "")
    assert "encoder must be one of 'gcn', 'sage', 'gat', 'gin', 'own', got 'transformer'" in err
    code, out, err = run("classify", "demo", "--encoder", "own", *QUICK, "--json")
    assert (code, out) == (2, "")
    assert "encoder='own' stands for a module" in err


def test_the_last_of_two_equal_settings_wins(run, own, files, tmp_path):
    run(
        "embed", *own("edges", "features"), *QUICK, "--set", "dim=5", "--set", "dim=6",
        "--out", tmp_path / "run", "--json",
    )  # fmt: skip
    assert written_config(tmp_path / "run")["dim"] == 6


def test_a_preset_knows_the_data_set(run, small, tmp_path):
    code, _, err = run(
        "embed", "citeseer", "--preset", "paper-literal", *QUICK, "--out", tmp_path / "run",
        "--json",
    )  # fmt: skip
    assert code == 0, err
    assert written_config(tmp_path / "run")["xi"] == 0.15


# Output folders


def test_what_was_written_is_said(run, own, files, tmp_path):
    code, out, _ = run("cluster", *own(), *QUICK, "-k", 2, "--out", tmp_path / "run")
    assert code == 0
    written = {path.name for path in (tmp_path / "run").iterdir()}
    assert written >= {"embeddings.parquet", "nodes.parquet", "model", "metrics.json", "run.json"}
    last = out.splitlines()[-1]
    assert last.startswith(f"Written to {tmp_path / 'run'}: embeddings.parquet, nodes.parquet")
    assert all(name in last for name in written)
    nodes = pd.read_parquet(tmp_path / "run" / "nodes.parquet")
    assert set(nodes["cluster"]) == {0, 1}


def test_each_thing_is_said_once_whatever_the_number_of_seeds(run, own):
    code, _, err = run("cluster", *own(), *QUICK, "-k", 2, "--seeds", 3, "--json")
    assert code == 0
    assert err.count("read as undirected") == 1


# The demonstration


@pytest.mark.skipif(not has_report_extra(), reason="needs the report extra")
def test_demo_compares_and_writes_a_report(run, small, folds_once, tmp_path):
    out_folder = tmp_path / "shown"
    code, out, err = run("demo", "--seeds", 1, *USUAL, "--out", out_folder)
    assert code == 0, err
    assert "GCN" in out
    assert "BRGCL" in out
    page = (out_folder / "report.html").read_text(encoding="utf-8")
    assert "BRGCL and a GCN on the same noisy labels" in page
    suspects = pd.read_parquet(out_folder / "suspects.parquet")
    assert len(suspects) == 30  # those of the training nodes
    code, out, _ = run("demo", *QUICK, "--seeds", 1, "--out", out_folder, "--json")
    assert code == 0
    found = json.loads(out)
    assert found["n"] == 1
    assert found["difference_mean"] == pytest.approx(
        found["brgcl_accuracy_mean"] - found["gcn_accuracy_mean"]
    )
    assert set(found) >= {"precision_mean", "recall_mean", "num_clusters_mean", "noise_realised"}


def test_edges_between_classes_are_noticed(run, tmp_path):
    data = brgcl.make_graph(
        240, num_classes=3, num_features=30, homophily=1 / 3, topic_strength=0.7
    )
    ends = data.edge_index[:, data.edge_index[0] < data.edge_index[1]].numpy()
    pd.DataFrame({"from": ends[0], "to": ends[1]}).to_csv(tmp_path / "edges.csv", index=False)
    x = pd.DataFrame(data.x.to_dense().numpy()).add_prefix("a")
    x.insert(0, "id", range(240))
    x.to_csv(tmp_path / "x.csv", index=False)
    labels = pd.DataFrame({"id": range(240), "kind": data.y.numpy()})
    labels[::2].to_csv(tmp_path / "labels.csv", index=False)
    code, out, _ = run(
        "classify", "--edges", tmp_path / "edges.csv", "--features", tmp_path / "x.csv",
        "--labels", tmp_path / "labels.csv", "--set", "epochs=3", "--set", "warmup_epochs=1",
    )  # fmt: skip
    assert code == 0
    assert "nodes are classified by attributes" in out
    assert "cv_agreement" in out
