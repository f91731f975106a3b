"""Scores over xi and gamma0 as a picture, from what `brgcl tune --json` prints."""

from collections.abc import Mapping
from typing import Any

MARKS = "red frame: choice, dashed: default, small dot: pruned"


def draw_surface(axes: Any, found: Mapping[str, Any], name: str) -> None:
    """Draw a search; the choice is framed, and what was not tried is hatched.

    Args:
        axes: Where to draw.
        found: A search, as `summary` gives it.
        name: Name of the graph.
    """
    drawn = (_draw_grid if found["mode"] == "grid" else _draw_points)(axes, found)
    axes.figure.colorbar(drawn, ax=axes, label=f"score ({found['criterion']})")
    errors = [cell["error"] for cell in found["trials"] if cell["error"] is not None]
    error = f", standard error about {errors[0]:.3f}" if errors else ""
    axes.set(xlabel="xi", ylabel="gamma0")
    axes.set_title(f"{name}: {len(found['trials'])} of {found['trials_wanted']} settings{error}")


def _draw_grid(axes: Any, found: Mapping[str, Any]) -> Any:
    import numpy as np
    from matplotlib.patches import Rectangle

    xi, gamma0 = found["xi"], found["gamma0"]
    values = np.full((len(gamma0), len(xi)), np.nan)

    def place(cell: Mapping[str, Any]) -> tuple[int, int] | None:
        if cell["xi"] in xi and cell["gamma0"] in gamma0:
            return xi.index(cell["xi"]), gamma0.index(cell["gamma0"])
        return None  # a default off the grid

    for cell in found["trials"]:
        spot = place(cell)
        if spot is not None:
            values[spot[1], spot[0]] = cell["score"]
            if cell["pruned"]:
                axes.plot(*spot, ".", color="white", markersize=4)
    drawn = axes.imshow(np.ma.masked_invalid(values), origin="lower", aspect="auto")
    for row, column in zip(*np.nonzero(np.isnan(values)), strict=True):
        axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, hatch="///",
                                 edgecolor="0.7", linewidth=0))  # fmt: skip
    for which, color, style in (("default", "black", "--"), ("chosen", "red", "-")):
        spot = place(found[which])
        if spot is not None:
            axes.add_patch(Rectangle((spot[0] - 0.45, spot[1] - 0.45), 0.9, 0.9, fill=False,
                                     edgecolor=color, linestyle=style, linewidth=2))  # fmt: skip
    axes.grid(visible=False)
    axes.set_xticks(range(len(xi)), [f"{value:g}" for value in xi])
    axes.set_yticks(range(len(gamma0)), [f"{value:g}" for value in gamma0])
    return drawn


def _draw_points(axes: Any, found: Mapping[str, Any]) -> Any:
    cells = found["trials"] or [found["default"]]
    drawn = axes.scatter(
        [cell["xi"] for cell in cells],
        [cell["gamma0"] for cell in cells],
        c=[cell["score"] for cell in cells],
        s=[20 if cell["pruned"] else 140 for cell in cells],
    )
    for which, color, style in (("default", "black", "--"), ("chosen", "red", "-")):
        cell = found[which]
        axes.scatter([cell["xi"]], [cell["gamma0"]], s=320, facecolors="none", edgecolors=color,
                     linestyles=style, linewidths=2, marker="s")  # fmt: skip
    axes.grid(alpha=0.3)
    return drawn
