from pathlib import Path

import pandas as pd
import pytest

from brgcl.report.run import Run
from brgcl.report.sentences import headlines


def said(metrics=None, *, suspects=None, findings=None, **columns):
    nodes = pd.DataFrame({"node_id": [0, 1, 2], **columns})
    run = Run(Path("a run"), nodes, {}, None, suspects, findings or {}, (), metrics or {})
    return [f"{line.figure} {line.text} {line.command}".strip() for line in headlines(run)]


JUDGED = pd.DataFrame({"node": [0, 1], "is_error": [False, False]})


def test_no_suspect_is_said_so():
    first, second, third = said(suspects=JUDGED, findings={"estimated_error_rate": 0.0001})
    assert first == "None of the 2 judged labels is flagged as wrong."
    assert second == "<0.1 % of all labels, about 0, are estimated to be wrong."
    assert third.endswith("brgcl review 'a run'")


def test_one_suspect_is_a_singular_and_an_unknown_rate_is_said():
    suspects = JUDGED.assign(is_error=[True, False])
    first, second, _ = said(suspects=suspects)
    assert first == "1 label looks wrong, out of 2 judged labels."
    assert second == "Unknown number of wrong labels."
    _, second, _ = said(suspects=suspects, findings={"fdr_estimated": 0.05})
    assert second.endswith("the probability that it is right is 5.0 %.")


@pytest.mark.parametrize(
    ("metrics", "sentence"),
    [
        ({"accuracy_mean": 0.8, "n": 1}, "80.0 % of the test nodes are classified correctly."),
        (
            {"accuracy_mean": 0.8, "n": 5},
            "80.0 % of the test nodes are classified correctly, mean of 5 draws.",
        ),
        ({"num_clusters": 5, "capped": True}, "≥ 5 clusters were found."),
        (
            {"num_clusters_mean": 4.5, "nmi_mean": 0.5},
            "4.5 clusters were found; their NMI with the classes is 0.50.",
        ),
        ({}, "3 nodes have a representation."),
    ],
)
def test_runs_that_judged_no_labels_say_what_they_found(metrics, sentence):
    assert said(metrics)[0] == sentence


def test_the_next_step_without_suspects_depends_on_labels():
    assert said()[-1] == "Next nodes.parquet has the results of every node."
    next_step = said({"dataset": "cora"}, label_given=["a", "b", None])[-1]
    assert next_step == "Next find out which labels are wrong: brgcl find-errors cora --out errors"


def test_errors_that_cannot_be_named_are_explained():
    _, second, _ = said(suspects=JUDGED, findings={"estimated_error_rate": 0.5})
    assert second.endswith(
        "No single label is suspicious enough to be flagged; the table lists the most suspicious "
        "first."
    )


def test_clusters_come_with_how_sure_they_are():
    _, second, _ = said({"num_clusters": 5}, confidence=[0.5, 0.6, 0.7])
    assert second == "0.60 is the mean confidence of the nodes in their clusters (0 to 1)."
    nodes = pd.DataFrame({"node_id": [0], "cluster": [0], "confidence": [0.5]})
    run = Run(
        Path("a run"), nodes, {}, history=[{"confident_share": None}, {"confident_share": 0.75}]
    )
    assert headlines(run)[1].figure == "75.0 %"


def test_the_next_command_names_the_files_of_a_graph():
    nodes = pd.DataFrame({"node_id": [0], "label_given": ["a"]})
    inputs = {"edges": {"file": "my edges.csv"}, "labels": {"file": "l.csv"}}
    run = Run(Path("a run"), nodes, {"inputs": inputs}, metrics={"dataset": "my edges"})
    words = "--edges 'my edges.csv' --labels l.csv"
    assert headlines(run)[-1].command == f"brgcl find-errors {words} --out errors"
