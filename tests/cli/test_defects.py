"""What a new user met, command by command, and what happens now."""

import itertools
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
import torch

import brgcl
from brgcl.data import make_graph
from preloaded import BRGCL, started

ROOT = Path(__file__).parents[2]
TINY = {"epochs": 2, "hidden": 16, "dim": 8, "warmup_epochs": 1, "reported": "prototypes"}
QUICK = [part for name, value in TINY.items() for part in ("--set", f"{name}={value}")]


def test_make_clean_keeps_run_folders():
    """Defect 3: `make clean` deleted `run/`, the README's own --out."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = text[text.index("\nclean:") :]
    assert "rm -rf" in recipe
    assert not {"run", "brgcl-demo", "results"} & set(recipe.split())


def test_agreement_is_a_mean_over_all_seeds(run, own):
    """Defect 14: with --seeds 3 the agreement was that of seed 0 alone."""

    def agreement(*seeds):
        code, out, err = run("classify", *own(), *QUICK, "--rule", "centroid", *seeds, "--json")
        assert code == 0, err
        found = json.loads(out)
        return found["cv_agreement"], found["estimated_noise"]

    single = [agreement("--seed", seed) for seed in range(3)]
    assert len(set(single)) > 1
    together = agreement("--seeds", 3)
    for one, mean in zip(zip(*single, strict=True), together, strict=True):
        assert mean == pytest.approx(sum(one) / 3)


def test_flipped_labels_are_told_from_true_ones(run, own, files, tmp_path):
    """Defect 15: `label` in nodes.parquet held flipped labels, unmarked."""
    code, _, err = run(
        "classify", *own(), *QUICK, "--rule", "centroid", "--label-noise", "symmetric:0.4",
        "--out", tmp_path / "o",
    )  # fmt: skip
    assert code == 0, err
    nodes = pd.read_parquet(tmp_path / "o" / "nodes.parquet").set_index("node_id")
    assert "label" not in nodes
    true = pd.read_csv(files / "kinds.csv").set_index("id")["kind"]
    assert nodes["label_true"].dropna().to_dict() == true.to_dict()
    flipped = (nodes["label_given"] != nodes["label_true"])[nodes["label_true"].notna()]
    assert 0.2 < flipped.mean() < 0.6


UNTRAINED = ("convert", "transform")  # commands that have no settings


@pytest.mark.parametrize("page", ["README.md", "docs/your-own-graph.md"])
def test_documented_commands_work_in_the_order_printed(
    run, folds_once, tmp_path, monkeypatch, page
):
    """Defect 17: README's embed and classify shared a folder; the last command of a page failed."""
    text = (ROOT / page).read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    graph = make_graph(60, num_classes=3, num_features=12, labels_per_class=15)
    ends = graph.edge_index[:, graph.edge_index[0] < graph.edge_index[1]].T
    x = pd.DataFrame(graph.x.to_dense().numpy()).rename(columns=lambda i: f"f{i}")
    x.insert(0, "id", range(60))
    pd.DataFrame(ends.numpy(), columns=["source", "target"]).to_csv("edges.csv", index=False)
    x.to_parquet("attributes.parquet")
    x.to_csv("attributes.csv", index=False)
    pd.DataFrame({"id": range(60), "kind": graph.y.numpy()}).to_csv("labels.csv", index=False)
    for name, body in re.findall(r"```csv title=(\S+)\n(.*?)```", text, flags=re.DOTALL):
        Path(name).write_text(body, encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if "--edges" in line]
    lines = [line for line in lines if "--reviewed" not in line]  # a person has to review first
    assert len(lines) >= 2
    for line in lines:
        _, command, *arguments = line.split()
        code, _, err = run(command, *arguments, *(() if command in UNTRAINED else QUICK))
        assert code == 0, f"{line}: {err}"


@pytest.mark.parametrize(
    "command", ["classify demo", "cluster demo -k 3", "embed demo", "tune demo", "demo"]
)
def test_a_seed_that_is_too_large_is_wrong_input(run, no_training, command):
    """Defect 18: `--seed 4294967296` failed after training, with exit code 1."""
    code, _, err = run(*command.split(), "--seed", 2**32)
    assert code == 2
    assert "less than or equal to 4294967295" in err


def test_the_last_of_many_seeds_is_checked(run, no_training):
    """Defect 18: the last of several seeds may be too large as well."""
    code, _, err = run("classify", "demo", "--seed", 2**32 - 1, "--seeds", 2)
    assert code == 2
    assert "the last seed must be at most 4294967295" in err


@pytest.mark.parametrize("device", ["cuda", "gpu", "mps", "meta", "''"])
def test_a_device_that_is_not_there_is_wrong_input(run, own, no_training, device):
    """Defect 19: `--set device=cuda` was an AssertionError with exit code 1."""
    if device == "cuda" and torch.cuda.is_available():
        pytest.skip("there is one")
    code, _, err = run("embed", *own(), "--set", f"device={device}")
    assert code == 2
    assert err.splitlines()[-1].startswith("brgcl: device")


LABELS = {
    "no labels": ("", "no node has a label"),
    "a single label": ("n1,a\n", "all labels are the same"),
    "a class with a single label": ("n1,a\nn2,a\nn3,b\n", "class 'b' has a single label"),
}


@pytest.mark.parametrize("case", LABELS)
def test_labels_are_checked_before_training(run, no_training, tmp_path, case):
    """Defect 20: that there were too few labels was noticed after training."""
    text, message = LABELS[case]
    (tmp_path / "e.csv").write_text("source,target\nn1,n2\nn2,n3\nn3,n4\n")
    (tmp_path / "l.csv").write_text("id,label\n" + text)
    code, _, err = run("classify", "--edges", tmp_path / "e.csv", "--labels", tmp_path / "l.csv")
    assert code == 2
    assert message in err


def test_the_number_of_clusters_is_checked_before_training(run, own, no_training):
    """Defect 20: `-k 500` on 60 nodes was noticed after training."""
    code, _, err = run("cluster", *own(), "-k", 500)
    assert code == 2
    assert "num_clusters must be in 1..60" in err


def test_demo_without_the_report_extra_does_not_train(run, no_training, tmp_path, monkeypatch):
    """Defect 21: without the extra the demonstration trained first."""
    monkeypatch.setitem(sys.modules, "openTSNE", None)
    code, _, err = run("demo", "--out", tmp_path / "shown")
    assert code == 2
    assert "reports need openTSNE" in err
    assert not (tmp_path / "shown").exists()


def test_any_encoding_of_stdout_will_do(tmp_path):
    """Defect 25: `bench table` with an ASCII stdout was a UnicodeEncodeError."""
    with (ROOT / "results" / "records.jsonl").open(encoding="utf-8") as lines:
        (tmp_path / "records.jsonl").write_text("".join(itertools.islice(lines, 200)), "utf-8")
    ascii_only = f"import sys\nsys.stdout.reconfigure(encoding='ascii')\n{BRGCL}"
    words = ["bench", "table", "symmetric", "--datasets", "cora", "--records"]
    with started(ascii_only, *words, tmp_path / "records.jsonl", folder=tmp_path) as process:
        code = process.wait()
    out, err = process.streams
    assert code == 0, err
    assert "+-" in out
    assert out.isascii()


STOPPED_AT = """
import sys
class Stop:
    def find_spec(self, name, *arguments):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Stop())
from brgcl.cli.main import main
main()
"""


@pytest.mark.parametrize("module", ["typer", "brgcl.cli.app", "torch", "sklearn"])
def test_ctrl_c_during_imports_is_one_line(module):
    """Defect 31: Ctrl-C during start-up printed 24 lines of traceback."""
    program = STOPPED_AT.format(module=module)
    done = subprocess.run(
        [sys.executable, "-c", program, "classify", "demo"], capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"brgcl: stopped\n")


def test_ctrl_c_during_training_is_one_line_and_leaves_nothing(tmp_path):
    """Defect 31, 57: Ctrl-C at any time is one line and exit code 130."""
    out = tmp_path / "run"
    arguments = ["embed", "demo", "--set", "epochs=100000", "--out", out, "--quiet"]
    with started(BRGCL, *arguments, folder=tmp_path) as process:
        deadline = time.time() + 60
        while not (out / ".brgcl.lock").exists() and time.time() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
    assert process.streams == ("", "brgcl: stopped\n")
    assert not out.exists()


def test_embed_is_the_run_of_the_same_seed_in_python(run, own, files, tmp_path):
    """Defect 32: `embed --seed 5` was saved as another seed, so Python's seed=5 differed."""
    code, _, err = run("embed", *own(), *QUICK, "--seed", 5, "--out", tmp_path / "run")
    assert code == 0, err
    z = pd.read_parquet(tmp_path / "run" / "embeddings.parquet").drop(columns="node_id")
    data = brgcl.read_graph(files / "links.csv", files / "words.csv")
    model = brgcl.BRGCL(seed=5, **TINY).fit(data)
    assert torch.allclose(model.representations_, torch.tensor(z.to_numpy()), atol=1e-6)
    assert brgcl.BRGCL.load(tmp_path / "run" / "model").config.seed == 5


def test_a_number_of_clusters_at_its_cap_is_a_lower_bound(run, own, tmp_path):
    """Defect 33: K = 64, the cap, was printed as found."""
    capped = ["xi=1e-6", "max_prototypes=2", "reported=prototypes"]
    capped = [word for setting in capped for word in ("--set", setting)]
    code, out, err = run("embed", *own(), *QUICK, *capped, "--out", tmp_path / "run")
    assert code == 0, err
    assert ">= 2 (cap reached)" in out
    code, out, _ = run("cluster", *own("edges", "features"), *QUICK, *capped, "--json")
    assert code == 0
    found = json.loads(out)
    assert (found["num_clusters"], found["capped"]) == (2, True)


def test_there_are_as_many_clusters_as_classes(run, own):
    """Defect 34: a labelled graph of 3 classes got 6 clusters."""
    code, out, _ = run("cluster", *own(), *QUICK, "--json")
    assert code == 0
    assert json.loads(out)["num_clusters"] == 3


def test_an_option_that_has_no_effect_is_said(run, own, no_training, tmp_path):
    """Defect 45: --root of nowhere, --rule of a classifier, a warm-up beyond the end."""
    code, _, err = run("classify", "demo", "--root", tmp_path / "nope")
    assert (code, "nope' is not a folder" in err) == (2, True)
    code, _, err = run("classify", *own(), "--method", "gcn", "--rule", "mlp")
    assert (code, "gcn classifies by itself; --rule is for the other methods" in err) == (2, True)
    code, _, err = run("embed", *own(), "--set", "epochs=20", "--out", tmp_path / "run")
    assert "20 epochs end before the warm-up (50): prototypes are not used." in err


def test_a_file_for_a_data_set_is_told_about_edges(run, no_training):
    """Defect 46: `classify e.csv` was an unknown data set, without a hint of --edges."""
    code, _, err = run("classify", "e.csv")
    assert code == 2
    assert "'e.csv' is not a data set; to read a file, use --edges FILE" in err


def test_a_file_that_is_read_is_no_checkpoint(run, own, no_training, tmp_path):
    """It was called damaged, with the advice to remove it."""
    read = own()[own().index("--edges") + 1]
    code, _, err = run("embed", *own(), "--checkpoint", read, "--out", tmp_path / "run")
    assert code == 2
    assert "which --edges reads" in err


def test_a_folder_is_no_checkpoint(run, own, no_training, tmp_path):
    """Defect 49: `--checkpoint FOLDER` was "damaged (No such device)"."""
    code, _, err = run(
        "embed", *own(), "--checkpoint", tmp_path, "--out", tmp_path / "run"
    )  # fmt: skip
    assert code == 2
    assert "is a folder, not a file" in err


def test_piped_text_is_not_wrapped(run, own, tmp_path):
    """Defect 56: piped text was wrapped at 80 columns, with paths broken in mid-word."""
    out = tmp_path / ("a" * 60) / ("b" * 60)
    code, text, err = run("cluster", *own(), *QUICK, "--out", out)
    assert code == 0, err
    assert any(str(out / "report.html") in line for line in text.splitlines())
    code, text, _ = run("methods")
    assert any(
        "brgcl" in line and "Contrastive Learning, 2022" in line for line in text.splitlines()
    )


def test_quiet_version_and_debug_are_in_the_help(run):
    """Defect 57: there was no --quiet and no --version, and --debug was not in the help."""
    first = run("--help")[1]
    assert all(name in first for name in ("--version", "--quiet", "--verbose", "--debug"))
    for command in ("embed", "classify", "datasets", "bench run"):
        text = run(*command.split(), "--help")[1]
        assert all(name in text for name in ("--quiet", "--verbose", "--debug")), command
    assert run("--version")[:2] == (0, f"{brgcl.__version__}\n")


def test_verbose_tells_every_step_on_stderr(run, own, tmp_path):
    code, out, err = run("embed", *own(), *QUICK, "--out", tmp_path / "a", "--json", "--verbose")
    assert code == 0
    assert json.loads(out)["num_nodes"] == 60
    assert "brgcl: 1 of 2  loss" in err
    assert re.search(r"^placing nodes on the map: [\d.]+ s$", err, re.MULTILINE)
    code, out, err = run("embed", *own(), *QUICK, "--quiet", "--verbose")
    assert (code, out) == (2, "")
    assert "--quiet and --verbose contradict each other" in err


def test_quiet_prints_no_messages(run, own, tmp_path):
    """Defect 57: messages could not be turned off."""
    code, _, err = run("embed", *own(), *QUICK, "--out", tmp_path / "a")
    assert "read as undirected" in err
    code, out, err = run("embed", *own(), *QUICK, "--out", tmp_path / "b", "--quiet")
    assert (code, err) == (0, "")
    assert "num_nodes" in out
    assert run("embed", "--quiet")[2].startswith("brgcl: no graph given")


def test_a_resumed_training_says_so(run, own, tmp_path):
    """Defect 57: resuming said nothing."""
    from brgcl import checkpoint

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint, "SECONDS", 0.0)
        patch.setattr("pathlib.Path.unlink", lambda *a, **k: None)
        model = brgcl.BRGCL(seed=0, **TINY)
        given = dict(zip(*[iter(own())] * 2, strict=True))
        data = brgcl.read_graph(given["--edges"], given["--features"], given["--labels"])
        model.fit(data, checkpoint=tmp_path / "training")
    assert (tmp_path / "training").is_file()
    code, _, err = run(
        "embed", *own(), *QUICK, "--checkpoint", tmp_path / "training", "--out", tmp_path / "run"
    )
    assert code == 0, err
    assert f"Resuming from {tmp_path / 'training'}." in err


def test_columns_are_named_by_options(run, tmp_path):
    """Defect 38: advice named keywords for which the command line had no options."""
    (tmp_path / "e.csv").write_text("a,b,c\nx,n1,n2\nx,n2,n3\nx,n3,n1\n")
    code, _, err = run("cluster", "--edges", tmp_path / "e.csv", "--header", *QUICK, "-k", 1)
    assert code == 2
    assert "--source" in err
    assert "source=" not in err
    columns = ["--source", "b", "--target", "c"]
    code, _, err = run("cluster", "--edges", tmp_path / "e.csv", *columns, *QUICK, "-k", 1)
    assert code == 0, err
    code, _, err = run("cluster", "demo", *columns)
    assert code == 2
    assert "columns can be named for files only, not for 'demo'" in err
