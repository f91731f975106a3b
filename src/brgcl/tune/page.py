"""What `tune` shows: a table, sentences, JSON, a preset in a TOML file."""

import dataclasses
import json
from typing import Any

from brgcl.config import BRGCLConfig
from brgcl.tune.search import Tuning
from brgcl.tune.tried_setting import Cell

COLUMNS = ("xi", "gamma0", "score", "± s.e.", "gain", "± s.e.", "K", "seconds")
SHOWN = 10  # rows of the table
WHAT = {
    "labels": "agreement of held-out predictions with the given training labels (5 folds, class "
    "centroids)",
    "stability": "adjusted Rand index of the partitions of two resampled views (no label is read)",
}


def table_rows(tuning: Tuning) -> list[list[str]]:
    """The best settings that were trained to the end, and the default, under `COLUMNS`."""
    whole = [cell for cell in tuning.cells if not cell.pruned]
    shown = sorted(whole, key=lambda cell: -cell.score)[:SHOWN]
    for cell in (tuning.chosen, tuning.default):
        if cell.point not in {other.point for other in shown}:
            shown.append(cell)
    return [_row(cell, tuning) for cell in shown]


def lines(tuning: Tuning) -> list[str]:
    """What was done, what is chosen and why, in sentences."""
    pruned = sum(cell.pruned for cell in tuning.cells)
    how = "cells of the grid" if tuning.mode == "grid" else "settings by TPE"
    found = [
        f"Score: {WHAT[tuning.criterion]}.",
        f"Tried {len(tuning.cells)} of {tuning.wanted} {how}, {tuning.epochs} epochs each, "
        f"{pruned} of them pruned." + (" The budget ended the search." if tuning.cut else ""),
    ]
    chosen, rival = tuning.chosen, tuning.rival
    if not tuning.keeps_default:
        found.append(
            f"Choice: {_name(chosen)}; it gains {_gain(chosen)}, more than one standard error, on "
            f"the default {_name(tuning.default)}."
        )
    elif rival is None:
        found.append(f"Choice: the default {_name(chosen)}; nothing else was tried to the end.")
    else:
        found.append(
            f"Choice: the default {_name(chosen)}; no other setting gains more than one standard "
            f"error, the best of them, {_name(rival)}, {_gain(rival)}."
        )
    if not tuning.keeps_default and len(tuning.cells) > 2:
        found.append(
            f"The best of {len(tuning.cells)} scores is partly luck: the fresh draws have the word."
        )
    return found


def summary(tuning: Tuning) -> dict[str, Any]:
    """Everything, for `--json`."""
    return {
        "criterion": tuning.criterion,
        "mode": tuning.mode,
        "epochs": tuning.epochs,
        "trials_wanted": tuning.wanted,
        "trials_done": len(tuning.cells),
        "trials_pruned": sum(cell.pruned for cell in tuning.cells),
        "cut_by_budget": tuning.cut,
        "default": dataclasses.asdict(tuning.default),
        "chosen": dataclasses.asdict(tuning.chosen),
        "keeps_default": tuning.keeps_default,
        "xi": list(tuning.xi),
        "gamma0": list(tuning.gamma0),
        "rival": None if tuning.rival is None else dataclasses.asdict(tuning.rival),
        "trials": [dataclasses.asdict(cell) for cell in tuning.cells],
    }


def preset_text(tuning: Tuning, base: BRGCLConfig, comments: list[str]) -> str:
    """The choice as TOML for `--config`, with all settings that differ from the base ones.

    Args:
        tuning: What was found.
        base: The settings that `--config` starts from on the same graph.
        comments: Sentences to put on top.
    """
    chosen, before = tuning.config.to_dict(), base.to_dict()
    changed = [name for name in chosen if name in ("xi", "gamma0") or chosen[name] != before[name]]
    settings = [f"{name} = {_toml(chosen[name])}" for name in changed if name != "seed"]
    return "\n".join([*(f"# {text}" for text in comments), *settings]) + "\n"


def _row(cell: Cell, tuning: Tuning) -> list[str]:
    marks = [
        name
        for name, other in (("choice", tuning.chosen), ("default", tuning.default))
        if cell.point == other.point
    ]
    prototypes = "" if cell.num_prototypes is None else str(cell.num_prototypes)
    return [
        f"{cell.xi:g}" + (f" ({', '.join(marks)})" if marks else ""),
        f"{cell.gamma0:g}",
        f"{cell.score:.4f}",
        "" if cell.error is None else f"{cell.error:.4f}",
        f"{cell.gain:+.4f}",
        "" if cell.gain_error is None else f"{cell.gain_error:.4f}",
        f"{'≥ ' if cell.capped else ''}{prototypes}",
        f"{cell.seconds:.1f}",
    ]


def _name(cell: Cell) -> str:
    return f"xi={cell.xi:g}, gamma0={cell.gamma0:g}"


def _gain(cell: Cell) -> str:
    return f"{cell.gain:+.4f} ± {cell.gain_error or 0:.4f}"


def _toml(value: Any) -> str:
    """A value as TOML; JSON writes numbers, strings and booleans alike."""
    return json.dumps("none" if value is None else value)
