"""A user's own graph: an edge table, attributes and labels in files -> `Data`, ids kept."""

import logging
import re
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from brgcl.data.attributes import attribute_tensor, structural_attributes
from brgcl.data.catalogue import GRAPH_FILE
from brgcl.data.columns import (
    NUMBER,
    check_header,
    edge_columns,
    id_column,
    label_column,
    labels_among_attributes,
    settle_header,
)
from brgcl.data.graphs import check_graph
from brgcl.data.ids import (
    MISSING,
    encode_labels,
    sorted_ids,
    without_zero_fractions,
)
from brgcl.data.node_index import NodeIndex, check_ids, first_repeated, repeated_id
from brgcl.data.table_files import (
    MATRIX_SUFFIXES,
    TABLE_SUFFIXES,
    TableFile,
    read_table,
    table_suffix,
)
from brgcl.errors import InputError
from brgcl.method.attributes import SPARSE_BELOW
from brgcl.method.sparse import csr_from_scipy

log = logging.getLogger("brgcl")

NO_TEXT = pa.array([], pa.string())


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
    header: bool | None = None,
) -> Data:
    """Read a graph from files.

    Ids are text or integers. `node_ids` returns them as written, without surrounding spaces. With a
    table of features, the nodes are its rows; with a matrix file, they are `0..N-1`. Without
    features, the nodes are the ends of the edges, sorted, and the attributes are structural (see
    `structural_attributes`). Columns are named by the arguments or recognised by their names (see
    `brgcl.data.columns`). If more than one choice is possible, an error is raised.

    Args:
        edges: Table with an edge per row (`.csv`, `.tsv`, `.txt`, `.edgelist`, also `.gz`;
            `.parquet`).
        features: Table with an id and numeric columns, or a matrix whose row i is node i: `.npy`
            or `.npz` (`numpy.savez` of one array, or `scipy.sparse.save_npz`).
        labels: Table with an id and a label per row; an empty label, NA, nan, None, null, ? or -1
            is unlabelled.
        source: Column of `edges` with one end.
        target: Column of `edges` with the other end.
        weight: Column of `edges` with positive weights.
        id: Column of `features` and `labels` with the id; it may be in one of them only.
        label: Column of `labels` with the label; without `labels`, a column of `features`.
        header: Whether the first row of `edges` and `labels` has the names of the columns. By
            default this is recognised; if it is ambiguous, an error asks for it. If an argument
            names a column, its file must have a header. Without a header, the columns are
            "column 1", "column 2", ... A table of features always has a header, and so has a table
            of labels that begins with recognised names of both columns.

    Returns:
        The checked graph, with `node_ids` and `class_names`; see `check_graph`.

    Raises:
        InputError: A file is missing or invalid; the message names the file, the line and the
            remedy.
    """
    features_read = None if features is None else _open_features(_as_path("features", features))
    label_file = None if labels is None else read_table(_as_path("labels", labels))
    names = {"source": source, "target": target, "weight": weight, "id": id, "label": label}
    return join_tables(
        read_table(_as_path("edges", edges)), features_read, label_file, header=header,
        listed=Path(edges if features is None else features), **names,
    )  # fmt: skip


def join_tables(
    edge_file: TableFile,
    features: TableFile | Tensor | None,
    label_file: TableFile | None,
    *,
    listed: Path,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    id: str | None = None,
    label: str | None = None,
    header: bool | None = None,
) -> Data:
    """Join a table of edges, attributes and labels by their ids.

    Args:
        edge_file: One edge per row.
        features: One node per row, or a matrix whose row i is node i; None for structural
            attributes.
        label_file: One label per row; None where there are none.
        listed: Where the nodes are listed, for messages.
        source: As in `read_graph`, like all that follow.
        target: Column of the other end.
        weight: Column of weights.
        id: Column of ids.
        label: Column of labels.
        header: Whether the first rows hold names.
    """
    edge_table = settle_header(edge_file, header, (source, target, weight), num_ids=2)
    node_table = features if isinstance(features, TableFile) else None
    label_table = node_table if label is not None else None
    if label_file is not None:
        label_table = settle_header(label_file, header, (id, label), num_ids=1)
    check_given(id, label, node_table, label_table)

    ends, weights = _read_edges(edge_table, source, target, weight, header)
    node_ids, x, names = _read_features(features, id, label)
    label_ids, values = _read_labels(label_table, id, label, header)
    (*ends, node_ids, label_ids), changed = without_zero_fractions([*ends, node_ids, label_ids])
    if changed:
        log.warning("ids such as 1.0 are read as 1")
    if node_table is not None and (row := first_repeated(node_ids)) is not None:
        raise repeated_id(node_table.place(row), node_ids[row].as_py())
    if features is None:
        both = pa.chunked_array(ends, pa.string()).unique().to_pylist()
        node_ids = pa.array(sorted_ids(set(both) - {""}), pa.string())

    index = NodeIndex(node_ids, listed)
    edge_index = np.stack([index.locate(column, edge_table) for column in ends])
    num_nodes = len(node_ids)
    if num_nodes == 0:
        raise no_nodes(listed)
    data = Data(edge_index=torch.from_numpy(edge_index), edge_weight=weights, num_nodes=num_nodes)
    data.x = structural_attributes(data.edge_index, num_nodes) if x is None else x
    data.node_ids, data.name = index.values, graph_name(edge_file.path)
    data.feature_names = names
    if label_table is not None:
        nodes = index.locate(label_ids, label_table)
        data.y, data.class_names = _encode_labels(label_table, label_ids, values, nodes, num_nodes)
    return check_graph(data)


def graph_name(edges: Path) -> str:
    """What a graph is called that is read from files: its folder where the file is just `edges`.

    Example:
        >>> graph_name(Path("papers/edges.csv.gz")), graph_name(Path("papers/links.csv"))
        ('papers', 'links')
    """
    name = edges.name.split(".")[0] or edges.name
    return (name.lower() == "edges" and edges.absolute().parent.name) or name


def no_nodes(listed: Path) -> InputError:
    """What is wrong with a graph without nodes."""
    return InputError(f"{listed}: the graph has no nodes; the file has no rows")


def _as_path(what: str, path: Any) -> Path:
    if isinstance(path, (str, PathLike)):
        if (Path(path) / GRAPH_FILE).is_file():
            raise InputError(f"'{path}' is a graph folder; open it with open_graph")
        return Path(path)
    advice = "; see from_pandas" if hasattr(path, "columns") else ""
    raise InputError(f"{what} must be the path of a file, got {type(path).__name__}{advice}")


def _open_features(path: Path) -> TableFile | Tensor:
    kind = table_suffix(path)
    if kind in MATRIX_SUFFIXES:
        return read_matrix(path)
    if kind not in TABLE_SUFFIXES:
        raise InputError(
            f"{path}: unknown kind of features '{kind}'; accepted: "
            + ", ".join((*TABLE_SUFFIXES, *MATRIX_SUFFIXES))
        )
    return settle_features(read_table(path))


def settle_features(table: TableFile) -> TableFile:
    """Take the first row of a table of attributes as its header."""
    if table.first_row is not None and all(re.match(NUMBER, cell) for cell in table.first_row):
        raise InputError(
            f"{table.path}: the first row holds only numbers, so it is no header; "
            "add one, such as: id,a1,a2"
        )
    return table.with_header()


def check_given(
    id: str | None, label: str | None, node_table: TableFile | None, label_table: TableFile | None
) -> None:
    """Check that the columns that were named are in some table."""
    tables = [table for table in (node_table, label_table) if table is not None]
    if id is not None and not any(id in table.columns for table in tables):
        columns = (f"; {table.path} has {', '.join(table.columns)}" for table in tables)
        raise InputError(
            f"id= is '{id}', but neither features nor labels is a table with that column"
            + "".join(columns)
        )
    if label is not None and label_table is None:
        raise InputError(
            f"label= is '{label}', but there is neither a table of labels nor one of features"
        )


def _read_edges(
    table: TableFile,
    source: str | None,
    target: str | None,
    weight: str | None,
    header: bool | None,
) -> tuple[list[Any], Tensor | None]:
    ends_given = source is not None or target is not None
    source, target, weight = edge_columns(table, source, target, weight)
    ends = table.texts(source, target)
    if header is None and not ends_given:
        check_header(table, (source, target), ends)
    tell_unread(table, source, target, weight)
    if weight is None:
        return ends, None
    return ends, torch.from_numpy(read_weights(table, weight))


def tell_unread(table: TableFile, source: str, target: str, weight: str | None) -> None:
    """Say which columns of a table of edges are not read."""
    used = (source, target, weight)
    _report_index(table, used)
    unread = [name for name in table.columns if name not in (*used, *table.index)]
    if unread:
        advice = "" if weight else "; if one holds weights, name it with weight="
        log.warning("%s: columns not read: %s%s", table.path, ", ".join(unread), advice)


def read_weights(table: TableFile, weight: str) -> NDArray[np.float32]:
    """The weights in a column, all above 0, `(E,)`."""
    weights = table.numbers([weight])[:, 0]
    bad = np.flatnonzero(weights <= 0)
    if len(bad):
        raise InputError(
            f"{table.place(int(bad[0]))}, column '{weight}': weight {weights[bad[0]]:g} is not "
            "above 0; drop the edge or correct the weight"
        )
    return weights


def _report_index(table: TableFile, used: Sequence[str | None]) -> None:
    if unread := [name for name in table.index if name not in used]:
        log.warning("%s: the pandas index '%s' is not read", table.path, ", ".join(unread))


def _read_features(
    features: TableFile | Tensor | None, id: str | None, label: str | None
) -> tuple[Any, Tensor | None, list[str] | None]:
    """Ids of the nodes, their attributes and the names of these; a matrix has no names."""
    if features is None:
        return NO_TEXT, None, None
    if isinstance(features, Tensor):
        return pa.array(np.arange(features.shape[0])).cast(pa.string()), features, None
    key, names = attribute_columns(features, id, label)
    (ids,) = features.texts(key)
    check_ids(features, ids)
    x = features.numbers(names)
    sparse = np.count_nonzero(x) < SPARSE_BELOW * x.size
    given = names if len(names) == x.shape[1] else None  # a column of vectors names none of them
    return ids, csr_from_scipy(x) if sparse else torch.from_numpy(x), given


def attribute_columns(table: TableFile, id: str | None, label: str | None) -> tuple[str, list[str]]:
    """The column of the ids and those of the attributes."""
    key = id_column(table, id)
    names = [name for name in table.columns if name not in (key, label, *table.index)]
    _report_index(table, (key, label))
    if not names:
        raise InputError(f"{table.path}: no column beside the id '{key}'; add numeric attributes")
    if suspect := labels_among_attributes(names):
        raise InputError(
            f"{table.path}: column '{suspect}' looks like labels, which would give the answer "
            f"away as an attribute; read it as labels with label='{suspect}', or rename it"
        )
    return key, names


def read_matrix(path: Path) -> Tensor:
    """Read attributes from a `.npy` or `.npz` file, dense or CSR, `(N, F)`."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; check the path")
    try:
        with path.open("rb") as file:
            matrix = np.load(file, allow_pickle=False) if path.suffix == ".npy" else _load_npz(file)
    except Exception as error:  # both raise whatever zipfile, struct or numpy.lib.format raise
        reason = (str(error) or repr(error)).splitlines()[0]
        raise InputError(
            f"{path}: cannot be read as a matrix of numbers ({reason}); "
            "save it again with numpy.save, numpy.savez or scipy.sparse.save_npz"
        ) from error
    x = attribute_tensor(matrix, str(path))
    coo = matrix.tocoo() if scipy.sparse.issparse(matrix) else None
    bad = np.argwhere(~np.isfinite(matrix if coo is None else coo.data))
    if len(bad):
        row, column = bad[0] if coo is None else (coo.row[bad[0, 0]], coo.col[bad[0, 0]])
        raise InputError(
            f"{path} row {row}, column {column}: the value is not finite; "
            "every attribute must be a finite number"
        )
    return x


def _load_npz(file: IO[bytes]) -> Any:
    """A sparse matrix, or the only array of the archive; neither opens pickles."""
    with np.load(file, allow_pickle=False) as arrays:
        if "format" not in arrays.files:
            if len(arrays.files) != 1:
                raise ValueError(f"it holds {len(arrays.files)} arrays, {arrays.files}, not one")
            return arrays[arrays.files[0]]
    file.seek(0)
    return scipy.sparse.load_npz(file)


def _read_labels(
    table: TableFile | None, id: str | None, label: str | None, header: bool | None
) -> tuple[Any, Any]:
    """Ids and labels of a label file, row by row."""
    if table is None:
        return NO_TEXT, NO_TEXT
    key = id_column(table, id)
    ids, values = table.texts(key, label_column(table, label, key))
    if header is None and id is None and label is None:
        check_header(table, [key], [ids])
    return ids, values


def _encode_labels(
    table: TableFile, ids: Any, values: Any, nodes: NDArray[np.int64], num_nodes: int
) -> tuple[Tensor, list[str]]:
    """The class of each node and the class names; says how many labels are missing."""
    labels = read_labels(table.path, values)
    missing = labels == ""
    if missing.any():
        written = np.array(values.to_pylist(), dtype=object)
        tell_missing(table.path, int(missing.sum()), set(written[missing]))
    of_node = np.full(num_nodes, "", dtype=object)
    of_node[nodes] = labels
    clash = np.flatnonzero(of_node[nodes] != labels)
    if len(clash):
        row = int(clash[0])
        raise InputError(
            f"{table.place(row)}: id {ids[row].as_py()!r} has label {labels[row]!r} here and "
            f"{of_node[nodes[row]]!r} further down; keep one"
        )
    return encode_labels(of_node)


def read_labels(path: Path, values: Any) -> NDArray[Any]:
    """The labels that texts stand for, "" where there is none; an Arrow array in, objects out."""
    given = pc.if_else(pc.is_in(values, pa.array(sorted(MISSING))), "", values)
    (given,), _ = without_zero_fractions([given])
    labels = np.array(given.to_pylist(), dtype=object)
    classes = set(labels) - {""}
    if "-1" in classes and len(classes) == 2:
        raise InputError(
            f"{path}: the labels are -1 and {min(classes - {'-1'})}, but -1 means "
            "unlabelled; call the classes otherwise, e.g. no and yes"
        )
    labels[labels == "-1"] = ""
    return labels


def tell_missing(path: Path, number: int, written: set[str]) -> None:
    """Say how many labels are missing, and what stands in their place."""
    words = ", ".join(sorted(word or "empty" for word in written))
    log.warning("%s: number of missing labels: %d (%s)", path, number, words)
