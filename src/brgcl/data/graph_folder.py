"""A graph as a folder of arrays that are read where they lie, so that it may exceed the memory.

    graph.json          what is in the folder; it is written last
    indptr.npy          int64 (N + 1,), where the neighbours of each node begin
    indices.npy         int32 or int64 (2E,), neighbours: sorted, each once, no node its own
    weights.npy         float32 (2E,), if edges have weights
    x.npy               float32 (N, F), attributes; or, where most of them are 0,
    x_indptr.npy        int64 (N + 1,), x_indices.npy, int64, and x_values.npy, float32: as CSR
    y.npy               int64 (N,), class of each node, -1 = unlabelled
    node_ids.npy        int64 (N,), or node_ids.parquet with a column of text
    train_mask.npy      bool (N,), and val_mask.npy and test_mask.npy, if there is a split

`graph.json` holds the name of the graph, the numbers N, E and F, the names of the classes, and the
size and SHA-256 of every file. The folder is made under another name and renamed when all is
there, so a conversion that was killed leaves nothing that could be opened.
"""

import contextlib
import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import torch
from filelock import FileLock, Timeout
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from brgcl.atomic_files import refusing_damage, write_json
from brgcl.data.graphs import MASKS, check_graph
from brgcl.errors import InputError
from brgcl.method.sparse import csr_tensor, is_sparse

ABOUT = "graph.json"
FORMAT = "brgcl-graph-1"
AGAIN = "convert the graph again"


def open_graph(folder: str | Path) -> Data:
    """Open a graph that `brgcl convert` or `save_graph` wrote.

    Attributes stay on the disk until they are used (memory-mapped); edges, labels and ids are read.

    Returns:
        The graph in canonical form, see `check_graph`.

    Raises:
        InputError: The folder holds no graph, or one that is damaged or not complete.
    """
    path = Path(folder)
    about = read_about(path)
    with refusing_damage(path / ABOUT, AGAIN):
        N = int(about["num_nodes"])
        indptr, indices = (map_array(path / f"{name}.npy") for name in ("indptr", "indices"))
        edge_index = torch.empty(2, len(indices), dtype=torch.int64)
        edge_index[0] = torch.repeat_interleave(indptr.diff())
        edge_index[1] = indices
        data = Data(x=_open_attributes(path, about), edge_index=edge_index, num_nodes=N)
        data.y = map_array(path / "y.npy")
        for name in ("weights", *MASKS):
            if f"{name}.npy" in about["files"]:
                data["edge_weight" if name == "weights" else name] = map_array(path / f"{name}.npy")
        data.node_ids = _open_ids(path, about)
        data.class_names, data.name = list(about["class_names"]), str(about["name"])
        if not (len(indptr) - 1 == len(data.y) == len(data.node_ids) == data.x.shape[0] == N):
            raise InputError(f"'{path}': its arrays have different numbers of nodes; {AGAIN}")
    return data


def is_graph_folder(path: Path) -> bool:
    """Whether a folder looks like one that `open_graph` opens."""
    return (path / ABOUT).is_file()


def read_about(path: Path) -> dict[str, Any]:
    """What `graph.json` says, after a look at whether all files are there in full."""
    file = path / ABOUT
    if not file.is_file():
        what = f"has no {ABOUT}" if path.is_dir() else "is no folder"
        raise InputError(f"'{path}' {what}; brgcl convert makes a graph folder")
    with refusing_damage(file, AGAIN):
        about: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if about.get("format") != FORMAT or about.get("complete") is not True:
            raise InputError(f"'{file}' is no graph of this version ({FORMAT}); {AGAIN}")
        for name, entry in about["files"].items():
            size = (path / name).stat().st_size
            if size != entry["bytes"]:
                raise InputError(
                    f"'{path / name}' has {size} bytes instead of {entry['bytes']}; {AGAIN}"
                )
    return about


def map_array(path: Path) -> Tensor:
    """A tensor that reads a `.npy` file where it lies; it must not be written to."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(np.load(path, mmap_mode="r", allow_pickle=False))


def save_graph(data: Data, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write a graph that is in memory into a folder, for `open_graph` and every command.

    Args:
        data: Any graph that `check_graph` takes.
        folder: The folder, which must not be there or be empty.
        overwrite: Whether a graph folder that is there may be replaced.
    """
    data = check_graph(data)
    N = int(data.x.shape[0])
    with writing_graph(Path(folder), overwrite=overwrite) as writer:
        indptr = np.zeros(N + 1, dtype=np.int64)
        np.cumsum(np.bincount(data.edge_index[0].numpy(), minlength=N), out=indptr[1:])
        writer.save("indptr", indptr)
        writer.save("indices", data.edge_index[1].numpy().astype(index_type(N)))
        if data.get("edge_weight") is not None:
            writer.save("weights", data.edge_weight.numpy())
        if is_sparse(data.x):
            writer.save_sparse(data.x)
        else:
            writer.save("x", data.x.numpy())
        for name in ("y", *MASKS):
            if data.get(name) is not None:
                writer.save(name, data[name].numpy())
        writer.save_ids(data.node_ids)
        writer.about |= {
            "name": data.name, "num_nodes": N, "num_edges": data.edge_index.shape[1] // 2,
            "num_features": int(data.x.shape[1]), "class_names": list(data.class_names),
        }  # fmt: skip


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

    def save_sparse(self, x: Tensor) -> None:
        """Write attributes that are CSR."""
        self.save("x_indptr", x.crow_indices().numpy())
        self.save("x_indices", x.col_indices().numpy())
        self.save("x_values", x.values().numpy())

    def save_ids(self, ids: NDArray[Any]) -> None:
        """Write the ids of the nodes, integers or texts."""
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
        write_json(self.path / ABOUT, about | {"complete": True})


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
    _check_target(path, overwrite)
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
        shutil.rmtree(made, ignore_errors=True)  # of a command that was killed
        made.mkdir()
        writer = GraphWriter(made)
        yield writer
        writer.finish()
        _replace(path, made)
    finally:
        shutil.rmtree(made, ignore_errors=True)
        path.with_name(f".{path.name}.lock").unlink(missing_ok=True)
        lock.lock.release()


def _check_target(path: Path, overwrite: bool) -> None:
    if path.exists() and not path.is_dir():
        raise InputError(f"'{path}' is a file, not a folder; give another folder")
    if not path.is_dir() or not any(path.iterdir()):
        return
    if not is_graph_folder(path):
        raise InputError(f"'{path}' is not empty and holds no graph; give another folder")
    if not overwrite:
        raise InputError(f"'{path}' holds a graph already; give another folder or add --overwrite")
    known = {*read_names(path), ABOUT}
    others = sorted(file.name for file in path.iterdir() if file.name not in known)
    if others:
        raise InputError(f"'{path / others[0]}' is no part of the graph; move it first")


def read_names(path: Path) -> set[str]:
    """Names of the files that a graph folder lists; none if it is damaged."""
    try:
        return set(json.loads((path / ABOUT).read_text(encoding="utf-8"))["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _replace(path: Path, made: Path) -> None:
    """Put the new folder in its place; an old one goes only when the new one is complete."""
    old = path.with_name(f".{path.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if path.exists():
        path.rename(old)
    made.rename(path)
    shutil.rmtree(old, ignore_errors=True)


def index_type(num_nodes: int) -> Any:
    """The type of the numbers of neighbours."""
    return np.int32 if num_nodes < 2**31 else np.int64


def _open_attributes(path: Path, about: dict[str, Any]) -> Tensor:
    if "x.npy" in about["files"]:
        return map_array(path / "x.npy")
    crow, col, value = (
        map_array(path / f"x_{name}.npy") for name in ("indptr", "indices", "values")
    )
    return csr_tensor(crow, col, value, (int(about["num_nodes"]), int(about["num_features"])))


def _open_ids(path: Path, about: dict[str, Any]) -> NDArray[Any]:
    if "node_ids.npy" in about["files"]:
        ids: NDArray[Any] = np.load(path / "node_ids.npy", allow_pickle=False)
        return ids
    table = pyarrow.parquet.read_table(path / "node_ids.parquet")
    return np.array(table["node_id"].to_pylist(), dtype=object)
