"""The files of a graph folder while they are being written: all of them appear at once, or none."""

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from brgcl.atomic_files import write_json
from brgcl.data.catalogue import GRAPH_FILE
from brgcl.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

FORMAT = "brgcl-graph-1"


class GraphWriter:
    """The files of a graph folder while they are being written.

    Attributes:
        path: The folder under its other name.
        about: What `graph.json` will say.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.about: dict[str, Any] = {}

    def save(self, name: str, array: NDArray[Any]) -> None:
        """Write an array."""
        np.save(self.path / f"{name}.npy", np.ascontiguousarray(array), allow_pickle=False)

    def save_sparse(self, x: "Tensor") -> None:
        """Write attributes that are CSR."""
        self.save("x_indptr", x.crow_indices().numpy())
        self.save("x_indices", x.col_indices().numpy())
        self.save("x_values", x.values().numpy())

    def save_ids(self, ids: NDArray[Any]) -> None:
        """Write the ids of the nodes, integers or texts."""
        import pyarrow as pa
        import pyarrow.parquet

        if ids.dtype.kind in "iu":
            self.save("node_ids", ids.astype(np.int64))
        else:
            table = pa.table({"node_id": pa.array(ids, pa.string())})
            pyarrow.parquet.write_table(table, self.path / "node_ids.parquet")

    @contextlib.contextmanager
    def growing(self, name: str, dtype: Any, width: int | None = None) -> Iterator["GrowingArray"]:
        """Write an array row by row, or block by block."""
        with (self.path / f"{name}.npy").open("wb") as file:
            array = GrowingArray(file, np.dtype(dtype), width)
            yield array
            array.finish()

    def finish(self) -> None:
        """Write `graph.json`, with the size and checksum of every file."""
        files = {}
        for file in sorted(self.path.iterdir()):
            with file.open("rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()
                os.fsync(content.fileno())
            files[file.name] = {"bytes": file.stat().st_size, "sha256": digest}
        about = {"format": FORMAT, **self.about, "dtype": "float32", "files": files}
        write_json(self.path / GRAPH_FILE, about | {"complete": True})


class GrowingArray:
    """A `.npy` file that is longer with every block; its header is written again at the end."""

    def __init__(self, file: Any, dtype: np.dtype[Any], width: int | None) -> None:
        self._file, self._dtype, self._width, self.length = file, dtype, width, 0
        self._start = self._write_header()

    def append(self, block: NDArray[Any]) -> None:
        """Add a block, `(n,)` or `(n, width)`."""
        self._file.write(np.ascontiguousarray(block, dtype=self._dtype).data)
        self.length += len(block)

    def finish(self) -> None:
        """Write how long the array is."""
        self._file.seek(0)
        if self._write_header() != self._start:  # numpy leaves room for any number in the header
            raise RuntimeError("the header of a .npy file changed its size")

    def _write_header(self) -> int:
        shape = (self.length,) if self._width is None else (self.length, self._width)
        descr = np.lib.format.dtype_to_descr(self._dtype)
        header = {"descr": descr, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self._file, header)
        return int(self._file.tell())


@contextlib.contextmanager
def writing_graph(path: Path, *, overwrite: bool) -> Iterator[GraphWriter]:
    """Make a graph folder: all of it, or none.

    Raises:
        InputError: There is something at the path that may not be replaced, or another command is
            writing there.
    """
    path = path.absolute()
    made = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path.with_name(f".{path.name}.lock"), timeout=0).acquire()
    except Timeout:
        raise InputError(
            f"another command is writing '{path}'; wait for it or give another folder"
        ) from None
    except OSError as error:
        raise InputError(f"cannot write '{path}': {error.strerror}; give another folder") from error
    try:
        _bring_back(path)
        _check_target(path, overwrite)
        shutil.rmtree(made, ignore_errors=True)  # of a command that was killed
        made.mkdir()
        writer = GraphWriter(made)
        yield writer
        writer.finish()
        _replace(path, made)
    finally:
        _bring_back(path)
        shutil.rmtree(made, ignore_errors=True)
        path.with_name(f".{path.name}.lock").unlink(missing_ok=True)
        lock.lock.release()


def _check_target(path: Path, overwrite: bool) -> None:
    if path.exists() and not path.is_dir():
        raise InputError(f"'{path}' is a file, not a folder; give another folder")
    if not path.is_dir() or not any(path.iterdir()):
        return
    if not (path / GRAPH_FILE).is_file():
        raise InputError(f"'{path}' is not empty and holds no graph; give another folder")
    if not overwrite:
        raise InputError(f"'{path}' holds a graph already; give another folder or add --overwrite")
    known = {*_read_names(path), GRAPH_FILE}
    others = sorted(file.name for file in path.iterdir() if file.name not in known)
    if others:
        raise InputError(f"'{path / others[0]}' is no part of the graph; move it first")


def _read_names(path: Path) -> set[str]:
    """Names of the files that a graph folder lists; none if it is damaged."""
    try:
        return set(json.loads((path / GRAPH_FILE).read_text(encoding="utf-8"))["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _replace(path: Path, made: Path) -> None:
    """Put the new folder in its place; an old one goes only when the new one is complete."""
    old = _put_aside(path)
    shutil.rmtree(old, ignore_errors=True)
    if path.exists():
        path.rename(old)
    made.rename(path)
    shutil.rmtree(old, ignore_errors=True)


def _bring_back(path: Path) -> None:
    """Give an old graph its name again, if the new one never came."""
    if _put_aside(path).is_dir() and not path.exists():
        _put_aside(path).rename(path)


def _put_aside(path: Path) -> Path:
    """The other name of an old graph while a new one takes its place."""
    return path.with_name(f".{path.name}.old")


def index_type(num_nodes: int) -> Any:
    """The type of the numbers of neighbours."""
    return np.int32 if num_nodes < 2**31 else np.int64
