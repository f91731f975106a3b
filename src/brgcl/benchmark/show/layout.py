"""Statistics -> tables, ready to be written in any form.

A cell has up to three lines: ours (mean ± deviation, number of draws), the published value with
our difference to it, and the difference to the reference row with its interval. Shares are shown
in per cent. The best mean of a column and its ties are bold.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from brgcl.benchmark.experiment import WHOLE, Experiment, Selection
from brgcl.benchmark.records import Record
from brgcl.benchmark.show.statistics import SHARES, Entry, footnotes, table_entries
from brgcl.data import DATASETS

METRICS = {
    "accuracy": "accuracy",
    "macro_f1": "macro F1",
    "acc": "ACC",
    "nmi": "NMI",
    "ari": "ARI",
    "num_prototypes": "prototypes",
    "confident_share": "confident nodes",
}
LEGEND = (
    "Each cell has our mean ± standard deviation over draws (number of draws), in per cent; the "
    "paper's value and our difference to it; Δ, the difference to brgcl over the same draws with "
    "its 95 % interval. Bold: the best mean of a column and those tied with it (the interval holds "
    "0 and the difference is below one point). With fewer than 10 draws that is no claim."
)


@dataclass(frozen=True)
class Line:
    """One line of a cell."""

    text: str
    bold: bool = False


@dataclass(frozen=True)
class Sheet:
    """A table of one graph, ready to be written in any form.

    Attributes:
        title: Its heading.
        columns: Heads of the columns; the first is that of the row names.
        rows: Name and cells, each a list of lines.
        caption: What must be known of the whole table.
        notes: What must be known of its rows.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Sequence[Line]]]]
    caption: Sequence[str] = ()
    notes: Sequence[str] = ()


def sheets(
    suite: Experiment, records: Mapping[str, Record], part: Selection = WHOLE
) -> list[Sheet]:
    """Make one table for each graph; arguments as those of `table_entries`."""
    entries = table_entries(suite, records, part)
    used = {record.spec.dataset for record in records.values()}
    found = []
    for dataset in dict.fromkeys(entry.dataset for entry in entries):
        here = [entry for entry in entries if entry.dataset == dataset]
        found.append(_sheet(suite, dataset, here, part.scored_on, has_files=dataset in used))
    return found


def _sheet(
    suite: Experiment, dataset: str, entries: Sequence[Entry], split: str, *, has_files: bool
) -> Sheet:
    columns = list(dict.fromkeys((e.noise, e.level, e.metric) for e in entries))
    names = list(dict.fromkeys(entry.row for entry in entries))
    at = {(e.row, e.noise, e.level, e.metric): e for e in entries}
    rows: list[tuple[str, list[list[Line]]]] = [
        (
            name,
            [
                cell_lines(at[name, *column], has_files=has_files) if (name, *column) in at else []
                for column in columns
            ],
        )
        for name in names
    ]
    realised = [
        _realised([e for e in entries if (e.noise, e.level, e.metric) == c]) for c in columns
    ]
    if any(realised):
        rows.append(("realised noise", [[Line(text)] if text else [] for text in realised]))
    several = len(suite.metrics) > 1
    heads = [_head(noise, level, metric, several) for noise, level, metric in columns]
    scored = "" if split == "test" else ", validation nodes"
    notes = footnotes(suite, dataset, names)
    title = f"{suite.title}: {dataset}{scored}"
    return Sheet(title, ["method", *heads], rows, suite.notes, notes)


def _head(noise: str, level: float, metric: str, several: bool) -> str:
    place = "clean" if noise == "none" else f"{noise} {100 * level:g} %"
    if not several:
        return place
    return METRICS.get(metric, metric) if noise == "none" else f"{METRICS[metric]}, {place}"


def _realised(column: Sequence[Entry]) -> str:
    rates = [entry.realised for entry in column if entry.realised is not None]
    return f"{100 * sum(rates) / len(rates):.1f} %" if rates else ""


def cell_lines(entry: Entry, *, has_files: bool = True) -> list[Line]:
    """Write one cell."""
    lines = []
    if entry.mean is None:
        lines.append(Line(_absent(entry, has_files)))
    else:
        bound = "≥ " if entry.at_least else ""
        shown = bound + figure(entry.mean, entry.metric)
        if entry.std is not None:
            shown += f" ± {figure(entry.std, entry.metric)}"
        missing = len(entry.draws) - entry.n
        lines.append(Line(f"{shown} ({entry.n})", entry.is_best))
        if entry.failed:
            lines.append(Line(f"{entry.failed} failed"))
        elif missing:
            lines.append(Line(f"{missing} draw{'s' if missing > 1 else ''} not run"))
    if entry.published_mean is not None:
        text = f"paper {figure(entry.published_mean, entry.metric)}"
        if entry.published_std is not None:
            text += f" ± {figure(entry.published_std, entry.metric)}"
        if entry.difference is not None:
            text += f", {figure(entry.difference, entry.metric, sign=True)}"
        lines.append(Line(text))
    gap = entry.paired
    if gap is not None:
        text = figure(gap.mean, entry.metric, sign=True)
        if gap.low is not None and gap.high is not None:
            low, high = (figure(end, entry.metric, sign=True) for end in (gap.low, gap.high))
            text += f" [{low}, {high}]"
        lines.append(Line(f"Δ {text}"))
    return lines


def _absent(entry: Entry, has_files: bool) -> str:
    if entry.failed:
        return f"failed ({entry.failed})"
    if not has_files:
        return "needs the download"
    if entry.seconds is None:
        return "not run"
    hours = entry.seconds / 3600
    return f"not run, about {hours:.1f} h" if hours >= 0.05 else "not run, some minutes"


def figure(value: float, metric: str, *, sign: bool = False) -> str:
    """Show a value of a metric.

    Example:
        >>> figure(0.8235, "accuracy"), figure(-0.012, "nmi", sign=True)
        ('82.3', '-1.2')
    """
    number = 100 * value if metric in SHARES else value
    return f"{number:{'+' if sign else ''}.1f}"


def statistics_sheet(suite: Experiment) -> Sheet:
    """The sizes of the graphs as loaded, beside those in the paper."""
    rows = []
    for dataset in suite.datasets:
        told = {e["metric"]: e["mean"][0] for e in suite.published if e["dataset"] == dataset}
        known = DATASETS[dataset]
        ours = {"nodes": known.num_nodes, "edges": known.num_edges,
                "attributes": known.num_features, "classes": known.num_classes}  # fmt: skip
        rows.append(
            (dataset, [[Line(f"{ours[m]:,}"), Line(f"paper {told[m]:,}")] for m in suite.metrics])
        )
    return Sheet(suite.title, ["graph", *suite.metrics], rows, suite.notes)
