"""Cells -> pictures: curves over noise levels, dots where there is one level."""

import textwrap
from collections.abc import Mapping, Sequence
from math import nan
from typing import Any

from brgcl.benchmark.experiment import WHOLE, Experiment, Selection
from brgcl.benchmark.records import Record
from brgcl.benchmark.show.layout import noise_name
from brgcl.benchmark.show.panels import (
    Panel,
    count_text,
    curve_panels,
    dot_panels,
    row_label,
    shown_rows,
)
from brgcl.benchmark.show.statistics import Cell, table_cells
from brgcl.benchmark.show.style import (
    Style,
    add_legend,
    handle,
    legend_columns,
    metric_name,
    noise_part,
    row_styles,
)
from brgcl.errors import InputError
from brgcl.pictures import PAGE, look, new_figure

DRAWS = "Mean over n draws; {spread}: one standard deviation, where n > 1."
GREY = "#555555"


def plot_experiment(
    experiment: Experiment, records: Mapping[str, Record], selection: Selection = WHOLE
) -> Any:
    """Plot the measured cells of a table, or of a selection; returns the matplotlib figure."""
    if experiment.kind != "grid":
        raise InputError(
            f"'{experiment.name}' lists facts, of which there is no picture; "
            f"brgcl bench table {experiment.name} shows them"
        )
    cells = table_cells(experiment, records, selection)
    if not is_measured(cells):
        what = "no noisy cell" if _is_curve(cells) else "nothing"
        raise InputError(
            f"the records hold {what} of '{experiment.name}' yet; brgcl bench run measures it"
        )
    return plot_curves(experiment, cells) if _is_curve(cells) else plot_dots(experiment, cells)


def is_measured(cells: Sequence[Cell]) -> bool:
    """Whether there is something to plot; the clean cells of many tables alone are no curve."""
    return any(cell.n for cell in cells if cell.noise != "none" or not _is_curve(cells))


def _is_curve(cells: Sequence[Cell]) -> bool:
    return len({cell.level for cell in cells}) > 1


def plot_curves(experiment: Experiment, cells: Sequence[Cell]) -> Any:
    """Plot a metric over the level of noise, one panel for each graph and kind of noise.

    Published values are dashed, and plotted once where two rows have the same ones.
    """
    panels = curve_panels(experiment, cells)
    places = [panel.place for panel in panels]
    lines, width = (1 + max(numbers) for numbers in zip(*places, strict=True))
    styles, rows = row_styles(experiment), shown_rows(experiment, panels)
    inches = 0.66 * PAGE if width == 1 else max(PAGE, 2.2 * width)
    several = len({panel.noise for panel in panels}) > 1
    with look():
        handles = [handle(row_label(name, panels), **styles[name].line) for name in rows]
        if any(panel.published(experiment) for panel in panels):
            dashed = {"color": GREY, "linestyle": "--", "linewidth": 0.9}
            handles.append(handle(_published(experiment), **dashed))
        below = 0.17 * -(-len(handles) // legend_columns(handles, inches)) + 0.8
        height = min(2.0, 8.0 / lines) if width > 1 else 2.6
        figure, all_axes = new_figure(experiment.title, inches, height * lines + below, places)
        same_scale: dict[tuple[str, str], Any] = {}
        for panel, axes in zip(panels, all_axes, strict=True):
            first = same_scale.setdefault((panel.dataset, panel.metric), axes)
            if first is not axes:
                axes.sharey(first)
            _plot_curves(axes, experiment, panel, styles)
            axes.set_title(_panel_title(panel, several))
            line, column = panel.place
            if (line + 1, column) not in places:
                axes.set_xlabel(f"{noise_part(panel.noise)} noise ({panel.noise}), %")
            if (line, column - 1) not in places or len(experiment.metrics) > 1:
                axes.set_ylabel(metric_name(panel.metric))
        add_legend(figure, handles, DRAWS.format(spread="band"))
    return figure


def plot_dots(experiment: Experiment, cells: Sequence[Cell]) -> Any:
    """Plot means with their deviations, a panel for each graph and metric; hollow if published."""
    panels = dot_panels(experiment, cells)
    places = [panel.place for panel in panels]
    lines, width = (1 + max(numbers) for numbers in zip(*places, strict=True))
    styles, rows = row_styles(experiment), shown_rows(experiment, panels)
    names = [textwrap.fill(row_label(row, panels), 36, break_on_hyphens=False) for row in rows]
    tallest = max(name.count("\n") for name in names)
    height = max(0.55, (0.15 + 0.11 * tallest) * len(names)) + 0.6
    inches = 0.66 * PAGE if width == 1 else max(PAGE, 1.3 * width + 1.5)
    several = len({(panel.noise, panel.level) for panel in panels}) > 1
    with look():
        title = _title(experiment, panels)
        figure, all_axes = new_figure(title, inches, height * lines + 0.7, places)
        for panel, axes in zip(panels, all_axes, strict=True):
            _plot_dots(axes, panel, rows, styles)
            line, column = panel.place
            first = (line, column - 1) not in places
            axes.set_yticks(range(len(rows)), names if first else [""] * len(rows))
            for row, label in zip(rows, axes.get_yticklabels(), strict=True):
                label.set_fontweight("bold" if styles[row].stands_out else "normal")
            axes.set_title(_panel_title(panel, several))
            axes.set_xlabel(metric_name(panel.metric))
        shown = [cell for panel in panels for cell in panel.cells]
        add_legend(figure, _dot_handles(experiment, shown), DRAWS.format(spread="bar"))
    return figure


def _plot_curves(
    axes: Any, experiment: Experiment, panel: Panel, styles: Mapping[str, Style]
) -> None:
    alpha = 0.13 if len(panel.rows) < 8 else 0.07
    for name in panel.rows:
        style = styles[name]
        mine = [cell for cell in panel.cells if cell.row == name]
        x = [100 * cell.level for cell in mine]
        y = [nan if cell.mean is None else panel.scale * cell.mean for cell in mine]
        axes.plot(x, y, label=name, **style.line)
        if any(cell.std is not None for cell in mine):
            half = [nan if cell.std is None else panel.scale * cell.std for cell in mine]
            low, high = ([a + sign * b for a, b in zip(y, half, strict=True)] for sign in (-1, 1))
            axes.fill_between(x, low, high, color=style.color, alpha=alpha, linewidth=0)
    for name, theirs in panel.published(experiment).items():
        style = styles[name]
        axes.plot(
            [100 * cell.level for cell in theirs],
            [panel.scale * (cell.published_mean or 0.0) for cell in theirs],
            color=style.color, linestyle=(0, (4, 2)), linewidth=0.9,
            zorder=4 if style.stands_out else 2, label=f"{name}, published",
        )  # fmt: skip
    axes.set_xticks(sorted({100 * cell.level for cell in panel.cells}))


def _plot_dots(axes: Any, panel: Panel, rows: Sequence[str], styles: Mapping[str, Style]) -> None:
    from matplotlib.ticker import MaxNLocator

    for cell in panel.cells:
        style, y = styles[cell.row], rows.index(cell.row)
        if style.stands_out:
            axes.axhspan(y - 0.5, y + 0.5, color=style.color, alpha=0.1, linewidth=0)
        axes.errorbar(
            panel.scale * (cell.mean or 0.0), y - 0.12,
            xerr=None if cell.std is None else panel.scale * cell.std,
            color=style.color, marker=">" if cell.at_least else "o", markersize=4, linewidth=1,
            label=cell.row,
        )  # fmt: skip
        if cell.published_mean is not None:
            axes.plot(
                panel.scale * cell.published_mean, y + 0.2, "o", color=style.color, markersize=3.6,
                markerfacecolor="white", markeredgewidth=0.9, label=f"{cell.row}, published",
            )  # fmt: skip
    axes.margins(x=0.08)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10], integer=True))
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)


def _dot_handles(experiment: Experiment, shown: Sequence[Cell]) -> list[Any]:
    grey = {"color": GREY, "linestyle": "none", "markersize": 4}
    handles = [handle("measured", marker="o", **grey)]
    if any(cell.published_mean is not None for cell in shown):
        handles.append(handle(_published(experiment), marker="o", markerfacecolor="white", **grey))
    if any(cell.at_least for cell in shown):
        handles.append(handle("lower bound (cap reached)", marker=">", **grey))
    return handles


def _published(experiment: Experiment) -> str:
    names = {"paper": "the paper's value", "published": "published value"}
    return names.get(experiment.published_label, experiment.published_label)


def _panel_title(panel: Panel, several: bool) -> str:
    name = f"{panel.dataset}, {panel.noise}" if several else panel.dataset
    return f"{name} ({count_text(panel.counts)})"


def _title(experiment: Experiment, panels: Sequence[Panel]) -> str:
    """The title of the table, with the noise where all panels share it."""
    told = {noise_name(panel.noise, panel.level or 0.0) for panel in panels}
    noise = panels[0].noise
    if len(told) > 1 or noise == "none":
        return experiment.title
    return f"{experiment.title}\n({noise_part(noise)} noise: {told.pop()})"
