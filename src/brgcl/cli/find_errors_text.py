"""What `brgcl find-errors` prints: a table of suspects and sentences."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brgcl.cli.console import stdout

if TYPE_CHECKING:
    import pandas as pd

UNFLAGGED = 5  # rows that are shown where no label is called wrong
WIDE = 140  # columns of a terminal in which labels and reasons stand side by side
SCORES = ("auroc", "average_precision", "precision", "recall", "f1", "mcc")


def print_suspects(suspects: "pd.DataFrame", top: int) -> None:
    """Print the labels that are called wrong, the most suspicious first, at most `top` of them.

    Where there are none, the first few that come closest are printed.
    """
    from rich.table import Table

    from brgcl.report.sentences import percent

    flagged = suspects[suspects["is_error"]]
    shown = (flagged if len(flagged) else suspects.dropna(subset="score")[:UNFLAGGED])[:top]
    if not len(shown):
        return
    title = f"The {len(shown)} most suspicious of {len(suspects):,} labels; right: how likely it is"
    console = stdout()
    wide = console.width >= WIDE
    table = Table(title=title, title_justify="left", show_lines=not wide)
    table.add_column("node", overflow="fold", max_width=None if console.width > 1_000 else 24)
    table.add_column("right", justify="right", no_wrap=True)
    for name in ("given", "suggested", "why") if wide else ("given -> suggested, and why",):
        table.add_column(name, overflow="fold")
    for row in shown.to_dict("records"):
        cells = [str(row["given"]), str(row["suggested"]), row["evidence"]]
        if not wide:
            cells = [f"{cells[0]} -> {cells[1]}\n{cells[2]}"]
        table.add_row(str(row["node"]), percent(row["score"]), *cells)
    console.print(table, soft_wrap=False)


def sentences(found: Mapping[str, Any]) -> list[str]:
    """Say how many labels are wrong, how sure that is, and which classes are confused.

    Args:
        found: What `--json` prints.
    """
    from brgcl.report.sentences import percent

    labels, suspects = found["num_labelled"], found["num_suspects"]
    rate, interval = found["estimated_error_rate"], found.get("error_interval")
    told = []
    if rate is not None:
        between = f" (95 % interval {_range(*interval)})" if interval else ""
        told.append(f"About {percent(rate)} of the {labels:,} labels are wrong{between}.")
    called = f"{suspects:,} of {labels:,} labels are called wrong"
    if suspects == 0:
        called = "No label is called wrong; those above come closest"
    elif found["fdr_estimated"] is not None:
        called += f"; about {percent(found['fdr_estimated'])} of these should turn out to be right"
    told.append(f"{called}.")
    pairs = [f"{c['given']} -> {c['suggested']} ({c['count']})" for c in found["classes"][:3]]
    if pairs:
        told.append(f"Confused most (given -> suggested): {', '.join(pairs)}.")
    if found.get("not_judged"):
        names = ", ".join(map(str, found["not_judged"]))
        told.append(f"Too few labels to judge: {names}.")
    if "noise_realised" in found:
        scores = [f"{name.replace('_', ' ')} {_number(found.get(name))}" for name in SCORES]
        made = percent(found["noise_realised"])
        told.append(f"Of the labels {made} were made wrong: {', '.join(scores)}.")
    return told


def next_steps(run: Path | None, applied: Path | None) -> list[str]:
    """Say what to do with the suspects."""
    steps = []
    if applied is not None:
        steps.append(f"Corrected labels, the given ones beside them: {applied}.")
    if run is None:
        steps.append("Nothing else was written; --out RUN keeps all suspects, to review them.")
        return steps
    steps += [
        f"All labels with reasons: {run / 'suspects.csv'}. What to do next:",
        f"  brgcl review {run}      go through the suspects and decide on each",
        f"  brgcl report {run}      see them on a map of the graph",
    ]
    if applied is None:
        steps.append("  --apply corrected.csv  with this command: take every suggestion")
    return steps


def _range(low: float, high: float) -> str:
    return f"{100 * low:.1f} to {100 * high:.1f} %"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"
