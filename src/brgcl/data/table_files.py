"""One table file (CSV, TSV, text, Parquet) -> columns of exact text or of numbers.

Text is kept letter by letter ("007" stays "007", "NA" stays "NA"), and every error names the file
and the line or row.
"""

import csv
import gzip
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from brgcl.errors import InputError

TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
TABLE_SUFFIXES = (*TEXT_SUFFIXES, ".parquet")


@dataclass(frozen=True)
class Table:
    """A table whose columns are converted when they are asked for.

    Attributes:
        path: The file.
        columns: Names of the columns, all different.
        headless: Whether the first row looked like data, so that the names are made up.
    """

    path: Path
    columns: tuple[str, ...]
    headless: bool
    _content: Any  # bytes below the header of a text file, or an Arrow table
    _delimiter: str = ","
    _lines_above: int = 0

    def place(self, row: int) -> str:
        """Where row `row` (from 0) is in the file, for an error message."""
        if isinstance(self._content, pa.Table):
            return f"{self.path} row {row}"
        seen = -1
        for number, line in enumerate(self._content.to_pybytes().splitlines(), 1):
            seen += bool(line)
            if seen == row:
                return f"{self.path} line {number + self._lines_above}"
        return str(self.path)

    def texts(self, *names: str) -> list[Any]:
        """Arrow arrays of the exact text of some columns; a missing cell is ""."""
        if isinstance(self._content, pa.Table):
            return [_parquet_text(self._content[name]) for name in names]
        table = self._parse(dict.fromkeys(names, pa.string()))
        return [table[name].combine_chunks() for name in names]

    def numbers(self, names: Sequence[str]) -> NDArray[np.float32]:
        """The matrix of some columns, `(rows, columns)`.

        Raises:
            InputError: A cell is missing, not a number, or not finite.
        """
        if isinstance(self._content, pa.Table):
            table = self._content
            for name in names:
                if not _is_number(table[name].type):
                    raise InputError(
                        f"{self.path}: column '{name}' holds {table[name].type}, not numbers; "
                        "keep one numeric column per attribute"
                    )
        else:
            table = self._parse(dict.fromkeys(names, pa.float64()))
        matrix = np.empty((table.num_rows, len(names)), dtype=np.float32)
        for j, name in enumerate(names):
            with np.errstate(over="ignore"):
                matrix[:, j] = _float_column(table[name])
        bad = np.argwhere(~np.isfinite(matrix))
        if len(bad):
            row, column = (int(i) for i in bad[0])
            cell = table[names[column]][row].as_py()
            problem = "is missing or NaN" if cell is None or cell != cell else f"is {cell}"
            raise InputError(
                f"{self.place(row)}, column '{names[column]}': the value {problem}; "
                "every cell must be a finite number"
            )
        return matrix

    def column(self, given: str | None, default: int, argument: str) -> str:
        """The name of a column: the one the caller gave, or the one at place `default`."""
        if given is None:
            if default < len(self.columns):
                return self.columns[default]
            raise InputError(
                f"{self.path} has {len(self.columns)} column(s) but needs {default + 1}; "
                f"columns are separated by {self._delimiter!r}"
            )
        if given not in self.columns:
            raise InputError(
                f"{self.path} has no column '{given}'; set {argument}= to one of: "
                + ", ".join(self.columns)
            )
        return given

    def _parse(self, types: dict[str, Any]) -> Any:
        try:
            return pyarrow.csv.read_csv(
                pa.BufferReader(self._content),
                read_options=pyarrow.csv.ReadOptions(
                    use_threads=False,  # the only mode that knows the row of an error
                    column_names=list(self.columns),
                    block_size=1 << 24,
                ),
                parse_options=pyarrow.csv.ParseOptions(delimiter=self._delimiter),
                convert_options=pyarrow.csv.ConvertOptions(
                    column_types=types, include_columns=list(types)
                ),
            )
        except pa.ArrowInvalid as error:
            if "Empty CSV" in str(error):
                return pa.table({name: pa.array([], kind) for name, kind in types.items()})
            raise self._explained(str(error)) from error

    def _explained(self, message: str) -> InputError:
        """Say an Arrow error in the reader's terms."""
        found = re.search(r"Row #(\d+)", message)
        place = self.place(int(found[1]) - 1) if found else str(self.path)
        if ragged := re.search(r"Expected (\d+) columns, got (\d+)", message):
            return InputError(
                f"{place}: {ragged[2]} columns where the header has {ragged[1]}; "
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


def read_table(path: str | Path, *, may_lack_header: bool = False) -> Table:
    """Open a table and find its columns.

    A text file has a header row. Only with `may_lack_header`, and only if the first two cells of
    the first row are both integers, that row is data, and the columns are called "column 1",
    "column 2", ... `.csv` is separated by commas and `.tsv` by tabs; `.txt` by tabs, commas or
    single blanks, whichever its first line has, after any lines that begin with `#`. All may end
    in `.gz`.

    Args:
        path: The file.
        may_lack_header: Whether a first row of integers is data.

    Raises:
        InputError: The file is missing, unreadable or of another kind.
    """
    path = Path(path)
    kind = table_suffix(path)
    if kind not in TABLE_SUFFIXES:
        raise InputError(
            f"{path}: unknown kind of table '{kind}'; accepted: {', '.join(TABLE_SUFFIXES)}, "
            "and the text ones with .gz"
        )
    content = read_bytes(path)
    if kind == ".parquet":
        return _open_parquet(path, content)
    return _open_text(path, kind, content, may_lack_header)


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
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read, is it complete? ({error})") from error


def _open_parquet(path: Path, content: bytes) -> Table:
    try:
        table = pyarrow.parquet.read_table(pa.BufferReader(content))
    except (pa.ArrowException, OSError) as error:
        first = str(error).splitlines()[0]
        raise InputError(f"{path}: not a complete Parquet file ({first})") from error
    names = list(table.column_names)
    stored = (table.schema.pandas_metadata or {}).get("index_columns", [])
    index = [name for name in stored if isinstance(name, str)]
    names = [*index, *(name for name in names if name not in index)]  # pandas writes it last
    _check_names(path, names)
    return Table(path, tuple(names), headless=False, _content=table)


def _open_text(path: Path, kind: str, content: bytes, may_lack_header: bool) -> Table:
    content = content.removeprefix(b"\xef\xbb\xbf")
    start, lines_above, first = 0, 0, b""
    while start < len(content):
        end = content.find(b"\n", start)
        end = len(content) if end < 0 else end
        first = content[start:end].rstrip(b"\r")
        if first.strip() and not (kind == ".txt" and first.startswith(b"#")):
            break
        start, lines_above = end + 1, lines_above + 1
    if start >= len(content):
        raise InputError(f"{path}: the file is empty; it needs a header row")
    try:
        line = first.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} line {lines_above + 1}: not UTF-8 text; save the file as UTF-8"
        ) from error
    delimiter = {".csv": ",", ".tsv": "\t"}.get(kind) or next(
        (d for d in "\t, " if d in line), "\t"
    )
    cells = next(csv.reader([line], delimiter=delimiter))
    headless = may_lack_header and len(cells) > 1 and all(map(_is_integer, cells[:2]))
    if headless:
        cells = [f"column {i}" for i in range(1, len(cells) + 1)]
    else:
        start, lines_above = end + 1, lines_above + 1
    _check_names(path, cells)
    body = pa.py_buffer(content).slice(min(start, len(content)))
    return Table(path, tuple(cells), headless, body, delimiter, lines_above)


def _check_names(path: Path, names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{path}: two columns are called '{name}'; rename one")
        seen.add(name)


def _is_integer(cell: str) -> bool:
    return re.fullmatch(r"\s*[+-]?\d+\s*", cell) is not None


def _is_number(kind: Any) -> bool:
    return any(
        test(kind) for test in (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    )


def _float_column(column: Any) -> NDArray[np.float64]:
    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)


def _parquet_text(column: Any) -> Any:
    """Text of a typed column: whole floats read as integers, null as ""."""
    column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
        whole = pc.equal(column, pc.floor(column))
        if pc.all(whole).as_py() is not False:
            column = column.cast(pa.int64())
    return pc.fill_null(column.cast(pa.string()), "")
