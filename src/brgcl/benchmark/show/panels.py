"""Cells -> the panels of a picture: which cells each pair of axes shows, and where it stands.

What was not measured is not shown, and a panel without any measured cell is left out.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from brgcl.benchmark.experiment import Experiment
from brgcl.benchmark.show.statistics import SHARES, Cell

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True)
class Panel:
    """What one pair of axes shows: the cells of the rows that were measured there."""

    dataset: str
    noise: str
    level: float | None  # of all cells; None where they are points of curves
    metric: str
    cells: Sequence[Cell]  # by row
    place: tuple[int, int] = (0, 0)  # line and column in the picture

    @property
    def rows(self) -> list[str]:
        """Rows, in the order of the table."""
        return list(dict.fromkeys(cell.row for cell in self.cells))

    @property
    def counts(self) -> list[int]:
        """Numbers of draws behind its means."""
        return [cell.n for cell in self.cells if cell.n]

    @property
    def scale(self) -> int:
        """What a value is multiplied by: shares are shown in per cent."""
        return 100 if self.metric in SHARES else 1

    def published(self, experiment: Experiment) -> dict[str, list[Cell]]:
        """Cells with a published value, by row; values that two rows share are there once."""
        published: dict[str, list[Cell]] = {}
        for name in self.rows:
            mine = [c for c in self.cells if c.row == name and c.published_mean is not None]
            source = experiment.rows[name].published
            if mine and source not in {experiment.rows[other].published for other in published}:
                published[name] = mine
        return published


def curve_panels(experiment: Experiment, cells: Sequence[Cell]) -> list[Panel]:
    """A panel for each graph, kind of noise and metric with a measured noisy cell.

    The clean cell begins the curves of every kind of noise. Graphs stand one below the other, or
    three in a line where there is one kind of noise and one metric.
    """
    order = list(experiment.rows)
    panels = []
    for dataset in dict.fromkeys(cell.dataset for cell in cells):
        here = [cell for cell in cells if cell.dataset == dataset]
        run = {cell.noise for cell in here if cell.n}
        for noise in (kind for kind in experiment.noise if kind in run):
            for metric in experiment.metrics:
                mine = [c for c in here if c.metric == metric and c.noise in ("none", noise)]
                rows = {cell.row for cell in mine if cell.n}
                shown = [cell for cell in mine if cell.row in rows]
                shown.sort(key=lambda cell: (order.index(cell.row), cell.level))
                if shown:
                    panels.append(Panel(dataset, noise, None, metric, shown))
    columns = _distinct((panel.noise, panel.metric) for panel in panels)
    if len(columns) == 1:
        width = min(3, len(panels))
        return [replace(p, place=divmod(i, width)) for i, p in enumerate(panels)]
    graphs = _distinct(panel.dataset for panel in panels)
    return [
        replace(p, place=(graphs.index(p.dataset), columns.index((p.noise, p.metric))))
        for p in panels
    ]


def dot_panels(experiment: Experiment, cells: Sequence[Cell]) -> list[Panel]:
    """A panel for each graph, noise and metric with a measured cell; graphs stand side by side."""
    measured = [cell for cell in cells if cell.n]
    panels = [
        Panel(*column, [cell for cell in measured if cell.column == column])
        for metric in experiment.metrics
        for column in _distinct(cell.column for cell in measured if cell.metric == metric)
    ]
    lines = _distinct((panel.noise, panel.level, panel.metric) for panel in panels)
    graphs = _distinct(panel.dataset for panel in panels)
    return [
        replace(p, place=(lines.index((p.noise, p.level, p.metric)), graphs.index(p.dataset)))
        for p in panels
    ]


def shown_rows(experiment: Experiment, panels: Sequence[Panel]) -> list[str]:
    """Rows that any panel shows, in the order of the table."""
    return [name for name in experiment.rows if any(name in panel.rows for panel in panels)]


def _distinct(values: Iterable[T]) -> list[T]:
    return list(dict.fromkeys(values))


def count_text(counts: Sequence[int]) -> str:
    """Numbers of draws in words.

    Example:
        >>> count_text([3, 3]), count_text([10, 3, 5])
        ('n = 3', 'n = 3 to 10')
    """
    low, high = min(counts), max(counts)
    return f"n = {low}" if low == high else f"n = {low} to {high}"


def row_label(row: str, panels: Sequence[Panel]) -> str:
    """The row's name, and its own number of draws where it has fewer than others beside it."""
    mine = [(c.n, max(p.counts)) for p in panels for c in p.cells if c.row == row and c.n]
    fewer = any(n < most for n, most in mine)
    return f"{row} ({count_text([n for n, _ in mine])})" if fewer else row
