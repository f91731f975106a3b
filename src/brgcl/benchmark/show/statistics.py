"""Records -> statistics of each cell of a table: means over draws, and differences draw by draw.

All methods meet the same draws, so two of them are compared by their differences on each draw,
with Student's t interval (95 %). Two rows are tied where that interval holds 0 and the mean
difference is at most one point.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean, stdev

from brgcl.benchmark.experiment import WHOLE, Experiment, Selection, row_note, runs
from brgcl.benchmark.records import Record
from brgcl.benchmark.run_spec import RunSpec
from brgcl.benchmark.schedule import Costs, schedule
from brgcl.errors import unknown_name
from brgcl.evaluation.paired import Paired, paired_difference

DETECTION = ("average_precision", "auroc", "f1", "mcc", "precision", "recall")
SCORES = ("accuracy", "macro_f1", "acc", "nmi", "ari", *DETECTION)  # of which more is better
ERRORS = ("error_rate_error", "calibration_error")  # of which less is better
SHARES = (*SCORES, *ERRORS, "confident_share")  # shown in per cent


@dataclass(frozen=True)
class Draw:
    """One draw of a cell: its run, the record of it if there is one, and the value shown."""

    spec: RunSpec
    record: Record | None
    value: float | None


@dataclass(frozen=True)
class Cell:
    """One cell of a table: several runs, their mean and spread."""

    dataset: str
    row: str
    noise: str
    level: float
    metric: str
    draws: tuple[Draw, ...]  # all that belong to it, run or not
    published_mean: float | None = None
    published_std: float | None = None
    paired: Paired | None = None  # difference to the reference row, where there is another
    realised: float | None = None  # mean realised rate of the noise
    is_best: bool = False  # leads its column over the same draws, or is tied with the one that does
    at_least: bool = False  # a cap was reached, so that the mean is a lower bound
    seconds: float | None = None  # processor time of the missing draws; None if unknown

    @property
    def column(self) -> tuple[str, str, float, str]:
        """The graph, noise, level and metric that it shares with the other rows."""
        return self.dataset, self.noise, self.level, self.metric

    @property
    def is_oracle(self) -> bool:
        """Whether it was told which labels are right; then it leads no column."""
        return self.draws[0].spec.is_oracle

    @property
    def values(self) -> dict[int, float]:
        """What was measured, by seed."""
        return {draw.spec.seed: draw.value for draw in self.draws if draw.value is not None}

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


def table_cells(
    experiment: Experiment, records: Mapping[str, Record], selection: Selection = WHOLE
) -> list[Cell]:
    """Work out every cell of a table, or of a selection, from records by key.

    The reference row is compared with whether it is selected or not.
    """
    for row in selection.rows or ():
        if row not in experiment.rows:
            raise unknown_name("row of this experiment", row, experiment.rows)
    specs: dict[tuple[str, str, str, float], list[RunSpec]] = defaultdict(list)
    for each in runs(experiment, replace(selection, rows=None)):
        specs[each.spec.dataset, each.row, each.noise, each.level].append(each.spec)
    costs = Costs(records.values())
    table = []
    for (dataset, row, noise, level), here in specs.items():
        seconds = _seconds([spec for spec in here if spec.key not in records], costs)
        for metric in experiment.metrics:
            draws = [_draw(spec, records.get(spec.key), metric) for spec in here]
            published = experiment.published_value(dataset, row, noise, level, metric)
            table.append(Cell(
                dataset, row, noise, level, metric, tuple(draws), *published,
                realised=_realised(draws), at_least=_is_capped(draws, metric), seconds=seconds,
            ))  # fmt: skip
    shown = experiment.rows if selection.rows is None else selection.rows
    return [cell for cell in _compare(table, experiment) if cell.row in shown]


def _draw(spec: RunSpec, record: Record | None, metric: str) -> Draw:
    return Draw(spec, record, None if record is None else record.metrics.get(metric))


def _realised(draws: Sequence[Draw]) -> float | None:
    """Mean realised noise of labels, attributes or edges, whichever are corrupted."""
    noise = vars(draws[0].spec.noise_spec())
    corrupted = [name for name, spec in noise.items() if spec is not None]
    done = [draw.record for draw in draws if draw.record is not None and not draw.record.error]
    return mean(record.realised[corrupted[0]] for record in done) if done and corrupted else None


def _is_capped(draws: Sequence[Draw], metric: str) -> bool:
    """Whether a number of prototypes reached its cap in any draw."""
    return metric == "num_prototypes" and any(
        draw.record.metrics.get("capped") for draw in draws if draw.record is not None
    )


def _seconds(missing: Sequence[RunSpec], costs: Costs) -> float | None:
    """Processor time that runs would take; None if that of any is unknown."""
    seconds = [costs.of(job.specs) for job in schedule(missing, {})]
    return None if None in seconds else sum(s for s in seconds if s is not None)


def _compare(table: Sequence[Cell], experiment: Experiment) -> list[Cell]:
    """Set beside each cell its difference to the reference row, and mark the best of a column."""
    references = {cell.column: cell for cell in table if cell.row == experiment.reference}
    table = [replace(cell, paired=_gap(cell, references.get(cell.column))) for cell in table]
    columns = defaultdict(list)
    for cell in table:
        columns[cell.column].append(cell)
    best = {where: _best(column, references.get(where)) for where, column in columns.items()}
    return [replace(cell, is_best=_is_best(cell, best[cell.column])) for cell in table]


def _gap(cell: Cell, reference: Cell | None) -> Paired | None:
    if reference is None or cell.row == reference.row:
        return None
    return paired_difference(cell.values, reference.values)


def _best(column: Sequence[Cell], reference: Cell | None) -> Cell | None:
    """The row with the largest lead over the reference, on the draws that both have.

    Rows that miss draws may miss the hard ones; their own means would not be comparable.
    """
    base = 0.0 if reference is None else reference.mean or 0.0
    leads = [
        (cell.mean - base if cell.paired is None else cell.paired.mean, cell)
        for cell in column
        if cell.mean is not None and cell.metric in SCORES and not cell.is_oracle
    ]
    return max(leads, key=lambda pair: pair[0])[1] if len(leads) > 1 else None


def _is_best(cell: Cell, best: Cell | None) -> bool:
    if best is None or cell.mean is None or cell is best:
        return cell is best
    if cell.is_oracle:
        return False
    gap = paired_difference(cell.values, best.values)
    return gap is not None and gap.is_tie


def footnotes(experiment: Experiment, dataset: str, rows: Sequence[str]) -> list[str]:
    """What a reader must know of the rows of a table on one graph."""
    noted = [(name, row_note(experiment.task, experiment.rows[name], dataset)) for name in rows]
    return [f"{name}: {note}" for name, note in noted if note]
