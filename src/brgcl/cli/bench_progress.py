"""How far a benchmark is: runs done, time left, who is ahead."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import mean

from brgcl.benchmark.records import Record
from brgcl.benchmark.schedule import Job
from brgcl.cli.console import say
from brgcl.progress import progress_bar, stderr

Scores = defaultdict[str, defaultdict[str, list[float]]]  # by place and method


@contextmanager
def watching(jobs: Sequence[Job], workers: int) -> Iterator[Callable[[Record], None]]:
    """Show a progress bar; where stderr is a file, a line for each record instead.

    Yields:
        A function to call with each new record.
    """
    total = sum(len(job.specs) for job in jobs)
    left, scores, done = TimeLeft(jobs, workers), Scores(lambda: defaultdict(list)), 0
    with progress_bar("benchmark") as report:

        def watch(record: Record) -> None:
            nonlocal done
            done += 1
            left.take(record)
            if not stderr().is_terminal:
                shown = ", ".join(f"{name} {value:.4f}" for name, value in record.metrics.items())
                say(f"{done}/{total}  {record.spec}: {'failed' if record.error else shown}  {left}")
            report(done, total, f"{record.spec}  {left}  {best_so_far(scores, record)}")

        yield watch


class TimeLeft:
    """Time that is left, from estimates of processor time and how fast it passed so far."""

    def __init__(self, jobs: Sequence[Job], workers: int) -> None:
        costs = [(job, job.seconds and job.seconds / len(job.specs)) for job in jobs]
        self._costs = {spec: cost for job, cost in costs for spec in job.specs}
        self._workers, self._start, self._done = workers, time.time(), 0.0

    def take(self, record: Record) -> None:
        """Count a run as done."""
        self._done += self._costs.pop(record.spec, None) or 0.0

    def __str__(self) -> str:
        if not all(self._costs.values()):
            return ""  # nothing is known of the cost of some runs
        rest = sum(cost or 0.0 for cost in self._costs.values())
        passed = time.time() - self._start
        seconds = rest * passed / self._done if self._done > 30 else rest / self._workers
        return f"about {seconds / 60:.0f} min left" if seconds >= 60 else "less than a minute left"


def best_so_far(scores: Scores, record: Record) -> str:
    """Add a record to the scores, and say which method is ahead where it belongs."""
    if record.error or not record.metrics:
        return ""
    spec = record.spec
    where = f"{spec.dataset} {spec.noise} {spec.level:g}"
    metric, score = next(iter(record.metrics.items()))
    scores[where][spec.method].append(score)
    best, values = max(scores[where].items(), key=lambda item: mean(item[1]))
    return f"best so far on {where}: {best} {metric} {mean(values):.3f}"
