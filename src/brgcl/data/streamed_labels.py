"""Labels of a table that is read in parts: the rules of `read_graph`, one number per node."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from brgcl.data.columns import check_header, check_numbers
from brgcl.data.files import read_labels, tell_missing
from brgcl.data.ids import ZeroFractions, encode_labels
from brgcl.data.node_index import NodeIndex
from brgcl.data.table_files import TableFile
from brgcl.data.table_stream import TableStream
from brgcl.errors import InputError


class StreamedLabels:
    """A column of ids and one of labels, read twice: once to look, once to number."""

    def __init__(self, stream: TableStream, table: TableFile, id: str, label: str) -> None:
        self._stream, self._table, self._id, self._label = stream, table, id, label
        self._written: dict[str, int] = {}  # the different texts, numbered as they come
        self._counts: list[int] = []

    def look(
        self, fractions: ZeroFractions, report: Any, *, checked: bool, by_numbers: bool
    ) -> None:
        """Look at all ids and labels."""
        for part in self._parts(report):
            ids, values = part.texts(self._id, self._label)
            if checked:
                check_header(part, [self._id], [ids])
            if by_numbers:
                check_numbers(part, [ids])
            fractions.look(ids)
            for entry in values.value_counts().to_pylist():
                number = self._written.setdefault(entry["values"], len(self._written))
                self._counts += [0] * (number + 1 - len(self._counts))
                self._counts[number] += entry["counts"]

    def read(
        self, index: NodeIndex, fractions: ZeroFractions, report: Any
    ) -> tuple[NDArray[np.int64], list[str]]:
        """The class of each node, -1 = unlabelled, `(N,)`, and the names of the classes."""
        path, written = self._stream.path, list(self._written)
        meant = read_labels(path, pa.array(written, pa.string()))
        missing = [i for i, text in enumerate(meant) if text == ""]
        if missing:
            number = sum(self._counts[i] for i in missing)
            tell_missing(path, number, {written[i] for i in missing})
        classes, names = encode_labels(meant)
        class_of = classes.numpy()
        y = np.full(len(index), -1, dtype=np.int64)
        seen = np.zeros(len(index), dtype=bool)
        for part in self._parts(report):
            ids, values = part.texts(self._id, self._label)
            ids = fractions.drop(ids)
            nodes, coded = index.locate(ids, part), values.dictionary_encode()
            texts = coded.dictionary.to_pylist()
            numbers = np.array([self._written[text] for text in texts], dtype=np.int64)
            given = class_of[numbers[coded.indices.to_numpy()]] if texts else np.empty(0, np.int64)
            before = np.where(seen[nodes], y[nodes], given)
            y[nodes], seen[nodes] = given, True
            clash = np.flatnonzero((before != given) | (y[nodes] != given))
            if len(clash):
                row = int(clash[0])
                raise InputError(
                    f"{part.place(row)}: id {ids[row].as_py()!r} has two labels, "
                    f"{self._name(names, given[row])} here and another one elsewhere; keep one"
                )
        return y, names

    def _parts(self, report: Any) -> Any:
        return self._stream.parts(self._table, [self._id, self._label], report)

    def _name(self, names: list[str], number: int) -> str:
        return repr(names[number] if number >= 0 else "")
