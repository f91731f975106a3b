"""What brgcl says about a graph: tables and pictures in one HTML file that needs nothing else."""

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch.nn.functional as F
from torch import Tensor

from brgcl.atomic_files import write_text
from brgcl.errors import InputError
from brgcl.method.train import Epoch


@dataclass(frozen=True)
class Table:
    """A table of a report."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True)
class Picture:
    """A picture of a report, as PNG bytes."""

    title: str
    png: bytes
    note: str = ""


@dataclass(frozen=True)
class Report:
    """All that a report shows.

    Attributes:
        title: Its heading.
        summary: Sentences that say what came out.
        tables: Tables, in order.
        pictures: Pictures, in order.
        settings: Settings of the method.
    """

    title: str
    summary: Sequence[str]
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ report.title }}</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; color: #1c2430; background: #fff;
         max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
  h1 { font-size: 1.6rem; margin-bottom: .3rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
  .wide { overflow-x: auto; }
  table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
  th, td { padding: .3rem .8rem; text-align: right; border-bottom: 1px solid #dde3ea; }
  th:first-child, td:first-child { text-align: left; } th { border-bottom: 2px solid #8796a8; }
  tbody tr:last-child td { border-bottom: 2px solid #8796a8; }
  figure { margin: 1rem 0; } img { max-width: 100%; height: auto; }
  .note { color: #5a6675; font-size: .9rem; } code { font-size: .85rem; }
</style>
</head>
<body>
<h1>{{ report.title }}</h1>
{% for sentence in report.summary %}<p>{{ sentence }}</p>
{% endfor %}
{% for table in report.tables %}<h2>{{ table.title }}</h2>
<div class="wide"><table>
<thead><tr>{% for name in table.columns %}<th scope="col">{{ name }}</th>{% endfor %}</tr></thead>
<tbody>
{% for row in table.rows %}<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}</tbody>
</table></div>
{% if table.note %}<p class="note">{{ table.note }}</p>{% endif %}
{% endfor %}
{% for picture in report.pictures %}<h2>{{ picture.title }}</h2>
<figure><img alt="{{ picture.title }}" src="data:image/png;base64,{{ encode(picture.png) }}">
{% if picture.note %}<figcaption class="note">{{ picture.note }}</figcaption>{% endif %}</figure>
{% endfor %}
{% if report.settings %}<h2>Settings</h2>
<p><code>{% for name, value in report.settings.items() %}{{ name }}={{ value }}
{% endfor %}</code></p>{% endif %}
<p class="note">Made by brgcl {{ version }}.</p>
</body>
</html>
"""


def write_report(report: Report, path: Path, *, version: str) -> None:
    """Write a report as one HTML file; every text in it is escaped."""
    jinja2 = _extra("jinja2")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True)
    page = environment.from_string(TEMPLATE).render(
        report=report, version=version, encode=lambda png: base64.b64encode(png).decode()
    )
    write_text(path, page)


def has_report_extra() -> bool:
    """Whether the packages that reports need are installed."""
    try:
        for name in ("jinja2", "matplotlib", "openTSNE"):
            _extra(name)
    except InputError:
        return False
    return True


def draw_map(
    z: Tensor, confidence: Tensor, groups: Tensor, title: str, *, seed: int = 0
) -> Picture:
    """Draw the nodes on a plane (t-SNE), coloured by group and by confidence.

    Args:
        z: Representations, `(N, D)`; above 20,000 nodes a random sample is drawn.
        confidence: Confidence of each node in [0, 1], `(N,)`.
        groups: Class or cluster of each node, -1 = none, `(N,)`.
        title: What the groups are.
        seed: Seed of the layout.
    """
    shown, points = place_nodes(z, seed=seed)
    figure, (left, right) = _axes(1, 2, width=11, height=5)
    size = float(np.clip(20_000 / len(shown), 1, 12))
    left.scatter(*points.T, c=groups[shown].numpy(), s=size, cmap="tab20", linewidths=0)
    left.set_title(title)
    dots = right.scatter(
        *points.T,
        c=confidence[shown].numpy(),
        s=size,
        cmap="coolwarm",
        vmin=0,
        vmax=1,
        linewidths=0,
    )
    right.set_title("confidence of a node in its cluster")
    figure.colorbar(dots, ax=right, fraction=0.04)
    for axes in (left, right):
        axes.set_xticks([])
        axes.set_yticks([])
    return Picture(
        "Map of the nodes", _png(figure), "t-SNE of the representations; one dot a node."
    )


def draw_history(history: Sequence[Epoch]) -> Picture:
    """Draw the losses, the number of prototypes and the share of confident nodes over training."""
    figure, (left, middle, right) = _axes(1, 3, width=11, height=3)
    epochs = [epoch.epoch for epoch in history]
    left.plot(epochs, [epoch.node_loss for epoch in history], label="node contrast")
    late = [epoch for epoch in history if epoch.proto_loss is not None]
    if late:
        since = [epoch.epoch for epoch in late]
        left.plot(since, [epoch.proto_loss for epoch in late], label="prototype contrast")
        middle.plot(since, [epoch.num_prototypes for epoch in late])
        right.plot(since, [epoch.confident_share for epoch in late])
    left.legend(frameon=False)
    for axes, title in ((left, "loss"), (middle, "prototypes"), (right, "confident share")):
        axes.set_title(title)
        axes.set_xlabel("epoch")
    right.set_ylim(0, 1)
    return Picture("Training", _png(figure))


def place_nodes(z: Tensor, *, seed: int = 0) -> tuple[Any, Any]:
    """Place nodes on a plane so that neighbours in direction are neighbours there (t-SNE).

    Args:
        z: Representations, `(N, D)`; above 20,000 nodes a random sample is placed.
        seed: Seed of the sample and of the layout.

    Returns:
        Indices of the nodes that are placed, `(M,)`, and where, `(M, 2)`.
    """
    rng = np.random.default_rng(seed)
    shown = np.sort(rng.permutation(len(z))[:20_000])
    rows = F.normalize(z[shown], dim=1).numpy()  # a row of zeros stays, which cosine would not bear
    return shown, _layout(rows, seed)


def _layout(rows: Any, seed: int) -> Any:
    """Place rows `(N, D)` on a plane, `(N, 2)`."""
    N = len(rows)
    if N < 5:  # too few to have neighbours
        return np.stack([np.arange(N), np.zeros(N)], axis=1)
    flat = min(rows.shape) < 2 or bool((rows == rows[0]).all())  # no two principal components
    tsne = _extra("openTSNE").TSNE(
        perplexity=min(30, (N - 1) / 3),
        initialization="random" if flat else "pca",
        random_state=seed,
        n_jobs=1 if N < 5_000 else 2,  # few points: threads would wait for each other
    )
    return np.asarray(tsne.fit(rows))


def _axes(rows: int, columns: int, *, width: float, height: float) -> Any:
    _extra("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns)


def _png(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()


def _extra(name: str) -> Any:
    """Import a package of the `report` extra, or say how to get it."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(f"reports need {name}; pip install 'brgcl[report]'") from error
