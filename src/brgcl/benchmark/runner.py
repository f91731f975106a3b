"""Do runs: what is done is skipped, what is shared is trained once, the cheapest first.

A job is one training with every run that it serves. Jobs are independent, so they can be done in
several processes, and several runners can share one folder: a job is claimed before it begins,
and the records are read again once it is.
"""

import dataclasses
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data

from brgcl.benchmark.records import Reader, Record, ResultsFolder, append_record, claim
from brgcl.benchmark.representations import load_fitted, representations_file, save_fitted
from brgcl.benchmark.run_spec import RunSpec
from brgcl.benchmark.schedule import Job, is_waiting, schedule
from brgcl.benchmark.workers import BACKENDS, spread
from brgcl.contract import Fitted
from brgcl.data import available, load_dataset
from brgcl.errors import InputError, unknown_name
from brgcl.evaluation.detection import detect_one
from brgcl.evaluation.protocol import NoisyGraph, draw_noisy_graph
from brgcl.evaluation.score import classify_one, cluster_one, fit_one
from brgcl.machine import (
    forget_peak_memory,
    library_versions,
    one_thread,
    peak_memory,
    processor,
    source_commit,
)
from brgcl.tasks.classify import NodeClassifier

NOTHING = Fitted(torch.empty(0, 0), measurements={"seconds": 0.0, "peak_mb": None})
Watcher = Callable[[Record], None]
Watching = Callable[[Sequence[Job]], AbstractContextManager[Watcher]]


@dataclass(frozen=True)
class RunSummary:
    """What has become of the runs that were asked for."""

    total: int
    done: int  # with a score now
    skipped: int  # with a record before
    failures: Sequence[Record]  # now or earlier

    @property
    def failed(self) -> int:
        """How many failed."""
        return len(self.failures)

    @property
    def left(self) -> int:
        """How many are still to be run."""
        return self.total - self.done - self.failed


def run(
    specs: Sequence[RunSpec],
    folder: ResultsFolder,
    *,
    workers: int = 1,
    backend: str = "local",
    deadline: float | None = None,
    retry: bool = False,
    watching: Watching | None = None,
) -> RunSummary:
    """Do what is not done yet; a run that is there twice counts once.

    Args:
        specs: The runs.
        folder: Where records are read and written.
        workers: Processes.
        backend: "local" processes, or those of a "dask" cluster that sees the same folders.
        deadline: As `time.time()`; no job begins that would end later, if its cost is known.
        retry: Whether runs that failed earlier are done again.
        watching: Gives for the jobs a context with a function to call with every new record.
    """
    if backend not in BACKENDS:
        raise unknown_name("backend", backend, BACKENDS)
    specs = list(dict.fromkeys(specs))
    folder = folder.absolute()  # workers may stand in another folder
    for dataset in dict.fromkeys(spec.dataset for spec in specs):
        if not available(dataset, folder.root):
            load_dataset(dataset, folder.root)  # fetched now, or an error before anything is run
    reader = _reader(folder.records)
    jobs = schedule(specs, reader.read(), retry=retry)
    skipped = len(specs) - sum(len(job.specs) for job in jobs)
    with watching(jobs) if watching else nullcontext(lambda record: None) as watch:
        while jobs := [job for job in jobs if _fits(job, deadline)]:
            work = partial(run_job, folder=folder, deadline=deadline, retry=retry)
            written = 0
            for records in spread(work, jobs, workers, backend):
                written += len(records)
                for record in records:
                    watch(record)
            retry = False  # what fails again has failed
            if not written:
                time.sleep(1)  # another runner is at work on all that is left
            jobs = schedule(specs, reader.read())
    known = reader.read()
    recorded = [known[spec.key] for spec in specs if spec.key in known]
    failures = [record for record in recorded if record.error is not None]
    return RunSummary(len(specs), len(recorded) - len(failures), skipped, failures)


def run_job(
    job: Job, folder: ResultsFolder, deadline: float | None = None, retry: bool = False
) -> list[Record]:
    """Do a job, unless another runner has it, and write a record for each run.

    Every training has one thread, so that the number of workers changes no number.
    """
    with claim(folder.records, job.name) as mine, one_thread():
        if not mine or not _fits(job, deadline):
            return []
        known = _reader(folder.records.absolute()).read()
        waiting = [spec for spec in job.specs if is_waiting(spec, known, retry=retry)]
        if not waiting:
            return []
        fitted, shared, failure = None, False, ""
        try:
            fitted, shared = train(waiting[0], folder)
        except Exception:  # a training fails for all its runs
            failure = traceback.format_exc()
        written: list[Record] = []
        for spec in waiting:
            if written and deadline is not None and time.time() > deadline:
                break
            if fitted is None:
                record = _record(spec, metrics={}, error=failure)
            else:
                record = score(spec, fitted, folder, shared=shared or bool(written))
            append_record(folder.records, record)
            written.append(record)
        return written


def _fits(job: Job, deadline: float | None) -> bool:
    return deadline is None or time.time() + (job.seconds or 0) < deadline


def train(spec: RunSpec, folder: ResultsFolder) -> tuple[Fitted, bool]:
    """Train the method of a run, or read the training from disk; returns whether it was there.

    Only trainings without labels are kept. A detector that reads labels trains while it is scored.
    """
    if spec.entry.uses_labels:
        return (NOTHING if spec.task == "detect" else _fit(spec, folder)), False
    file = representations_file(folder.cache, spec.training)
    fitted = load_fitted(file)
    if fitted is not None:
        return fitted, True
    # with a checkpoint, so that a kill costs an epoch at most
    fitted = _fit(spec.training, folder, file.with_suffix(".training"))
    save_fitted(file, fitted)
    return fitted, False


def _fit(spec: RunSpec, folder: ResultsFolder, checkpoint: Path | None = None) -> Fitted:
    noisy = _draw(spec, folder.root)
    forget_peak_memory()
    start = time.process_time()
    fitted = fit_one(noisy, spec.method, spec.config, spec.seed, checkpoint=checkpoint)
    cost = {"seconds": time.process_time() - start, "peak_mb": peak_memory()}
    return dataclasses.replace(fitted, measurements={**fitted.measurements, **cost})


def score(spec: RunSpec, fitted: Fitted, folder: ResultsFolder, *, shared: bool = False) -> Record:
    """Score what was learned, by the task of a run; an error goes into the record.

    `shared` says whether the training was done for another run.
    """
    try:
        noisy = _draw(spec, folder.root)
        start = time.process_time()
        metrics, rule = _scores(spec, noisy, fitted)
    except Exception:
        return _record(spec, metrics={}, error=traceback.format_exc())
    rates = (noisy.label_noise, noisy.attribute_noise, noisy.edge_noise)
    return _record(
        spec,
        metrics=metrics,
        rule=rule,
        realised=dict(zip(("labels", "attributes", "edges"), rates, strict=True)),
        training_seconds=fitted.measurements["seconds"],
        scoring_seconds=time.process_time() - start,
        peak_mb=fitted.measurements["peak_mb"],
        shared_training=shared,
    )


def _scores(spec: RunSpec, noisy: NoisyGraph, fitted: Fitted) -> tuple[dict[str, float], str]:
    """Scores by name, and the classifier that was taken."""
    if spec.task == "prototypes":
        if fitted.clustering is None or fitted.confident is None:
            raise InputError(f"{spec.method} finds no prototypes")
        return {
            "num_prototypes": float(fitted.clustering.num_clusters),
            "capped": float(fitted.clustering.capped),
            "confident_share": float(fitted.confident.float().mean()),
        }, ""
    if spec.task == "detect":
        return detect_one(noisy, spec.method, spec.config, spec.seed, fitted).metrics, ""
    if spec.task == "cluster":
        clusters = cluster_one(noisy, fitted, seed=spec.seed)
        return _known(acc=clusters.acc, nmi=clusters.nmi, ari=clusters.ari), ""
    settings: Any = {"rule": spec.rule, "soft_labels": spec.soft_labels}
    outcome = classify_one(noisy, fitted, NodeClassifier(**settings, seed=spec.seed))
    return _known(accuracy=outcome.accuracy, macro_f1=outcome.macro_f1), outcome.rule


def _known(**scores: float | None) -> dict[str, float]:
    return {name: score for name, score in scores.items() if score is not None}


def _record(spec: RunSpec, **result: Any) -> Record:
    config = dataclasses.asdict(spec.config)
    config.pop("seed", None)
    return Record(
        spec, config=config, versions=library_versions(), commit=source_commit(),
        processor=processor(), **result,
    )  # fmt: skip


@lru_cache(maxsize=1)  # a method that reads labels is trained and scored on the same draw
def _draw(spec: RunSpec, root: Path | None) -> NoisyGraph:
    return draw_noisy_graph(
        _load(spec.dataset, root, spec.seed),
        noise=spec.noise_spec(),
        protocol=spec.protocol,
        seed=spec.seed,
        scored_on=spec.scored_on,
        labelled=spec.labelled,
    )


@lru_cache(maxsize=2)
def _load(dataset: str, root: Path | None, seed: int) -> Data:
    return load_dataset(dataset, root, seed=seed)


@lru_cache(maxsize=2)
def _reader(path: Path) -> Reader:
    return Reader(path)  # one for a process's life: it reads what is new
