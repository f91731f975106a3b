import json
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

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
from preloaded import started

# pseudo labels are those of the prototypes: nothing has to look for clusters after training
SMALL = {"epochs": 2, "hidden": 8, "dim": 8, "warmup_epochs": 1, "reported": "prototypes"}
GRID = """
title = "small"
source = "a test"
noise = ["symmetric"]
levels = [0.0, 0.2, 0.4]
datasets = ["demo"]
seeds = { default = 2 }
[rows.brgcl]
settings = { epochs = 2, hidden = 8, dim = 8, warmup_epochs = 1, reported = "prototypes" }
rule = "centroid"
[rows.gcn]
settings = { epochs = 3 }
"""


@pytest.fixture
def folder(tmp_path):
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
    return [planned.spec for planned in runs(load_experiment(str(path)))]


def spec(method="brgcl", seed=0, **fields):
    settings = SMALL if method == "brgcl" else {"epochs": 3}
    return RunSpec.of("demo", method, seed, settings, **fields)


def scores(folder):
    return {key: record.metrics for key, record in read_records(folder.records).items()}


def test_every_run_is_done_once(folder, grid):
    seen = []
    summary = run(grid, folder, watching=told(seen.append))
    records = read_records(folder.records)
    assert set(records) == {e.key for e in grid}
    assert [r.error for r in seen] == [None] * 12
    assert len(folder.records.read_text().splitlines()) == 12
    assert (summary.total, summary.done, summary.skipped, summary.left) == (12, 12, 0, 0)
    again = run(grid, folder, watching=told(lambda r: pytest.fail(f"{r.spec} was run again")))
    assert (again.done, again.skipped, again.failed) == (12, 12, 0)


def test_a_record_says_what_the_library_gives(folder):
    wanted = spec("gcn", 1, noise="symmetric", level=0.4)
    run([wanted], folder)
    record = read_records(folder.records)[wanted.key]
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


def test_a_representation_gives_the_same_with_and_without_the_cache(folder):
    wanted = spec(noise="symmetric", level=0.2, rule="mlp", soft_labels="softmax")
    run([wanted], folder)
    noisy = draw_noisy_graph(small("demo"), noise=wanted.noise_spec(), seed=0)
    classifier = NodeClassifier("mlp", soft_labels="softmax", seed=0)
    outcome = classify_one(noisy, fit_one(noisy, "brgcl", wanted.config, 0), classifier)
    assert read_records(folder.records)[wanted.key].metrics["accuracy"] == outcome.accuracy


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


def test_all_label_noise_runs_of_a_seed_cost_one_training(folder, trainings):
    wanted = [
        spec(noise=noise, level=level, protocol=protocol, rule="centroid")
        for noise in ("symmetric", "pair")
        for level in (0.0, 0.2, 0.4)
        for protocol in ("clean-val", "no-val")
    ]
    run(wanted, folder)
    assert trainings == [("brgcl", 0)]
    shared = [r.shared_training for r in read_records(folder.records).values()]
    assert sorted(shared) == [False] + [True] * 9


def test_the_training_is_there_after_a_stop(folder, trainings):
    run([spec()], folder)
    run([spec(noise="pair", level=0.4)], folder)
    assert trainings == [("brgcl", 0)]
    assert len(list(folder.cache.iterdir())) == 1


def test_attribute_noise_is_a_training_of_its_own(folder, trainings):
    run([spec(), spec(noise="within", level=0.3), spec(noise="add", level=0.3)], folder)
    assert len(trainings) == 3


@pytest.mark.parametrize("method", ["gcn", "brgcl-joint", "s2gc"])
def test_methods_that_read_labels_never_meet_the_cache(folder, trainings, method):
    settings = {"brgcl-joint": SMALL, "gcn": {"epochs": 2}, "s2gc": {"epochs": 2}}[method]
    wanted = [
        RunSpec.of("demo", method, 0, settings, noise="symmetric", level=level)
        for level in (0.0, 0.2)
    ]
    run(wanted, folder)
    assert len(trainings) == 2
    assert not folder.cache.exists()
    assert not any(r.shared_training for r in read_records(folder.records).values())


def test_the_names_of_stored_trainings_stay_what_they_were(monkeypatch):
    """Nothing is trained again because a setting was added that changes nothing."""
    monkeypatch.setattr(representations, "library_versions", dict)
    stored = RunSpec.of("cora", "brgcl", 3, {})
    assert stored.key == "4db0e39488283c51"
    file = representations.representations_file(Path("cache"), stored.training)
    assert file.name == "cora-brgcl-4db0e39488283c51-a2d8f222.safetensors"
    other = RunSpec.of("cora", "brgcl", 3, {"encoder": "sage"})
    assert other.key != stored.key


def test_other_versions_have_another_file(folder, monkeypatch):
    run([spec()], folder)
    monkeypatch.setattr(representations, "library_versions", lambda: {"torch": "another"})
    run([spec(noise="pair", level=0.4)], folder)
    assert len(list(folder.cache.iterdir())) == 2


def test_a_failing_run_is_recorded_and_the_rest_goes_on(folder, monkeypatch):
    fit = runner.fit_one

    def broken(noisy, method, config, seed, **more):
        if method == "gcn":
            raise RuntimeError("out of luck")
        return fit(noisy, method, config, seed, **more)

    monkeypatch.setattr(runner, "fit_one", broken)
    wanted = [spec("gcn"), spec(), spec("gcn", noise="pair", level=0.2)]
    summary = run(wanted, folder)
    assert (summary.done, summary.failed, summary.left) == (1, 2, 0)
    assert {record.reason for record in summary.failures} == {"RuntimeError: out of luck"}
    records = read_records(folder.records)
    assert "out of luck" in records[wanted[0].key].error
    assert "Traceback" in records[wanted[2].key].error
    assert records[wanted[1].key].error is None
    run(wanted, folder, watching=told(lambda record: pytest.fail("was run again")))
    monkeypatch.setattr(runner, "fit_one", fit)
    run(wanted, folder, retry=True)
    assert all(record.error is None for record in read_records(folder.records).values())


def test_a_training_that_fails_is_tried_once_for_all_its_runs(folder, monkeypatch):
    tried = []

    def broken(*arguments, **more):
        tried.append(arguments)
        raise RuntimeError("no training")

    monkeypatch.setattr(runner, "fit_one", broken)
    wanted = [spec(noise="symmetric", level=level) for level in (0.0, 0.2, 0.4)]
    run(wanted, folder)
    assert len(tried) == 1
    assert ["no training" in r.error for r in read_records(folder.records).values()] == [True] * 3


def test_cheapest_first_within_a_budget(folder):
    def done(method, seconds):
        e = RunSpec.of("demo", method, 9, SMALL if method == "brgcl" else {"epochs": 3})
        return Record(e, {"accuracy": 0.5}, training_seconds=seconds)

    known = {r.spec.key: r for r in (done("brgcl", 500.0), done("gcn", 1.0))}
    jobs = schedule([spec(), spec("gcn"), spec("gcn", 1)], known)
    assert [(j.specs[0].method, j.seconds) for j in jobs] == [
        ("gcn", 1.0),
        ("gcn", 1.0),
        ("brgcl", 500.0),
    ]


def test_nothing_is_begun_that_would_not_end_in_time(folder):
    run([spec(seed=5)], folder)
    record = next(iter(read_records(folder.records).values()))
    slow = Record(record.spec, record.metrics, config=record.config, training_seconds=1e6)
    runner.append_record(folder.records, slow)
    run([spec(), spec("gcn")], folder, deadline=time.time() + 60)
    assert {r.spec.method for r in read_records(folder.records).values()
            if r.spec.seed == 0} == {"gcn"}  # fmt: skip
    before = scores(folder)
    run([spec("gcn", 3)], folder, deadline=time.time() - 1)
    assert scores(folder) == before


def test_a_job_that_another_runner_has_is_left_to_it(folder):
    job = Job((spec(),), None)
    with claim(folder.records, job.name):
        assert run_job(job, folder) == []
    assert len(run_job(job, folder)) == 1
    assert run_job(job, folder) == []  # done meanwhile


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


def test_a_graph_that_cannot_be_had_is_an_error_before_anything_is_run(folder, monkeypatch):
    def nowhere(name, root=None, *, seed=0):
        raise DataNotFound("not here")

    monkeypatch.setattr(runner, "available", lambda name, root: False)
    monkeypatch.setattr(runner, "load_dataset", nowhere)
    with pytest.raises(DataNotFound):
        run([spec()], folder)
    assert not folder.records.exists()


def test_an_unknown_backend_is_an_error(folder):
    with pytest.raises(InputError, match="did you mean 'dask'"):
        run([spec()], folder, backend="desk")


KILLED = """
import sys
from pathlib import Path
from brgcl.benchmark import representations, runner
from brgcl.benchmark.experiment import runs, load_experiment
from brgcl.data import make_graph
runner.load_dataset = lambda name, root=None, *, seed=0: make_graph(
    150, num_classes=3, num_features=40, labels_per_class=8, num_val=30, seed=1)
grid = [planned.spec for planned in runs(load_experiment(sys.argv[1]))]
runner.run(grid, runner.ResultsFolder(Path(sys.argv[2])))
"""


def test_kill_costs_no_record_and_doubles_none(tmp_path, folder, grid):
    with started(KILLED, tmp_path / "grid.toml", folder.records, folder=tmp_path) as process:
        lines = 0
        while lines < 4 and process.poll() is None:
            time.sleep(0.01)
            lines = folder.records.read_bytes().count(b"\n") if folder.records.exists() else 0
        process.send_signal(signal.SIGKILL)
        process.wait()
    before = scores(folder)
    assert 4 <= len(before) <= 12
    run(grid, folder)
    after = scores(folder)
    assert set(after) == {e.key for e in grid}
    assert {key: after[key] for key in before} == before
    keys = [json.loads(line)["key"] for line in folder.records.read_text().splitlines()]
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
    read = load_fitted(path)
    assert read.measurements == {"seconds": 1.0}
    assert (read.clustering.num_clusters, read.clustering.capped) == (2, True)
    assert read.clustering.assignment.tolist() == [0, 1, 1]
    assert read.confident.tolist() == [True, False, True]
    path.write_bytes(path.read_bytes()[:-4])
    assert load_fitted(path) is None


def test_prototypes_are_counted(folder):
    run([spec(task="prototypes")], folder)
    (record,) = read_records(folder.records).values()
    assert record.metrics["num_prototypes"] >= 1
    assert 0 <= record.metrics["confident_share"] <= 1


def test_clusters_are_scored(folder):
    wanted = [spec(task="cluster"), spec("gcn", task="cluster")]
    run(wanted, folder)
    for record in read_records(folder.records).values():
        assert set(record.metrics) == {"acc", "nmi", "ari"}


def test_validation_nodes_are_scored_without_a_look_at_test_nodes(folder, monkeypatch):
    wanted = spec("gcn", scored_on="validation")
    run([wanted], folder)
    data = small("demo")
    data.y = torch.where(data.test_mask, 0, data.y)
    monkeypatch.setattr(runner, "load_dataset", lambda name, root=None, *, seed=0: data)
    forget_graphs()
    other = ResultsFolder(folder.records.parent / "other" / "records.jsonl")
    run([wanted], other)
    assert scores(folder) == scores(other)


def test_records_of_an_earlier_version_of_a_method_retire(folder, trainings, monkeypatch):
    run([spec("gcn"), spec()], folder)
    old = spec("gcn")
    monkeypatch.setitem(METHODS, "gcn", replace(METHODS["gcn"], version=2))
    new = spec("gcn")
    assert new.key != old.key
    assert {r.spec.method for r in read_records(folder.records).values()} == {"brgcl"}
    assert [job.specs for job in schedule([new, spec()], read_records(folder.records))] == [(new,)]
    run([new, spec()], folder)
    assert trainings == [("gcn", 0), ("brgcl", 0), ("gcn", 0)]
    assert new.key in read_records(folder.records)
    lines = [json.loads(line)["experiment"] for line in folder.records.read_text().splitlines()]
    assert [line.get("method_version") for line in lines] == [None, METHODS["brgcl"].version, 2]
    monkeypatch.undo()
    assert old.key in read_records(folder.records)


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
    resumed = subprocess.run(command, capture_output=True, check=True, text=True)
    assert json.loads(resumed.stdout)["done"] == 30
    after = read_records(records)
    assert {key: after[key] for key in before} == before
    keys = [json.loads(line)["key"] for line in records.read_text().splitlines()]
    assert len(keys) == len(set(keys)) == 30


def test_detectors_share_the_training_of_a_method_and_know_the_truth(
    folder, folds_once, monkeypatch
):
    trained = []
    monkeypatch.setattr(
        runner, "fit_one", lambda noisy, *a, **k: trained.append(a[0]) or fit_one(noisy, *a, **k)
    )
    wanted = [
        RunSpec.of(
            "demo", name, 0, settings, task="detect", noise="symmetric", level=level, labelled=nodes
        )
        for name, settings in (("brgcl", SMALL), ("neighbours", {}), ("small-loss", {"epochs": 3}))
        for level, nodes in ((0.2, "train"), (0.4, "all"))
    ]
    summary = run([*wanted, spec()], folder)
    assert summary.done == len(wanted) + 1
    assert trained == ["brgcl"]
    records = read_records(folder.records)
    for each in wanted:
        record = records[each.key]
        assert {"auroc", "average_precision", "precision", "recall", "f1", "mcc"} <= set(
            record.metrics
        )
        assert ("calibration_error" in record.metrics) == (each.method != "small-loss")
        assert record.realised["labels"] == pytest.approx(each.level, abs=0.15)
