"""What `brgcl tune` shows: a table, sentences, a preset in a TOML file."""

import json

from brgcl.config import BRGCLConfig
from brgcl.tune.search import Tuning
from brgcl.tune.tried_setting import TriedSetting

COLUMNS = ("xi", "gamma0", "score", "± s.e.", "gain", "± s.e.", "K", "seconds")
SHOWN = 10  # rows of the table
WHAT = {
    "labels": "agreement of held-out predictions with the given training labels (5 folds, class "
    "centroids)",
    "stability": "adjusted Rand index of the partitions of two resampled views (no labels)",
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
    chosen, rival, number = tuning.chosen, tuning.rival, len(tuning.tried)
    how = "settings of the grid" if tuning.mode == "grid" else "settings by TPE"
    tried = (
        f"Tried {number} of {tuning.wanted} {how}, {tuning.epochs} epochs each, "
        f"{tuning.num_pruned} of them pruned."
    )
    if not tuning.keeps_default:
        choice = (
            f"{_name(chosen)}; it gains {_gain(chosen)}, more than one standard error, over the "
            f"default {_name(tuning.default)}."
        )
    elif rival is None:
        choice = f"the default {_name(chosen)}; no other setting was trained to the end."
    else:
        choice = (
            f"the default {_name(chosen)}; no other setting gains more than one standard error "
            f"(the best, {_name(rival)}, gains {_gain(rival)})."
        )
    sentences = [
        f"Score: {WHAT[tuning.criterion]}.",
        tried + (" The budget ended the search." if tuning.cut else ""),
        f"Choice: {choice}",
    ]
    if not tuning.keeps_default and number > 2:
        sentences.append(f"The best of {number} scores is partly luck; trust the fresh draws.")
    return sentences


def preset_text(tuning: Tuning, base: BRGCLConfig, comments: list[str]) -> str:
    """The choice as TOML for `--config`, with all settings that differ from the base ones.

    Args:
        tuning: The search.
        base: The settings that `--config` starts from on the same graph.
        comments: Sentences to put on top.
    """
    chosen, before = tuning.config.to_dict(), base.to_dict()
    changed = [name for name in chosen if name in ("xi", "gamma0") or chosen[name] != before[name]]
    values = {name: "none" if chosen[name] is None else chosen[name] for name in changed}
    # JSON writes numbers, strings and booleans as TOML does
    settings = [f"{name} = {json.dumps(v)}" for name, v in values.items() if name != "seed"]
    return "\n".join([*(f"# {text}" for text in comments), *settings]) + "\n"


def _row(setting: TriedSetting, tuning: Tuning) -> list[str]:
    special = {"choice": tuning.chosen.point, "default": tuning.default.point}
    marks = ", ".join(name for name, point in special.items() if point == setting.point)
    prototypes = "" if setting.num_prototypes is None else str(setting.num_prototypes)
    errors = ["" if e is None else f"{e:.4f}" for e in (setting.error, setting.gain_error)]
    return [
        f"{setting.xi:g}" + (f" ({marks})" if marks else ""), f"{setting.gamma0:g}",
        f"{setting.score:.4f}", errors[0], f"{setting.gain:+.4f}", errors[1],
        f"{'≥ ' if setting.capped else ''}{prototypes}", f"{setting.seconds:.1f}",
    ]  # fmt: skip


def _name(setting: TriedSetting) -> str:
    return f"xi={setting.xi:g}, gamma0={setting.gamma0:g}"


def _gain(setting: TriedSetting) -> str:
    return f"{setting.gain:+.4f} ± {setting.gain_error or 0:.4f}"
