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

`graph.json` holds the name of the graph, the numbers N, E and F, the names of the classes and of
the attributes, and the size and SHA-256 of every file. The folder is made under another name and
renamed when all is there, so a conversion that was killed leaves nothing that could be opened.
"""

import errno
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from brgcl.atomic_files import refusing_damage
from brgcl.data.catalogue import GRAPH_FILE
from brgcl.data.graph_writer import FORMAT, index_type, writing_graph
from brgcl.data.graphs import MASKS, check_graph
from brgcl.errors import InputError
from brgcl.method.sparse import csr_tensor, is_sparse

AGAIN = "convert the graph again"


def open_graph(folder: str | Path) -> Data:
    """Open a graph that `brgcl convert` or `save_graph` wrote.

    Attributes are memory-mapped and stay on disk until they are used. Edges, labels and ids are
    read into memory.

    Returns:
        The graph in canonical form, see `check_graph`.

    Raises:
        InputError: The folder has no graph, or the graph is damaged or incomplete.
    """
    path = Path(folder)
    about = read_about(path)
    with refusing_damage(path / GRAPH_FILE, AGAIN):
        N = int(about["num_nodes"])
        indptr, indices = (map_array(path / f"{name}.npy") for name in ("indptr", "indices"))
        edge_index = torch.empty(2, len(indices), dtype=torch.int64)
        edge_index[0] = torch.repeat_interleave(indptr.diff())
        edge_index[1] = indices
        data = Data(x=_open_attributes(path, about), edge_index=edge_index, num_nodes=N)
        data.y = _read_array(path / "y.npy")
        for name in ("weights", *MASKS):
            if f"{name}.npy" in about["files"]:
                field = "edge_weight" if name == "weights" else name
                data[field] = _read_array(path / f"{name}.npy")
        data.node_ids = _open_ids(path, about)
        data.class_names, data.name = list(about["class_names"]), str(about["name"])
        if about.get("feature_names") is not None:
            data.feature_names = about["feature_names"]
        if not (len(indptr) - 1 == len(data.y) == len(data.node_ids) == data.x.shape[0] == N):
            raise InputError(f"'{path}': its arrays have different numbers of nodes; {AGAIN}")
    return data


def read_about(path: Path) -> dict[str, Any]:
    """What `graph.json` says, after a look at whether all files are there in full."""
    file = path / GRAPH_FILE
    if not file.is_file():
        what = f"has no {GRAPH_FILE}" if path.is_dir() else "is not a folder"
        raise InputError(f"'{path}' {what}; brgcl convert makes a graph folder")
    with refusing_damage(file, AGAIN):
        about: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        known = isinstance(about, dict) and about.get("format") == FORMAT
        if not known or about.get("complete") is not True:
            raise InputError(f"'{file}' is no graph of this version ({FORMAT}); {AGAIN}")
        for name, entry in about["files"].items():
            size = (path / name).stat().st_size
            if size != entry["bytes"]:
                raise InputError(
                    f"'{path / name}' has {size} bytes instead of {entry['bytes']}; {AGAIN}"
                )
    return about


def map_array(path: Path) -> Tensor:
    """A tensor that reads a `.npy` file where it lies; what is written to it stays in memory.

    A file that is larger than the memory cannot be written to: the system grants no such mapping.
    """
    try:
        array = np.load(path, mmap_mode="c", allow_pickle=False)
    except OSError as error:
        if error.errno != errno.ENOMEM:
            raise
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(array)


def _read_array(path: Path) -> Tensor:
    return torch.from_numpy(np.load(path, allow_pickle=False))


def save_graph(data: Data, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write a graph into a folder, for `open_graph` and for commands.

    Args:
        data: Any graph that `check_graph` accepts.
        folder: The folder, which must be empty or must not exist.
        overwrite: Whether to replace an existing graph folder.
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
            "feature_names": data.get("feature_names"),
        }  # fmt: skip


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
