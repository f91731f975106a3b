"""What a review shows: the nodes, edges, suspects and findings of a run folder."""

import hashlib
import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brgcl.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

SUSPECTS, NODES, EDGES, FINDINGS = (
    "suspects.parquet", "nodes.parquet", "edges.parquet", "findings.json",
)  # fmt: skip
NEEDED = {"node", "given", "suggested", "probability", "score", "is_error", "evidence"}
MOST_NEIGHBOURS = 40  # shown at once


@dataclass(frozen=True)
class Content:
    """What is reviewed; ids and labels are text.

    Attributes:
        path: The run folder.
        fingerprint: Checksum of the suspects; it tells one run from the next.
        ids: Ids of all nodes, in the order of the graph.
        classes: Names of the classes.
        nodes: One row per node, as in nodes.parquet.
        suspects: One row per labelled node, most suspicious first, with `row`, its place in `ids`.
        edges: Ends of the edges as rows of `nodes`, `(E, 2)`.
        findings: What findings.json says; empty if there is none.
    """

    path: Path
    fingerprint: str
    ids: list[str]
    classes: list[str]
    nodes: "pd.DataFrame"
    suspects: "pd.DataFrame"
    edges: "np.ndarray[Any, Any]"
    findings: dict[str, Any]

    def replaced(self) -> bool:
        """Whether the folder has the suspects of another run by now."""
        try:
            return fingerprint(self.path) != self.fingerprint
        except InputError:
            return True

    def stamp(self) -> tuple[int, int, int] | None:
        """Return what changes when the file of suspects is written anew."""
        try:
            found = (self.path / SUSPECTS).stat()
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    @cached_property
    def labels(self) -> dict[str, str]:
        """Given label of each labelled node."""
        return dict(zip(self.suspects["node"], self.suspects["given"], strict=True))

    @cached_property
    def place(self) -> dict[str, int]:
        """Place of each labelled node in `suspects`."""
        return {node: place for place, node in enumerate(self.suspects["node"])}

    @cached_property
    def row(self) -> dict[str, int]:
        """Place of each node in `ids`."""
        return {node: row for row, node in enumerate(self.ids)}

    @cached_property
    def _neighbours(self) -> tuple["np.ndarray[Any, Any]", "np.ndarray[Any, Any]"]:
        import numpy as np

        ends = np.concatenate([self.edges, self.edges[:, ::-1]])
        ends = ends[np.argsort(ends[:, 0], kind="stable")]
        return np.searchsorted(ends[:, 0], np.arange(len(self.ids) + 1)), ends[:, 1]

    def neighbours(self, row: int) -> list[int]:
        """Return the rows of a node's neighbours."""
        start, ends = self._neighbours
        return [int(end) for end in ends[start[row] : start[row + 1]]]

    def details(self, row: int) -> dict[str, Any]:
        """Return what the page shows about one node; JSON-ready."""
        place = self.place.get(self.ids[row])
        about: dict[str, Any] = {"row": row, "id": self.ids[row]}
        if place is not None:
            names = ["probability", "score", "neighbours_given", "neighbours_suggested"]
            suspect = self.suspects.iloc[place]
            about |= {"given": suspect["given"], "suggested": suspect["suggested"]}
            about |= {"reason": suspect["evidence"], "flagged": bool(suspect["is_error"])}
            about |= {name: number(suspect.get(name)) for name in names}
            about["prototype_confidence"] = number(suspect.get("prototype_confidence"))
            about["nearest"] = self.nearest(str(suspect.get("nearest") or ""))
        near = self.neighbours(row)
        order = sorted(near, key=lambda one: (self.ids[one] not in self.labels, one))
        about["neighbours"] = [self._brief(one) for one in order[:MOST_NEIGHBOURS]]
        about["num_neighbours"] = len(near)
        about["neighbour_rows"] = order[:1000]  # drawn on the map
        return about

    def nearest(self, text: str) -> list[dict[str, Any]]:
        """Take apart "id (label), id (label)"; what does not fit the run's ids stays one text."""
        parts = [match[1] for match in re.finditer(r"(.+? \(.+?\))(?:, |$)", text)]
        names = [part.rsplit(" (", 1)[0] for part in parts]
        if not parts or ", ".join(parts) != text or not all(name in self.row for name in names):
            return [{"text": text}] if text else []
        return [self._brief(self.row[name]) for name in names]

    def _brief(self, row: int) -> dict[str, Any]:
        return {"row": row, "id": self.ids[row], "label": self.labels.get(self.ids[row])}


def read_content(run: Path) -> Content:
    """Read a run folder.

    Raises:
        InputError: The folder has no suspects, or its files do not fit together.
    """
    import numpy as np

    found = fingerprint(run)
    suspects, nodes = _read(run / SUSPECTS), _read(run / NODES)
    missing = NEEDED - set(suspects) or {"node_id"} - set(nodes)
    if missing:
        raise InputError(
            f"'{run}' lacks the column {', '.join(sorted(missing))} in {SUSPECTS} or {NODES}; "
            "write it anew with brgcl find-errors"
        )
    ids = list(nodes["node_id"].map(str))
    for name in ("node", "given", "suggested", "evidence"):
        suspects[name] = suspects[name].map(str)
    row = {node: number for number, node in enumerate(ids)}
    strangers = [node for node in suspects["node"] if node not in row]
    if strangers or len(row) < len(ids) or suspects["node"].duplicated().any():
        which = f"node '{strangers[0]}' is in one only" if strangers else "an id is there twice"
        raise InputError(f"{SUSPECTS} and {NODES} of '{run}' do not fit together: {which}")
    suspects["row"] = suspects["node"].map(row)
    edges = np.zeros((0, 2), dtype=np.int64)
    if (run / EDGES).is_file():
        edges = _read(run / EDGES)[["source", "target"]].to_numpy(dtype=np.int64)
        if edges.size and (edges.min() < 0 or edges.max() >= len(ids)):
            raise InputError(f"{EDGES} of '{run}' names nodes that are not in {NODES}")
    findings = _read_json(run / FINDINGS)
    used = sorted({*suspects["given"], *suspects["suggested"]})
    classes = [str(name) for name in findings.get("class_names", [])]
    classes += [name for name in used if name not in classes]
    return Content(run, found, ids, classes, nodes, suspects, edges, findings)


def read_labels(run: Path) -> "pd.DataFrame":
    """Read the given labels of a run: node and given, with the types of the files."""
    return _read(run / SUSPECTS)[["node", "given"]]


def fingerprint(run: Path) -> str:
    """Return the checksum of a run's suspects."""
    if not run.is_dir():
        raise InputError(f"'{run}' is not a folder; give the folder that find-errors wrote (--out)")
    if not (run / SUSPECTS).is_file():
        raise InputError(
            f"'{run}' has no {SUSPECTS}; look for wrong labels first: "
            f"brgcl find-errors GRAPH --out '{run}'"
        )
    with (run / SUSPECTS).open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def number(value: Any) -> float | None:
    """Return a number for JSON, None if there is none."""
    return None if value is None or value != value else float(value)  # NaN


def _read(file: Path) -> "pd.DataFrame":
    import pandas as pd

    try:
        return pd.read_parquet(file)
    except FileNotFoundError:
        raise InputError(f"'{file}' is missing; write it anew with brgcl find-errors") from None
    except (OSError, ValueError) as error:
        text = " ".join(str(error).split())
        raise InputError(f"cannot read '{file}': {text}; write it anew with find-errors") from error


def _read_json(file: Path) -> dict[str, Any]:
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InputError(
            f"cannot read '{file}': {error}; write it anew with find-errors"
        ) from error
    return value if isinstance(value, dict) else {}
