"""Maps of nodes (t-SNE), coloured by confidence: one for each graph and level of noise."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from math import ceil
from typing import Any

from torch import Tensor

from brgcl.benchmark.experiment import WHOLE, Experiment, Selection, runs
from brgcl.benchmark.records import Record
from brgcl.benchmark.representations import Learned, cache_file
from brgcl.benchmark.run_spec import RunSpec
from brgcl.benchmark.runner import ResultsFolder, learn, library_versions, one_thread
from brgcl.benchmark.schedule import Costs
from brgcl.benchmark.show.style import PAGE, cell_name, look, new_figure
from brgcl.errors import InputError
from brgcl.report.figures import place_nodes

SEED = 0  # of the t-SNE; the draw that is shown is the first one, whose seed is 0 too
BAR = "confidence of a node, from the least (blue) to the most (red); draw and t-SNE: seed 0"


def draw_maps(
    suite: Experiment,
    place: ResultsFolder,
    records: Mapping[str, Record],
    part: Selection = WHOLE,
    *,
    say: Callable[[str], None] = lambda text: None,
) -> Any:
    """Draw the nodes of each graph at each level of noise, coloured by their confidence.

    Trainings are read from disk; one that is not there is done now, and kept.

    Args:
        suite: The table.
        place: Where trainings are kept.
        records: What was run, to tell how long a training takes.
        part: A part of it; of each cell the first draw is shown.
        say: Told how far it is.
    """
    if find_spec("openTSNE") is None:
        raise InputError("maps need openTSNE; pip install 'brgcl[report]' brings it")
    wanted = runs(suite, replace(part, seeds=1))
    if not wanted:
        raise InputError(f"'{suite.name}' has no such cells; choose others")
    groups = Counter((cell.spec.dataset, cell.row) for cell in wanted)
    width = min(3, max(groups.values()))
    places: list[tuple[int, int]] = []
    for number in groups.values():
        first = places[-1][0] + 1 if places else 0
        places += [(first + i // width, i % width) for i in range(number)]
    several = len({cell.row for cell in wanted}) > 1
    costs = Costs(records.values())
    side = (PAGE if width > 1 else PAGE / 2) / width
    with look(), one_thread():
        lines = places[-1][0] + 1
        height = lines * min(side + 0.1, 8.4 / lines) + 0.8
        figure, panels = new_figure(suite.title, side * width, height, places)
        for number, (cell, axes) in enumerate(zip(wanted, panels, strict=True), start=1):
            say(f"map {number} of {len(wanted)}: {cell.spec}")
            learned, confidence = _learned(cell.spec, place, costs, say)
            dots = _draw_map(axes, learned.representations, confidence)
            graph = cell.spec.dataset
            name = f"{graph}, {cell.row}" if several else graph
            share = 100 * learned.facts["confident_share"]
            axes.set_title(f"{name}, {cell_name(cell.noise, cell.level)}: {share:.0f} % confident")
        bar = figure.colorbar(dots, ax=panels, location="bottom", shrink=0.5, aspect=40, pad=0.02)
        bar.set_label(BAR if width > 1 else BAR.replace("; ", "\n"))
        bar.outline.set_visible(False)
    return figure


def _learned(
    experiment: RunSpec, place: ResultsFolder, costs: Costs, say: Callable[[str], None]
) -> tuple[Learned, Tensor]:
    """Read a training, or do it and say so; returns it and its confidence."""
    training = experiment.training
    if not cache_file(place.cache, training, library_versions()).is_file():
        seconds = costs.of([experiment])
        about = "it may take minutes" if seconds is None else f"about {ceil(seconds / 60)} min"
        say(f"  not trained yet: training now, {about}; kept in '{place.cache}'")
    learned = learn(training, place)[0]
    if learned.confidence is None:
        raise InputError(f"{experiment.method} has no confidence of nodes that a map could show")
    return learned, learned.confidence


def _draw_map(axes: Any, z: Tensor, confidence: Tensor) -> Any:
    shown, points = place_nodes(z, seed=SEED)
    axes.set(xticks=[], yticks=[])
    axes.set_aspect("equal", adjustable="datalim")
    axes.spines[:].set(visible=True, color="#BBBBBB")
    return axes.scatter(
        *points.T, c=confidence[shown].numpy(), cmap="coolwarm", vmin=0, vmax=1, linewidths=0,
        s=min(4.0, max(0.3, 6_000 / len(shown))),
        rasterized=True,  # thousands of dots would make a vector file heavy
    )  # fmt: skip
