"""Run experiments: what is done is skipped, what is shared is trained once, cheapest first.

A job is one training with every cell that it serves. Jobs are independent, so they can run in
several processes, and several runners can share one folder: a job is claimed before it begins,
and the records are read again once it is.
"""

import dataclasses
import platform
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits
from torch_geometric.data import Data

from brgcl.benchmark.records import Reader, Record, append_record, claim
from brgcl.benchmark.representations import (
    Learned,
    cache_file,
    learned_from,
    load_learned,
    save_learned,
)
from brgcl.benchmark.run_spec import RunSpec
from brgcl.benchmark.schedule import Job, schedule
from brgcl.contract import Fitted
from brgcl.data import available, load_dataset
from brgcl.errors import InputError, unknown_name
from brgcl.evaluate.protocol import NoisyGraph, draw_noisy_graph
from brgcl.evaluate.score import classify_one, cluster_one, fit_one
from brgcl.methods import METHODS
from brgcl.tasks.classify import NodeClassifier

BACKENDS = ("local", "ray", "dask")
LIBRARIES = ("brgcl", "torch", "torch_geometric", "numpy", "scipy", "scikit-learn")

Watcher = Callable[[Record], None]


@dataclass(frozen=True)
class ResultsFolder:
    """Where a runner works.

    Attributes:
        records: File of records; claims and trainings are kept in folders beside it.
        root: Folder with the graphs, where it is not the usual one.
    """

    records: Path
    root: Path | None = None

    @property
    def cache(self) -> Path:
        """Folder of trainings."""
        return self.records.parent / "cache"

    @property
    def searches(self) -> Path:
        """Folder of searches; one file a graph, as `brgcl tune NAME --json` prints it."""
        return self.records.parent / "tuning"


def run(
    experiments: Sequence[RunSpec],
    place: ResultsFolder,
    *,
    workers: int = 1,
    backend: str = "local",
    deadline: float | None = None,
    retry: bool = False,
    watch: Watcher | None = None,
) -> None:
    """Run what is not done yet.

    Args:
        experiments: The cells.
        place: Where records are read and written.
        workers: Processes.
        backend: "local" processes, or those of a "ray" or "dask" cluster that sees the same
            folders.
        deadline: Time (`time.time()`) after which nothing is begun that would not end in time,
            as far as its cost is known.
        retry: Whether cells that failed earlier are run again.
        watch: Called with every new record.
    """
    if backend not in BACKENDS:
        raise unknown_name("backend", backend, BACKENDS)
    root = None if place.root is None else place.root.absolute()
    place = ResultsFolder(place.records.absolute(), root)  # workers may stand in another folder
    for dataset in dict.fromkeys(experiment.dataset for experiment in experiments):
        if not available(dataset, place.root):
            load_dataset(dataset, place.root)  # fetched now, or an error before anything is run
    reader = Reader(place.records)
    while True:
        jobs = schedule(experiments, reader.read(), retry=retry)
        jobs = [job for job in jobs if _fits(job, deadline)]
        if not jobs:
            return
        found = 0
        for records in _spread(jobs, place, workers, backend, deadline, retry):
            found += len(records)
            for record in records:
                if watch is not None:
                    watch(record)
        retry = False  # what fails again has failed
        if not found:
            time.sleep(1)  # another runner is at work on all that is left


def _fits(job: Job, deadline: float | None) -> bool:
    return deadline is None or time.time() + (job.seconds or 0) < deadline


def _spread(
    jobs: list[Job],
    place: ResultsFolder,
    workers: int,
    backend: str,
    deadline: float | None,
    retry: bool,
) -> Iterator[list[Record]]:
    if workers == 1 and backend == "local":
        for job in jobs:
            yield run_job(job, place, deadline, retry)
    elif backend == "ray":
        yield from _spread_by_ray(jobs, place, workers, deadline, retry)
    else:
        with _dask() if backend == "dask" else nullcontext():
            pool = Parallel(n_jobs=workers, return_as="generator_unordered", pre_dispatch=workers)
            yield from pool(delayed(run_job)(job, place, deadline, retry) for job in jobs)


def _spread_by_ray(
    jobs: list[Job], place: ResultsFolder, workers: int, deadline: float | None, retry: bool
) -> Iterator[list[Record]]:
    """Hand jobs to the Ray cluster that `RAY_ADDRESS` names, or to one on this machine.

    Ray's own backend for joblib gives nothing back before all is done.
    """
    try:
        import ray
    except ImportError as error:
        raise InputError("Ray is not installed; pip install 'brgcl[cluster]'") from error
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False)
    remote = ray.remote(num_cpus=1)(run_job)
    waiting = list(reversed(jobs))
    running: list[Any] = []
    while waiting or running:
        while waiting and len(running) < workers:
            running.append(remote.remote(waiting.pop(), place, deadline, retry))
        done, running = ray.wait(running)
        yield from ray.get(done)


def _dask() -> AbstractContextManager[Any]:
    """Use the Dask client that there is, or start one on this machine."""
    try:
        from dask.distributed import Client, default_client
    except ImportError as error:
        raise InputError("Dask is not installed; pip install 'brgcl[cluster]'") from error
    try:
        default_client()
    except ValueError:
        Client()
    found: AbstractContextManager[Any] = parallel_config(backend="dask")
    return found


def run_job(
    job: Job, place: ResultsFolder, deadline: float | None = None, retry: bool = False
) -> list[Record]:
    """Run a job, unless another runner has it, and write a record for each cell.

    Every training has one thread, so that the number of workers changes no figure.
    """
    written: list[Record] = []
    with claim(place.records, job.name) as mine, one_thread():
        if not mine or not _fits(job, deadline):
            return written
        done = _reader(place.records.absolute()).read()
        learned: Learned | None = None
        failure = ""
        for cell in job.specs:
            known = done.get(cell.key)
            if known is not None and not (retry and known.error):
                continue
            if written and deadline is not None and time.time() > deadline:
                break
            shared = learned is not None
            try:
                if not METHODS[cell.method].uses_labels and not (learned or failure):
                    learned, shared = learn(cell.training, place)
                if not failure:
                    record = run_cell(cell, place, learned, shared=shared)
            except Exception:
                record = _describe(cell, metrics={}, error=traceback.format_exc())
                failure = "" if learned else str(record.error)  # a training fails for all its cells
            if failure:
                record = _describe(cell, metrics={}, error=failure)
            append_record(place.records, record)
            written.append(record)
    return written


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread, and with as many as before afterwards."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(threads)


def learn(training: RunSpec, place: ResultsFolder) -> tuple[Learned, bool]:
    """Train without labels, or read the training from disk; returns whether it was there."""
    path = cache_file(place.cache, training, library_versions())
    found = load_learned(path)
    if found is not None:
        return found, True
    stands = path.with_suffix(".training")  # a kill costs at most the epoch
    learned = _train(training, _draw(training, place), stands)[1]
    save_learned(path, learned)
    return learned, False


def run_cell(
    cell: RunSpec, place: ResultsFolder, learned: Learned | None, *, shared: bool = False
) -> Record:
    """Run one experiment.

    Args:
        cell: What to run.
        place: Where graphs are found.
        learned: What the training without labels found; None for a method that reads labels,
            which is trained here.
        shared: Whether the training was done for another cell.
    """
    noisy = _draw(cell, place)
    if learned is None:
        fitted, learned = _train(cell, noisy)
    else:
        fitted = learned.fitted
    start = time.process_time()
    metrics, rule = _score(cell, noisy, fitted, learned)
    return _describe(
        cell,
        metrics=metrics,
        rule=rule,
        realised={
            "labels": noisy.label_noise,
            "attributes": noisy.attribute_noise,
            "edges": noisy.edge_noise,
        },
        training_seconds=learned.facts["seconds"],
        scoring_seconds=time.process_time() - start,
        peak_mb=learned.facts["peak_mb"],
        shared_training=shared,
    )


def _train(
    cell: RunSpec, noisy: NoisyGraph, checkpoint: Path | None = None
) -> tuple[Fitted, Learned]:
    forget_peak_memory()
    start = time.process_time()
    fitted = fit_one(noisy, cell.method, cell.config, cell.seed, checkpoint=checkpoint)
    facts = {"seconds": time.process_time() - start, "peak_mb": peak_memory()}
    return fitted, learned_from(fitted, facts)


def _score(
    cell: RunSpec, noisy: NoisyGraph, fitted: Fitted, learned: Learned
) -> tuple[dict[str, float], str]:
    if cell.task == "prototypes":
        if "num_prototypes" not in learned.facts:
            raise InputError(f"{cell.method} finds no prototypes")
        names = ("num_prototypes", "capped", "confident_share")
        return {name: float(learned.facts[name]) for name in names}, ""
    if cell.task == "cluster":
        clusters = cluster_one(noisy, fitted, seed=cell.seed)
        return _known(acc=clusters.acc, nmi=clusters.nmi, ari=clusters.ari), ""
    rule: Any = cell.rule
    targets: Any = cell.soft_labels
    classifier = NodeClassifier(rule, soft_labels=targets, seed=cell.seed)
    found = classify_one(noisy, fitted, classifier, cell.seed)
    return _known(accuracy=found.accuracy, macro_f1=found.macro_f1), found.rule


def _known(**scores: float | None) -> dict[str, float]:
    return {name: score for name, score in scores.items() if score is not None}


def _draw(cell: RunSpec, place: ResultsFolder) -> NoisyGraph:
    return draw_noisy_graph(
        _load(cell.dataset, place.root, cell.seed),
        noise=cell.noise_spec(),
        protocol=cell.protocol,
        seed=cell.seed,
        scored_on=cell.scored_on,
    )


@lru_cache(maxsize=2)
def _reader(path: Path) -> Reader:
    return Reader(path)  # one for a worker's life: it reads what is new


@lru_cache(maxsize=2)
def _load(dataset: str, root: Path | None, seed: int) -> Data:
    return load_dataset(dataset, root, seed=seed)


def _describe(cell: RunSpec, **found: Any) -> Record:
    config = dataclasses.asdict(cell.config)
    config.pop("seed", None)
    return Record(cell, config=config, versions=library_versions(), **found)


@lru_cache(maxsize=1)
def library_versions() -> dict[str, str]:
    """Versions of what computes a figure."""
    return {"python": platform.python_version()} | {name: version(name) for name in LIBRARIES}


def forget_peak_memory() -> None:
    """Let the system count the peak memory of this process anew, where it can."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak_memory() -> float | None:
    """Peak memory of this process in MB since it was forgotten; None where it cannot be told."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), None)
