"""What the page's scripts work on: columns of nodes, suspects and edges, packed small.

Columns of numbers are little-endian bytes in base64; places on the map and shares in [0, 1] take
two bytes each. A large graph keeps the nodes that are on the map and those in the table.
"""

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from brgcl.report.facts import cluster_facts, graph_facts
from brgcl.report.run import Run

MOST_NODES = 100_000  # a larger graph keeps a sample of them
MOST_ROWS = 10_000  # of the table of suspects
MOST_EDGES = 1_000_000  # above, no edges are kept, and neighbours are not drawn
MISSING = 65_535  # stands for "no value" in columns of two bytes
LABELS = {
    "label_given": ("given", "Given label", "unlabelled"),
    "predicted": ("predicted", "Prediction", "none"),
    "label_true": ("true", "True label", "unknown"),
}


def page_data(run: Run) -> dict[str, Any]:
    """Collect what the scripts of the page need, ready for JSON."""
    names = class_names(run)
    kept = _kept_nodes(run)
    place = np.full(len(run.nodes), -1, dtype=np.int64)  # row of the run -> row of the page
    place[kept] = np.arange(len(kept))
    data: dict[str, Any] = {
        "num_nodes": len(run.nodes),
        "class_names": names,
        "nodes": _node_columns(run, kept, names),
        "table": _suspect_columns(run, place, names),
        "edges": _packed_edges(run, place, len(kept)),
        "transition": run.findings.get("transition"),
        "transition_names": list(map(str, run.findings.get("class_names") or [])),
        "confusions": [
            [str(pair["given"]), str(pair["suggested"]), pair["count"]]
            for pair in run.findings.get("classes") or []
        ],
        "error_rate_by_class": {
            str(name): rate
            for name, rate in (run.findings.get("error_rate_by_class") or {}).items()
        },
        "history": history_columns(run.history),
        "clusters": cluster_facts(run),
        "graph": graph_facts(run),
    }
    return data


def to_script(data: Mapping[str, Any]) -> str:
    r"""Write JSON that nothing in it can end: `<`, `>`, `&` and odd line ends are escaped.

    Example:
        >>> to_script({"a": "</script>"})
        '{"a":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(_without_nan(data), ensure_ascii=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text.encode("utf-8", "backslashreplace").decode("utf-8")  # lone surrogates


def pack(values: Any, dtype: str) -> dict[str, str]:
    """Pack a column of numbers into base64.

    Example:
        >>> pack([1, 2], "u1")
        {'dtype': 'u1', 'base64': 'AQI='}
    """
    column = np.asarray(values).astype(f"<{dtype}")
    return {"dtype": dtype, "base64": base64.b64encode(column.tobytes()).decode("ascii")}


def pack_shares(values: Any) -> dict[str, str]:
    """Pack numbers in [0, 1] into two bytes each; NaN becomes `MISSING`."""
    shares = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(np.float64)
    steps = np.rint(np.clip(shares, 0, 1) * (MISSING - 1))
    return pack(np.where(np.isnan(shares), MISSING, steps), "u2")


def class_names(run: Run) -> list[str]:
    """All class names of a run: those that were judged, then others, in order."""
    first = [str(name) for name in run.findings.get("class_names") or []]
    seen: set[str] = set()
    for column in LABELS:
        if column in run.nodes:
            seen |= set(map(str, run.nodes[column].dropna().unique()))
    if run.suspects is not None:
        for column in ("given", "suggested"):
            seen |= set(map(str, run.suspects[column].dropna().unique()))
    return first + sorted(seen - set(first), key=_by_number)


def history_columns(history: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Turn epochs into columns; at most 500 of them are kept, evenly spread."""
    rows = history[:: max(1, -(-len(history) // 500))]
    wanted = (
        "epoch", "node_loss", "proto_loss", "effective_rank", "num_prototypes", "confident_share",
    )  # fmt: skip
    return {name: [row.get(name) for row in rows] for name in wanted} if rows else {}


def _kept_nodes(run: Run) -> np.ndarray:
    """Rows of the nodes that the page keeps, `(M,)`."""
    N = len(run.nodes)
    if N <= MOST_NODES:
        return np.arange(N)
    keep = np.zeros(N, dtype=bool)
    if "map_x" in run.nodes:
        keep[np.flatnonzero(run.nodes["map_x"].notna())[:MOST_NODES]] = True
    if run.suspects is not None:
        keep[_rows_of(run, run.suspects["node"][:MOST_ROWS])] = True
    return np.flatnonzero(keep) if keep.any() else np.arange(MOST_NODES)


def _rows_of(run: Run, ids: Iterable[Any]) -> np.ndarray:
    rows = {str(node): row for row, node in enumerate(run.nodes["node_id"])}
    return np.array([rows[str(node)] for node in ids if str(node) in rows], dtype=np.int64)


def _node_columns(run: Run, kept: np.ndarray, names: Sequence[str]) -> dict[str, Any]:
    nodes = run.nodes.iloc[kept]
    ids = [str(node) for node in nodes["node_id"]]
    plain = ids == [str(number) for number in range(len(ids))]
    columns: dict[str, Any] = {"count": len(ids), "ids": None if plain else ids, "labels": []}
    for column, (name, title, none) in LABELS.items():
        if column in nodes and nodes[column].notna().any():
            codes = pack(_codes(nodes[column], names), "i2")
            columns["labels"].append({"name": name, "title": title, "none": none, "codes": codes})
    if "cluster" in nodes:
        columns["cluster"] = pack(nodes["cluster"].fillna(-1), "i4")
    if "confidence" in nodes:
        columns["confidence"] = pack_shares(nodes["confidence"])
    if "score" in nodes:
        columns["score"] = pack_shares(nodes["score"])
    if "map_x" in nodes and nodes["map_x"].notna().any():
        columns |= _places(nodes[["map_x", "map_y"]].to_numpy(np.float64))
    return columns


def _places(points: np.ndarray) -> dict[str, Any]:
    """Places on the map in two bytes each, one scale for both axes."""
    low = np.nanmin(points, axis=0)
    step = max(float((np.nanmax(points, axis=0) - low).max()), 1e-9) / (MISSING - 1)
    with np.errstate(invalid="ignore"):
        steps = np.where(np.isnan(points), MISSING, np.rint((points - low) / step))
    return {"x": pack(steps[:, 0], "u2"), "y": pack(steps[:, 1], "u2")}


def _suspect_columns(run: Run, place: np.ndarray, names: Sequence[str]) -> dict[str, Any] | None:
    if run.suspects is None:
        return None
    rows = {str(node): row for row, node in enumerate(run.nodes["node_id"])}
    frame = run.suspects
    frame = frame[[str(node) in rows for node in frame["node"]]][:MOST_ROWS]
    numbers = ("probability", "neighbours_given", "neighbours_suggested", "prototype_confidence")
    columns: dict[str, Any] = {
        "total": len(run.suspects),
        "node": pack([place[rows[str(node)]] for node in frame["node"]], "i4"),
        "given": pack(_codes(frame["given"], names), "i2"),
        "suggested": pack(_codes(frame["suggested"], names), "i2"),
        "is_error": pack(frame["is_error"].astype(bool), "u1"),
        "score": pack_shares(frame["score"]),
    }
    columns |= {
        name: pack_shares(frame[name])
        for name in numbers
        if name in frame and frame[name].notna().any()
    }
    for name in ("nearest", "evidence"):
        if name in frame:
            columns[name] = ["" if pd.isna(text) else str(text) for text in frame[name]]
    return columns


def _packed_edges(run: Run, place: np.ndarray, count: int) -> dict[str, Any] | None:
    """Edges between nodes of the page, by source: how many each has, and their other ends."""
    if run.edges is None:
        return None
    ends = place[run.edges]
    ends = ends[(ends >= 0).all(axis=1)]
    if len(ends) > MOST_EDGES:
        return None
    ends = ends[np.lexsort((ends[:, 1], ends[:, 0]))]
    return {
        "counts": pack(np.bincount(ends[:, 0], minlength=count), "u4"),
        "targets": pack(ends[:, 1], "u4"),
    }


def _codes(column: "pd.Series[Any]", names: Sequence[str]) -> np.ndarray:
    places = {name: code for code, name in enumerate(names)}
    return np.array([-1 if pd.isna(v) else places[str(v)] for v in column], dtype=np.int64)


def _by_number(name: str) -> tuple[bool, int, str]:
    whole = name.isascii() and name.isdecimal()
    return not whole, int(name) if whole else 0, name


def _without_nan(value: Any) -> Any:
    """Replace NaN and infinities, which JSON does not have, by None."""
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _without_nan(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(entry) for entry in value]
    return value
