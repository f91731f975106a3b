"""What a run folder holds, read for the page; only nodes.parquet and run.json must be there."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from brgcl.atomic_files import refusing_damage
from brgcl.errors import InputError


@dataclass(frozen=True)
class Run:
    """The results of a command on one graph.

    Attributes:
        path: The folder.
        nodes: One row per node: `node_id`, labels, cluster, confidence, place on the map.
        about: How the run was made.
        edges: Every undirected edge once, rows of `nodes`, `(E, 2)`; None if unknown.
        suspects: One row per judged label, the most suspicious first; None if none was judged.
        findings: What was found out about the labels as a whole.
        history: One entry per epoch.
        metrics: What the command printed.
    """

    path: Path
    nodes: pd.DataFrame
    about: Mapping[str, Any]
    edges: np.ndarray | None = None
    suspects: pd.DataFrame | None = None
    findings: Mapping[str, Any] = field(default_factory=dict)
    history: Sequence[Mapping[str, Any]] = ()
    metrics: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The heading of the page."""
        return str(self.about.get("title") or f"Run {self.path.resolve().name}")

    @property
    def dataset(self) -> str | None:
        """The name of the graph, where the run says it."""
        inputs = self.about.get("inputs")
        name = inputs.get("dataset") if isinstance(inputs, Mapping) else None
        name = name or self.metrics.get("dataset")
        return None if name is None else str(name)


def read_run(path: Path) -> Run:
    """Read the files of a run folder.

    Raises:
        InputError: The folder is not that of a run, or a file of it is damaged.
    """
    for name in ("nodes.parquet", "run.json"):
        if not (path / name).is_file():
            raise InputError(
                f"'{path}' has no {name}, so it is not a run; give the folder that classify, "
                "cluster, embed, find-errors or demo wrote with --out"
            )
    nodes = _read_table(path / "nodes.parquet")
    assert nodes is not None
    if "node_id" not in nodes:
        raise InputError(f"'{path / 'nodes.parquet'}' has no column node_id; run the command again")
    edges = _read_table(path / "edges.parquet")
    ends = None if edges is None else edges[["source", "target"]].to_numpy(np.int32)
    if ends is not None and len(ends) and not 0 <= ends.min() <= ends.max() < len(nodes):
        raise InputError(
            f"'{path / 'edges.parquet'}' names rows that nodes.parquet does not have; "
            "run the command again"
        )
    return Run(
        path=path,
        nodes=nodes,
        about=_read_json(path / "run.json", {}),
        edges=ends,
        suspects=_read_table(path / "suspects.parquet"),
        findings=_read_json(path / "findings.json", {}),
        history=_read_json(path / "history.json", []),
        metrics=_read_json(path / "metrics.json", {}),
    )


def _read_table(path: Path) -> pd.DataFrame | None:
    if not path.is_file():
        return None
    with refusing_damage(path, "run the command again"):
        return pd.read_parquet(path)


def _read_json(path: Path, default: Any) -> Any:
    if not path.is_file():
        return default
    with refusing_damage(path, "run the command again"):
        value = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(value, type(default)):
            raise ValueError(f"a {type(default).__name__} is expected")
        return value
