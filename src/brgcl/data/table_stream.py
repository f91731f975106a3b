"""A table file in parts: the rules of `table_files`, in memory that does not grow with the file.

Each part is a `TableFile` of some rows, so whatever reads a table reads a part of it, with the same
errors at the same lines. A text file is cut at ends of lines that lie outside quotes.
"""

import contextlib
import gzip
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet

from brgcl.data.table_files import (
    COMMENTED,
    UNPACKING,
    TableFile,
    damaged_parquet,
    incomplete,
    normal_lines,
    open_arrow,
    open_text,
    table_kind,
    tell_comments,
    with_single_blanks,
    without_comments,
)
from brgcl.errors import InputError

Report = Callable[[int, int | None, str], None]  # bytes that are done, all of them, a few words
LONGEST_ROW = 1 << 26  # bytes without the end of a row after which reading stops


@dataclass(frozen=True)
class TableStream:
    """A table that is read from its start as often as it is asked for.

    Attributes:
        head: The first part of a text file; a Parquet file without its rows.
        part_bytes: Size of a part, roughly.
    """

    head: TableFile
    part_bytes: int
    _kind: str
    _head_blocks: int = 0

    @property
    def path(self) -> Path:
        """The file."""
        return self.head.path

    def parts(
        self, table: TableFile, names: Sequence[str], report: Report | None = None
    ) -> Iterator[TableFile]:
        """All rows, part by part.

        Args:
            table: The head, after it was decided whether the file has a header.
            names: Columns that will be asked for.
            report: Called with the bytes that were read.
        """
        tell = report or (lambda done, total, words: None)
        if self._kind == ".parquet":
            yield from _parquet_parts(table, names, self.part_bytes, tell)
            return
        yield table
        lines = inside = 0
        for number, content in enumerate(_blocks(self.path, self.part_bytes, tell)):
            above, lines = lines, lines + content.count(b"\n")
            if number < self._head_blocks:
                continue
            if self._kind in COMMENTED:
                content, more = without_comments(content, start=False)
                inside += more
            if not content.strip():
                continue
            if table.separator == " ":
                content = with_single_blanks(self.path, content)
            yield table.part(content, above)
        tell_comments(self.path, inside)

    def place(self, table: TableFile, names: Sequence[str], row: int) -> str:
        """Where row `row` (from 0) of the whole table is in the file, for an error message."""
        for part in self.parts(table, names):
            num_rows = len(part.texts(names[0])[0])
            if row < num_rows:
                return part.place(row)
            row -= num_rows
        return str(self.path)


def open_stream(path: Path, part_bytes: int) -> TableStream:
    """Open a table as `read_table` does, but read only its start."""
    kind = table_kind(path)
    if kind == ".parquet":
        with _parquet_file(path) as file:
            return TableStream(open_arrow(path, file.schema_arrow.empty_table()), part_bytes, kind)
    start, number = b"", 0
    for content in _blocks(path, part_bytes, lambda done, total, words: None):
        start, number = start + content, number + 1
        rows = without_comments(start, start=True)[0] if kind in COMMENTED else start
        if rows.strip():
            break
    return TableStream(open_text(path, kind, start), part_bytes, kind, number)


def _blocks(path: Path, size: int, report: Report) -> Iterator[bytes]:
    """Whole rows of a text file, about so many bytes at a time, with normal ends of lines."""
    total, rest, start = path.stat().st_size, b"", True
    try:
        with path.open("rb") as raw, _unpacked(path, raw) as file:
            while block := file.read(size):
                while block.endswith(b"\r") and (more := file.read(1)):
                    block += more
                rest, start = rest + normal_lines(block, start=start), False
                if cut := _end_of_rows(rest):
                    yield rest[:cut]
                    rest = rest[cut:]
                elif len(rest) > max(LONGEST_ROW, 2 * size):
                    raise InputError(
                        f"{path}: no row ends within {len(rest) >> 20} MB; a quotation mark opens "
                        "a cell and none closes it, or the file is no table"
                    )
                report(raw.tell(), total, "")
    except UNPACKING as error:
        raise incomplete(path, error) from error
    if rest:
        yield rest


def _unpacked(path: Path, raw: IO[bytes]) -> contextlib.AbstractContextManager[IO[bytes]]:
    if path.suffix.lower() == ".gz":
        return gzip.GzipFile(fileobj=raw)  # type: ignore[return-value]
    return contextlib.nullcontext(raw)


def _end_of_rows(content: bytes) -> int:
    """Where the last row ends that is whole: after an end of line outside quotes; 0 if none is."""
    end = content.rfind(b"\n") + 1
    quotes = content.count(b'"', 0, end)
    while end and quotes % 2:
        before = content.rfind(b"\n", 0, end - 1) + 1
        quotes -= content.count(b'"', before, end)
        end = before
    return end


@contextlib.contextmanager
def _parquet_file(path: Path) -> Iterator[Any]:
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        raise damaged_parquet(path, error) from error


def _parquet_parts(
    table: TableFile, names: Sequence[str], part_bytes: int, report: Report
) -> Iterator[TableFile]:
    with _parquet_file(table.path) as file:
        about, done = file.metadata, 0
        groups = (about.row_group(i).total_byte_size for i in range(about.num_row_groups))
        size = max(1, part_bytes * about.num_rows // max(1, sum(groups)))
        total = table.path.stat().st_size
        for batch in file.iter_batches(batch_size=size, columns=list(dict.fromkeys(names))):
            yield table.part(pa.Table.from_batches([batch]), done)
            done += batch.num_rows
            report(total * done // about.num_rows, total, "")
