"""`brgcl find-errors`: suspects with the user's ids and names, corrected labels, injected noise."""

import contextlib
import io
import json
import shutil
import sys

import numpy as np
import pandas as pd
import pytest

import brgcl
from brgcl.cli import main as cli
from brgcl.detectors.names import DETECTORS
from brgcl.review.decisions import Choice, Decisions, read_decisions

TINY = ("epochs=8", "hidden=16", "dim=8", "warmup_epochs=4")
QUICK = [part for text in TINY for part in ("--set", text)]
NAMES = {
    "num_labelled", "num_suspects", "estimated_error_rate", "error_interval", "suspects", "classes",
    "fdr_target", "fdr_estimated", "class_names", "transition", "error_rate_by_class", "not_judged",
}  # fmt: skip
NOISE_NAMES = {
    "auroc", "average_precision", "precision", "recall", "f1", "mcc", "noise_realised",
}  # fmt: skip
COLUMNS = {"node", "given", "suggested", "probability", "score", "is_error", "evidence"}


@pytest.fixture(scope="module", autouse=True)
def quick_map():
    """Nodes are put on a line; where they belong on the map is tested elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        place = lambda z, seed: (np.arange(len(z)), np.arange(2 * len(z)).reshape(-1, 2))  # noqa: E731
        patch.setattr("brgcl.report.figures.place_nodes", place)
        yield


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    """A user's graph with text ids, every node labelled; the labels of five nodes are wrong."""
    folder = tmp_path_factory.mktemp("wrong")
    N, kinds = 90, np.array(["=sum(a)", "b & c", "<i>d</i>"])
    group = np.arange(N) % 3
    ids = np.array([f"-n{i}" for i in range(N)])
    rng = np.random.default_rng(0)
    ends = [(i, j) for i in range(N) for j in rng.choice(np.flatnonzero(group == group[i]), 3)]
    ends = np.array([pair for pair in ends if pair[0] != pair[1]])
    pd.DataFrame({"source": ids[ends[:, 0]], "target": ids[ends[:, 1]]}).to_csv(
        folder / "e.csv", index=False
    )
    x = np.eye(3)[group].repeat(4, axis=1) + rng.normal(0, 0.3, (N, 12))
    table = pd.DataFrame(x, columns=[f"x{i}" for i in range(12)])
    table.insert(0, "id", ids)
    table.to_csv(folder / "x.csv", index=False)
    labels = kinds[group]
    labels[:5] = kinds[(group[:5] + 1) % 3]
    frame = pd.DataFrame({"id": ids, "label": labels})
    frame.to_csv(folder / "y.csv", index=False)
    files = [folder / name for name in ("e.csv", "x.csv", "y.csv")]
    pairs = zip(("--edges", "--features", "--labels"), files, strict=True)
    return (
        folder,
        [part for pair in pairs for part in pair],
        dict(zip(ids, kinds[group], strict=True)),
    )


@pytest.fixture(scope="module")
def found(wrong, tmp_path_factory):
    """One run of the command on these files: its folder, stdout, stderr and corrected labels."""
    out = tmp_path_factory.mktemp("runs") / "run"
    corrected = out.parent / "corrected.csv"
    words = ["find-errors", *wrong[1], *QUICK, "--out", out, "--apply", corrected, "--json"]
    streams = io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(streams[0]),
        contextlib.redirect_stderr(streams[1]),
    ):
        patch.setattr(sys, "argv", ["brgcl", *map(str, words)])
        with pytest.raises(SystemExit) as exit:
            cli.main()
    assert not exit.value.code, streams[1].getvalue()
    return out, json.loads(streams[0].getvalue()), streams[1].getvalue(), corrected


def test_wrong_labels_are_found_with_the_users_names(found, wrong):
    _, printed, _, _ = found
    suspects = {row["node"]: row for row in printed["suspects"]}
    assert set(suspects) == {f"-n{i}" for i in range(5)}
    for node, row in suspects.items():
        assert row["suggested"] == wrong[2][node]
        assert row["given"] != row["suggested"]
        assert row["evidence"]


def test_json_has_the_promised_names(found):
    _, printed, _, _ = found
    assert set(printed) >= NAMES
    assert not set(printed) & NOISE_NAMES
    assert printed["num_labelled"] == 90
    assert printed["num_suspects"] == len(printed["suspects"]) == 5
    assert sum(pair["count"] for pair in printed["classes"]) == 5
    assert printed["fdr_target"] == 0.1
    low, high = printed["error_interval"]
    assert 0 <= low <= printed["estimated_error_rate"] <= high <= 1
    assert all(set(row) >= COLUMNS for row in printed["suspects"])


def test_the_run_folder_has_what_was_printed(found):
    out, printed, _, _ = found
    suspects = pd.read_parquet(out / "suspects.parquet")
    assert set(suspects) >= COLUMNS
    assert len(suspects) == 90
    assert suspects["score"].between(0, 1).all()
    assert suspects[suspects["is_error"]]["node"].tolist() == [
        row["node"] for row in printed["suspects"]
    ]
    text = pd.read_csv(out / "suspects.csv", dtype={"node": str})
    assert text["node"].tolist() == suspects["node"].tolist()
    assert text["given"].tolist() == suspects["given"].tolist()
    findings = json.loads((out / "findings.json").read_text("utf-8"))
    assert findings["estimated_error_rate"] == printed["estimated_error_rate"]
    assert "noise" not in findings
    assert findings["diagnosis"]["sentences"]
    assert json.loads((out / "metrics.json").read_text("utf-8"))["num_suspects"] == 5
    about = json.loads((out / "run.json").read_text("utf-8"))
    assert (about["detector"], about["labelled"], about["fdr"]) == ("brgcl", "all", 0.1)


def test_nodes_have_labels_and_scores(found, wrong):
    nodes = pd.read_parquet(found[0] / "nodes.parquet").set_index("node_id")
    suspects = pd.read_parquet(found[0] / "suspects.parquet").set_index("node")
    assert "label_true" not in nodes  # nobody knows it
    assert nodes["score"].to_dict() == suspects["score"].to_dict()
    assert nodes["label_given"].to_dict() == suspects["given"].to_dict()
    assert nodes.index[nodes["is_error"]].tolist() == [f"-n{i}" for i in range(5)]


def test_corrected_labels_stand_beside_the_given_ones(found, wrong):
    _, _, _, corrected = found
    frame = pd.read_csv(corrected)
    assert list(frame) == ["node_id", "label", "label_given", "changed", "score"]
    given = pd.read_csv(wrong[0] / "y.csv")
    assert frame["node_id"].tolist() == given["id"].tolist()  # in the order of the graph
    assert frame["label_given"].tolist() == given["label"].tolist()
    assert frame.set_index("node_id")["label"].to_dict() == wrong[2]
    assert frame["changed"].tolist() == [True] * 5 + [False] * 85


def test_corrected_labels_can_be_read_as_labels(found, wrong):
    data = brgcl.read_graph(wrong[0] / "e.csv", wrong[0] / "x.csv", found[3])
    read = [data.class_names[label] for label in data.y.tolist()]
    assert dict(zip(data.node_ids, read, strict=True)) == wrong[2]


def test_stderr_says_what_to_do_next(found):
    out, _, err, corrected = found
    assert str(corrected) in err
    assert f"brgcl review {out}" in err
    assert f"brgcl report {out}" in err


def test_the_table_is_ranked_and_has_reasons(run, wrong):
    """Noise may be added to own labels, too."""
    code, out, err = run("find-errors", *wrong[1], *QUICK, "--top", 2, "--label-noise", "pair:0.01")
    assert code == 0, err
    assert "\x1b" not in out
    assert "The 2 most suspicious of 90 labels" in out
    assert sum("-n" in line and "│" in line for line in out.splitlines()) == 2
    assert "of the 90 labels are wrong (95 % interval" in out
    assert " of 90 labels are flagged as wrong" in out
    assert "Most frequent confusions" in out
    assert "were made wrong. Scores: auroc " in out
    assert "With --out RUN you can review" in " ".join(out.split())


def test_no_input_is_changed(run, wrong):
    before = {file: file.read_bytes() for file in wrong[0].iterdir()}
    for name, option in (("y.csv", "labels"), ("e.csv", "edges")):
        code, _, err = run(
            "find-errors", *wrong[1], *QUICK, "--apply", wrong[0] / name, "--overwrite"
        )
        assert code == 2
        assert f"which --{option} reads; give another name" in err
    assert {file: file.read_bytes() for file in wrong[0].iterdir()} == before


def test_a_link_to_an_input_counts_as_the_input(run, wrong, tmp_path):
    (tmp_path / "link.csv").symlink_to(wrong[0] / "y.csv")
    code, _, err = run("find-errors", *wrong[1], "--apply", tmp_path / "link.csv", "--overwrite")
    assert code == 2
    assert "which --labels reads" in err


def test_a_file_that_is_there_is_replaced_only_on_request(run, wrong, no_training, tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("mine")
    code, _, err = run("find-errors", *wrong[1], "--apply", file)
    assert code == 2
    assert "already exists; give another name or add --overwrite" in err
    assert file.read_text() == "mine"
    code, _, err = run("find-errors", *wrong[1], "--apply", tmp_path / "mine.xlsx")
    assert code == 2
    assert "ends in .csv" in err
    code, _, err = run(
        "find-errors", *wrong[1], "--out", tmp_path / "r", "--apply", tmp_path / "r/suspects.csv"
    )
    assert code == 2
    assert "is a file of the run itself" in err


# Noise


@pytest.mark.parametrize("labelled", ["all", "train"])
def test_injected_noise_is_scored(run, small, folds_once, tmp_path, labelled):
    out = tmp_path / "run"
    code, text, err = run(
        "find-errors", "cora", *QUICK, "--labelled", labelled, "--label-noise", "symmetric:0.2",
        "--out", out, "--json",
    )  # fmt: skip
    assert code == 0, err
    printed = json.loads(text)
    assert set(printed) >= NAMES | NOISE_NAMES
    assert printed["num_labelled"] == (150 if labelled == "all" else 30)
    nodes = pd.read_parquet(out / "nodes.parquet")
    judged = nodes.dropna(subset="label_given")
    assert len(judged) == printed["num_labelled"]
    is_wrong = judged["label_given"] != judged["label_true"]
    assert printed["noise_realised"] == pytest.approx(is_wrong.mean())
    called = judged["is_error"].astype(bool)
    hits = (called & is_wrong).sum()
    assert printed["recall"] == pytest.approx(hits / is_wrong.sum())
    assert printed["precision"] == pytest.approx(hits / max(1, called.sum()))
    # the share of pairs of a wrong and a right label that the score puts in order
    low, high = judged["score"][is_wrong], judged["score"][~is_wrong]
    ordered = [(a < b) + (a == b) / 2 for a in low for b in high]
    assert printed["auroc"] == pytest.approx(np.mean(ordered))
    findings = json.loads((out / "findings.json").read_text("utf-8"))
    assert findings["noise"] == {name: printed[name] for name in NOISE_NAMES}


# Review


@pytest.fixture
def review(found, tmp_path):
    """A copy of the run, and a function that decides on labels as the review does."""
    folder = shutil.copytree(found[0], tmp_path / "reviewed")
    given = pd.read_parquet(folder / "suspects.parquet").set_index("node")["given"]

    def decide(**labels):
        store = Decisions(folder)
        choices = [
            Choice(node, given.get(node, ""), label, "choose", "") for node, label in labels.items()
        ]
        store.record("request", "me", choices)
        store.close()

    return folder, decide


def test_decided_labels_are_certain(run, wrong, review, tmp_path):
    """A wrong label is kept by a person, another is corrected: neither is a suspect."""
    folder, decide = review
    given = pd.read_csv(wrong[0] / "y.csv").set_index("id")["label"]
    kept, truth = given["-n0"], wrong[2]["-n1"]
    decide(**{"-n0": kept, "-n1": truth})
    decisions, corrected = (folder / "review.sqlite").read_bytes(), tmp_path / "c.csv"
    code, out, err = run(
        "find-errors", *wrong[1], *QUICK, "--reviewed", folder, "--out", folder, "--overwrite",
        "--apply", corrected, "--json", "--fdr", 0.4,
    )  # fmt: skip
    assert code == 0, err
    suspects = {row["node"] for row in json.loads(out)["suspects"]}
    assert suspects
    assert suspects <= {"-n2", "-n3", "-n4"}
    frame = pd.read_csv(corrected).set_index("node_id")
    assert frame.loc["-n0", ["label", "label_given"]].tolist() == [kept, kept]
    assert frame.loc["-n1", ["label", "label_given"]].tolist() == [truth, given["-n1"]]
    assert set(frame.index[frame["changed"]]) == {"-n1", *suspects}
    nodes = pd.read_parquet(folder / "nodes.parquet").set_index("node_id")
    assert nodes.index[nodes["reviewed"]].tolist() == ["-n0", "-n1"]
    assert nodes.loc["-n1", "label_given"] == truth
    # the decisions are still there, and still about the run
    assert (folder / "review.sqlite").read_bytes() == decisions
    assert set(read_decisions(folder)["node"]) == {"-n0", "-n1"}


def test_a_run_with_decisions_is_not_replaced_unseen(run, wrong, review, no_training):
    folder, decide = review
    decide(**{"-n0": "zoo"})
    code, _, err = run("find-errors", *wrong[1], "--out", folder, "--overwrite")
    assert code == 2
    assert f"take them over with --reviewed {folder}" in err


def test_a_review_of_other_classes_is_refused(run, wrong, review, no_training):
    folder, decide = review
    decide(**{"-n0": "nobody"})
    code, _, err = run("find-errors", *wrong[1], "--reviewed", folder)
    assert code == 2
    assert "names the class 'nobody', which this graph does not have" in err


def test_a_review_of_another_graph_is_refused(run, own, wrong, review, no_training):
    folder, decide = review
    decide(**{"-n0": "b & c"})
    code, _, err = run("find-errors", *own(), "--reviewed", folder)
    assert code == 2
    assert "names the node '-n0', which this graph does not have" in err


def test_a_review_without_decisions_is_refused(run, wrong, review, no_training):
    folder, decide = review
    decide()
    code, _, err = run("find-errors", *wrong[1], "--reviewed", folder)
    assert code == 2
    assert "there are no decisions" in err


# Wrong input


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--fdr", "0"], "--fdr must be above 0 and below 1, got 0"),
        (["--fdr", "1"], "--fdr must be above 0 and below 1, got 1"),
        (["--fdr", "nan"], "--fdr must be above 0 and below 1, got nan"),
        (["--detector", "brgl"], "unknown detector 'brgl'; did you mean 'brgcl'?"),
        (["--labelled", "some"], "unknown value of --labelled 'some'"),
        (["--labelled", "train"], "--labelled train needs a data set with training nodes"),
        (["--label-noise", "symetric:0.1"], "did you mean 'symmetric'"),
        (["--reviewed", "/nope"], "has no review"),
        (["--top", "-1"], "--top"),
    ],
)
def test_wrong_options_are_refused_before_training(run, own, no_training, words, message):
    code, out, err = run("find-errors", *own(), *words)
    assert code == 2
    assert out == ""
    assert message in err


def test_labels_are_needed(run, own, no_training):
    code, _, err = run("find-errors", *own("edges", "features"))
    assert code == 2
    assert "no node has a label to judge; --labels FILE must name some" in err


def test_one_class_is_not_enough(run, own, files, no_training, tmp_path):
    (tmp_path / "y.csv").write_text("id,kind\nnode-001,a\nnode-002,a\n", encoding="utf-8")
    code, _, err = run("find-errors", *own("edges", "features"), "--labels", tmp_path / "y.csv")
    assert code == 2
    assert "all labels are the same" in err


# Other detectors


def test_detectors_are_listed_in_the_help(run):
    text = " ".join(run("find-errors", "--help")[1].replace("│", " ").split())
    assert all(name in text for name in DETECTORS)


@pytest.mark.parametrize("detector", ["smooth", "neighbours"])
def test_another_detector_has_the_same_names(run, wrong, tmp_path, detector):
    out = tmp_path / "run"
    code, text, err = run(
        "find-errors", *wrong[1], "--detector", detector, "--label-noise", "pair:0.1", "--out", out,
        "--json",
    )  # fmt: skip
    assert code == 0, err
    printed = json.loads(text)
    assert set(printed) >= NAMES | NOISE_NAMES
    assert printed["detector"] == detector
    assert printed["num_suspects"] == len(printed["suspects"]) > 0
    assert sum(pair["count"] for pair in printed["classes"]) == printed["num_suspects"]
    assert printed["suspects"][0]["given"] in ("=sum(a)", "b & c", "<i>d</i>")
    assert all(row["evidence"] for row in printed["suspects"])
    assert printed["auroc"] > 0.6  # labels that were wrong before count as false alarms
    assert (out / "embeddings.parquet").exists() == (detector == "smooth")
    assert (out / "edges.parquet").exists()


def test_another_detector_leaves_decided_labels_alone(run, wrong, review):
    folder, decide = review
    decide(**{"-n0": pd.read_csv(wrong[0] / "y.csv").set_index("id")["label"]["-n0"]})
    words = ["--detector", "neighbours", "--reviewed", folder, "--json"]
    code, out, err = run("find-errors", *wrong[1], *words)
    assert code == 0, err
    assert {row["node"] for row in json.loads(out)["suspects"]} == {f"-n{i}" for i in range(1, 5)}


def test_a_detector_that_trains_nothing_has_no_settings(run, wrong):
    code, _, err = run("find-errors", *wrong[1], "--detector", "neighbours", "--set", "epochs=3")
    assert code == 2
    assert "neighbours trains nothing and has no settings" in err
