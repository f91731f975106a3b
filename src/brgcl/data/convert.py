"""A user's files -> a graph folder, part by part, in bounded memory.

The result is that of `read_graph` on the same files: the same rules decide about columns, headers,
ids and labels. What grows with the graph is the index of the ids and one number per node; all else
is read, sorted and written in parts.
"""

import contextlib
import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from numpy.typing import NDArray

from brgcl.data.attributes import attributes_of_degrees
from brgcl.data.columns import (
    check_header,
    check_numbers,
    edge_columns,
    id_column,
    label_column,
    needs_numbers,
    settle_header,
)
from brgcl.data.edge_sort import EdgeSorter
from brgcl.data.files import (
    attribute_columns,
    check_given,
    graph_name,
    no_nodes,
    read_weights,
    settle_features,
    tell_unread,
)
from brgcl.data.graph_writer import GraphWriter, writing_graph
from brgcl.data.ids import ZeroFractions, integer_values
from brgcl.data.matrix_stream import AttributeWriter, MatrixStream, open_matrix
from brgcl.data.node_index import NodeIndex, check_ids, first_repeated, repeated_id
from brgcl.data.streamed_labels import StreamedLabels
from brgcl.data.table_files import MATRIX_SUFFIXES, TableFile, table_suffix
from brgcl.data.table_stream import TableStream, open_stream

log = logging.getLogger("brgcl")

MEMORY = 1 << 30
PARTS = 16  # a part of a text file takes several times its size when it is parsed
Progress = Callable[[str], AbstractContextManager[Callable[[int, int | None, str], None]]]


def convert_files(
    out: str | Path,
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
    memory: int = MEMORY,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> None:
    """Convert a graph in files, as `read_graph` reads them, into a folder that `open_graph` opens.

    Args:
        out: The folder to make.
        edges: As in `read_graph`, like all that follow up to `header`.
        features: Attributes; a `.npz` file is read as a whole.
        labels: Labels.
        source: Column of one end.
        target: Column of the other end.
        weight: Column of weights.
        id: Column of ids.
        label: Column of labels.
        header: Whether the first rows hold names.
        memory: Bytes that may be used beside the index of the ids.
        overwrite: Whether a graph folder that is there may be replaced.
        progress: Called with a title for each stage, gives a context with a progress callback;
            `brgcl.progress.progress_bar` is one.

    Raises:
        InputError: As `read_graph`, or the folder cannot be made.
    """
    show = progress or no_progress
    part_bytes = max(1, memory // PARTS)
    listed = Path(edges if features is None else features)
    edge_stream = open_stream(Path(edges), part_bytes)
    ends_given = (source, target, weight)
    edge_table = settle_header(edge_stream.head, header, ends_given, num_ids=2)
    nodes = None if features is None else _open_features(Path(features), part_bytes, memory)
    node_table = settle_features(nodes.head) if isinstance(nodes, TableStream) else None
    label_stream = nodes if isinstance(nodes, TableStream) and label is not None else None
    label_table, by_numbers = node_table if label is not None else None, False
    if labels is not None:
        label_stream = open_stream(Path(labels), part_bytes)
        label_table = settle_header(label_stream.head, header, (id, label), num_ids=1)
        by_numbers = needs_numbers(label_stream.head, header, (id, label), num_ids=1)
    check_given(id, label, node_table, label_table)

    with writing_graph(Path(out), overwrite=overwrite) as writer:
        fractions = ZeroFractions()
        read_edges = _EdgeReader(
            edge_stream, edge_table, *edge_columns(edge_table, source, target, weight),
            checked=header is None and source is None and target is None,
            by_numbers=needs_numbers(edge_stream.head, header, ends_given, num_ids=2),
        )  # fmt: skip
        with show("looking at edges") as report:
            found = read_edges.look(fractions, report, collect=nodes is None)
        key, attribute_names = "", list[str]()
        if isinstance(nodes, TableStream) and node_table is not None:
            key, attribute_names = attribute_columns(node_table, id, label)
            with show("reading ids") as report:
                found = _read_ids(nodes, node_table, key, fractions, report)
        elif isinstance(nodes, MatrixStream):
            found = pa.array(np.arange(len(nodes))).cast(pa.string())
        read_labels = None
        if label_stream is not None and label_table is not None:
            own = id_column(label_table, id)
            read_labels = StreamedLabels(
                label_stream, label_table, own, label_column(label_table, label, own)
            )
            checked = labels is not None and header is None and id is None and label is None
            with show("looking at labels") as report:
                read_labels.look(fractions, report, checked=checked, by_numbers=by_numbers)
        if fractions.apply:
            log.warning("ids such as 1.0 are read as 1")
        ids = fractions.drop(found)
        if isinstance(nodes, TableStream) and node_table is not None:
            _check_different(ids, nodes, node_table, key)
        index = NodeIndex(_in_order(ids) if nodes is None else ids, listed)

        sorter = EdgeSorter(
            writer.path, len(index), weighted=read_edges.weight is not None, memory=memory // 2
        )
        with show("reading edges") as report:
            read_edges.read(index, fractions, sorter, report)
        if len(index) == 0:
            raise no_nodes(listed)
        with show("sorting edges") as report:
            num_edges = sorter.write(writer, report)
        with show("reading attributes") as report:
            num_features = _write_attributes(
                writer, nodes, node_table, attribute_names, sorter.degree, report
            )
        class_names: list[str] = []
        y = np.full(len(index), -1, dtype=np.int64)
        if read_labels is not None:
            with show("reading labels") as report:
                y, class_names = read_labels.read(index, fractions, report)
        writer.save("y", y)
        writer.save_ids(index.values)
        writer.about |= {
            "name": graph_name(Path(edges)), "num_nodes": len(index), "num_edges": num_edges,
            "num_features": num_features, "class_names": class_names,
            "feature_names": attribute_names if len(attribute_names) == num_features else None,
        }  # fmt: skip


class _EdgeReader:
    """The columns of a table of edges, read twice: once to look, once to number."""

    def __init__(
        self,
        stream: TableStream,
        table: TableFile,
        source: str,
        target: str,
        weight: str | None,
        *,
        checked: bool,
        by_numbers: bool,
    ) -> None:
        self.stream, self.table, self.ends, self.weight = stream, table, (source, target), weight
        self._checked, self._by_numbers = checked, by_numbers
        tell_unread(table, source, target, weight)

    def look(self, fractions: ZeroFractions, report: Any, *, collect: bool) -> Any:
        """Look at all ids; returns the different ones, if they are to be collected."""
        found: Any = pa.array([], pa.string())
        waiting: list[Any] = []
        for part in self.stream.parts(self.table, self.ends, report):
            ends = part.texts(*self.ends)
            if self._checked:
                check_header(part, self.ends, ends)
            if self._by_numbers:
                check_numbers(part, ends)
            for column in ends:
                fractions.look(column)
                if collect:
                    waiting.append(column.unique())
            if sum(map(len, waiting)) > max(len(found), 1 << 20):
                found, waiting = _union(found, waiting), []
        return _union(found, waiting)

    def read(
        self, index: NodeIndex, fractions: ZeroFractions, sorter: EdgeSorter, report: Any
    ) -> None:
        """Give all edges to the sorter."""
        names = [name for name in (*self.ends, self.weight) if name is not None]
        for part in self.stream.parts(self.table, names, report):
            columns = part.texts(*self.ends)
            ends = np.stack([index.locate(fractions.drop(column), part) for column in columns])
            sorter.add(ends, None if self.weight is None else read_weights(part, self.weight))


def _union(found: Any, more: list[Any]) -> Any:
    return pa.chunked_array([found, *more], pa.string()).unique()


def _open_features(path: Path, part_bytes: int, memory: int) -> TableStream | MatrixStream:
    if table_suffix(path) in MATRIX_SUFFIXES:
        return open_matrix(path, part_bytes, memory)
    return open_stream(path, part_bytes)


def _read_ids(
    stream: TableStream, table: TableFile, key: str, fractions: ZeroFractions, report: Any
) -> Any:
    """The ids of all rows of a table."""
    found = []
    for part in stream.parts(table, [key], report):
        (ids,) = part.texts(key)
        check_ids(part, ids)
        fractions.look(ids)
        found.append(ids)
    return pa.chunked_array(found, pa.string()).combine_chunks()


def _check_different(ids: Any, stream: TableStream, table: TableFile, key: str) -> None:
    row = first_repeated(ids)
    if row is not None:
        raise repeated_id(stream.place(table, [key], row), ids[row].as_py())


def _in_order(ids: Any) -> Any:
    """The different ids without the empty one, by value if all are integers, else as text."""
    ids = ids.unique()
    ids = ids.filter(pc.not_equal(ids, ""))
    whole = integer_values(ids)
    if whole is None:
        return ids.take(pc.sort_indices(ids))
    return pa.array(np.sort(whole)).cast(pa.string())


def _write_attributes(
    writer: GraphWriter,
    nodes: TableStream | MatrixStream | None,
    table: TableFile | None,
    names: list[str],
    degree: NDArray[np.int64],
    report: Any,
) -> int:
    """Write the attributes; returns how many there are."""
    if nodes is None:
        x = attributes_of_degrees(torch.from_numpy(degree))
        writer.save_sparse(x)
        return int(x.shape[1])
    if isinstance(nodes, MatrixStream):
        return nodes.write(writer, report)
    assert table is not None
    with AttributeWriter(writer, str(nodes.path)) as attributes:
        for part in nodes.parts(table, names, report):
            attributes.append(part.numbers(names))
    return attributes.width


@contextlib.contextmanager
def no_progress(title: str) -> Iterator[Callable[[int, int | None, str], None]]:
    """Show nothing."""
    yield lambda done, total, words: None
