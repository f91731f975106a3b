"""Statistics -> tables, ready to be written in any form.

A cell has up to three lines: ours (mean ± deviation, number of draws), the published value with
our difference to it, and the difference to the reference row with its interval. Shares are shown
in per cent. The best mean of a column and its ties are bold.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from brgcl.benchmark.experiment import WHOLE, Experiment, Selection
from brgcl.benchmark.records import Record
from brgcl.benchmark.show.statistics import SHARES, Cell, footnotes, table_cells
from brgcl.config import BRGCLConfig
from brgcl.data import DATASETS
from brgcl.errors import check_name
from brgcl.evaluation.paired import Paired

Search = Mapping[str, Any]  # what `Tuning.to_dict` gives, read back from a file

METRICS = {
    "accuracy": "accuracy",
    "macro_f1": "macro F1",
    "acc": "ACC",
    "nmi": "NMI",
    "ari": "ARI",
    "num_prototypes": "prototypes",
    "confident_share": "confident nodes",
    "auroc": "AUROC",
    "average_precision": "average precision",
    "precision": "precision",
    "recall": "recall",
    "f1": "F1",
    "mcc": "MCC",
    "error_rate_error": "error of the estimated error rate",
    "calibration_error": "calibration error",
}
LEGEND = (
    "Each cell has our mean ± standard deviation over draws (number of draws), in per cent; the "
    "published value and our difference to it; Δ, the difference to brgcl over the same draws with "
    "its 95 % interval. Bold: the best mean of a column and those tied with it (the interval holds "
    "0 and the difference is below one point). With fewer than 10 draws that is no claim."
)


@dataclass(frozen=True)
class Line:
    """One line of a cell."""

    text: str
    bold: bool = False


@dataclass(frozen=True)
class Layout:
    """A table of one graph, ready to be written in any form."""

    title: str
    columns: Sequence[str]  # their heads; the first is that of the row names
    rows: Sequence[tuple[str, Sequence[Sequence[Line]]]]  # name and cells, each a list of lines
    caption: Sequence[str] = ()  # what must be known of the whole table
    notes: Sequence[str] = ()  # what must be known of its rows


def with_metrics(experiment: Experiment, metrics: Sequence[str] | None) -> Experiment:
    """The same table with other scores that its records hold; None for its own.

    Raises:
        InputError: There is no score of that name.
    """
    for name in metrics or ():
        check_name("metric", name, METRICS)
    return experiment if metrics is None else replace(experiment, metrics=tuple(metrics))


def layouts(
    experiment: Experiment, records: Mapping[str, Record], selection: Selection = WHOLE
) -> list[Layout]:
    """Make one table for each graph; arguments as those of `table_cells`."""
    cells = table_cells(experiment, records, selection)
    used = {record.spec.dataset for record in records.values()}
    scored = "" if selection.scored_on == "test" else ", validation nodes"
    tables = []
    for dataset in dict.fromkeys(cell.dataset for cell in cells):
        here = [cell for cell in cells if cell.dataset == dataset]
        title = f"{experiment.title}: {dataset}{scored}"
        tables.append(_layout(experiment, title, here, has_files=dataset in used))
    return tables


def _layout(
    experiment: Experiment, title: str, cells: Sequence[Cell], *, has_files: bool
) -> Layout:
    columns = list(dict.fromkeys(cell.column for cell in cells))
    names = list(dict.fromkeys(cell.row for cell in cells))
    source = experiment.published_label
    lines = {(c.row, c.column): cell_lines(c, has_files=has_files, source=source) for c in cells}
    rows = [(name, [lines.get((name, column), []) for column in columns]) for name in names]
    realised = [_realised([cell for cell in cells if cell.column == c]) for c in columns]
    if any(realised):
        rows.append(("realised noise", [[Line(text)] if text else [] for text in realised]))
    several = len(experiment.metrics) > 1
    heads = [_head(noise, level, metric, several) for _, noise, level, metric in columns]
    notes = footnotes(experiment, cells[0].dataset, names)
    return Layout(title, ["method", *heads], rows, experiment.notes, notes)


def noise_name(noise: str, level: float) -> str:
    """Kind and level of noise in words."""
    return "clean" if noise == "none" else f"{noise} {100 * level:g} %"


def _head(noise: str, level: float, metric: str, several: bool) -> str:
    column = noise_name(noise, level)
    if not several:
        return column
    return METRICS.get(metric, metric) if noise == "none" else f"{METRICS[metric]}, {column}"


def _realised(column: Sequence[Cell]) -> str:
    rates = [cell.realised for cell in column if cell.realised is not None]
    return f"{100 * sum(rates) / len(rates):.1f} %" if rates else ""


def cell_lines(cell: Cell, *, has_files: bool = True, source: str = "paper") -> list[Line]:
    """Write one cell, with `source` before a published value.

    `has_files` says whether the graph is on disk, so that a missing cell could be run.
    """
    lines = [Line(_absent(cell, has_files))] if cell.mean is None else _measured(cell)
    if cell.published_mean is not None:
        text = f"{source} {_spread(cell.published_mean, cell.published_std, cell.metric)}"
        if cell.difference is not None:
            text += f", {format_value(cell.difference, cell.metric, sign=True)}"
        lines.append(Line(text))
    if cell.paired is not None:
        lines.append(Line(f"Δ {format_interval(cell.paired, cell.metric)}"))
    return lines


def _measured(cell: Cell) -> list[Line]:
    bound = "≥ " if cell.at_least else ""
    shown = _spread(cell.mean or 0.0, cell.std, cell.metric)
    lines = [Line(f"{bound}{shown} ({cell.n})", cell.is_best)]
    missing = len(cell.draws) - cell.n
    if cell.failed:
        lines.append(Line(f"{cell.failed} failed"))
    elif missing:
        lines.append(Line(f"{missing} draw{'s' if missing > 1 else ''} not run"))
    return lines


def _spread(mean: float, std: float | None, metric: str) -> str:
    shown = format_value(mean, metric)
    return shown if std is None else f"{shown} ± {format_value(std, metric)}"


def _absent(cell: Cell, has_files: bool) -> str:
    if cell.failed:
        return f"failed ({cell.failed})"
    if not has_files:
        return "needs the download"
    if cell.seconds is None:
        return "not run"
    hours = cell.seconds / 3600
    return f"not run, about {hours:.1f} h" if hours >= 0.05 else "not run, some minutes"


def format_value(value: float, metric: str, *, sign: bool = False) -> str:
    """Show a value of a metric.

    Example:
        >>> format_value(0.8235, "accuracy"), format_value(-0.012, "nmi", sign=True)
        ('82.3', '-1.2')
    """
    number = 100 * value if metric in SHARES else value
    return f"{number:{'+' if sign else ''}.1f}"


def format_interval(gap: Paired, metric: str) -> str:
    """Show a mean difference with its interval, where it has one.

    Example:
        >>> format_interval(Paired(5, 0.012, -0.001, 0.025), "accuracy")
        '+1.2 [-0.1, +2.5]'
    """
    text = format_value(gap.mean, metric, sign=True)
    if gap.low is None or gap.high is None:
        return text
    low, high = (format_value(end, metric, sign=True) for end in (gap.low, gap.high))
    return f"{text} [{low}, {high}]"


def statistics_layout(experiment: Experiment) -> Layout:
    """The sizes of the graphs as loaded, beside those in the paper."""
    rows = []
    for dataset in experiment.datasets:
        known = DATASETS[dataset]
        ours = {"nodes": known.num_nodes, "edges": known.num_edges,
                "attributes": known.num_features, "classes": known.num_classes}  # fmt: skip
        rows.append((dataset, _beside_the_paper(experiment, dataset, ours, ",")))
    return Layout(experiment.title, ["graph", *experiment.metrics], rows, experiment.notes)


def _beside_the_paper(
    experiment: Experiment, dataset: str, ours: Mapping[str, Any], form: str
) -> list[list[Line]]:
    told = {e["metric"]: e["mean"][0] for e in experiment.published if e["dataset"] == dataset}
    return [
        [Line(f"{ours[metric]:{form}}"), Line(f"paper {told[metric]:{form}}")]
        for metric in experiment.metrics
    ]


def facts_layout(experiment: Experiment, searches: Mapping[str, Search]) -> Layout:
    """The table of an experiment for which nothing is run: sizes of graphs, chosen settings."""
    if experiment.kind == "statistics":
        return statistics_layout(experiment)
    return settings_layout(experiment, searches)


def settings_layout(experiment: Experiment, searches: Mapping[str, Search]) -> Layout:
    """Make the table: the preset of each graph, the paper's, how it was chosen, its worth."""
    rows = []
    for dataset in experiment.datasets:
        ours = BRGCLConfig.preset(dataset).to_dict()
        cells = _beside_the_paper(experiment, dataset, ours, "g")
        search = searches.get(dataset)
        searched = [[Line("not run")], []] if search is None else [_how(search), _worth(search)]
        rows.append((dataset, [*cells, *searched]))
    columns = ["graph", *experiment.metrics, "search", "against the default on fresh draws"]
    return Layout(experiment.title, columns, rows, experiment.notes)


def _how(search: Search) -> list[Line]:
    kind = "cells of the grid" if search["mode"] == "grid" else "settings by TPE"
    noise = ", ".join(f"{what} {spec}" for what, spec in search["noise"].items() if spec)
    gain, error = search["chosen"]["gain"], search["chosen"]["gain_error"] or 0.0
    choice = "the default stays" if search["keeps_default"] else (
        f"gain {format_value(gain, 'accuracy', sign=True)} ± {format_value(error, 'accuracy')}"
    )  # fmt: skip
    return [
        Line(f"{search['trials_done']} of {search['trials_wanted']} {kind}"),
        Line(f"{search['epochs']} epochs, by {search['criterion']}"),
        Line(noise or "no noise added"),
        Line(choice),
    ]


def _worth(search: Search) -> list[Line]:
    compared = search["comparison"]
    if compared is None:
        return [Line("not compared")]
    pairs = [format_value(compared[name], "accuracy") for name in ("other_mean", "default_mean")]
    lines = [
        Line(f"{compared['metric']} {pairs[0]} against {pairs[1]} ({compared['n']})"),
        Line(f"xi {compared['xi']:g}, gamma0 {compared['gamma0']:g}: {compared['verdict']}"),
    ]
    if compared["difference_low"] is not None:
        ends = (compared[f"difference_{end}"] for end in ("mean", "low", "high"))
        gap = Paired(compared["n"], *ends)
        lines.insert(1, Line(f"Δ {format_interval(gap, 'accuracy')}"))
    return lines
