"""What detectors say, in the form of `find_label_errors`."""

import pytest
import torch
from torch_geometric.data import Data

import brgcl
from brgcl.cli.judge import detected_table, summary
from brgcl.detectors.contract import Detected
from brgcl.tasks.label_errors import find_label_errors, judge_labels

# a path a - b - c - d - e; c is unlabelled
GRAPH = Data(
    x=torch.eye(5),
    edge_index=torch.tensor([[0, 1, 1, 2, 2, 3, 3, 4], [1, 0, 2, 1, 3, 2, 4, 3]]),
    node_ids=list("abcde"),
    class_names=["red", "blue"],
    num_nodes=5,
)
LABELS = torch.tensor([0, 1, -1, 1, 0])
FOUND = Detected(
    nodes=torch.tensor([0, 1, 3, 4]),
    score=torch.tensor([0.4, 0.9, 0.8, 0.1]),
    suggested=torch.tensor([1, 1, 1, 1]),
    is_error=torch.tensor([True, False, False, True]),
)


def test_rows_are_sorted_and_have_names_and_reasons():
    frame = detected_table(FOUND, LABELS, None, GRAPH)
    assert frame["node"].tolist() == ["e", "a", "d", "b"]
    assert frame["given"].tolist() == ["red", "red", "blue", "blue"]
    assert frame["suggested"].tolist() == ["blue"] * 4
    assert frame["is_error"].tolist() == [True, True, False, False]
    assert frame["neighbours_given"].tolist() == [0, 0, 0, 0]  # c has no label
    assert frame["neighbours_suggested"].tolist() == [1, 1, 0, 0]
    assert "'blue'" in frame["evidence"][0]


def test_labels_decided_on_are_right():
    certain = torch.tensor([False, False, False, False, True])
    frame = detected_table(FOUND, LABELS, certain, GRAPH).set_index("node")
    assert frame.index.tolist() == ["a", "d", "b", "e"]
    row = frame.loc["e"]
    assert (row["given"], row["suggested"], row["score"]) == ("red", "red", 1)
    assert not row["is_error"]
    assert row["evidence"] == "Known to be right."


def test_the_summary_has_the_names_of_ours():
    data = brgcl.make_graph(60, num_classes=2, num_features=10)
    ours = judge_labels(torch.randn(60, 4), data.y, graph=data).to_dict()
    theirs = summary(detected_table(FOUND, LABELS, None, GRAPH), 0.5)
    assert set(theirs) == set(ours)
    rows = detected_table(FOUND, LABELS, None, GRAPH)
    assert list(rows) == list(find_label_errors(torch.randn(60, 4), data.y, graph=data))
    assert theirs["classes"] == [{"given": "red", "suggested": "blue", "count": 2}]
    assert (theirs["num_labelled"], theirs["num_suspects"]) == (4, 2)
    assert theirs["error_rate_by_class"] == pytest.approx({"blue": 0, "red": 1})
