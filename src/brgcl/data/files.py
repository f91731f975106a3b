"""A user's own graph: an edge table, attributes and labels in files -> `Data`, ids kept."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from brgcl.data.attributes import attribute_tensor, structural_attributes
from brgcl.data.graphs import check_graph
from brgcl.data.ids import encode_labels, is_integer_text, sorted_ids
from brgcl.data.table_files import TABLE_SUFFIXES, Table, read_table, table_suffix
from brgcl.errors import InputError
from brgcl.method.sparse import csr_from_scipy

log = logging.getLogger("brgcl")

MATRIX_SUFFIXES = (".npy", ".npz")

SPARSE_BELOW = 0.1
"""A table of attributes with a smaller share of non-zero cells is kept sparse."""


def read_graph(
    edges: str | Path,
    features: str | Path | None = None,
    labels: str | Path | None = None,
    *,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    id: str | None = None,
    label: str | None = None,
) -> Data:
    """Read a graph from files.

    Ids are any text or integers, and come back exactly as written in `node_ids`. Text files have a
    header row; an edge or label file whose first two cells are both integers is taken to have none,
    which is logged. With a table of features the nodes are its rows; with a matrix file they are
    `0..N-1`; without features they are the ends of the edges, sorted, and the attributes are
    structural (see `structural_attributes`).

    Args:
        edges: Table with an edge per row (`.csv`, `.tsv`, `.txt`, also `.gz`; `.parquet`).
        features: Table with an id and numeric columns, or a matrix whose row i is node i: `.npy`
            (dense) or `.npz` (`scipy.sparse.save_npz`).
        labels: Table with an id and a label per row; an empty label is unlabelled.
        source: Column of `edges` with the first end; the first column when absent.
        target: Column of `edges` with the second end; the second column when absent.
        weight: Column of `edges` with positive weights; a column called "weight" when absent.
        id: Column of `features` and `labels` with the id; the first column when absent.
        label: Column of `labels` with the label; the first one beside the id when absent.

    Returns:
        The checked graph, with `node_ids` and `class_names`; see `check_graph`.

    Raises:
        InputError: A file is missing or wrong; the message names the file, the line and the remedy.
    """
    edge_table = _open(edges, header_given=source is not None or target is not None)
    first = edge_table.column(source, 0, "source")
    second = edge_table.column(target, 1, "target")
    ends = edge_table.texts(first, second)
    weights = _read_weights(edge_table, weight, {first, second})
    ids: Any = None  # Arrow text of every node id, in node order
    if features is None:
        known = set(pa.chunked_array(ends, pa.string()).unique().to_pylist()) - {""}
        ids, x = pa.array(sorted_ids(known), pa.string()), None
    elif table_suffix(Path(features)) in MATRIX_SUFFIXES:
        x = _read_matrix(Path(features))
        ids = pa.array(np.arange(x.shape[0])).cast(pa.string())
    else:
        ids, x = _read_attributes(features, id)
    whose = f"{edges}" if features is None else f"{features}"
    edge_index = torch.from_numpy(np.stack([_locate(e, ids, edge_table, whose) for e in ends]))
    if x is None:
        x = structural_attributes(edge_index, len(ids))
    data = Data(x=x, edge_index=edge_index, num_nodes=len(ids), name=_stem(Path(edges)))
    data.node_ids = _typed_ids(ids.to_pylist())
    if weights is not None:
        data.edge_weight = weights
    if labels is not None:
        data.y, data.class_names = _read_labels(labels, id, label, ids, whose)
    if len(ids) == 0:
        raise InputError(f"{whose}: the graph has no nodes; the file has no rows")
    return check_graph(data)


def _open(path: str | Path, *, header_given: bool) -> Table:
    table = read_table(path, may_lack_header=not header_given)
    if table.headless:
        log.info("%s: the first row holds integers, so the file is read without a header", path)
    return table


def _read_weights(table: Table, weight: str | None, ends: set[str]) -> Tensor | None:
    others = [name for name in table.columns if name not in ends]
    if weight is None:
        weight = next((name for name in others if name.lower() == "weight"), None)
    if weight is None:
        if others:
            log.warning(
                "%s: column '%s' is not read; set weight= to it if it holds weights",
                table.path,
                others[0],
            )
        return None
    values = table.numbers([table.column(weight, 0, "weight")])[:, 0]
    bad = np.flatnonzero(values <= 0)
    if len(bad):
        raise InputError(
            f"{table.place(int(bad[0]))}, column '{weight}': weight {values[bad[0]]:g} is not "
            "above 0; drop the edge or mend the weight"
        )
    return torch.from_numpy(values)


def _read_matrix(path: Path) -> Tensor:
    if not path.is_file():
        raise InputError(f"{path}: no such file; check the path")
    try:
        with path.open("rb") as file:
            if path.suffix.lower() == ".npy":
                matrix = np.load(file, allow_pickle=False)
            else:
                matrix = scipy.sparse.load_npz(file)  # opens no pickles either
    except Exception as error:  # both raise whatever zipfile, struct or numpy.lib.format raise
        wanted = "an array of numbers" if path.suffix.lower() == ".npy" else "a scipy sparse matrix"
        raise InputError(
            f"{path}: cannot be read as {wanted} ({str(error).splitlines()[0] or error!r}); "
            "save it again with numpy.save or scipy.sparse.save_npz"
        ) from error
    x = attribute_tensor(matrix, str(path))
    values = matrix.tocoo() if scipy.sparse.issparse(matrix) else matrix
    flat = values.data if scipy.sparse.issparse(matrix) else values
    bad = np.argwhere(~np.isfinite(flat))
    if len(bad):
        at = int(bad[0][0])
        row, column = (values.row[at], values.col[at]) if scipy.sparse.issparse(matrix) else bad[0]
        raise InputError(
            f"{path} row {row}, column {column}: the value is not finite; "
            "every cell must be a finite number"
        )
    return x


def _read_attributes(path: str | Path, id: str | None) -> tuple[Any, Tensor]:
    if table_suffix(Path(path)) not in TABLE_SUFFIXES:
        raise InputError(
            f"{path}: unknown kind of features '{table_suffix(Path(path))}'; accepted: "
            + ", ".join((*TABLE_SUFFIXES, *MATRIX_SUFFIXES))
        )
    table = read_table(path)
    if all(_is_float(name) for name in table.columns):
        raise InputError(
            f"{path}: the first row holds only numbers, so it is no header; "
            "add one, such as: id,a1,a2"
        )
    key = table.column(id, 0, "id")
    names = [name for name in table.columns if name != key]
    if not names:
        raise InputError(f"{path}: no column beside the id '{key}'; add numeric attributes")
    (ids,) = table.texts(key)
    _check_ids(table, ids)
    repeated = _repeats(ids)
    if len(repeated):
        row = int(repeated[0])
        raise InputError(f"{table.place(row)}: id {ids[row].as_py()!r} stands twice; keep one row")
    matrix = table.numbers(names)
    sparse = np.count_nonzero(matrix) < SPARSE_BELOW * matrix.size
    return ids, csr_from_scipy(matrix) if sparse else torch.from_numpy(matrix)


def _read_labels(
    path: str | Path, id: str | None, label: str | None, ids: Any, whose: str
) -> tuple[Tensor, list[str]]:
    table = _open(path, header_given=id is not None or label is not None)
    key = table.column(id, 0, "id")
    beside = next((i for i, name in enumerate(table.columns) if name != key), 1)
    keys, values = table.texts(key, table.column(label, beside, "label"))
    nodes = _locate(keys, ids, table, whose)
    texts = np.array(values.to_pylist(), dtype=object)
    given = np.full(len(ids), None, dtype=object)
    given[nodes] = texts
    clash = np.flatnonzero(given[nodes] != texts)
    if len(clash):
        row = int(clash[0])
        raise InputError(
            f"{table.place(row)}: id {keys[row].as_py()!r} has label {texts[row]!r} here and "
            f"{given[nodes[row]]!r} further down; keep one"
        )
    y, names = encode_labels(given)
    if "-1" in names:
        log.warning("%s: '-1' is read as a class; leave the cell empty for unlabelled", path)
    return y, names


def _locate(keys: Any, ids: Any, table: Table, whose: str) -> NDArray[np.int64]:
    """The node of each id of a column; an id that no node has is an error."""
    _check_ids(table, keys)
    found = pc.index_in(keys, value_set=ids)
    if found.null_count:
        row = int(np.flatnonzero(found.is_null().to_numpy(zero_copy_only=False))[0])
        key = keys[row].as_py()
        if table_suffix(Path(whose)) in MATRIX_SUFFIXES:
            rule = f"its rows are numbered 0..{len(ids) - 1}, and ids must be these integers"
        else:
            rule = "add its row there, or drop this one"
        raise InputError(f"{table.place(row)}: id {key!r} is not in {whose}; {rule}")
    return np.asarray(found.to_numpy(), dtype=np.int64)


def _check_ids(table: Table, keys: Any) -> None:
    empty = np.flatnonzero(pc.equal(keys, "").to_numpy(zero_copy_only=False))
    if len(empty):
        raise InputError(f"{table.place(int(empty[0]))}: the id is empty; every row needs one")


def _repeats(ids: Any) -> NDArray[np.int64]:
    """Rows whose id stands further up already."""
    codes = ids.dictionary_encode().indices.to_numpy()
    _, first = np.unique(codes, return_index=True)
    return np.setdiff1d(np.arange(len(codes)), first)


def _typed_ids(ids: list[str]) -> NDArray[Any]:
    if all(map(is_integer_text, ids)):
        return np.array([int(text) for text in ids], dtype=np.int64)
    return np.array(ids, dtype=object)


def _is_float(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _stem(path: Path) -> str:
    return path.name.split(".")[0] or path.name
