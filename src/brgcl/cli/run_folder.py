"""A run folder: what a command leaves behind for one graph.

embeddings.parquet  one row per node: node_id, z0, z1, ...
nodes.parquet       one row per node: node_id and all that was found out about it
model/              the fitted model, where the method has one
metrics.json        what the command printed
report.html         tables and pictures (with the `report` extra)
run.json            how the run was made, and the checksums of the files above

A command takes the folder before it begins and holds a lock until it ends. It replaces only
files that are listed in `run.json` and were not changed since; others are never touched.
"""

import contextlib
import hashlib
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brgcl import __version__
from brgcl.cli.console import say
from brgcl.errors import InputError
from brgcl.machine import library_versions, processor

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor
    from torch_geometric.data import Data

    from brgcl.contract import Fitted

LOCK, ABOUT = ".brgcl.lock", "run.json"
TRAINING = ".training"  # what ranks share until the run is finished
MODEL = ("model/model.safetensors", "model/config.json")
FILES = ("embeddings.parquet", "nodes.parquet", *MODEL, "metrics.json", "report.html")
SPARE = 50 * 2**20  # bytes that are left free on the disk


@dataclass
class RunFolder:
    """A folder that one command may write into.

    Attributes:
        path: The folder.
        about: How the run was made; it is written into `run.json`.
        before: Files of the run that was there before, with their checksums.
        files: Files of this run; a checksum is None while the file is being written.
    """

    path: Path
    before: Mapping[str, str | None]
    about: dict[str, Any] = field(default_factory=dict)
    files: dict[str, str | None] = field(default_factory=dict)
    _start: float = field(default_factory=time.time)

    def write(self, name: str, write: Callable[..., None], *content: Any) -> None:
        """Write a file or the model, and note its files in `run.json` before and after."""
        names = MODEL if name == "model" else (name,)
        self.files |= dict.fromkeys(names)
        self._note("unfinished")
        write(self.path / name, *content)
        self.files |= {name: _checksum(self.path / name) for name in names}
        self._note("unfinished")

    def finish(self) -> None:
        """Remove files of the run before that this one does not have, and close `run.json`."""
        for name in self.before.keys() - self.files.keys():
            (self.path / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            (self.path / "model").rmdir()  # only if it is empty
        self._note("finished")

    def need(self, num_bytes: int) -> None:
        """Check that the disk has room for the results."""
        free = shutil.disk_usage(self.path).free
        if free < num_bytes + SPARE:
            raise InputError(
                f"'{self.path}' has {free / 2**20:,.0f} MB of free disk, the results need about "
                f"{(num_bytes + SPARE) / 2**20:,.0f} MB; make room or give another --out"
            )

    def _note(self, state: str) -> None:
        from brgcl.atomic_files import write_json

        left = {} if state == "finished" else self.before
        about = {
            "brgcl": __version__,
            "state": state,
            "command": ["brgcl", *sys.argv[1:]],
            "started": datetime.fromtimestamp(self._start, UTC).isoformat(timespec="seconds"),
            "seconds": round(time.time() - self._start, 3),
            **self.about,
            "versions": library_versions(),
            "processor": processor(),
            "files": {**left, **self.files},
        }
        write_json(self.path / ABOUT, about)


@contextlib.contextmanager
def claim_folder(path: Path, *, overwrite: bool) -> Iterator[RunFolder]:
    """Take a folder, made if need be; a run that fails before it writes leaves nothing behind.

    Raises:
        InputError: The folder cannot be written to, has files in it that the run would replace,
            or another command is writing into it.
    """
    from filelock import FileLock, Timeout

    if path.exists() and not path.is_dir():
        raise InputError(f"'{path}' is a file, not a folder; give another --out")
    made = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path / LOCK, timeout=0).acquire()
    except Timeout:
        raise InputError(
            f"another command is writing into '{path}'; wait for it or give another --out"
        ) from None
    except OSError as error:
        _remove(made)
        raise InputError(
            f"cannot write into '{path}': {error.strerror}; give another --out"
        ) from error
    folder = None
    try:
        folder = RunFolder(path, _check_content(path, overwrite=overwrite))
        yield folder
        folder.finish()
    except BaseException:
        if folder is not None and folder.files:
            say(f"'{path}' holds an unfinished run: {', '.join(folder.files)}")
        raise
    finally:
        (path / LOCK).unlink(missing_ok=True)
        lock.lock.release()
        if folder is None or not folder.files:
            _remove(made)


def write_results(
    folder: RunFolder,
    data: "Data",
    fitted: "Fitted",
    metrics: Mapping[str, Any],
    nodes: "pd.DataFrame",
    *,
    title: str,
    groups: "tuple[str, Tensor] | None",
) -> None:
    """Write the results of a command.

    Args:
        folder: Where.
        data: The graph, with `node_ids`.
        fitted: What the method learned.
        metrics: What the command prints.
        nodes: One row per node.
        title: Heading of the report.
        groups: What colours the map of nodes, and its value for each node, -1 = none, `(N,)`; None
            draws no map.
    """
    import pandas as pd

    from brgcl.atomic_files import write_json, write_parquet
    from brgcl.report.report import Report, Table, has_report_extra, write_report

    z, model = fitted.representations.numpy(), fitted.model
    frame = pd.DataFrame(z, columns=[f"z{i}" for i in range(z.shape[1])])
    frame.insert(0, "node_id", list(data.node_ids))
    folder.write("embeddings.parquet", write_parquet, frame)
    folder.write("nodes.parquet", write_parquet, nodes)
    if model is not None:
        folder.write("model", model.save)
    folder.write("metrics.json", write_json, metrics)
    if has_report_extra():
        from brgcl.report.figures import draw_history, draw_map

        rows = [[k, f"{v:.4f}" if isinstance(v, float) else str(v)] for k, v in metrics.items()]
        pictures = []
        if groups is not None:
            name, group = groups
            pictures.append(draw_map(fitted.representations, fitted.confidence, group, name))
        if model is not None:
            pictures.append(draw_history(model.history_))
        tables = [Table("Results", ["name", "value"], rows)]
        settings = {} if model is None else model.config.to_dict()
        page = Report(title, [], tables, pictures, settings)
        folder.write("report.html", write_report, page, __version__)


def last_command(path: Path) -> str | None:
    """Return the command that wrote the run in a folder; None if there is no run."""
    about = _read_about(path)
    return about["command"][1] if about else None


def claim_file(path: Path, *, overwrite: bool) -> None:
    """Check that a file can be written; nothing is created yet.

    Raises:
        InputError: The path is a folder, the file is there and `overwrite` is off, or its folder
            cannot be written to.
    """
    if path.is_dir():
        raise InputError(f"'{path}' is a folder, not a file; give another name")
    if path.exists() and not overwrite:
        raise InputError(f"file '{path}' is there already; give another name or add --overwrite")
    made = [folder for folder in path.parents if not folder.exists()]
    probe = path.with_name(f".{path.name}.brgcl")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InputError(f"cannot write '{path}': {error.strerror}; give another name") from error
    finally:
        _remove(made)


def _check_content(path: Path, *, overwrite: bool) -> dict[str, str | None]:
    """Check that a run may write into the folder; returns the files of the run before."""
    names = {entry.name for entry in path.iterdir()} - {LOCK, TRAINING}
    if names and not overwrite:
        raise InputError(f"folder '{path}' is not empty; give another --out or add --overwrite")
    about = _read_about(path)
    known = {**about["files"], ABOUT: None} if about else {}
    for name in (*FILES, ABOUT):
        file = path / name
        link = next((p for p in (file, file.parent) if p != path and p.is_symlink()), None)
        changed = known.get(name) is not None and file.is_file() and _checksum(file) != known[name]
        if link is not None or changed or (file.exists() and name not in known):
            why = "is a link" if link else "was changed" if changed else "was not written by brgcl"
            raise InputError(
                f"'{link or file}' {why} and would be replaced; move it or give another --out"
            )
    return {name: checksum for name, checksum in known.items() if name in FILES}


def _read_about(path: Path) -> dict[str, Any]:
    """Read how the run in a folder was made; empty if there is none."""
    try:
        about = json.loads((path / ABOUT).read_text(encoding="utf-8"))
        return about if {"brgcl", "command", "files"} <= about.keys() else {}
    except (OSError, ValueError, AttributeError):
        return {}


def _checksum(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _remove(folders: list[Path]) -> None:
    """Remove folders that are empty, the innermost first."""
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()
