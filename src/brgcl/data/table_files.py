"""One table file (CSV, TSV, text, Parquet) -> columns of text or of numbers.

Text is kept letter by letter ("007" stays "007", "NA" stays "NA") except for blanks around it, and
every error names the file and the line or row.
"""

import csv
import gzip
import io
import logging
import math
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray
from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions

from brgcl.errors import InputError

log = logging.getLogger("brgcl")

SEPARATORS = {".csv": ",;\t", ".tsv": "\t", ".txt": "\t,; ", ".edgelist": "\t,; "}
"""What may separate the columns of a text file; the first one that its first line has does."""

TABLE_SUFFIXES = (*SEPARATORS, ".parquet")
COMMENTED = (".txt", ".edgelist")  # may have lines that begin with #
UNPACKING = (OSError, EOFError, zlib.error)  # what reading a packed file raises
MATRIX_SUFFIXES = (".npy", ".npz")


@dataclass(frozen=True)
class TableFile:
    """A table whose columns are converted when they are asked for.

    Attributes:
        path: The file.
        columns: Names of the columns, all different: "column 1", "column 2", ... without a header.
        first_row: Cells of a text file's first row, as long as it counts as data; else None.
        index: Columns that pandas wrote as the index of a data frame.
        separator: What separates the columns of a text file.
    """

    path: Path
    columns: tuple[str, ...]
    first_row: tuple[str, ...] | None
    index: tuple[str, ...]
    separator: str
    _content: Any  # bytes of the rows of a text file, or an Arrow table
    _first_line: int = 0  # bytes
    _lines_above: int = 0  # or rows, in Parquet: they are in other parts of the file

    @property
    def is_text(self) -> bool:
        """Whether this is a text file; a Parquet file always has names."""
        return not isinstance(self._content, pa.Table)

    @property
    def has_header(self) -> bool:
        """Whether the names of the columns come from the file."""
        return self.first_row is None

    def with_header(self) -> "TableFile":
        """Take the first row as names; a column without one is called as pandas calls it."""
        if self.first_row is None:
            return self
        names = [name or f"Unnamed: {i}" for i, name in enumerate(self.first_row)]
        check_names(self.path, names)
        return replace(
            self,
            columns=tuple(names),
            first_row=None,
            index=tuple(name for name in names[:1] if name == "Unnamed: 0"),
            _content=self._content.slice(min(self._first_line, self._content.size)),
            _lines_above=self._lines_above + 1,
        )

    def place(self, row: int) -> str:
        """Where row `row` (from 0) is in the file, for an error message."""
        if not self.is_text:
            return f"{self.path} row {row + self._lines_above}"
        text = io.StringIO(self._content.to_pybytes().decode(errors="replace"))
        records = csv.reader(text, delimiter=self.separator)
        start, seen = 1, -1
        for cells in records:
            seen += bool(cells)  # a blank line is no row
            if seen == row:
                return f"{self.path} line {start + self._lines_above}"
            start = records.line_num + 1  # a quoted cell may span several lines
        return str(self.path)

    def part(self, content: Any, lines_above: int) -> "TableFile":
        """Other rows of the same table: bytes of text or an Arrow table."""
        content = pa.py_buffer(content) if isinstance(content, bytes) else content
        return replace(self, _content=content, _lines_above=lines_above)

    def texts(self, *names: str) -> list[Any]:
        """Arrow arrays of the text of some columns, without outer blanks; a missing cell is ""."""
        if not self.is_text:
            columns = [self._parquet_text(name) for name in names]
        else:
            table = self._parse(dict.fromkeys(names, pa.string()))
            columns = [table[name].combine_chunks() for name in names]
        return [pc.utf8_trim_whitespace(column) for column in columns]

    def numbers(self, names: Sequence[str]) -> NDArray[np.float32]:
        """The matrix of some columns, all finite; a vector in Parquet is several columns."""
        if not self.is_text:
            columns = dict(pair for name in names for pair in self._parquet_numbers(name))
        else:
            table = self._parse(dict.fromkeys(names, pa.float64()))
            columns = {name: table[name] for name in names}
        num_rows = len(next(iter(columns.values()))) if columns else 0
        matrix = np.empty((num_rows, len(columns)), dtype=np.float32)
        with np.errstate(over="ignore"):
            for j, column in enumerate(columns.values()):
                matrix[:, j] = column.cast(pa.float64(), safe=False).to_numpy()
        bad = np.argwhere(~np.isfinite(matrix))
        if len(bad):
            row, j = (int(i) for i in bad[0])
            name, column = list(columns.items())[j]
            cell = column[row].as_py()
            problem = "is missing or NaN" if cell is None or cell != cell else f"is {cell}"
            if cell is not None and math.isfinite(cell):
                problem += ", which is too large for a 32-bit float"
            raise InputError(
                f"{self.place(row)}, column '{name}': the value {problem}; "
                "every attribute and weight must be a finite number"
            )
        return matrix

    def integers(self, names: Sequence[str]) -> NDArray[np.int64]:
        """The matrix of some columns of a text file, which hold whole numbers."""
        table = self._parse(dict.fromkeys(names, pa.int64()))
        for name in names:
            if table[name].null_count:
                row = int(np.flatnonzero(table[name].is_null().to_numpy(zero_copy_only=False))[0])
                raise InputError(f"{self.place(row)}, column '{name}': the number is missing")
        return np.stack([table[name].to_numpy() for name in names], axis=1)

    def _parse(self, types: dict[str, Any]) -> Any:
        try:
            return pyarrow.csv.read_csv(
                pa.BufferReader(self._content),
                read_options=ReadOptions(  # one thread, for the row of an error
                    use_threads=False, column_names=list(self.columns), block_size=1 << 24
                ),
                parse_options=ParseOptions(delimiter=self.separator, newlines_in_values=True),
                convert_options=ConvertOptions(column_types=types, include_columns=list(types)),
            )
        except pa.ArrowInvalid as error:
            if "Empty CSV" in str(error):
                return pa.table({name: pa.array([], kind) for name, kind in types.items()})
            raise self._explained(str(error)) from error

    def _explained(self, message: str) -> InputError:
        """Say an Arrow error in the reader's terms."""
        row = re.search(r"Row #(\d+)", message)
        place = self.place(int(row[1]) - 1) if row else str(self.path)
        if ragged := re.search(r"Expected (\d+) columns, got (\d+)", message):
            return InputError(
                f"{place}: {ragged[2]} columns where the first row has {ragged[1]}; "
                "quote cells that contain the separator"
            )
        if "UTF8" in message:
            return InputError(f"{place}: not UTF-8 text; save the file as UTF-8")
        if value := re.search(r"In CSV column #(\d+).*invalid value '(.*)'", message, re.DOTALL):
            name = self.columns[int(value[1])]
            return InputError(
                f"{place}, column '{name}': '{value[2]}' is not a number; "
                "keep one numeric column per attribute"
            )
        return InputError(f"{place}: not a readable table ({message.splitlines()[0]})")

    def _parquet_text(self, name: str) -> Any:
        """Text of a typed column: whole floats read as integers, null as ""."""
        column = self._content[name].combine_chunks()
        try:
            if pa.types.is_dictionary(column.type):
                column = column.dictionary_decode()
            if pa.types.is_floating(column.type):
                column = pc.if_else(pc.is_nan(column), None, column)
                whole = pc.and_(
                    pc.equal(column, pc.floor(column)), pc.less(pc.abs(column), 2.0**63)
                )
                if pc.all(whole).as_py() is not False:
                    column = column.cast(pa.int64())
            return pc.fill_null(column.cast(pa.string()), "")
        except pa.ArrowException as error:
            raise InputError(
                f"{self.path}: column '{name}' holds {column.type}; an id or a label is a text or "
                "a number"
            ) from error

    def _parquet_numbers(self, name: str) -> Iterator[tuple[str, Any]]:
        """A numeric column with its name; of a column of vectors, one for each component."""
        column = self._content[name]
        kind, vector = column.type, getattr(column.type, "value_type", None)
        if vector is not None and not pa.types.is_dictionary(kind) and _is_number(vector):
            lengths = pc.list_value_length(column).unique().to_pylist()
            if len(lengths) > 1 or lengths == [None]:
                raise InputError(
                    f"{self.path}: column '{name}' holds vectors of different lengths; "
                    "give every node one of the same length"
                )
            for j in range(sum(lengths)):
                yield f"{name}[{j}]", pc.list_element(column, j)
        elif _is_number(kind):
            yield name, column
        else:
            raise InputError(
                f"{self.path}: column '{name}' holds {kind}, not numbers; "
                "keep one numeric column per attribute"
            )


def read_table(path: Path) -> TableFile:
    """Open a table; the first row of a text file counts as data until `with_header` is called.

    Args:
        path: A `.csv`, `.tsv`, `.txt` or `.edgelist` file, which may also end in `.gz`; or a
            `.parquet` file. `SEPARATORS` tells what separates columns. Lines of `.txt` and
            `.edgelist` that begin with `#` are skipped, and any number of blanks separates.
    """
    kind = table_kind(path)
    content = read_bytes(path)
    if kind != ".parquet":
        return open_text(path, kind, normal_lines(content, start=True))
    try:
        table = pyarrow.parquet.read_table(pa.BufferReader(content))
    except (pa.ArrowException, OSError) as error:
        raise damaged_parquet(path, error) from error
    return open_arrow(path, table)


def table_kind(path: Path) -> str:
    """Check that a file is there and of a kind that can be read; returns its ending."""
    kind = table_suffix(path)
    if kind not in TABLE_SUFFIXES:
        raise InputError(
            f"{path}: unknown kind of table '{kind}'; accepted: {', '.join(TABLE_SUFFIXES)}, "
            "and the text ones with .gz"
        )
    if not path.is_file():
        raise InputError(f"{path}: no such file; check the path")
    return kind


def table_suffix(path: Path) -> str:
    """The lower-case ending that tells the kind of file, without `.gz`."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def read_bytes(path: Path) -> bytes:
    """The content of a file, unpacked if it ends in `.gz`."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; check the path")
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if path.suffix.lower() == ".gz" else content
    except UNPACKING as error:
        raise incomplete(path, error) from error


def incomplete(path: Path, error: Exception) -> InputError:
    """What is wrong with a file that cannot be read to its end."""
    return InputError(f"{path}: cannot be read, is it complete? ({error})")


def damaged_parquet(path: Path, error: Exception) -> InputError:
    """What is wrong with a file that Arrow cannot read."""
    return InputError(f"{path}: not a complete Parquet file ({str(error).splitlines()[0]})")


def open_arrow(path: Path, table: Any) -> TableFile:
    """A table that Arrow has read, perhaps without any of its rows."""
    check_names(path, table.column_names)
    stored = (table.schema.pandas_metadata or {}).get("index_columns", [])
    index = tuple(name for name in stored if isinstance(name, str))  # not a mere range
    return TableFile(path, tuple(table.column_names), None, index, ",", table)


def normal_lines(content: bytes, *, start: bool) -> bytes:
    """Let lines end in a line feed; at the `start` of a file, drop the byte order mark."""
    content = content.removeprefix(b"\xef\xbb\xbf") if start else content
    return content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def open_text(path: Path, kind: str, content: bytes) -> TableFile:
    """A text file, or the first rows of one, whose lines are normal."""
    if kind in COMMENTED:
        content, inside = without_comments(content, start=True)
        tell_comments(path, inside)
    if not content.strip():
        raise InputError(f"{path}: the file is empty; it needs at least one row")
    blank = len(content) - len(content.lstrip())
    start = content.rfind(b"\n", 0, blank) + 1
    lines_above = content.count(b"\n", 0, start)
    place = f"{path} line {lines_above + 1}"
    content = content[start:]
    try:
        line = content.split(b"\n", 1)[0].decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{place}: not UTF-8 text; save the file as UTF-8") from error
    separator = next((s for s in SEPARATORS[kind] if s in line.strip()), SEPARATORS[kind][0])
    if separator == " ":
        content = with_single_blanks(path, content)
        line = content.split(b"\n", 1)[0].decode()
    try:
        cells = tuple(cell.strip() for cell in next(csv.reader([line], delimiter=separator)))
    except csv.Error as error:
        raise InputError(f"{place}: not a row of a table ({error})") from error
    names = tuple(f"column {i}" for i in range(1, len(cells) + 1))
    first_line = len(line.encode()) + 1
    rows = pa.py_buffer(content)
    return TableFile(path, names, cells, (), separator, rows, first_line, lines_above)


def without_comments(content: bytes, *, start: bool) -> tuple[bytes, int]:
    """Blank the lines that begin with `#`; lines keep their numbers.

    Returns:
        The rest, and how many such lines there are, not counting those that `start` the file.
    """
    if b"#" not in content:
        return content, 0
    head = re.match(rb"(?:[ \t]*(?:#[^\n]*)?\n)*", content) if start else None
    inside = len(re.findall(rb"(?m)^[ \t]*#", content[head.end() if head else 0 :]))
    return re.sub(rb"(?m)^[ \t]*#[^\n]*", b"", content), inside


def tell_comments(path: Path, inside: int) -> None:
    """Say how many lines inside a table are skipped."""
    if inside:
        log.warning("%s: %d lines that begin with # are skipped inside the table", path, inside)


def with_single_blanks(path: Path, content: bytes) -> bytes:
    """Leave one blank between columns, and no empty data as NetworkX writes them at the end."""
    if any(blanks in b"\n" + content + b"\n" for blanks in (b"  ", b"\t", b"\n ", b" \n")):
        content = re.sub(rb"(?m)^ +| +$", b"", re.sub(rb"[ \t]+", b" ", content))
    content = content.replace(b" {}\n", b"\n").removesuffix(b" {}")
    if re.match(rb"[^\n]* \{.*\}(\n|$)", content):
        raise InputError(
            f"{path}: lines end in a dictionary of edge data; write plain columns instead, "
            "with networkx.write_edgelist(g, path, data=['weight']) or data=False"
        )
    return content


def check_names(path: Path, names: Sequence[str]) -> None:
    """Check that all columns have different names."""
    for i, name in enumerate(names):
        if name in names[:i]:
            raise InputError(f"{path}: two columns are called '{name}'; rename one")


def _is_number(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))
