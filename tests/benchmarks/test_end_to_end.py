"""Seconds from a graph to classes: what is timed, and how it is shown."""

import pytest

import end_to_end
from brgcl.data import make_graph


@pytest.fixture(autouse=True)
def small(monkeypatch):
    data = make_graph(120, num_classes=3, num_features=30, labels_per_class=5)
    monkeypatch.setattr(end_to_end, "load_dataset", lambda name, seed: data)


def test_a_classifier_on_top_is_timed_apart():
    on_top, alone = (end_to_end.measure("cora", name)["seconds"] for name in ("smooth", "gcn"))
    assert list(on_top) == ["training", "classifier, train", "classifier, all"]
    assert list(alone) == ["training"]
    assert all(value > 0 for value in [*on_top.values(), *alone.values()])


def test_the_classifier_meets_few_labels_and_those_of_all_nodes():
    few, every = (end_to_end.draw("cora", labelled).labels.train for labelled in ("train", "all"))
    assert (int((few >= 0).sum()), int((every >= 0).sum())) == (15, 120)


def test_the_table_compares_with_gcn_on_the_same_graph():
    lines = [
        {"graph": "cora", "method": "gcn", "seconds": {"training": 2.0}},
        {"graph": "pubmed", "method": "gcn", "seconds": {"training": 100.0}},
        {
            "graph": "cora",
            "method": "brgcl",
            "seconds": {"training": 5.0, "classifier, train": 1.0, "classifier, all": 9.0},
        },
    ]
    *_, ours = end_to_end.tables(lines)
    assert ours == "| cora | `brgcl` | 5.0 s | 1.0 s | 9.0 s | 3.0 x |"


def test_what_was_measured_is_not_measured_again(monkeypatch, tmp_path, capsys):
    asked = []
    monkeypatch.setattr(end_to_end, "measure", lambda g, m: asked.append((g, m)) or fake(g, m))
    call = ["end_to_end.py", "run", "--graphs", "cora", "--records", str(tmp_path / "r.jsonl")]
    for _ in range(2):
        monkeypatch.setattr("sys.argv", call)
        end_to_end.main()
    assert asked == [("cora", method) for method in end_to_end.COMPARED]
    monkeypatch.setattr("sys.argv", ["end_to_end.py", "show", *call[-2:]])
    capsys.readouterr()
    end_to_end.main()
    assert capsys.readouterr().out.count("| cora |") == len(asked)


def fake(graph, method):
    return {"graph": graph, "method": method, "seconds": {"training": 1.0}}
