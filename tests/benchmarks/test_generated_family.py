"""The family of generated graphs: what is measured, skipped and shown."""

import json

import pytest
import torch

import generated_family as family
from brgcl.evaluation.evaluate import evaluate
from brgcl.methods import METHODS
from brgcl.noise import NoiseSpec
from brgcl.noise.graph import Noise

KIND = family.Kind(3, 0.5, 4, "sparse")


def record(kind, draw, method, clean, noisy, wrong=0.4):
    accuracy, realised = {"0": clean, "0.4": noisy}, {"0": 0.0, "0.4": wrong}
    about = {"kind": kind, "draw": draw, "method": method, "version": METHODS[method].version}
    more = {"accuracy": accuracy, "noise_realised": realised, "seconds": 1.0, "commit": "abc"}
    return about | more


def test_the_grid_spans_the_family():
    kinds = list(family.grid())
    assert len(set(kinds)) == len(kinds) == 54
    assert {kind.attributes for kind in kinds} == {"sparse", "dense"}


@pytest.mark.parametrize("method", ["mlp", "smooth"])
def test_accuracy_is_that_of_evaluate(method):
    data = family.generate(KIND, 0, nodes=200)
    found = family.measure(data, method, 0)["accuracy"]
    for level, value in found.items():
        noise = Noise(labels=NoiseSpec("symmetric", float(level)) if float(level) else None)
        wanted = evaluate(data, method, noise=noise, protocol="no-val", seeds=1).summary()
        assert value == wanted["accuracy_mean"]


def test_dense_attributes_are_projections():
    sparse = family.generate(KIND, 1, nodes=100)
    dense = family.generate(KIND._replace(attributes="dense"), 1, nodes=100)
    assert dense.x.layout == torch.strided
    assert dense.x.shape == (100, family.DENSE)
    assert torch.linalg.matrix_rank(torch.cat([dense.x, sparse.x.to_dense()], 1)) == (
        torch.linalg.matrix_rank(sparse.x.to_dense())
    )


def test_what_is_there_is_skipped(tmp_path, monkeypatch):
    file = tmp_path / "family.jsonl"
    monkeypatch.setattr(family, "grid", lambda: iter([KIND]))
    monkeypatch.setattr(family, "generate", lambda kind, draw: None)
    measured = []

    def measure(data, method, draw):
        measured.append((method, draw))
        return {"accuracy": {"0": 0.5, "0.4": 0.4}, "seconds": 1.0}

    monkeypatch.setattr(family, "measure", measure)
    family.run(file, 1, -1.0)
    assert measured == []
    for draws in (1, 2, 2):
        family.run(file, draws, 60.0)
    assert measured == [(method, draw) for draw in (0, 1) for method in family.COMPARED]


def test_the_gap_is_to_the_better_of_the_others(tmp_path):
    far, near = family.Kind(2, 0.2, 2, "sparse"), family.Kind(2, 0.2, 50, "sparse")
    scores = {"mlp": (0.6, 0.5), "smooth": (0.5, 0.55), "brgcl": (0.5, 0.6)}
    records = [record(far, 0, method, *both) for method, both in scores.items()]
    records += [record(near, 0, method, 0.7, 0.7) for method in scores]
    records.append(record(near, 1, "mlp", 0.9, 0.9))  # the others are missing on this draw
    records.append(record(far, 1, "mlp", 0.9, 0.9) | {"version": 99})
    file = tmp_path / "family.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in records))
    found = family.gaps(family.read(file))
    assert [found[kind]["0"]["n"] for kind in (far, near)] == [1, 1]
    assert found[far]["0"]["gap"] == pytest.approx(-10)
    assert found[far]["0.4"]["gap"] == pytest.approx(5)
    page = family.page(file)
    assert "| 2 | 0.2 | 0 % | 2 | -5.0 | -10.0 | 1 |" in page
    assert (
        "| 2 | sparse | 0.2 | 2 | 1 | 60.0 | 50.0 | 50.0 | -10.0 | 50.0 | 55.0 | 60.0 | +5.0 |"
        in page
    )
    assert "2 of 54 kinds of graphs were measured." in page


def test_draws_with_mostly_wrong_labels_are_left_out(tmp_path):
    kind, other = family.Kind(2, 0.2, 2, "sparse"), family.Kind(2, 0.2, 10, "sparse")
    records = []
    for method in family.COMPARED:
        records.append(record(kind, 0, method, 0.5, 0.1, wrong=0.55))
        records.append(record(kind, 1, method, 0.7, 0.6))
        records.append(record(other, 0, method, 0.5, 0.1, wrong=0.55))
    file = tmp_path / "family.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in records))
    page = family.page(file)
    same = "| 60.0 | 60.0 | 60.0 | +0.0 |"
    assert f"| 2 | sparse | 0.2 | 2 | 2, 1 {same} 60.0 | 60.0 | 60.0 | +0.0 |" in page
    assert "| 2 | sparse | 0.2 | 10 | 1, 0 | 50.0 | 50.0 | 50.0 | +0.0 |  |  |  |  |" in page
    assert "| 2 | 0.2 | 40 % | 1 | +0.0 | +0.0 | 0 |" in page


@pytest.mark.skipif(not family.RECORDS.exists(), reason="the family was not measured yet")
def test_the_page_is_made_from_the_records():
    assert family.PAGE.read_text(encoding="utf-8") == family.page(family.RECORDS)
