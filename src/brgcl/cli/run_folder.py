"""A run folder: what a command leaves behind for one graph.

embeddings.parquet  one row per node: node_id, z0, z1, ...
nodes.parquet       one row per node: node_id and all that was found out about it
model/              the fitted model, where the method has one
metrics.json        what the command printed
report.html         tables and pictures (with the `report` extra)
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch_geometric.data import Data

from brgcl.atomic_files import write_json, write_parquet
from brgcl.contract import Fitted
from brgcl.model import BRGCL
from brgcl.report.report import (
    Report,
    Table,
    draw_history,
    draw_map,
    has_report_extra,
    write_report,
)


def write_run(
    folder: Path,
    data: Data,
    fitted: Fitted,
    metrics: Mapping[str, Any],
    columns: Mapping[str, Any],
    *,
    title: str,
    groups: tuple[str, Tensor] | None,
    version: str,
) -> list[str]:
    """Write a run folder.

    Args:
        folder: Where; it is made if need be.
        data: The graph, with `node_ids`.
        fitted: What the method learned.
        metrics: What the command prints.
        columns: Further columns of nodes.parquet, one value per node.
        title: Heading of the report.
        groups: What colours the map, and its value for each node, -1 = none, `(N,)`; None
            colours by pseudo label.
        version: Version of brgcl, for the report.

    Returns:
        Names of what was written.
    """
    z = fitted.representations.numpy()
    ids = pd.Series(np.asarray(data.node_ids), name="node_id")
    frame = pd.DataFrame(z, columns=[f"z{i}" for i in range(z.shape[1])])
    write_parquet(folder / "embeddings.parquet", pd.concat([ids, frame], axis=1))
    model = fitted.model if isinstance(fitted.model, BRGCL) else None
    nodes: dict[str, Any] = {"node_id": ids}
    if model is not None:
        nodes["pseudo_label"] = model.pseudo_labels_.numpy()
        nodes["confidence"] = model.confidence_.numpy()
        nodes["confident"] = model.confident_.numpy()
    write_parquet(folder / "nodes.parquet", pd.DataFrame({**nodes, **columns}))
    written = ["embeddings.parquet", "nodes.parquet"]
    shutil.rmtree(folder / "model", ignore_errors=True)  # of an earlier run with --overwrite
    if model is not None:
        model.save(folder / "model")
        written.append("model/")
    write_json(folder / "metrics.json", metrics)
    written.append("metrics.json")
    if has_report_extra():
        page = _report(title, metrics, fitted.representations, model, groups)
        write_report(page, folder / "report.html", version=version)
        written.append("report.html")
    return written


def name_classes(labels: Tensor, data: Data) -> list[str | None]:
    """Give the user's class names to labels; -1 becomes None."""
    names = data.get("class_names") or []
    return [
        None if label < 0 else (names[label] if label < len(names) else str(label))
        for label in labels.tolist()
    ]


def _report(
    title: str,
    metrics: Mapping[str, Any],
    z: Tensor,
    model: BRGCL | None,
    groups: tuple[str, Tensor] | None,
) -> Report:
    rows = [[name, _cell(value)] for name, value in metrics.items()]
    pictures = []
    if model is not None:
        what, shown = groups or ("cluster", model.pseudo_labels_)
        pictures = [draw_map(z, model.confidence_, shown, what), draw_history(model.history_)]
    elif groups is not None:
        pictures = [draw_map(z, torch.ones(len(z)), groups[1], groups[0])]
    return Report(
        title=title,
        summary=[],
        tables=[Table("Results", ["figure", "value"], rows)],
        pictures=pictures,
        settings={} if model is None else model.config.to_dict(),
    )


def _cell(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
