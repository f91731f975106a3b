"""Searches of `brgcl tune` -> the settings chosen for each graph beside the paper's; a picture."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from brgcl.benchmark.experiment import Experiment
from brgcl.benchmark.show.layout import Line, Sheet, figure
from brgcl.benchmark.show.style import PAGE, look, new_figure
from brgcl.config import BRGCLConfig
from brgcl.errors import InputError
from brgcl.tune.figure import MARKS, draw_surface

Search = Mapping[str, Any]
SHOWN = (
    "criterion", "mode", "epochs", "noise", "xi", "gamma0", "trials", "trials_wanted",
    "trials_done", "default", "comparison",
)  # fmt: skip


def read_searches(folder: Path) -> dict[str, Search]:
    """Read what was found for each graph, by its name; none where there is no such folder.

    Raises:
        InputError: A file is not what `brgcl tune --json` prints.
    """
    found = {}
    for file in sorted(folder.glob("*.json")):
        try:
            search = json.loads(file.read_text(encoding="utf-8"))
            settings_of(search)
            _ = [search[name] for name in SHOWN]
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"'{file}' is not what brgcl tune --json prints") from error
        found[file.stem] = search
    return found


def settings_of(search: Search) -> dict[str, float]:
    """The settings that a search puts in place of the default; none where the default stays."""
    if search["keeps_default"]:
        return {}
    return {name: float(search["chosen"][name]) for name in ("xi", "gamma0")}


def settings_sheet(suite: Experiment, searches: Mapping[str, Search]) -> Sheet:
    """Make the table: the preset of each graph, the paper's, how it was found, what it is worth."""
    rows = []
    for dataset in suite.datasets:
        ours = BRGCLConfig.preset(dataset)
        told = {e["metric"]: e["mean"][0] for e in suite.published if e["dataset"] == dataset}
        cells = [
            [Line(f"{getattr(ours, metric):g}"), Line(f"paper {told[metric]:g}")]
            for metric in suite.metrics
        ]
        found = searches.get(dataset)
        searched = [[Line("not run")], []] if found is None else [_how(found), _worth(found)]
        rows.append((dataset, [*cells, *searched]))
    columns = ["graph", *suite.metrics, "search", "against the default on fresh draws"]
    return Sheet(suite.title, columns, rows, suite.notes)


def draw_searches(searches: Mapping[str, Search]) -> Any:
    """Draw the score over xi and gamma0, a panel for each graph; returns the figure."""
    columns = min(2, len(searches))
    places = [(number // columns, number % columns) for number in range(len(searches))]
    width, height = PAGE / 2 * max(columns, 1.2), 3.0 * (places[-1][0] + 1) + 0.6
    with look():
        figure, panels = new_figure(f"Scores of settings\n{MARKS}", width, height, places)
        for (name, search), axes in zip(searches.items(), panels, strict=True):
            draw_surface(axes, search, name)
    return figure


def _how(search: Search) -> list[Line]:
    kind = "cells of the grid" if search["mode"] == "grid" else "settings by TPE"
    noise = ", ".join(f"{part} {spec}" for part, spec in search["noise"].items() if spec)
    gain, error = search["chosen"]["gain"], search["chosen"]["gain_error"] or 0.0
    choice = "the default stays" if search["keeps_default"] else (
        f"gain {figure(gain, 'accuracy', sign=True)} ± {figure(error, 'accuracy')}"
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
    pairs = [figure(compared[name], "accuracy") for name in ("other_mean", "default_mean")]
    lines = [
        Line(f"{compared['metric']} {pairs[0]} against {pairs[1]} ({compared['n']})"),
        Line(f"xi {compared['xi']:g}, gamma0 {compared['gamma0']:g}: {compared['verdict']}"),
    ]
    if compared["difference_low"] is not None:
        ends = [
            figure(compared[f"difference_{end}"], "accuracy", sign=True)
            for end in ("mean", "low", "high")
        ]
        lines.insert(1, Line(f"Δ {ends[0]} [{ends[1]}, {ends[2]}]"))
    return lines
