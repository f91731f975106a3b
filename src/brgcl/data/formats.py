"""The file formats of the public graphs -> `Data`, not yet canonical."""

import builtins
import collections
import gzip
import logging
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import index_to_mask

from brgcl.data.splits import random_split
from brgcl.errors import InputError
from brgcl.method.sparse import csr_from_scipy

log = logging.getLogger("brgcl")


def read_planetoid(folder: Path, name: str) -> Data:
    """Read a citation graph in the eight files `ind.<name>.*`, with its public split.

    Training nodes come first, the 500 after them validate, and `test.index` lists the test nodes;
    the rows of `tx` and `ty` belong to those, in that order. Citeseer lacks 15 nodes in these
    files: they have neither attributes (a row of zeros) nor a label (-1).

    Args:
        folder: Where the files are.
        name: The name inside the file names: cora, citeseer or pubmed.
    """
    names = ("x", "tx", "ty", "allx", "ally", "graph")
    part = {p: _unpickle(folder / f"ind.{name}.{p}") for p in names}
    test = np.loadtxt(folder / f"ind.{name}.test.index", dtype=np.int64)
    num_known = part["allx"].shape[0]
    num_nodes = max(len(part["graph"]), int(test.max()) + 1)
    known = scipy.sparse.coo_array(part["allx"])
    tested = scipy.sparse.coo_array(part["tx"])
    x = scipy.sparse.coo_array(
        (
            np.concatenate([known.data, tested.data]),
            (
                np.concatenate([known.row, test[tested.row]]),
                np.concatenate([known.col, tested.col]),
            ),
        ),
        shape=(num_nodes, known.shape[1]),
    )
    y = np.full(num_nodes, -1, dtype=np.int64)
    y[:num_known] = _classes(part["ally"])
    y[test] = _classes(part["ty"])
    num_train = part["x"].shape[0]
    masks = torch.zeros(3, num_nodes, dtype=torch.bool)
    masks[0, :num_train] = True
    masks[1, num_train : num_train + 500] = True
    masks[2, torch.from_numpy(test)] = True
    ends = [(int(u), int(v)) for u, others in part["graph"].items() for v in others]
    return Data(
        x=csr_from_scipy(x),
        edge_index=torch.tensor(ends, dtype=torch.int64).T.contiguous(),
        y=torch.from_numpy(y),
        train_mask=masks[0],
        val_mask=masks[1],
        test_mask=masks[2],
        num_nodes=num_nodes,
    )


def read_coauthor(file: Path, *, seed: int = 0) -> Data:
    """Read a co-author graph from one `.npz` of CSR parts; keyword counts become 0/1.

    There is no public split: 20 nodes per class train and 30 validate, drawn with `seed`.

    Args:
        file: The `.npz`.
        seed: Seed of the split.
    """
    try:
        with np.load(file, allow_pickle=False) as parts:
            adj, attr = (
                scipy.sparse.csr_array(
                    tuple(parts[f"{name}_{part}"] for part in ("data", "indices", "indptr")),
                    shape=tuple(parts[f"{name}_shape"]),
                )
                for name in ("adj", "attr")
            )
            y = torch.from_numpy(parts["labels"].astype(np.int64))
            class_names = _plain_texts(parts, "class_names")
    except Exception as error:  # zipfile, zlib, numpy.lib.format and scipy raise what they like
        raise InputError(
            f"{file}: cannot be read as a co-author graph ({error!r}); remove it and load again"
        ) from error
    attr.data = (attr.data > 0).astype(np.float32)
    coo = adj.tocoo()
    generator = torch.Generator().manual_seed(seed)
    split = random_split(y, num_train_per_class=20, num_val_per_class=30, generator=generator)
    data = Data(
        x=csr_from_scipy(attr),
        edge_index=torch.from_numpy(np.stack([coo.row, coo.col]).astype(np.int64)),
        y=y,
        train_mask=split.train,
        val_mask=split.val,
        test_mask=split.test,
        num_nodes=len(y),
    )
    if class_names is not None:
        data.class_names = class_names
    return data


def read_ogb_arxiv(folder: str | Path) -> Data:
    """Read ogbn-arxiv from its raw tables, with the official split by year; edges are directed.

    Args:
        folder: The folder that holds `raw/`, `split/time/` and perhaps `mapping/`.

    Raises:
        InputError: A file is missing or cannot be read.
    """
    folder = Path(folder)
    edges = _numbers(folder / "raw/edge.csv.gz", np.int64)
    x = _numbers(folder / "raw/node-feat.csv.gz", np.float32)
    y = _numbers(folder / "raw/node-label.csv.gz", np.int64)[:, 0]
    data = Data(
        x=torch.from_numpy(x),
        edge_index=torch.from_numpy(edges.T.copy()),
        y=torch.from_numpy(y),
        num_nodes=int(_numbers(folder / "raw/num-node-list.csv.gz", np.int64)[0, 0]),
    )
    for mask, part in (("train_mask", "train"), ("val_mask", "valid"), ("test_mask", "test")):
        nodes = _numbers(folder / f"split/time/{part}.csv.gz", np.int64)[:, 0]
        data[mask] = _mask(nodes, data.num_nodes, folder / f"split/time/{part}.csv.gz")
    names = folder / "mapping/labelidx2arxivcategeory.csv.gz"  # spelled so by its authors
    if names.is_file():
        data.class_names = pd.read_csv(names).iloc[:, 1].astype(str).tolist()
    log.info("ogbn-arxiv: %d directed citations are read as undirected edges", len(edges))
    return data


class _PlanetoidUnpickler(pickle.Unpickler):
    """Knows arrays, CSR matrices and dictionaries, and refuses whatever else a pickle names."""

    def find_class(self, module: str, name: str) -> Any:
        known = {
            ("numpy", "ndarray"): np.ndarray,
            ("numpy", "dtype"): np.dtype,
            ("scipy.sparse", "csr_matrix"): scipy.sparse.csr_matrix,
            ("collections", "defaultdict"): collections.defaultdict,
            ("builtins", "list"): builtins.list,
            ("builtins", "dict"): builtins.dict,
        }
        if name == "_reconstruct" and module.startswith("numpy."):
            return _reconstruct
        for old, new in (("scipy.sparse.", "scipy.sparse"), ("__builtin__", "builtins")):
            module = new if module.startswith(old) else module
        if (module, name) not in known:
            raise pickle.UnpicklingError(f"it names {module}.{name}")
        return known[module, name]


def _reconstruct(kind: type, shape: tuple[int, ...], code: Any) -> NDArray[Any]:
    """An empty array, which the pickle then fills."""
    if kind is not np.ndarray:
        raise pickle.UnpicklingError(f"it builds a {kind!r}")
    return np.ndarray.__new__(np.ndarray, shape, "b")


def _unpickle(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            return _PlanetoidUnpickler(file, encoding="latin1").load()
    except Exception as error:  # a broken pickle raises almost anything
        raise InputError(
            f"{path}: refused, a Planetoid file holds arrays, sparse matrices and dictionaries "
            f"only ({error}); remove it and download it again"
        ) from error


def _classes(one_hot: NDArray[Any]) -> NDArray[np.int64]:
    """The class of each one-hot row; -1 for a row of zeros."""
    return np.where(one_hot.any(axis=1), one_hot.argmax(axis=1), -1).astype(np.int64)


def _plain_texts(parts: Any, name: str) -> list[str] | None:
    """An array of texts, or None when it is absent or a pickled object, which is not opened."""
    try:
        return [str(text) for text in parts[name]]
    except (KeyError, ValueError):
        return None


def _numbers(path: Path, dtype: Any) -> NDArray[Any]:
    try:
        with gzip.open(path, "rb") as file:
            return np.array(pd.read_csv(file, header=None, dtype=dtype))
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; download ogbn-arxiv again") from error
    except (OSError, EOFError, ValueError) as error:
        first = str(error).splitlines()[0]
        raise InputError(f"{path}: not a complete table of numbers ({first})") from error


def _mask(nodes: NDArray[np.int64], num_nodes: int, path: Path) -> Tensor:
    if len(nodes) and not 0 <= int(nodes.min()) <= int(nodes.max()) < num_nodes:
        raise InputError(f"{path}: lists a node outside 0..{num_nodes - 1}; download it again")
    mask: Tensor = index_to_mask(torch.from_numpy(nodes), num_nodes)
    return mask
