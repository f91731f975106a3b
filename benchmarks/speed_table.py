"""What speed.py shows: a table, the epoch by stage and by kernel, slopes, and a picture."""

from pathlib import Path
from typing import Any

import numpy as np

from brgcl.benchmark.show.formats import to_text
from brgcl.benchmark.show.layout import Layout, Line
from brgcl.pictures import save_picture

COLUMNS = ("case", "mode", "nodes", "epoch", "bare", "ratio", "/GRACE", "/dense", "MB")
FIGURES = (
    ("seconds_per_epoch", 3),
    ("kernel_seconds", 3),
    ("ratio_to_kernels", 2),
    ("speedup_over_grace", 1),
    ("speedup_over_dense", 1),
    ("peak_mb", 0),
)
NOTE = (
    "Seconds of an epoch and of its bare kernels, their ratio, how many times faster than an epoch "
    "of GRACE and than our loss on dense similarities, peak memory of a process."
)


def table(title: str, cases: list[dict[str, Any]]) -> str:
    """All cases as a table for a terminal."""
    rows = [(name, [[Line(text)] for text in texts]) for name, *texts in table_rows(cases)]
    return to_text(Layout(title, COLUMNS, rows, [NOTE]))


def table_rows(cases: list[dict[str, Any]]) -> list[list[str]]:
    """One row per case, under `COLUMNS`."""
    return [
        [case["case"], case["mode"], f"{case['num_nodes']:,}"]
        + ["-" if case[name] is None else f"{case[name]:.{digits}f}" for name, digits in FIGURES]
        for case in cases
    ]


def detail_lines(case: dict[str, Any]) -> list[str]:
    """The epoch of a case by stage and by kernel, and what was not measured."""
    stages = ", ".join(f"{name} {1e3 * value:.1f} ms" for name, value in case["stages"].items())
    lines = [f"{case['case']}, {case['mode']}: {stages}"]
    lines += [f"  {name} was skipped: {reason}" for name, reason in case["reasons"].items()]
    lines += [
        f"  {k['count']} x {k['name']}  {k['shape']}  {1e3 * k['seconds']:.1f} ms"
        for k in case["kernels"]
    ]
    return lines


def slopes(cases: list[dict[str, Any]], empty_mb: float | None) -> dict[str, float | None]:
    """Log-log slopes of time and memory over the generated graphs with sampled negatives.

    Args:
        cases: Figures of `measure`.
        empty_mb: Memory of a process that does nothing, which is taken off.

    Returns:
        `time` and `memory`: 1 means twice as much for twice as many nodes; None where fewer than
        three sizes were measured.
    """
    mine = [case for case in cases if case["mode"] == "sampled" and case["generated"]]
    nodes = [case["num_nodes"] for case in mine]
    time = [case["seconds_per_epoch"] for case in mine]
    memory = [(case["peak_mb"] or 0) - (empty_mb or 0) for case in mine]
    return {"time": _slope(nodes, time), "memory": _slope(nodes, memory)}


def plot(cases: list[dict[str, Any]], empty_mb: float | None, file: Path) -> None:
    """Plot time and memory against the number of nodes, with the slopes."""
    from matplotlib.figure import Figure

    found = slopes(cases, empty_mb)
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    panels = figure.subplots(1, 2)
    for axes, name, label, part in (
        (panels[0], "seconds_per_epoch", "seconds per epoch", "time"),
        (panels[1], "peak_mb", "peak memory above an empty process, MB", "memory"),
    ):
        for mode, color, marker in (("sampled", "tab:blue", "o"), ("exact", "tab:red", "s")):
            less = (empty_mb or 0) if name == "peak_mb" else 0
            mine = [
                (case["num_nodes"], case[name] - less, case["generated"], case["case"])
                for case in cases
                if case["mode"] == mode and case[name] is not None
            ]
            line = sorted(point[:2] for point in mine if point[2])
            if len(line) > 1:
                axes.plot(*zip(*line, strict=True), color=color, label=mode)
            for nodes, value, generated, case_name in mine:
                axes.plot(nodes, value, marker if generated else "^", color=color)
                if not generated:
                    axes.annotate(case_name, (nodes, value), fontsize=7,
                                  xytext=(4, 4), textcoords="offset points")  # fmt: skip
        slope = found[part]
        axes.set_title("" if slope is None else f"sampled: slope {slope:.2f}", fontsize=10)
        axes.set(xscale="log", yscale="log", xlabel="nodes", ylabel=label)
        axes.grid(alpha=0.3, which="both")
        if axes.get_legend_handles_labels()[1]:
            axes.legend()
    save_picture(figure, file)


def _slope(nodes: list[int], values: list[float]) -> float | None:
    """Least-squares slope of log values over log nodes."""
    pairs = [(n, v) for n, v in zip(nodes, values, strict=True) if v > 0]
    if len(pairs) < 3:
        return None
    x, y = np.log(np.array(pairs).T)
    return float(np.polyfit(x, y, 1)[0])
