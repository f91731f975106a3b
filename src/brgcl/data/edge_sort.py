"""Edges in any order and any number -> the arrays of a graph folder, in bounded memory.

Edges are written to a file as they come, while the entries of each row are counted. Rows are then
cut into ranges whose entries fit into memory, every entry is moved to its range, and the ranges are
sorted one after the other. The result is that of `canonical_edges`.
"""

import contextlib
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from brgcl.data.edges import UNEQUAL, EdgeChanges
from brgcl.data.graph_writer import GraphWriter, index_type

BYTES_PER_ENTRY = 64  # what sorting takes, all copies included


class EdgeSorter:
    """Collects edges, then writes `indptr`, `indices` and `weights`.

    Attributes:
        degree: How often each node is an end of an edge as they were given, `(N,)`.
    """

    def __init__(self, folder: Path, num_nodes: int, *, weighted: bool, memory: int) -> None:
        """Begin with no edges.

        Args:
            folder: Where temporary files go.
            num_nodes: N.
            weighted: Whether edges have weights.
            memory: Bytes that sorting may take.
        """
        self.degree = np.zeros(num_nodes, dtype=np.int64)
        self._size = max(1, memory // BYTES_PER_ENTRY)
        self._weighted = weighted
        self._changes, self._num_edges = EdgeChanges(), 0
        self._ends, self._values = folder / "ends.tmp", folder / "values.tmp"
        self._folder = folder
        for file in (self._ends, self._values):
            file.touch()

    def add(self, ends: NDArray[np.int64], weights: NDArray[np.float32] | None) -> None:
        """Add edges by the numbers of their ends, `(2, n)`, with weights `(n,)`."""
        N = len(self.degree)
        self.degree += np.bincount(ends[0], minlength=N) + np.bincount(ends[1], minlength=N)
        proper = ends[0] != ends[1]
        self._changes.loops += int((~proper).sum())
        kept = ends[:, proper]
        self._num_edges += kept.shape[1]
        with self._ends.open("ab") as file:
            file.write(np.ascontiguousarray(kept.T).data)
        if weights is not None:
            with self._values.open("ab") as file:
                file.write(weights[proper].astype(np.float64).data)

    def write(
        self, writer: GraphWriter, report: Callable[[int, int | None, str], None] | None = None
    ) -> int:
        """Write the arrays, say what was changed, and return the number of undirected edges."""
        tell = report or (lambda done, total, words: None)
        first, starts = self._ranges()
        self._distribute(first, starts, tell)
        N = len(self.degree)
        indptr = np.zeros(N + 1, dtype=np.int64)
        keys, values = self._folder / "keys.tmp", self._folder / "sorted_values.tmp"
        self._changes.repeats = self._num_edges  # less those that are left
        with contextlib.ExitStack() as files:
            key_file, value_file = (files.enter_context(f.open("rb")) for f in (keys, values))
            indices = files.enter_context(writer.growing("indices", index_type(N)))
            if self._weighted:
                weights = files.enter_context(writer.growing("weights", np.float32))
            for start, stop in pairwise(first):
                count = int(starts[stop] - starts[start])
                key = np.fromfile(key_file, dtype=np.int64, count=count)
                given = np.fromfile(value_file, count=count) if self._weighted else None
                row, col, value = self._merge(key, given)
                indptr[start + 1 : stop + 1] = np.bincount(row, minlength=stop - start)
                indices.append(col)
                if value is not None:
                    weights.append(value)
                tell(self._num_edges + int(starts[stop]) // 2, 2 * self._num_edges, "")
            self._changes.entries = indices.length
        for file in (keys, values, self._ends, self._values):
            file.unlink()
        np.cumsum(indptr, out=indptr)
        writer.save("indptr", indptr)
        self._changes.unequal //= 2  # each was met from both of its ends
        self._changes.tell(weighted=self._weighted)
        return self._changes.entries // 2

    def _ranges(self) -> tuple[list[int], NDArray[np.int64]]:
        """First row of each range and, last, N; and how many entries lie above each row."""
        N = len(self.degree)
        starts = np.zeros(N + 1, dtype=np.int64)
        for ends, _ in self._blocks():
            starts[1:] += np.bincount(ends.ravel(), minlength=N)
        np.cumsum(starts, out=starts)
        first = [0]
        while first[-1] < N:
            end = int(np.searchsorted(starts, starts[first[-1]] + self._size, side="right")) - 1
            first.append(max(end, first[-1] + 1))
        return first, starts

    def _blocks(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64] | None]]:
        """Edges as they were added, `(n, 2)`, with their weights `(n,)`."""
        size = max(1, self._size // 2)
        with self._ends.open("rb") as ends_file, self._values.open("rb") as value_file:
            while len(ends := np.fromfile(ends_file, dtype=np.int64, count=2 * size)):
                ends = ends.reshape(-1, 2)
                yield ends, np.fromfile(value_file, count=len(ends)) if self._weighted else None

    def _distribute(
        self,
        first: list[int],
        starts: NDArray[np.int64],
        report: Callable[[int, int | None, str], None],
    ) -> None:
        """Move the two entries of every edge to their range, as numbers that sort in order.

        The key of an entry is 2 (row N + column), rows counted from the first of the range, plus 1
        where the edge was given from the column to the row.
        """
        N, borders = len(self.degree), np.array(first[1:])
        filled = starts[np.array(first[:-1])].copy()
        done = 0
        with (
            (self._folder / "keys.tmp").open("wb") as keys,
            (self._folder / "sorted_values.tmp").open("wb") as values,
        ):
            for ends, weight in self._blocks():
                row, col = np.concatenate([ends, ends[:, ::-1]]).T
                given = np.repeat([0, 1], len(ends))
                place = np.searchsorted(borders, row, side="right")
                key = 2 * ((row - np.array(first)[place]) * N + col) + given
                order = np.argsort(place, kind="stable")
                counts = np.bincount(place, minlength=len(borders))
                key = key[order]
                value = None if weight is None else np.concatenate([weight, weight])[order]
                at = 0
                for number in np.flatnonzero(counts).tolist():
                    inside = slice(at, at + int(counts[number]))
                    _write_at(keys, int(filled[number]), key[inside])
                    if value is not None:
                        _write_at(values, int(filled[number]), value[inside])
                    filled[number] += counts[number]
                    at = inside.stop
                done += len(ends)
                report(done, 2 * self._num_edges, "")

    def _merge(
        self, key: NDArray[np.int64], value: NDArray[np.float64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64] | None]:
        """Sort a range: rows from its first on, columns, and the weights of the entries."""
        N = len(self.degree)
        if value is None:
            key.sort()
            key = key[_begins(key)]
        else:
            order = np.argsort(key, kind="stable")
            key, value = key[order], value[order]
            begins = _begins(key)
            value = np.add.reduceat(value, np.flatnonzero(begins)) if len(key) else value
            key = key[begins]
        forward = int((key % 2 == 0).sum())
        self._changes.repeats -= forward
        begins = _begins(key // 2)
        if value is not None and len(key):
            both = np.flatnonzero(~begins)
            larger = np.maximum(value[both], value[both - 1])
            gap = np.abs(value[both] - value[both - 1])
            self._changes.unequal += int((gap > UNEQUAL * larger).sum())
            value = np.maximum.reduceat(value, np.flatnonzero(begins))
        pair = key[begins] // 2
        self._changes.one_way += len(pair) - forward
        return pair // N, pair % N, value


def _begins(key: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where a sorted key differs from the one before it."""
    begins = np.ones(len(key), dtype=bool)
    np.not_equal(key[1:], key[:-1], out=begins[1:])
    return begins


def _write_at(file: IO[bytes], place: int, array: NDArray[np.generic]) -> None:
    file.seek(place * array.itemsize)
    file.write(np.ascontiguousarray(array).data)
