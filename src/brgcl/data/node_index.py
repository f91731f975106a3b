"""Where a node stands: ids as they are written -> numbers of nodes."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.compute as pc
from numpy.typing import NDArray

from brgcl.data.ids import integer_values, is_integer_text
from brgcl.data.table_files import MATRIX_SUFFIXES, TableFile, table_suffix
from brgcl.errors import InputError


class NodeIndex:
    """Looks up ids; made once, in memory that grows with the number of nodes alone.

    Integers are found by binary search, other texts in a hash table.

    Attributes:
        values: The ids, int64 if all are integers, else texts (objects), `(N,)`.
    """

    values: NDArray[Any]

    def __init__(self, ids: Any, listed: Path) -> None:
        """Make the index of the ids of nodes `0..N-1`.

        Args:
            ids: An Arrow array of text, all different.
            listed: Where the nodes are listed, for messages.
        """
        self.listed = listed
        whole = integer_values(ids)
        self._order, self._texts = None, None
        if whole is None:
            self.values = np.array(ids.to_pylist(), dtype=object)
            self._texts = pd.Index(self.values)
            return
        self.values = self._sorted = whole
        if bool((whole[1:] < whole[:-1]).any()):
            self._order = np.argsort(whole)
            self._sorted = whole[self._order]

    def __len__(self) -> int:
        return len(self.values)

    def locate(self, keys: Any, table: TableFile) -> NDArray[np.int64]:
        """The node of each id of a column of a table; an id that is not listed is an error."""
        check_ids(table, keys)
        if self._texts is None:
            nodes = self._locate_integers(keys)
        else:
            coded = keys.dictionary_encode()
            known = self._texts.get_indexer(pd.Index(coded.dictionary.to_pylist(), dtype=object))
            nodes = known[coded.indices.to_numpy()].astype(np.int64)
        missing = np.flatnonzero(nodes < 0)
        if len(missing):
            row = int(missing[0])
            rule = "add its row there, or drop this one"
            if table_suffix(self.listed) in MATRIX_SUFFIXES:
                rule = f"its rows are numbered 0..{len(self) - 1}, and ids must be these integers"
            raise InputError(
                f"{table.place(row)}: id {keys[row].as_py()!r} is not in {self.listed}; {rule}"
            )
        return nodes

    def _locate_integers(self, keys: Any) -> NDArray[np.int64]:
        numbers, known = integer_values(keys), None
        if numbers is None:  # some are no integers as they are written, such as 07
            texts = keys.to_pylist()
            known = np.array([is_integer_text(text) for text in texts], dtype=bool)
            numbers = np.array([int(text) if is_integer_text(text) else 0 for text in texts])
        place = np.searchsorted(self._sorted, numbers)
        if len(self) == 0:
            return np.full(len(place), -1)
        place[place == len(self)] = 0
        found = self._sorted[place] == numbers
        if known is not None:
            found &= known
        nodes = place if self._order is None else self._order[place]
        return np.where(found, nodes, -1).astype(np.int64)


def check_ids(table: TableFile, keys: Any) -> None:
    """Check that no id is empty."""
    empty = np.flatnonzero(pc.equal(keys, "").to_numpy(zero_copy_only=False))
    if len(empty):
        raise InputError(f"{table.place(int(empty[0]))}: the id is empty; every row needs one")


def first_repeated(ids: Any) -> int | None:
    """Row of the first id that stood before; None if all are different."""
    repeated = np.flatnonzero(pd.Index(ids.dictionary_encode().indices.to_numpy()).duplicated())
    return int(repeated[0]) if len(repeated) else None


def repeated_id(place: str, key: str) -> InputError:
    """What is wrong where an id is listed twice."""
    return InputError(f"{place}: id {key!r} is duplicated; keep one row")
