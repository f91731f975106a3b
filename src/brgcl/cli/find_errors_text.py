"""What `brgcl find-errors` prints: a table of suspects and sentences."""

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from brgcl.cli.console import stdout

if TYPE_CHECKING:
    import pandas as pd

UNFLAGGED = 5  # rows that are shown if no label is flagged
WIDE = 140  # columns of a terminal in which labels and reasons stand side by side
SCORES = ("auroc", "average_precision", "precision", "recall", "f1", "mcc")


def print_suspects(suspects: "pd.DataFrame", top: int) -> int:
    """Print the flagged labels, the most suspicious first, at most `top` of them.

    If no label is flagged, the few most suspicious ones are printed.

    Returns:
        The number of labels that were printed.
    """
    from rich.table import Table

    from brgcl.report.sentences import percent

    flagged = suspects[suspects["is_error"]]
    shown = (flagged if len(flagged) else suspects.dropna(subset="score")[:UNFLAGGED])[:top]
    if not len(shown):
        return 0
    which = "most suspicious" if len(shown) == 1 else f"{len(shown)} most suspicious"
    title = f"The {which} of {len(suspects):,} labels; right = probability that a label is right"
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
    return len(shown)


def sentences(found: Mapping[str, Any], num_printed: int = 0) -> list[str]:
    """Say how many labels are wrong, how sure that is, and which classes are confused.

    Args:
        found: What `--json` prints.
        num_printed: Number of labels in the table above the sentences.
    """
    from brgcl.report.sentences import percent

    labels, suspects = found["num_labelled"], found["num_suspects"]
    rate, interval = found["estimated_error_rate"], found.get("error_interval")
    told = []
    if rate is not None:
        between = f" (95 % interval {_range(*interval)})" if interval else ""
        told.append(f"About {percent(rate)} of the {labels:,} labels are wrong{between}.")
    flagged = f"{suspects:,} of {labels:,} labels are flagged as wrong"
    fdr = found["fdr_estimated"]
    if suspects == 0:
        flagged = "No label is flagged as wrong"
        flagged += "; the labels above are the most suspicious" if num_printed else ""
    elif suspects == 1:
        flagged = f"1 of {labels:,} labels is flagged as wrong"
        flagged += "" if fdr is None else f"; the probability that it is right is {percent(fdr)}"
    elif fdr is not None:
        flagged += f"; about {percent(fdr)} of them are expected to be right"
    told.append(f"{flagged}.")
    pairs = [f"{c['given']} -> {c['suggested']} ({c['count']})" for c in found["classes"][:3]]
    if pairs:
        told.append(f"Most frequent confusions (given -> suggested): {', '.join(pairs)}.")
    if found.get("not_judged"):
        names = ", ".join(map(str, found["not_judged"]))
        told.append(f"Classes with too few labels to judge: {names}.")
    if "noise_realised" in found:
        scores = [f"{name.replace('_', ' ')} {_number(found.get(name))}" for name in SCORES]
        made = percent(found["noise_realised"])
        told.append(f"{made} of the labels were made wrong. Scores: {', '.join(scores)}.")
    return told


def next_steps(run: Path | None, applied: Path | None) -> list[str]:
    """Say what to do with the suspects."""
    steps = []
    if applied is not None:
        steps.append(f"Corrected and given labels: {applied}.")
    if run is None:
        steps.append("No run was written. With --out RUN you can review the suspects.")
        return steps
    typed = quote(str(run))
    steps += [
        f"All labels with reasons: {run / 'suspects.csv'}. Next:",
        f"  brgcl review {typed}      decide on each suspect",
        f"  brgcl report {typed}      see the suspects on a map of the graph",
    ]
    if applied is None:
        steps.append("  --apply corrected.csv  add this to the command to apply every suggestion")
    return steps


def _range(low: float, high: float) -> str:
    return f"{100 * low:.1f} to {100 * high:.1f} %"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"
