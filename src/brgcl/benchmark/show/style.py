"""How rows look in pictures: the colour and marker of each, legends, and names.

A method has the same colour and marker in every picture.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from brgcl.benchmark.experiment import Experiment
from brgcl.benchmark.show.layout import METRICS
from brgcl.benchmark.show.statistics import SHARES
from brgcl.methods import METHODS
from brgcl.noise import ATTRIBUTE_NOISE, LABEL_NOISE

# Colours of Okabe and Ito and of Tol, which are told apart whatever colours one sees.
OURS = "#D55E00"
COLORS = (
    "#000000", "#0072B2", "#56B4E9", "#009E73", "#E69F00", "#CC79A7", "#882255", "#8C8C8C",
    "#999933", "#332288",
)  # fmt: skip
MARKERS = ("s", "^", "D", "v", "P", "X", "<")
# Methods that stand in one table are close together here, so that their colours differ.
FIRST = (
    "brgcl-paper", "gcn", "s2gc", "nrgnn", "self-training", "cca-ssg", "grace", "gce", "unionnet",
    "co-teaching",
)  # fmt: skip


@dataclass(frozen=True)
class Style:
    """How a row is plotted; our own stands out."""

    color: str
    marker: str
    linestyle: str = "-"
    stands_out: bool = False

    @property
    def line(self) -> dict[str, Any]:
        """Settings of its curve."""
        strong = self.stands_out
        return {
            "color": self.color,
            "marker": self.marker,
            "linestyle": self.linestyle,
            "linewidth": 2.0 if strong else 1.0,
            "markersize": 4.5 if strong else 5.5 if self.marker == "*" else 3.2,
            "zorder": 5 if strong else 3,
        }


def row_styles(experiment: Experiment) -> dict[str, Style]:
    """Colour and marker of each row of a table.

    A row that bears the name of its method looks the same in all tables. The only row of a method
    that has another name takes the method's colour and a star; several go by their places, and so
    do detectors.
    """
    order = [*FIRST, *(name for name in METHODS if name not in (*FIRST, "brgcl"))]
    renamed = [row.method for row in experiment.rows.values() if row.name != row.method]
    ours = "brgcl" if "brgcl" in experiment.rows else experiment.reference
    styles = {}
    for place, (name, row) in enumerate(experiment.rows.items()):
        if name == ours:
            styles[name] = Style(OURS, "o", stands_out=True)
        elif experiment.task == "detect":
            styles[name] = _style(place)
        elif name == row.method:
            styles[name] = _style(order.index(name))
        elif row.method != "brgcl" and renamed.count(row.method) == 1:
            styles[name] = Style(COLORS[order.index(row.method) % len(COLORS)], "*")
        else:
            styles[name] = _style(place)
    return styles


def _style(slot: int) -> Style:
    """One of 70 looks; when the colours have all been used, lines are dotted."""
    line = "-" if slot < len(COLORS) else ":"
    return Style(COLORS[slot % len(COLORS)], MARKERS[slot % len(MARKERS)], line)


def handle(label: str, **settings: Any) -> Any:
    """An entry of a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **settings)


def legend_columns(handles: Sequence[Any], inches: float) -> int:
    """How many entries of a legend fit side by side."""
    widest = max(len(each.get_label()) for each in handles)
    return max(1, min(len(handles), int(inches / (0.055 * widest + 0.55))))


def add_legend(figure: Any, handles: Sequence[Any], title: str) -> None:
    """Put a legend below all panels."""
    inches = figure.get_size_inches()[0]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=legend_columns(handles, inches),
        frameon=False, title=textwrap.fill(title, int(inches / 0.06)), handlelength=2.4,
        columnspacing=1.4,
    )  # fmt: skip


def noise_part(noise: str) -> str:
    """What a kind of noise corrupts.

    Example:
        >>> noise_part("within@train"), noise_part("pair"), noise_part("add")
        ('attribute', 'label', 'edge')
    """
    kind = noise.partition("@")[0]
    if kind in LABEL_NOISE:
        return "label"
    return "attribute" if kind in ATTRIBUTE_NOISE else "edge"


def metric_name(metric: str) -> str:
    """A metric as the name of an axis."""
    name = METRICS.get(metric, metric)
    return f"{name}, %" if metric in SHARES else name
