import json
import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from dataclasses import replace

import pytest
import torch

from brgcl.benchmark import representations, runner
from brgcl.benchmark.experiment import load_experiment, runs
from brgcl.benchmark.records import Record, ResultsFolder, claim, read_records
from brgcl.benchmark.representations import load_fitted, save_fitted
from brgcl.benchmark.run_spec import RunSpec
from brgcl.benchmark.runner import run, run_job
from brgcl.benchmark.schedule import Job, schedule
from brgcl.contract import Fitted
from brgcl.data import make_graph
from brgcl.errors import DataNotFound, InputError
from brgcl.evaluation.protocol import draw_noisy_graph
from brgcl.evaluation.score import classify_one, fit_one
from brgcl.machine import processor, source_commit
from brgcl.method.dpmeans import Clustering
from brgcl.methods import METHODS
from brgcl.tasks.classify import NodeClassifier

SMALL = {"epochs": 2, "hidden": 8, "dim": 8, "warmup_epochs": 1}
GRID = """
title = "small"
source = "a test"
noise = ["symmetric"]
levels = [0.0, 0.2, 0.4]
datasets = ["demo"]
seeds = { default = 2 }
[rows.brgcl]
settings = { epochs = 2, hidden = 8, dim = 8, warmup_epochs = 1 }
rule = "centroid"
[rows.gcn]
settings = { epochs = 3 }
"""


@pytest.fixture
def place(tmp_path):
    return ResultsFolder(tmp_path / "results" / "records.jsonl")


@pytest.fixture(autouse=True)
def small_graph(monkeypatch):
    """A graph that is quick to train on takes the name of the demo."""
    monkeypatch.setattr(runner, "load_dataset", small)
    forget_graphs()
    yield
    forget_graphs()


def forget_graphs():
    runner._load.cache_clear()
    runner._draw.cache_clear()


def told(function):
    """Call this function with every new record."""
    return lambda jobs: nullcontext(function)


def small(name, root=None, *, seed=0):
    return make_graph(150, num_classes=3, num_features=40, labels_per_class=8, num_val=30, seed=1)


@pytest.fixture
def grid(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text(GRID)
    return [cell.spec for cell in runs(load_experiment(str(path)))]


def cell(method="brgcl", seed=0, **fields):
    settings = SMALL if method == "brgcl" else {"epochs": 3}
    return RunSpec.of("demo", method, seed, settings, **fields)


def scores(place):
    return {key: record.metrics for key, record in read_records(place.records).items()}


def test_runs_every_cell_once(place, grid):
    seen = []
    summary = run(grid, place, watching=told(seen.append))
    found = read_records(place.records)
    assert set(found) == {e.key for e in grid}
    assert [r.error for r in seen] == [None] * 12
    assert len(place.records.read_text().splitlines()) == 12
    assert (summary.total, summary.done, summary.skipped, summary.left) == (12, 12, 0, 0)
    again = run(grid, place, watching=told(lambda r: pytest.fail(f"{r.spec} was run again")))
    assert (again.done, again.skipped, again.failed) == (12, 12, 0)


def test_a_record_says_what_the_library_gives(place):
    wanted = cell("gcn", 1, noise="symmetric", level=0.4)
    run([wanted], place)
    record = read_records(place.records)[wanted.key]
    noisy = draw_noisy_graph(small("demo"), noise=wanted.noise_spec(), seed=1)
    outcome = classify_one(noisy, fit_one(noisy, "gcn", wanted.config, 1))
    assert record.metrics == {"accuracy": outcome.accuracy, "macro_f1": outcome.macro_f1}
    assert record.realised["labels"] == noisy.label_noise
    assert record.config["epochs"] == 3
    assert record.threads == 1
    assert record.versions["torch"] == torch.__version__
    assert record.training_seconds > 0
    assert record.rule == "own"
    assert record.commit == source_commit()
    assert record.processor == processor()


def test_a_representation_gives_the_same_with_and_without_the_cache(place):
    wanted = cell(noise="symmetric", level=0.2, rule="mlp", soft_labels="softmax")
    run([wanted], place)
    noisy = draw_noisy_graph(small("demo"), noise=wanted.noise_spec(), seed=0)
    classifier = NodeClassifier("mlp", soft_labels="softmax", seed=0)
    outcome = classify_one(noisy, fit_one(noisy, "brgcl", wanted.config, 0), classifier)
    assert read_records(place.records)[wanted.key].metrics["accuracy"] == outcome.accuracy


@pytest.fixture
def trainings(monkeypatch):
    """Counts trainings."""
    counted = []
    fit = runner.fit_one

    def counting(noisy, method, config, seed, **more):
        counted.append((method, seed))
        return fit(noisy, method, config, seed, **more)

    monkeypatch.setattr(runner, "fit_one", counting)
    return counted


def test_all_label_noise_cells_of_a_seed_cost_one_training(place, trainings):
    wanted = [
        cell(noise=noise, level=level, protocol=protocol)
        for noise in ("symmetric", "pair")
        for level in (0.0, 0.2, 0.4)
        for protocol in ("clean-val", "no-val")
    ]
    run(wanted, place)
    assert trainings == [("brgcl", 0)]
    shared = [r.shared_training for r in read_records(place.records).values()]
    assert sorted(shared) == [False] + [True] * 9


def test_the_training_is_there_after_a_stop(place, trainings):
    run([cell()], place)
    run([cell(noise="pair", level=0.4)], place)
    assert trainings == [("brgcl", 0)]
    assert len(list(place.cache.iterdir())) == 1


def test_attribute_noise_is_a_training_of_its_own(place, trainings):
    run([cell(), cell(noise="within", level=0.3), cell(noise="add", level=0.3)], place)
    assert len(trainings) == 3


@pytest.mark.parametrize("method", ["gcn", "brgcl-joint", "s2gc"])
def test_methods_that_read_labels_never_meet_the_cache(place, trainings, method):
    settings = {"brgcl-joint": SMALL, "gcn": {"epochs": 2}, "s2gc": {"epochs": 2}}[method]
    wanted = [
        RunSpec.of("demo", method, 0, settings, noise="symmetric", level=level)
        for level in (0.0, 0.2)
    ]
    run(wanted, place)
    assert len(trainings) == 2
    assert not place.cache.exists()
    assert not any(r.shared_training for r in read_records(place.records).values())


def test_other_versions_have_another_file(place, monkeypatch):
    run([cell()], place)
    monkeypatch.setattr(representations, "library_versions", lambda: {"torch": "another"})
    run([cell(noise="pair", level=0.4)], place)
    assert len(list(place.cache.iterdir())) == 2


def test_a_failing_cell_is_recorded_and_the_rest_goes_on(place, monkeypatch):
    fit = runner.fit_one

    def broken(noisy, method, config, seed, **more):
        if method == "gcn":
            raise RuntimeError("out of luck")
        return fit(noisy, method, config, seed, **more)

    monkeypatch.setattr(runner, "fit_one", broken)
    wanted = [cell("gcn"), cell(), cell("gcn", noise="pair", level=0.2)]
    summary = run(wanted, place)
    assert (summary.done, summary.failed, summary.left) == (1, 2, 0)
    assert {record.reason for record in summary.failures} == {"RuntimeError: out of luck"}
    found = read_records(place.records)
    assert "out of luck" in found[wanted[0].key].error
    assert "Traceback" in found[wanted[2].key].error
    assert found[wanted[1].key].error is None
    run(wanted, place, watching=told(lambda record: pytest.fail("was run again")))
    monkeypatch.setattr(runner, "fit_one", fit)
    run(wanted, place, retry=True)
    assert all(record.error is None for record in read_records(place.records).values())


def test_a_training_that_fails_is_tried_once_for_all_its_cells(place, monkeypatch):
    tried = []

    def broken(*arguments, **more):
        tried.append(arguments)
        raise RuntimeError("no training")

    monkeypatch.setattr(runner, "fit_one", broken)
    wanted = [cell(noise="symmetric", level=level) for level in (0.0, 0.2, 0.4)]
    run(wanted, place)
    assert len(tried) == 1
    assert ["no training" in r.error for r in read_records(place.records).values()] == [True] * 3


def test_cheapest_first_within_a_budget(place):
    def done(method, seconds):
        e = RunSpec.of("demo", method, 9, SMALL if method == "brgcl" else {"epochs": 3})
        return Record(e, {"accuracy": 0.5}, training_seconds=seconds)

    known = {r.spec.key: r for r in (done("brgcl", 500.0), done("gcn", 1.0))}
    jobs = schedule([cell(), cell("gcn"), cell("gcn", 1)], known)
    assert [(j.specs[0].method, j.seconds) for j in jobs] == [
        ("gcn", 1.0),
        ("gcn", 1.0),
        ("brgcl", 500.0),
    ]


def test_nothing_is_begun_that_would_not_end_in_time(place):
    run([cell(seed=5)], place)
    record = next(iter(read_records(place.records).values()))
    slow = Record(record.spec, record.metrics, config=record.config, training_seconds=1e6)
    runner.append_record(place.records, slow)
    run([cell(), cell("gcn")], place, deadline=time.time() + 60)
    assert {r.spec.method for r in read_records(place.records).values()
            if r.spec.seed == 0} == {"gcn"}  # fmt: skip
    before = scores(place)
    run([cell("gcn", 3)], place, deadline=time.time() - 1)
    assert scores(place) == before


def test_a_job_that_another_runner_has_is_left_to_it(place):
    job = Job((cell(),), None)
    with claim(place.records, job.name):
        assert run_job(job, place) == []
    assert len(run_job(job, place)) == 1
    assert run_job(job, place) == []  # done meanwhile


def test_several_workers_give_the_same_numbers(tmp_path, grid):
    one, two = (ResultsFolder(tmp_path / name / "records.jsonl") for name in ("one", "two"))
    demo = [e for e in grid if e.seed == 0 and e.level < 0.4]
    runner.load_dataset = runner_load  # workers are other processes: all take the real demo
    run(demo, one)
    run(demo, two, workers=2)
    assert scores(one) == scores(two)
    assert len(scores(one)) == 4


def runner_load(name, root=None, *, seed=0):
    from brgcl.data import load_dataset

    return load_dataset(name, root, seed=seed)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_gives_the_same_numbers(tmp_path, grid):
    pytest.importorskip("dask")
    one, two = (ResultsFolder(tmp_path / name / "records.jsonl") for name in ("one", "two"))
    runner.load_dataset = runner_load
    run(grid, one)
    run(grid, two, workers=2, backend="dask")
    assert scores(one) == scores(two)


def test_a_graph_that_cannot_be_had_is_an_error_before_anything_is_run(place, monkeypatch):
    def nowhere(name, root=None, *, seed=0):
        raise DataNotFound("not here")

    monkeypatch.setattr(runner, "available", lambda name, root: False)
    monkeypatch.setattr(runner, "load_dataset", nowhere)
    with pytest.raises(DataNotFound):
        run([cell()], place)
    assert not place.records.exists()


def test_an_unknown_backend_is_an_error(place):
    with pytest.raises(InputError, match="did you mean 'dask'"):
        run([cell()], place, backend="desk")


KILLED = """
import sys
from pathlib import Path
from brgcl.benchmark import representations, runner
from brgcl.benchmark.experiment import runs, load_experiment
from brgcl.data import make_graph
runner.load_dataset = lambda name, root=None, *, seed=0: make_graph(
    150, num_classes=3, num_features=40, labels_per_class=8, num_val=30, seed=1)
grid = [cell.spec for cell in runs(load_experiment(sys.argv[1]))]
runner.run(grid, runner.ResultsFolder(Path(sys.argv[2])))
"""


def test_kill_costs_no_record_and_doubles_none(tmp_path, place, grid):
    command = [sys.executable, "-c", KILLED, str(tmp_path / "grid.toml"), str(place.records)]
    process = subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"})
    lines = 0
    while lines < 4 and process.poll() is None:
        time.sleep(0.01)
        lines = place.records.read_bytes().count(b"\n") if place.records.exists() else 0
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = scores(place)
    assert 4 <= len(before) <= 12
    run(grid, place)
    after = scores(place)
    assert set(after) == {e.key for e in grid}
    assert {key: after[key] for key in before} == before
    keys = [json.loads(line)["key"] for line in place.records.read_text().splitlines()]
    assert len(keys) == len(set(keys)) == 12


def test_a_torn_training_is_trained_again(tmp_path):
    path = tmp_path / "a.safetensors"
    assert load_fitted(path) is None
    clusters = Clustering(torch.tensor([0, 1, 1]), torch.ones(2, 2), 0.5, (), True)
    save_fitted(
        path,
        Fitted(
            torch.ones(3, 2),
            clustering=clusters,
            confidence=torch.zeros(3),
            confident=torch.tensor([True, False, True]),
            measurements={"seconds": 1.0},
        ),
    )
    found = load_fitted(path)
    assert found.measurements == {"seconds": 1.0}
    assert (found.clustering.num_clusters, found.clustering.capped) == (2, True)
    assert found.clustering.assignment.tolist() == [0, 1, 1]
    assert found.confident.tolist() == [True, False, True]
    path.write_bytes(path.read_bytes()[:-4])
    assert load_fitted(path) is None


def test_prototypes_are_counted(place):
    run([cell(task="prototypes")], place)
    (record,) = read_records(place.records).values()
    assert record.metrics["num_prototypes"] >= 1
    assert 0 <= record.metrics["confident_share"] <= 1


def test_clusters_are_scored(place):
    wanted = [cell(task="cluster"), cell("gcn", task="cluster")]
    run(wanted, place)
    for record in read_records(place.records).values():
        assert set(record.metrics) == {"acc", "nmi", "ari"}


def test_validation_nodes_are_scored_without_a_look_at_test_nodes(place, monkeypatch):
    wanted = cell("gcn", scored_on="validation")
    run([wanted], place)
    data = small("demo")
    data.y = torch.where(data.test_mask, 0, data.y)
    monkeypatch.setattr(runner, "load_dataset", lambda name, root=None, *, seed=0: data)
    forget_graphs()
    other = ResultsFolder(place.records.parent / "other" / "records.jsonl")
    run([wanted], other)
    assert scores(place) == scores(other)


def test_records_of_an_earlier_version_of_a_method_retire(place, trainings, monkeypatch):
    run([cell("gcn"), cell()], place)
    old = cell("gcn")
    monkeypatch.setitem(METHODS, "gcn", replace(METHODS["gcn"], version=2))
    new = cell("gcn")
    assert new.key != old.key
    assert {r.spec.method for r in read_records(place.records).values()} == {"brgcl"}
    assert [job.specs for job in schedule([new, cell()], read_records(place.records))] == [(new,)]
    run([new, cell()], place)
    assert trainings == [("gcn", 0), ("brgcl", 0), ("gcn", 0)]
    assert new.key in read_records(place.records)
    lines = [json.loads(line)["experiment"] for line in place.records.read_text().splitlines()]
    assert [line.get("method_version") for line in lines] == [None, None, 2]
    monkeypatch.undo()
    assert old.key in read_records(place.records)


def test_every_method_can_be_planned():
    wanted = [RunSpec.of("demo", name, 0, {}) for name in METHODS]
    assert len(schedule(wanted, {})) == len(METHODS)


@pytest.mark.slow
@pytest.mark.data
def test_the_command_survives_a_kill_on_cora(tmp_path, real_data):
    real_data("cora")
    records = tmp_path / "records.jsonl"
    program = "import sys; from brgcl.cli.main import main; sys.argv[0] = 'brgcl'; main()"
    grid = "bench run symmetric --datasets cora --methods brgcl,gcn --seeds 3 --json --records"
    command = [sys.executable, "-W", "ignore", "-c", program, *grid.split(), str(records)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not records.exists() or records.read_bytes().count(b"\n") < 15:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = read_records(records)
    assert len(before) < 30
    found = subprocess.run(command, capture_output=True, check=True, text=True)
    assert json.loads(found.stdout)["done"] == 30
    after = read_records(records)
    assert {key: after[key] for key in before} == before
    keys = [json.loads(line)["key"] for line in records.read_text().splitlines()]
    assert len(keys) == len(set(keys)) == 30
