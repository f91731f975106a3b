"""What is left to run, in which order, and how long it will take.

A job is one training with every run that it serves.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from brgcl.benchmark.records import Record
from brgcl.benchmark.run_spec import RunSpec
from brgcl.data import DATASETS


@dataclass(frozen=True)
class Job:
    """One training and the runs that it serves."""

    specs: tuple[RunSpec, ...]
    seconds: float | None  # processor time, estimated from similar runs; None if unknown

    @property
    def name(self) -> str:
        """What the job is claimed by."""
        return _shared(self.specs[0]).key


def schedule(
    specs: Iterable[RunSpec], records: Mapping[str, Record], *, retry: bool = False
) -> list[Job]:
    """Group the runs that are not done into jobs, the cheapest first.

    A run that is there twice is done once; with `retry`, one that failed is done again.
    """
    groups: dict[RunSpec, list[RunSpec]] = {}
    for spec in dict.fromkeys(specs):
        if is_waiting(spec, records, retry=retry):
            groups.setdefault(_shared(spec), []).append(spec)
    costs = Costs(records.values())
    jobs = [Job(tuple(group), costs.of(group)) for group in groups.values()]
    return sorted(jobs, key=lambda job: (_guess(job), job.specs[0].seed))


def is_waiting(spec: RunSpec, records: Mapping[str, Record], *, retry: bool) -> bool:
    """Whether a run is still to be done, or done again."""
    record = records.get(spec.key)
    return record is None or (retry and record.error is not None)


Seconds = dict[tuple[str, str, Any], list[float]]  # by method, graph, and settings or task


class Costs:
    """Estimates of processor time, from what was measured.

    They are medians over the same method on the same graph, or on another one, scaled by the number
    of nodes.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self._training: Seconds = defaultdict(list)
        self._scoring: Seconds = defaultdict(list)
        for record in records:
            if record.error is None:
                spec = record.spec
                for what in (spec.settings, ""):
                    self._training[spec.method, spec.dataset, what].append(record.training_seconds)
                for what in (spec.task, ""):
                    self._scoring[spec.method, spec.dataset, what].append(record.scoring_seconds)

    def of(self, specs: Sequence[RunSpec]) -> float | None:
        """Seconds for one training and the scores of all runs."""
        spec = specs[0]
        training = self._estimate(self._training, spec, spec.settings)
        scoring = self._estimate(self._scoring, spec, spec.task)
        return None if training is None or scoring is None else training + len(specs) * scoring

    def _estimate(self, known: Seconds, spec: RunSpec, what: Any) -> float | None:
        here = DATASETS[spec.dataset].num_nodes
        for key in ((spec.method, spec.dataset, what), (spec.method, spec.dataset, "")):
            if key in known:
                return median(known[key])
        nearest = min(
            (name for name in DATASETS if (spec.method, name, "") in known),
            key=lambda name: abs(DATASETS[name].num_nodes - here),
            default=None,
        )
        if nearest is None:
            return None
        return median(known[spec.method, nearest, ""]) * here / DATASETS[nearest].num_nodes


def _guess(job: Job) -> float:
    """Seconds to sort by; those of a method that was never run follow the size of its graph."""
    return DATASETS[job.specs[0].dataset].num_nodes / 100 if job.seconds is None else job.seconds


def _shared(spec: RunSpec) -> RunSpec:
    """What all runs of a job have in common."""
    return spec if spec.entry.uses_labels else spec.training
