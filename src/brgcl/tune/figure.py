"""Searches on disk, and their scores over xi and gamma0 as a picture."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from brgcl.errors import InputError
from brgcl.pictures import PAGE, look, new_figure

Search = Mapping[str, Any]  # what `Tuning.to_dict` gives
SHOWN = (
    "criterion", "mode", "epochs", "noise", "xi", "gamma0", "trials", "trials_wanted",
    "trials_done", "default", "chosen", "keeps_default", "comparison",
)  # fmt: skip
MARKS = "red frame: choice, dashed: default, small dot: pruned"
FRAMES = (("default", "black", "--"), ("chosen", "red", "-"))


def read_searches(folder: Path, datasets: Iterable[str] | None = None) -> dict[str, Search]:
    """Read the search of each graph, or of those asked for, by its name: one JSON file each.

    Without a folder there is none. One that is asked for and missing is an error.
    """
    searches = {file.stem: _read(file) for file in sorted(folder.glob("*.json"))}
    for name in datasets or ():
        if name not in searches:
            file = folder / f"{name}.json"
            raise InputError(
                f"there is no search in '{file}' yet; brgcl tune {name} makes one (docs/tuning.md)"
            )
    return searches if datasets is None else {name: searches[name] for name in datasets}


def _read(file: Path) -> Search:
    try:
        search: Search = json.loads(file.read_text(encoding="utf-8"))
        _ = [search[name] for name in SHOWN]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"'{file}' is not a search saved by brgcl tune") from error
    return search


def plot_searches(searches: Mapping[str, Search]) -> Any:
    """Plot the score over xi and gamma0, a panel for each graph; returns the figure."""
    if not searches:
        raise InputError("there is no search to plot yet; brgcl tune makes one (docs/tuning.md)")
    columns = min(2, len(searches))
    places = [(number // columns, number % columns) for number in range(len(searches))]
    width, height = PAGE / 2 * max(columns, 1.2), 3.0 * (places[-1][0] + 1) + 0.6
    with look():
        figure, panels = new_figure(f"Scores of settings\n{MARKS}", width, height, places)
        for (name, search), axes in zip(searches.items(), panels, strict=True):
            _plot_search(axes, search, name)
    return figure


def _plot_search(axes: Any, search: Search, name: str) -> None:
    """Plot a search; the choice is framed, and what was not tried is hatched."""
    scores = (_plot_grid if search["mode"] == "grid" else _plot_points)(axes, search)
    axes.figure.colorbar(scores, ax=axes, label=f"score ({search['criterion']})")
    tried = search["trials"]
    errors = [setting["error"] for setting in tried if setting["error"] is not None]
    error = f", standard error about {errors[0]:.3f}" if errors else ""
    axes.set(xlabel="xi", ylabel="gamma0")
    axes.set_title(f"{name}: {len(tried)} of {search['trials_wanted']} settings{error}")


def _plot_grid(axes: Any, search: Search) -> Any:
    import numpy as np
    from matplotlib.patches import Rectangle

    xi, gamma0 = search["xi"], search["gamma0"]
    values = np.full((len(gamma0), len(xi)), np.nan)

    def place(setting: Mapping[str, Any]) -> tuple[int, int] | None:
        if setting["xi"] in xi and setting["gamma0"] in gamma0:
            return xi.index(setting["xi"]), gamma0.index(setting["gamma0"])
        return None  # a default off the grid

    for setting in search["trials"]:
        if (spot := place(setting)) is not None:
            values[spot[1], spot[0]] = setting["score"]
            if setting["pruned"]:
                axes.plot(*spot, ".", color="white", markersize=4)
    image = axes.imshow(np.ma.masked_invalid(values), origin="lower", aspect="auto")
    for row, column in zip(*np.nonzero(np.isnan(values)), strict=True):
        axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, hatch="///",
                                 edgecolor="0.7", linewidth=0))  # fmt: skip
    for which, color, style in FRAMES:
        if (spot := place(search[which])) is not None:
            axes.add_patch(Rectangle((spot[0] - 0.45, spot[1] - 0.45), 0.9, 0.9, fill=False,
                                     edgecolor=color, linestyle=style, linewidth=2))  # fmt: skip
    axes.grid(visible=False)
    axes.set_xticks(range(len(xi)), [f"{value:g}" for value in xi])
    axes.set_yticks(range(len(gamma0)), [f"{value:g}" for value in gamma0])
    return image


def _plot_points(axes: Any, search: Search) -> Any:
    tried = search["trials"] or [search["default"]]
    points = axes.scatter(
        [setting["xi"] for setting in tried],
        [setting["gamma0"] for setting in tried],
        c=[setting["score"] for setting in tried],
        s=[20 if setting["pruned"] else 140 for setting in tried],
    )
    for which, color, style in FRAMES:
        axes.scatter([search[which]["xi"]], [search[which]["gamma0"]], s=320, facecolors="none",
                     edgecolors=color, linestyles=style, linewidths=2, marker="s")  # fmt: skip
    axes.grid(alpha=0.3)
    return points
