"""Slopes of time and memory from 20,000 nodes to a million, as a picture."""

from pathlib import Path

from brgcl.pictures import PAGE, look, new_figure, save_picture

LABELS = {
    "partitioned": "BRGCL by parts",
    "sampled": "BRGCL, whole graph",
    "cca-ssg-256": "CCA-SSG, whole graph",
}
PANELS = (
    ("epoch_seconds", "CPU seconds of an epoch"),
    ("after_epochs_seconds", "CPU seconds after training"),
    ("peak_mb", "peak memory, MB"),
)


def points(records: dict[str, dict], mode: str, key: str) -> list[tuple[int, float]]:
    """Nodes and what was measured, by size; of one size the last record counts."""
    found = {}
    for name, record in records.items():
        size, how, *_ = name.split(" ")
        if how == mode and key in record:
            found[int(float(size[:-1]) * {"k": 1_000, "m": 1_000_000}[size[-1]])] = record[key]
    return sorted(found.items())


def slope(found: list[tuple[int, float]]) -> float:
    """Exponent of growth between the smallest and the largest size."""
    from math import log

    (first, low), (last, high) = found[0], found[-1]
    return log(high / low) / log(last / first)


def draw_slopes(records: dict[str, dict], picture: Path) -> None:
    """Draw each measure over the number of nodes, both on log scales."""
    with look():
        figure, axes = new_figure(
            "Generated graphs with 20 neighbours and 128 attributes per node", PAGE, 3.0,
            [(0, column) for column in range(len(PANELS))],
        )  # fmt: skip
        for own, (key, title) in zip(axes, PANELS, strict=True):
            for number, (mode, label) in enumerate(LABELS.items()):
                found = points(records, mode, key)
                style = {"marker": "osD"[number], "ms": 4, "lw": 1, "color": f"C{number}"}
                own.plot([n for n, _ in found], [value for _, value in found], label=label, **style)
            found = points(records, "partitioned", key)
            if len(found) > 1:
                title += f"\n(by parts: nodes to the power {slope(found):.2f})"
            own.set(xscale="log", yscale="log", xlabel="nodes", title=title)
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    save_picture(figure, picture)
