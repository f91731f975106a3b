"""Maps of nodes (t-SNE), coloured by confidence: one for each graph and level of noise."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from torch import Tensor

from brgcl.benchmark.experiment import WHOLE, Experiment, PlannedRun, Selection, runs
from brgcl.benchmark.show.layout import noise_name
from brgcl.contract import Fitted
from brgcl.errors import InputError
from brgcl.pictures import PAGE, look, new_figure

Placer = Callable[..., tuple[Any, Any]]
SEED = 0  # of the t-SNE; the draw that is shown is the first one, whose seed is 0 too
BAR = "confidence of a node, from the least (blue) to the most (red); draw and t-SNE: seed 0"


def is_map(experiment: Experiment) -> bool:
    """Whether an experiment is shown as maps of nodes."""
    return experiment.task == "prototypes" and len(experiment.levels) > 1


def mapped_runs(experiment: Experiment, selection: Selection = WHOLE) -> list[PlannedRun]:
    """The runs that are shown: of each cell the first draw."""
    if find_spec("openTSNE") is None:
        raise InputError("maps need openTSNE; pip install 'brgcl[report]' brings it")
    shown = runs(experiment, replace(selection, seeds=1))
    if not shown:
        raise InputError(f"'{experiment.name}' has no such cells; choose others")
    return shown


def plot_maps(
    experiment: Experiment,
    runs: Sequence[PlannedRun],
    trained: Sequence[Fitted],
    place_nodes: Placer,
) -> Any:
    """Plot the nodes of each graph at each level of noise, coloured by their confidence.

    `runs` are those of `mapped_runs`, each with its training. `place_nodes` puts representations on
    a plane, with a seed; it returns the indices of the nodes that are placed, and where.
    """
    places, width = _places(runs)
    several = len({run.row for run in runs}) > 1
    side = (PAGE if width > 1 else PAGE / 2) / width
    lines = places[-1][0] + 1
    height = lines * min(side + 0.1, 8.4 / lines) + 0.8
    with look():
        figure, panels = new_figure(experiment.title, side * width, height, places)
        for run, fitted, axes in zip(runs, trained, panels, strict=True):
            confidence, confident = fitted.confidence, fitted.confident
            if confidence is None or confident is None:
                method = run.spec.method
                raise InputError(f"{method} has no confidence of nodes that a map could show")
            shown, points = place_nodes(fitted.representations, seed=SEED)
            dots = _plot_map(axes, points, confidence[shown])
            graph = run.spec.dataset
            name = f"{graph}, {run.row}" if several else graph
            share = 100 * float(confident.float().mean())
            axes.set_title(f"{name}, {noise_name(run.noise, run.level)}: {share:.0f} % confident")
        bar = figure.colorbar(dots, ax=panels, location="bottom", shrink=0.5, aspect=40, pad=0.02)
        bar.set_label(BAR if width > 1 else BAR.replace("; ", "\n"))
        bar.outline.set_visible(False)
    return figure


def _places(runs: Sequence[PlannedRun]) -> tuple[list[tuple[int, int]], int]:
    """A line and column for each map, each graph and row on new lines; and the columns."""
    groups = Counter((run.spec.dataset, run.row) for run in runs)
    width = min(3, max(groups.values()))
    places: list[tuple[int, int]] = []
    for number in groups.values():
        first = places[-1][0] + 1 if places else 0
        places += [(first + i // width, i % width) for i in range(number)]
    return places, width


def _plot_map(axes: Any, points: Any, confidence: Tensor) -> Any:
    axes.set(xticks=[], yticks=[])
    axes.set_aspect("equal", adjustable="datalim")
    axes.spines[:].set(visible=True, color="#BBBBBB")
    return axes.scatter(
        *points.T, c=confidence.numpy(), cmap="coolwarm", vmin=0, vmax=1, linewidths=0,
        s=min(4.0, max(0.3, 6_000 / len(points))),
        rasterized=True,  # thousands of dots would make a vector file heavy
    )  # fmt: skip
