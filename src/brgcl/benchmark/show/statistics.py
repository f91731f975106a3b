"""Records -> statistics of each cell of a table: means over draws, and differences draw by draw.

All methods meet the same draws, so two of them are compared by their differences on each draw,
with Student's t interval (95 %). Two rows are tied where that interval holds 0 and the mean
difference is at most one point.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean, stdev

from brgcl.benchmark.experiment import WHOLE, Experiment, Selection, row_note, runs
from brgcl.benchmark.records import Record
from brgcl.benchmark.run_spec import RunSpec
from brgcl.benchmark.schedule import Costs, schedule
from brgcl.errors import unknown_name
from brgcl.evaluate.paired import Paired, paired_difference

SHARES = ("accuracy", "macro_f1", "acc", "nmi", "ari", "confident_share")  # shown in per cent
SCORES = ("accuracy", "macro_f1", "acc", "nmi", "ari")  # of which more is better


@dataclass(frozen=True)
class Draw:
    """One draw of a cell: its experiment and what it found, if it was run."""

    seed: int
    value: float | None
    spec: RunSpec
    record: Record | None


@dataclass(frozen=True)
class Entry:
    """One cell of a table.

    Attributes:
        dataset: Name of the graph.
        row: Name of the row.
        noise: Kind of noise.
        level: Its level.
        metric: What is shown.
        draws: All draws that belong to it, run or not.
        published_mean: The paper's mean; None where it has none.
        published_std: The paper's deviation.
        paired: Difference to the reference row; None for that row itself or without common draws.
        realised: Mean realised noise of the part that is corrupted.
        is_best: Whether it leads its column over the same draws, or is tied with the one that does.
        at_least: Whether a cap was reached, so that the mean is a lower bound.
        seconds: Processor time that the missing draws would take; None if unknown.
    """

    dataset: str
    row: str
    noise: str
    level: float
    metric: str
    draws: tuple[Draw, ...]
    published_mean: float | None = None
    published_std: float | None = None
    paired: Paired | None = None
    realised: float | None = None
    is_best: bool = False
    at_least: bool = False
    seconds: float | None = None

    @property
    def values(self) -> dict[int, float]:
        """What was measured, by seed."""
        return {draw.seed: draw.value for draw in self.draws if draw.value is not None}

    @property
    def n(self) -> int:
        """How many draws were measured."""
        return len(self.values)

    @property
    def failed(self) -> int:
        """How many draws failed."""
        return sum(1 for draw in self.draws if draw.record is not None and draw.record.error)

    @property
    def mean(self) -> float | None:
        """Mean over the draws."""
        return mean(self.values.values()) if self.values else None

    @property
    def std(self) -> float | None:
        """Standard deviation over the draws."""
        return stdev(self.values.values()) if self.n > 1 else None

    @property
    def difference(self) -> float | None:
        """Ours minus the published mean."""
        if self.mean is None or self.published_mean is None:
            return None
        return self.mean - self.published_mean


def table_entries(
    suite: Experiment, records: Mapping[str, Record], part: Selection = WHOLE
) -> list[Entry]:
    """Work out every cell of a table.

    Args:
        suite: The table.
        records: What was run, by key.
        part: A part of it; the reference row is compared with whether it is in the part or not.
    """
    for row in part.rows or ():
        if row not in suite.rows:
            raise unknown_name("row of this experiment", row, suite.rows)
    grid: dict[tuple[str, str, str, float], list[RunSpec]] = {}
    for cell in runs(suite, replace(part, rows=None)):
        where = (cell.spec.dataset, cell.row, cell.noise, cell.level)
        grid.setdefault(where, []).append(cell.spec)
    costs = Costs(records.values())
    found = [
        _entry(suite, where, experiments, metric, records, costs)
        for where, experiments in grid.items()
        for metric in suite.metrics
    ]
    shown = suite.rows if part.rows is None else part.rows
    return [entry for entry in _compare(found, suite) if entry.row in shown]


def _entry(
    suite: Experiment,
    where: tuple[str, str, str, float],
    experiments: Sequence[RunSpec],
    metric: str,
    records: Mapping[str, Record],
    costs: Costs,
) -> Entry:
    dataset, row, noise, level = where
    draws = []
    for experiment in experiments:
        record = records.get(experiment.key)
        value = None if record is None else record.metrics.get(metric)
        draws.append(Draw(experiment.seed, value, experiment, record))
    run = [draw.record for draw in draws if draw.record is not None and not draw.record.error]
    part = next((p for p in ("labels", "attributes", "edges") if _touches(experiments[0], p)), None)
    published = suite.published_value(dataset, row, level, metric)
    missing = schedule([draw.spec for draw in draws if draw.record is None], {})
    seconds = [costs.of(job.specs) for job in missing]
    return Entry(
        dataset,
        row,
        noise,
        level,
        metric,
        tuple(draws),
        *published,
        realised=mean(r.realised[part] for r in run) if run and part else None,
        at_least=any(r.metrics.get("capped") for r in run) and metric == "num_prototypes",
        seconds=None if None in seconds else sum(s for s in seconds if s is not None),
    )


def _touches(experiment: RunSpec, part: str) -> bool:
    return getattr(experiment.noise_spec(), part) is not None


def _compare(entries: Sequence[Entry], suite: Experiment) -> list[Entry]:
    """Set beside each cell its difference to the reference row, and mark the best of a column."""
    columns: dict[tuple[str, str, float, str], list[int]] = {}
    for place, entry in enumerate(entries):
        where = (entry.dataset, entry.noise, entry.level, entry.metric)
        columns.setdefault(where, []).append(place)
    found = list(entries)
    for places in columns.values():
        column = [entries[place] for place in places]
        reference = next((entry for entry in column if entry.row == suite.reference), None)
        gaps = [
            paired_difference(entry.values, reference.values)
            if reference is not None and reference is not entry
            else None
            for entry in column
        ]
        best = _best(column, gaps, reference)
        for place, gap in zip(places, gaps, strict=True):
            entry = entries[place]
            found[place] = replace(entry, paired=gap, is_best=_is_best(entry, best))
    return found


def _best(
    column: Sequence[Entry], gaps: Sequence[Paired | None], reference: Entry | None
) -> Entry | None:
    """The row with the largest lead over the reference, on the draws that both have.

    Rows that miss draws may miss the hard ones; their own means would not be comparable.
    """
    base = 0.0 if reference is None else reference.mean or 0.0
    leads = [
        (entry.mean - base if gap is None else gap.mean, entry)
        for entry, gap in zip(column, gaps, strict=True)
        if entry.mean is not None and entry.metric in SCORES
    ]
    return max(leads, key=lambda pair: pair[0])[1] if len(leads) > 1 else None


def _is_best(entry: Entry, best: Entry | None) -> bool:
    if best is None or entry.mean is None or entry is best:
        return entry is best
    gap = paired_difference(entry.values, best.values)
    return gap is not None and gap.is_tie


def footnotes(suite: Experiment, dataset: str, rows: Sequence[str]) -> list[str]:
    """What a reader must know of the rows of a table on one graph."""
    noted = [(name, row_note(suite.rows[name], dataset)) for name in rows]
    return [f"{name}: {note}" for name, note in noted if note]
