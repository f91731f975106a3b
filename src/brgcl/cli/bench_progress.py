"""How far a benchmark is: cells done, time left, who is ahead."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import mean

from brgcl.benchmark.records import Record
from brgcl.benchmark.schedule import Job
from brgcl.cli.console import say
from brgcl.progress import progress_bar, stderr


@contextmanager
def watching(jobs: Sequence[Job], workers: int) -> Iterator[Callable[[Record], None]]:
    """Show a progress bar; where stderr is a file, a line for each record instead.

    Args:
        jobs: What is to be run.
        workers: Processes that run it.

    Yields:
        A function to call with each new record.
    """
    total = sum(len(job.specs) for job in jobs)
    left, ahead, done = Left(jobs, workers), Ahead(), 0
    with progress_bar("benchmark") as report:

        def watch(record: Record) -> None:
            nonlocal done
            done += 1
            left.take(record)
            best = ahead.take(record)
            if not stderr().is_terminal:
                scores = "failed" if record.error else _scores(record)
                say(f"{done}/{total}  {record.spec}: {scores}  {left}")
            report(done, total, f"{record.spec}  {left}  {best}")

        yield watch


class Left:
    """Time that is left, from estimates of processor time and how fast it passed so far."""

    def __init__(self, jobs: Sequence[Job], workers: int) -> None:
        costs = [(job, job.seconds / len(job.specs)) for job in jobs if job.seconds]
        self._cost = {cell: cost for job, cost in costs for cell in job.specs}
        self._unknown = {cell for job in jobs for cell in job.specs} - set(self._cost)
        self._total, self._workers, self._start = sum(self._cost.values()), workers, time.time()
        self._done = 0.0

    def take(self, record: Record) -> None:
        """Count a cell as done."""
        cost = self._cost.pop(record.spec, None)
        self._done += cost or 0.0
        self._unknown.discard(record.spec)

    def __str__(self) -> str:
        if self._unknown:
            return ""  # nothing is known of the cost of some cells
        rest = self._total - self._done
        passed = time.time() - self._start
        seconds = rest * passed / self._done if self._done > 30 else rest / self._workers
        return f"about {seconds / 60:.0f} min left" if seconds >= 60 else "less than a minute left"


class Ahead:
    """Who is ahead where the newest record belongs."""

    def __init__(self) -> None:
        self._scores: dict[tuple[str, ...], dict[str, list[float]]] = defaultdict(
            lambda: defaultdict(list)
        )

    def take(self, record: Record) -> str:
        """Count a record, and say who is the best of this run beside it."""
        if record.error or not record.metrics:
            return ""
        cell = record.spec
        where = (cell.dataset, cell.noise, f"{cell.level:g}")
        metric, score = next(iter(record.metrics.items()))
        self._scores[where][cell.method].append(score)
        best, scores = max(self._scores[where].items(), key=lambda item: mean(item[1]))
        return f"best so far on {' '.join(where)}: {best} {metric} {mean(scores):.3f}"


def _scores(record: Record) -> str:
    return ", ".join(f"{name} {value:.4f}" for name, value in record.metrics.items())
