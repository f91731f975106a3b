"""A small table with scores for some of its draws."""

import pytest

from brgcl.benchmark.experiment import Selection, load_experiment, runs
from brgcl.benchmark.records import Record

SMALL = """
title = "A <small> table"
source = "a test"
noise = ["symmetric"]
levels = [0.0, 0.4]
datasets = ["cora", "ogbn-arxiv"]
seeds = { default = 4 }
notes = ["100 % & more"]
[[published]]
dataset = "cora"
row = "gcn"
metric = "accuracy"
mean = [0.8, 0.6]
std = [0.01, 0.02]
[rows.brgcl]
[rows.gcn]
note = "The baseline."
[rows.s2gc]
"""
SCORES = {  # by row and level
    ("brgcl", 0.0): [0.82, 0.81, 0.83, 0.82],
    ("gcn", 0.0): [0.82, 0.815, 0.825, 0.82],
    ("s2gc", 0.0): [0.70, 0.71],
    ("brgcl", 0.4): [0.70, 0.72, 0.74, 0.76],
    ("gcn", 0.4): [0.60, 0.65, 0.66, 0.71],
}


@pytest.fixture
def scores():
    """Scores of the draws, by row and level."""
    return SCORES


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return load_experiment(str(path))


@pytest.fixture
def records(small, scores):
    records = {}
    for planned in runs(small, Selection(datasets=["cora"])):
        mine = scores.get((planned.row, planned.level), [])
        if planned.spec.seed < len(mine):
            records[planned.spec.key] = Record(
                planned.spec,
                {"accuracy": mine[planned.spec.seed]},
                realised={"labels": 0.375, "attributes": 0.0, "edges": 0.0},
                training_seconds=360.0,
            )
    return records
