"""The file formats of the public graphs -> `Data`, not yet canonical."""

import collections
import gzip
import logging
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data
from torch_geometric.utils import index_to_mask

from brgcl.data.splits import random_split
from brgcl.data.synthetic import make_graph
from brgcl.errors import InputError
from brgcl.method.sparse import csr_from_scipy

log = logging.getLogger("brgcl")


def read_planetoid(folder: Path, name: str) -> Data:
    """Read a citation graph in the eight files `ind.<name>.*`, with its public split.

    Training nodes come first, the 500 after them validate, and `test.index` lists the test nodes;
    the rows of `tx` and `ty` belong to those, in that order. Citeseer lacks 15 nodes in these
    files: they have neither attributes (a row of zeros) nor a label (-1).
    """
    names = ("x", "tx", "ty", "allx", "ally", "graph")
    part = {p: _unpickle(folder / f"ind.{name}.{p}") for p in names}
    test = np.loadtxt(folder / f"ind.{name}.test.index", dtype=np.int64)
    num_nodes = max(len(part["graph"]), int(test.max()) + 1)
    listed = scipy.sparse.vstack([part["allx"], part["tx"]], format="coo")
    node = np.concatenate([np.arange(part["allx"].shape[0]), test])  # of each row
    x = scipy.sparse.coo_array(
        (listed.data, (node[listed.row], listed.col)), shape=(num_nodes, listed.shape[1])
    )
    one_hot = np.concatenate([part["ally"], part["ty"]])
    y = np.full(num_nodes, -1, dtype=np.int64)
    y[node] = np.where(one_hot.any(axis=1), one_hot.argmax(axis=1), -1)
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
            class_names = _class_names(parts)
    except Exception as error:  # zipfile, zlib, numpy.lib.format and scipy raise what they like
        raise InputError(
            f"{file}: cannot be read as a co-author graph ({error!r}); remove it and load again"
        ) from error
    attr.data = (attr.data > 0).astype(np.float32)
    coo = adj.tocoo()
    generator = torch.Generator().manual_seed(seed)
    split = random_split(y, num_train_per_class=20, num_val_per_class=30, generator=generator)
    return Data(
        x=csr_from_scipy(attr),
        edge_index=torch.from_numpy(np.stack([coo.row, coo.col]).astype(np.int64)),
        y=y,
        train_mask=split.train,
        val_mask=split.val,
        test_mask=split.test,
        num_nodes=len(y),
        **class_names,
    )


def read_ogb_arxiv(folder: Path) -> Data:
    """Read ogbn-arxiv from its raw tables, with the official split by year; edges are directed.

    The folder holds `raw/`, `split/time/` and perhaps `mapping/`.
    """
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
        path, last = folder / f"split/time/{part}.csv.gz", data.num_nodes - 1
        nodes = torch.from_numpy(_numbers(path, np.int64)[:, 0])
        if bool(((nodes < 0) | (nodes > last)).any()):
            raise InputError(f"{path}: lists a node outside 0..{last}; download it again")
        data[mask] = index_to_mask(nodes, data.num_nodes)
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
            ("builtins", "list"): list,
            ("builtins", "dict"): dict,
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


def _class_names(parts: Any) -> dict[str, list[str]]:
    """The names, unless they are absent or a pickled object, which is not opened."""
    try:
        return {"class_names": [str(name) for name in parts["class_names"]]}
    except (KeyError, ValueError):
        return {}


def _numbers(path: Path, dtype: Any) -> NDArray[Any]:
    try:
        with gzip.open(path, "rb") as file:
            return np.array(pd.read_csv(file, header=None, dtype=dtype))
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; download ogbn-arxiv again") from error
    except (OSError, EOFError, ValueError) as error:
        first = str(error).splitlines()[0]
        raise InputError(f"{path}: not a complete table of numbers ({first})") from error


READERS: dict[str, Callable[[Path, int], Data]] = {
    "planetoid": lambda folder, seed: read_planetoid(folder, folder.name),
    "coauthor": lambda folder, seed: read_coauthor(folder / "ms_academic_cs.npz", seed=seed),
    "ogb-arxiv": lambda folder, seed: read_ogb_arxiv(folder),
    "generated": lambda folder, seed: make_graph(seed=seed),
}
"""How to read the files of a `Dataset`, by its format: from its folder, with a seed."""
