"""Statistics -> pictures: curves over noise levels, dots where there is one level.

What was not measured is not drawn, and a panel without any measured cell is left out.
"""

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import Any

from brgcl.benchmark.experiment import (
    WHOLE,
    Experiment,
    Selection,
    experiment_names,
    load_experiment,
    runs,
)
from brgcl.benchmark.records import Record
from brgcl.benchmark.runner import ResultsFolder
from brgcl.benchmark.show.node_maps import draw_maps
from brgcl.benchmark.show.settings_table import Search, draw_searches, read_searches
from brgcl.benchmark.show.statistics import SHARES, Entry, table_entries
from brgcl.benchmark.show.style import (
    PAGE,
    Style,
    add_legend,
    cell_name,
    handle,
    legend_columns,
    look,
    metric_name,
    new_figure,
    noise_part,
    row_styles,
    save_picture,
)
from brgcl.benchmark.speed_page import check_picture
from brgcl.errors import InputError

PUBLISHED = "the paper's value"
DRAWS = "Mean over n draws; {spread}: one standard deviation, where n > 1."


@dataclass(frozen=True)
class Panel:
    """What one pair of axes shows: the cells of the rows that were measured there.

    `level` is that of all cells, or None where they are points of curves.
    """

    dataset: str
    noise: str
    level: float | None
    metric: str
    entries: Sequence[Entry]

    @property
    def rows(self) -> list[str]:
        """Rows, in the order of the table."""
        return list(dict.fromkeys(entry.row for entry in self.entries))

    @property
    def counts(self) -> list[int]:
        """Numbers of draws behind its means."""
        return [entry.n for entry in self.entries if entry.n]

    @property
    def scale(self) -> int:
        """What a value is multiplied by: shares are shown in per cent."""
        return 100 if self.metric in SHARES else 1


def plot_suite(
    suite: Experiment,
    records: Mapping[str, Record],
    file: Path,
    place: ResultsFolder,
    part: Selection = WHOLE,
    *,
    name: str | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Any:
    """Draw a table and write the picture; returns the matplotlib figure.

    Args:
        suite: The table.
        records: What was run, by key.
        file: A name that ends in .svg, .png or .pdf.
        place: Where trainings are kept, for maps.
        part: A part of it.
        name: What commands call the table, where that is not its name but a file.
        say: Told what takes long.
    """
    check_picture(file)
    if suite.kind == "statistics":
        raise InputError(
            f"'{suite.name}' lists facts, of which there is no picture; "
            f"brgcl bench table {suite.name} shows them"
        )
    if suite.kind == "hyperparameters":
        figure = draw_searches(_searches(place, part))
    else:
        runs(suite, part)  # refuses names that are not in the table
        if suite.task == "prototypes" and len(suite.levels) > 1:
            figure = draw_maps(suite, place, records, part, say=say)
        else:
            figure = _draw_measured(suite, records, place, part, name or suite.name)
    save_picture(figure, file)
    return figure


def _searches(place: ResultsFolder, part: Selection) -> dict[str, Search]:
    found = read_searches(place.searches)
    wanted = list(found) if part.datasets is None else part.datasets
    missing = [name for name in wanted or ["cora"] if name not in found]
    if missing:
        file = place.searches / f"{missing[0]}.json"
        raise InputError(
            f"there is no search in '{file}' yet; brgcl tune {missing[0]} --json > {file} makes one"
        )
    return {name: found[name] for name in wanted}


def _draw_measured(
    suite: Experiment,
    records: Mapping[str, Record],
    place: ResultsFolder,
    part: Selection,
    name: str,
) -> Any:
    entries = table_entries(suite, records, part)
    several = len({entry.level for entry in entries}) > 1
    # clean cells belong to many tables: alone they are no curve of this one
    if not any(entry.n for entry in entries if not several or entry.noise != "none"):
        graphs = ",".join(suite.datasets if part.datasets is None else part.datasets)
        raise InputError(
            f"'{place.records}' holds {'no noisy cell' if several else 'nothing'} of "
            f"'{suite.name}' yet; brgcl bench run {name} --datasets {graphs} measures it"
        )
    return draw_curves(suite, entries) if several else draw_dots(suite, entries)


def draw_all(records: Mapping[str, Record], folder: Path, place: ResultsFolder) -> list[Path]:
    """Draw every table of which something was measured, except maps; returns the files."""
    written = []
    for name in experiment_names():
        suite = load_experiment(name)
        if suite.kind == "hyperparameters":
            measured = bool(read_searches(place.searches))
        elif suite.kind != "grid" or suite.task == "prototypes":
            continue  # facts have no picture, and maps need trainings besides records
        else:
            measured = any(
                entry.n and (len(suite.levels) == 1 or entry.noise != "none")
                for entry in table_entries(suite, records)
            )
        if measured:
            file = folder / f"{name}.svg"
            plot_suite(suite, records, file, place)
            written.append(file)
    return written


def draw_curves(suite: Experiment, entries: Sequence[Entry]) -> Any:
    """Draw a metric over the level of noise, one panel for each graph and kind of noise.

    Published values are dashed; where two rows have the same ones, they are drawn once.
    """
    panels = list(_curve_panels(suite, entries))
    columns = list(dict.fromkeys((panel.noise, panel.metric) for panel in panels))
    graphs = list(dict.fromkeys(panel.dataset for panel in panels))
    if len(columns) == 1:
        width = min(3, len(panels))
        places = [divmod(number, width) for number in range(len(panels))]
    else:
        width = len(columns)
        places = [(graphs.index(p.dataset), columns.index((p.noise, p.metric))) for p in panels]
    styles = row_styles(suite)
    rows = [name for name in suite.rows if any(name in panel.rows for panel in panels)]
    inches = 0.66 * PAGE if width == 1 else max(PAGE, 2.2 * width)
    lines = places[-1][0] + 1
    with look():
        handles = [handle(_label(name, panels), **styles[name].line) for name in rows]
        if any(_published(suite, panel) for panel in panels):
            handles.append(handle(PUBLISHED, color="#555555", linestyle="--", linewidth=0.9))
        below = 0.17 * -(-len(handles) // legend_columns(handles, inches)) + 0.8
        height = min(2.0, 8.0 / lines) if width > 1 else 2.6
        figure, all_axes = new_figure(suite.title, inches, height * lines + below, places)
        several = len({noise for noise, _ in columns}) > 1
        alike: dict[tuple[str, str], Any] = {}
        for panel, (line, column), axes in zip(panels, places, all_axes, strict=True):
            other = alike.setdefault((panel.dataset, panel.metric), axes)
            if other is not axes:
                axes.sharey(other)
            _draw_curves(axes, suite, panel, styles)
            name = f"{panel.dataset}, {panel.noise}" if several else panel.dataset
            axes.set_title(f"{name} ({_n(panel.counts)})")
            if (line + 1, column) not in places:
                axes.set_xlabel(f"{noise_part(panel.noise)} noise ({panel.noise}), %")
            if (line, column - 1) not in places or len(suite.metrics) > 1:
                axes.set_ylabel(metric_name(panel.metric))
        add_legend(figure, handles, DRAWS.format(spread="band"))
    return figure


def draw_dots(suite: Experiment, entries: Sequence[Entry]) -> Any:
    """Draw means with their deviations, one panel for each graph and metric.

    Published values are hollow.
    """
    panels = list(_dot_panels(suite, entries))
    lines = list(dict.fromkeys((panel.noise, panel.level, panel.metric) for panel in panels))
    graphs = list(dict.fromkeys(panel.dataset for panel in panels))
    places = [(lines.index((p.noise, p.level, p.metric)), graphs.index(p.dataset)) for p in panels]
    styles = row_styles(suite)
    rows = [name for name in suite.rows if any(name in panel.rows for panel in panels)]
    names = [textwrap.fill(_label(name, panels), 36, break_on_hyphens=False) for name in rows]
    with look():
        tallest = max(name.count("\n") for name in names)
        height = max(0.55, (0.15 + 0.11 * tallest) * len(names)) + 0.6
        inches = 0.66 * PAGE if len(graphs) == 1 else max(PAGE, 1.3 * len(graphs) + 1.5)
        title = _title(suite, panels)
        figure, all_axes = new_figure(title, inches, height * len(lines) + 0.7, places)
        several = len({(panel.noise, panel.level) for panel in panels}) > 1
        for panel, (line, column), axes in zip(panels, places, all_axes, strict=True):
            _draw_dots(axes, panel, rows, styles)
            first = (line, column - 1) not in places
            axes.set_yticks(range(len(rows)), names if first else [""] * len(rows))
            for row, label in zip(rows, axes.get_yticklabels(), strict=True):
                label.set_fontweight("bold" if styles[row].stands_out else "normal")
            name = f"{panel.dataset}, {panel.noise}" if several else panel.dataset
            axes.set_title(f"{name} ({_n(panel.counts)})")
            axes.set_xlabel(metric_name(panel.metric))
        shown = [entry for panel in panels for entry in panel.entries]
        add_legend(figure, _dot_handles(shown), DRAWS.format(spread="bar"))
    return figure


def _curve_panels(suite: Experiment, entries: Sequence[Entry]) -> Iterator[Panel]:
    """Panels with a measured noisy cell; the clean cell belongs to every kind of noise."""
    for dataset in dict.fromkeys(entry.dataset for entry in entries):
        here = [entry for entry in entries if entry.dataset == dataset]
        run = {entry.noise for entry in here if entry.n}
        for noise in (kind for kind in suite.noise if kind in run):
            for metric in suite.metrics:
                mine = [e for e in here if e.metric == metric and e.noise in ("none", noise)]
                rows = {entry.row for entry in mine if entry.n}
                if rows:
                    shown = sorted((e for e in mine if e.row in rows), key=lambda e: e.level)
                    order = list(suite.rows)
                    shown.sort(key=lambda entry: order.index(entry.row))
                    yield Panel(dataset, noise, None, metric, shown)


def _dot_panels(suite: Experiment, entries: Sequence[Entry]) -> Iterator[Panel]:
    for metric in suite.metrics:
        run = [entry for entry in entries if entry.metric == metric and entry.n]
        for where in dict.fromkeys((entry.dataset, entry.noise, entry.level) for entry in run):
            mine = [e for e in run if (e.dataset, e.noise, e.level) == where]
            yield Panel(*where, metric, mine)


def _published(suite: Experiment, panel: Panel) -> dict[str, list[Entry]]:
    """Cells with a published value, by row; a row with the values of an earlier one has none."""
    found: dict[str, list[Entry]] = {}
    seen: set[str] = set()
    for name in panel.rows:
        source = suite.rows[name].published
        mine = [e for e in panel.entries if e.row == name and e.published_mean is not None]
        if mine and source not in seen:
            found[name] = mine
            seen.add(source)
    return found


def _draw_curves(axes: Any, suite: Experiment, panel: Panel, styles: Mapping[str, Style]) -> None:
    alpha = 0.13 if len(panel.rows) < 8 else 0.07
    for name in panel.rows:
        style = styles[name]
        mine = [entry for entry in panel.entries if entry.row == name]
        x = [100 * entry.level for entry in mine]
        y = [nan if entry.mean is None else panel.scale * entry.mean for entry in mine]
        axes.plot(x, y, label=name, **style.line)
        if any(entry.std is not None for entry in mine):
            half = [nan if entry.std is None else panel.scale * entry.std for entry in mine]
            low, high = ([a + sign * b for a, b in zip(y, half, strict=True)] for sign in (-1, 1))
            axes.fill_between(x, low, high, color=style.color, alpha=alpha, linewidth=0)
    for name, theirs in _published(suite, panel).items():
        style = styles[name]
        axes.plot(
            [100 * entry.level for entry in theirs],
            [panel.scale * (entry.published_mean or 0.0) for entry in theirs],
            color=style.color, linestyle=(0, (4, 2)), linewidth=0.9,
            zorder=4 if style.stands_out else 2, label=f"{name}, published",
        )  # fmt: skip
    axes.set_xticks(sorted({100 * entry.level for entry in panel.entries}))


def _draw_dots(axes: Any, panel: Panel, rows: Sequence[str], styles: Mapping[str, Style]) -> None:
    from matplotlib.ticker import MaxNLocator

    for entry in panel.entries:
        style, y = styles[entry.row], rows.index(entry.row)
        if style.stands_out:
            axes.axhspan(y - 0.5, y + 0.5, color=style.color, alpha=0.1, linewidth=0)
        axes.errorbar(
            panel.scale * (entry.mean or 0.0), y - 0.12,
            xerr=None if entry.std is None else panel.scale * entry.std,
            color=style.color, marker=">" if entry.at_least else "o", markersize=4, linewidth=1,
            label=entry.row,
        )  # fmt: skip
        if entry.published_mean is not None:
            axes.plot(
                panel.scale * entry.published_mean, y + 0.2, "o", color=style.color, markersize=3.6,
                markerfacecolor="white", markeredgewidth=0.9, label=f"{entry.row}, published",
            )  # fmt: skip
    axes.margins(x=0.08)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10], integer=True))
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)


def _dot_handles(shown: Sequence[Entry]) -> list[Any]:
    grey = {"color": "#555555", "linestyle": "none", "markersize": 4}
    found = [handle("measured", marker="o", **grey)]
    if any(entry.published_mean is not None for entry in shown):
        found.append(handle(PUBLISHED, marker="o", markerfacecolor="white", **grey))
    if any(entry.at_least for entry in shown):
        found.append(handle("at least so many: a cap was met", marker=">", **grey))
    return found


def _title(suite: Experiment, panels: Sequence[Panel]) -> str:
    """The title of the table, with the noise where all panels share it."""
    told = {cell_name(panel.noise, panel.level or 0.0) for panel in panels}
    noise = panels[0].noise
    if len(told) > 1 or noise == "none":
        return suite.title
    return f"{suite.title}\n({noise_part(noise)} noise: {told.pop()})"


def _n(counts: Sequence[int]) -> str:
    """Numbers of draws in words.

    Example:
        >>> _n([3, 3]), _n([10, 3, 5])
        ('n = 3', 'n = 3 to 10')
    """
    low, high = min(counts), max(counts)
    return f"n = {low}" if low == high else f"n = {low} to {high}"


def _label(row: str, panels: Sequence[Panel]) -> str:
    """The row's name, and its own number of draws where it has fewer than others beside it."""
    mine = [(e.n, max(p.counts)) for p in panels for e in p.entries if e.row == row and e.n]
    fewer = any(n < most for n, most in mine)
    return f"{row} ({_n([n for n, _ in mine])})" if fewer else row
