import json

import pytest
import torch

pytest.importorskip("matplotlib")

import correct_labels
from brgcl.data import make_graph
from brgcl.detectors.contract import Detected

TRUTH = torch.arange(4000) % 4


def test_the_reviewer_is_right_95_times_in_a_hundred():
    answers = correct_labels.review(TRUTH, 4, torch.Generator().manual_seed(0))
    assert float((answers == TRUTH).float().mean()) == pytest.approx(0.95, abs=0.01)
    wrong = answers[answers != TRUTH]
    assert set(wrong.tolist()) == {0, 1, 2, 3}


def test_suggestions_are_taken_where_a_label_is_called_wrong():
    given = torch.tensor([0, -1, 1, 2])
    nodes, flagged = torch.tensor([0, 2, 3]), torch.tensor([True, False, True])
    found = Detected(nodes, torch.ones(3), torch.tensor([1, 2, 0]), flagged)
    assert correct_labels.apply_suggestions(found, given).tolist() == [1, 1, 0]


def test_wrong_labels_are_counted_among_the_labelled():
    pool = torch.tensor([0, 1, 1, -1])
    assert correct_labels.wrong_share(torch.tensor([0, 0, 1, 2]), pool) == pytest.approx(1 / 3)


def test_a_small_table_is_measured_written_and_plotted(tmp_path, monkeypatch, capsys):
    graph = make_graph(150, num_classes=3, num_features=40, labels_per_class=10, num_val=20)
    monkeypatch.setattr(correct_labels, "load_dataset", lambda name, seed: graph)
    monkeypatch.setattr(correct_labels, "TRAININGS", 1)
    monkeypatch.setattr(correct_labels, "RANKINGS", ("random",))
    monkeypatch.setattr(correct_labels, "NOISES", (("symmetric", 0.2),))
    out, picture = tmp_path / "out.json", tmp_path / "out.svg"
    arguments = ["--datasets", "cora", "--seeds", "2", "--out", str(out)]
    arguments += ["--picture", str(picture), "--page", str(tmp_path / "page.md")]
    correct_labels.main(arguments)
    result = json.loads(out.read_text())
    assert len(result["draws"]) == 4  # two draws where most and where few are labelled
    cells = correct_labels.summarise(result["draws"])
    ways = {cell["way"] for cell in cells}
    assert ways == {"uncorrected", "all right", "review 0.05", "review 0.1", "review 0.2"}
    assert all(cell["n"] == 2 for cell in cells)
    assert picture.is_file()
    assert "| first 20 % reviewed, random |" in capsys.readouterr().out

    del result["draws"][1]["rankings"]["random"]  # as where a detector has changed
    out.write_text(json.dumps(result))
    correct_labels.main(arguments)
    result = json.loads(out.read_text())
    assert correct_labels.summarise(result["draws"]) == cells

    monkeypatch.setattr(correct_labels, "measure", None)  # nothing is left to measure
    correct_labels.main(arguments)
    assert json.loads(out.read_text()) == result


def test_looking_at_all_with_a_perfect_reviewer_makes_all_labels_right(monkeypatch):
    graph = make_graph(120, num_classes=2, num_features=40, labels_per_class=10, num_val=20)
    monkeypatch.setattr(correct_labels, "load_dataset", lambda name, seed: graph)
    monkeypatch.setattr(correct_labels, "TRAININGS", 1)
    monkeypatch.setattr(correct_labels, "RANKINGS", ("random",))
    monkeypatch.setattr(correct_labels, "BUDGETS", (1.0,))
    monkeypatch.setattr(correct_labels, "REVIEWER", 1.0)
    draw = correct_labels.measure(correct_labels.new_draw("cora", "most", "pair", 0.4, 0))
    assert draw["rankings"]["random"]["review"]["1"] == draw["all_right"]
    assert draw["wrong_before"] == pytest.approx(0.4, abs=0.15)


def test_the_page_is_that_of_the_committed_results():
    cells = correct_labels.summarise(correct_labels.read_draws(correct_labels.RESULTS))
    assert correct_labels.PAGE_FILE.read_text(encoding="utf-8") == correct_labels.page(cells)
