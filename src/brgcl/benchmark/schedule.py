"""What is left to run, in which order, and how long it will take.

A job is one training with every run that it serves.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from brgcl.benchmark.records import Record
from brgcl.benchmark.run_spec import RunSpec
from brgcl.data import DATASETS
from brgcl.methods import find_method


@dataclass(frozen=True)
class Job:
    """One training and the runs that it serves.

    Attributes:
        specs: The runs.
        seconds: Processor time that it will take, from records of its like; None if unknown.
    """

    specs: tuple[RunSpec, ...]
    seconds: float | None

    @property
    def name(self) -> str:
        """What the job is claimed by."""
        return _shared(self.specs[0]).key


def schedule(
    specs: Iterable[RunSpec], records: Mapping[str, Record], *, retry: bool = False
) -> list[Job]:
    """Group the runs that are not done into jobs, the cheapest first.

    Args:
        specs: All runs; one that is there twice is done once.
        records: What is done, by key.
        retry: Whether runs that failed are done again.
    """
    groups: dict[RunSpec, list[RunSpec]] = {}
    for spec in dict.fromkeys(specs):
        done = records.get(spec.key)
        if done is None or (retry and done.error):
            groups.setdefault(_shared(spec), []).append(spec)
    costs = Costs(records.values())
    jobs = [Job(tuple(group), costs.of(group)) for group in groups.values()]
    return sorted(jobs, key=lambda job: (_guess(job), job.specs[0].seed))


class Costs:
    """Estimates of processor time, from what was measured.

    Args:
        records: What was measured; medians over the same method on the same graph, or on
            another one, scaled by the number of nodes.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self._training: dict[tuple[str, str, Any], list[float]] = {}
        self._scoring: dict[tuple[str, str, Any], list[float]] = {}
        for record in records:
            if record.error is None:
                spec = record.spec
                for known, what, seconds in (
                    (self._training, spec.settings, record.training_seconds),
                    (self._scoring, spec.task, record.scoring_seconds),
                ):
                    for key in ((spec.method, spec.dataset, what), (spec.method, spec.dataset, "")):
                        known.setdefault(key, []).append(seconds)

    def of(self, specs: Sequence[RunSpec]) -> float | None:
        """Seconds for one training and the scores of all runs."""
        spec = specs[0]
        training = self._find(self._training, spec, spec.settings)
        scoring = self._find(self._scoring, spec, spec.task)
        if training is None or scoring is None:
            return None
        return training + len(specs) * scoring

    def _find(
        self, known: dict[tuple[str, str, Any], list[float]], spec: RunSpec, what: Any
    ) -> float | None:
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
    """Seconds to sort by; a method that was never run stands by the size of its graph."""
    if job.seconds is not None:
        return job.seconds
    return DATASETS[job.specs[0].dataset].num_nodes / 100


def _shared(spec: RunSpec) -> RunSpec:
    """What all runs of a job have in common."""
    return spec if find_method(spec.method).uses_labels else spec.training
