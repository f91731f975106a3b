from brgcl.benchmark.experiment import Selection, load_experiment, runs
from brgcl.benchmark.records import ResultsFolder
from brgcl.benchmark.trainings import read_or_train
from brgcl.data import make_graph

OWN = """
title = "A map"
source = "a test"
task = "prototypes"
metrics = ["confident_share"]
noise = ["within"]
levels = [0.0, 0.2]
datasets = ["demo"]
[rows.brgcl]
settings = { epochs = 2, hidden = 8, dim = 4, warmup_epochs = 1 }
"""


def test_what_is_not_there_is_trained_once_and_said(tmp_path, monkeypatch):
    small = make_graph(40, num_classes=2, num_features=12, labels_per_class=5, num_val=10)
    monkeypatch.setattr("brgcl.benchmark.runner._load", lambda *which: small)
    (tmp_path / "own.toml").write_text(OWN)
    (run,) = runs(load_experiment(str(tmp_path / "own.toml")), Selection(levels=[0.2], seeds=1))
    folder, said = ResultsFolder(tmp_path / "records.jsonl"), []
    first, second = (read_or_train([run.spec], folder, {}, said.append) for _ in range(2))
    assert "training now" in said[1]
    assert said[0] == said[2] == f"1 of 1: {run.spec}"
    assert len(said) == 3
    assert first[0].representations.equal(second[0].representations)
    assert first[0].confidence.shape == (40,)
