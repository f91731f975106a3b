"""What `brgcl tune` shows: a table, sentences, a preset in a TOML file."""

import json
from typing import Any

from brgcl.config import BRGCLConfig
from brgcl.tune.search import Tuning
from brgcl.tune.tried_setting import TriedSetting

COLUMNS = ("xi", "gamma0", "score", "± s.e.", "gain", "± s.e.", "K", "seconds")
SHOWN = 10  # rows of the table
WHAT = {
    "labels": "agreement of held-out predictions with the given training labels (5 folds, class "
    "centroids)",
    "stability": "adjusted Rand index of the partitions of two resampled views (no label is read)",
}


def table_rows(tuning: Tuning) -> list[list[str]]:
    """The best settings that were trained to the end, and the default, under `COLUMNS`."""
    whole = [setting for setting in tuning.tried if not setting.pruned]
    shown = sorted(whole, key=lambda setting: -setting.score)[:SHOWN]
    for setting in (tuning.chosen, tuning.default):
        if setting.point not in {other.point for other in shown}:
            shown.append(setting)
    return [_row(setting, tuning) for setting in shown]


def lines(tuning: Tuning) -> list[str]:
    """What was done, what is chosen and why, in sentences."""
    how = "settings of the grid" if tuning.mode == "grid" else "settings by TPE"
    found = [
        f"Score: {WHAT[tuning.criterion]}.",
        f"Tried {len(tuning.tried)} of {tuning.wanted} {how}, {tuning.epochs} epochs each, "
        f"{tuning.num_pruned} of them pruned."
        + (" The budget ended the search." if tuning.cut else ""),
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
    if not tuning.keeps_default and len(tuning.tried) > 2:
        found.append(
            f"The best of {len(tuning.tried)} scores is partly luck: trust the fresh draws."
        )
    return found


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


def _row(setting: TriedSetting, tuning: Tuning) -> list[str]:
    marks = [
        name
        for name, other in (("choice", tuning.chosen), ("default", tuning.default))
        if setting.point == other.point
    ]
    prototypes = "" if setting.num_prototypes is None else str(setting.num_prototypes)
    return [
        f"{setting.xi:g}" + (f" ({', '.join(marks)})" if marks else ""),
        f"{setting.gamma0:g}",
        f"{setting.score:.4f}",
        "" if setting.error is None else f"{setting.error:.4f}",
        f"{setting.gain:+.4f}",
        "" if setting.gain_error is None else f"{setting.gain_error:.4f}",
        f"{'≥ ' if setting.capped else ''}{prototypes}",
        f"{setting.seconds:.1f}",
    ]


def _name(setting: TriedSetting) -> str:
    return f"xi={setting.xi:g}, gamma0={setting.gamma0:g}"


def _gain(setting: TriedSetting) -> str:
    return f"{setting.gain:+.4f} ± {setting.gain_error or 0:.4f}"


def _toml(value: Any) -> str:
    """A value as TOML; JSON writes numbers, strings and booleans alike."""
    return json.dumps("none" if value is None else value)
