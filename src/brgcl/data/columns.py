"""Which column of a table holds what: given by the caller or recognised by its name, never guessed.

The names that are recognised, in any case, are the constants below.
"""

import logging
import re
from collections.abc import Sequence
from typing import Any

import pyarrow.compute as pc

from brgcl.data.table_files import TableFile
from brgcl.errors import InputError

log = logging.getLogger("brgcl")

SOURCE = frozenset({"source", "src", "from", "u", "id_1", "node_1"})
TARGET = frozenset({"target", "dst", "to", "v", "id_2", "node_2"})
WEIGHT = frozenset({"weight"})
ID = frozenset({"id", "node", "node_id"})
LABEL = frozenset({"label", "class", "y", "target"})

NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def edge_columns(
    table: TableFile, source: str | None, target: str | None, weight: str | None
) -> tuple[str, str, str | None]:
    """The columns of both ends and of the weight: as given, by name, or as the only ones."""
    for keyword, name in (("source", source), ("target", target), ("weight", weight)):
        _check_given(table, keyword, name)
    given = [name for name in (source, target, weight) if name is not None]
    if len(set(given)) < len(given):
        raise InputError(f"source=, target= and weight= must be different columns, got {given}")
    rest = [name for name in table.columns if name not in given and name not in table.index]
    if weight is None and (weight := _only(rest, WEIGHT)) is not None:
        rest.remove(weight)
    if source is None and target is None and not table.has_header:
        rest = rest[:2]  # the convention of edge lists: the ends come first
    if source is None and (source := _only(rest, SOURCE)) is not None:
        rest.remove(source)
    if target is None and (target := _only(rest, TARGET)) is not None:
        rest.remove(target)
    if (source is None) + (target is None) == len(rest):
        source, target = source or rest.pop(0), target or rest.pop(0)
    if source is None or target is None:
        raise _unclear(table, "two columns hold the ends of an edge", "source= and target=")
    return source, target, weight


def id_column(table: TableFile, given: str | None) -> str:
    """The column of the ids: as given, by name, or the index of a data frame in Parquet."""
    if given in table.columns:
        return given
    if not table.has_header:
        return table.columns[0]
    known = [name for name in table.columns if _plain(name) in ID]
    stored = [name for name in table.index if name != "Unnamed: 0"]
    if len(known or stored) == 1:
        return (known or stored)[0]
    raise _unclear(table, "column holds the ids", "id=")


def has_id_column(names: Sequence[str], given: str | None) -> bool:
    """Whether a column holds the ids: the one that is given, or one that is recognised."""
    return any(name == given or _plain(name) in ID for name in names)


def label_column(table: TableFile, given: str | None, id: str) -> str:
    """The column of the labels: as given, by name, or because it is the only one beside the id."""
    _check_given(table, "label", given)
    rest = [name for name in table.columns if name != id and name not in table.index]
    name = given or _only(rest, LABEL) or (rest[0] if len(rest) == 1 else None)
    if name is None or name == id:
        raise _unclear(table, "column holds the labels", "label=")
    return name


def labels_among_attributes(names: Sequence[str]) -> str | None:
    """A column that looks like labels; `y` beside `x` is a coordinate."""
    plain = {_plain(name): name for name in names}
    suspects = LABEL & plain.keys() - ({"y"} if "x" in plain else set())
    return plain[min(suspects)] if suspects else None


def settle_header(
    table: TableFile, header: bool | None, given: Sequence[str | None], num_ids: int
) -> TableFile:
    """Decide whether the first row of an edge or label file holds names.

    Args:
        table: The file, as it was opened.
        header: What the caller says; None recognises it, or fails if it is unclear.
        given: Columns that the caller names; a name in the first row makes it a header.
        num_ids: The number of columns, from the first, that hold ids if there is no header: 2 in
            an edge file, 1 in a label file.
    """
    first = table.first_row
    if first is None:
        return table
    if _says_so(first, given, num_ids):
        header = True
    elif header is None:
        header = _recognise_header(table, first, any(name is not None for name in given), num_ids)
    return table.with_header() if header else table


def _says_so(first: tuple[str, ...], given: Sequence[str | None], num_ids: int) -> bool:
    """Whether a first row is a header, whatever the caller says."""
    if any(name in first for name in given):
        return True
    # labels may have one even if the edges have none
    return num_ids == 1 and bool(_only(first, ID) and _only(first, LABEL))


def needs_numbers(
    table: TableFile, header: bool | None, given: Sequence[str | None], num_ids: int
) -> bool:
    """Whether the first row is a header only if the ids in all rows below it are numbers.

    The arguments are those of `settle_header`, which sees the rows of `table` alone; whoever reads
    more rows calls `check_numbers` on them.
    """
    first = table.first_row
    if first is None or header is not None or any(name is not None for name in given):
        return False
    return not (
        _says_so(first, given, num_ids) or _has_names(first, num_ids) or _is_data(first, num_ids)
    )


def check_numbers(table: TableFile, ids: Sequence[Any]) -> None:
    """Refuse a header above ids that are not all numbers."""
    if not all(_all_numbers(column) for column in ids):
        raise _unclear_header(table, table.columns)


def check_header(table: TableFile, names: Sequence[str], ids: Sequence[Any]) -> None:
    """Refuse a recognised header whose names are ids as well, such as `u,v` above `v,w`."""
    if table.is_text and table.has_header:
        for name in names:
            if any(pc.any(pc.equal(column, name)).as_py() for column in ids):
                raise _unclear_header(table, names)


def _has_names(first: tuple[str, ...], num_ids: int) -> bool:
    wanted = (SOURCE, TARGET) if num_ids == 2 else (ID,)
    return bool(
        len(first) < 2
        or first[0] in ("", "Unnamed: 0")  # pandas writes a nameless index so
        or all(_only(first, known) for known in wanted)
        or (num_ids == 2 and _only(first, WEIGHT))
    )


def _is_data(first: tuple[str, ...], num_ids: int) -> bool:
    return any(re.match(NUMBER, cell) for cell in first[:num_ids])


def _recognise_header(table: TableFile, first: tuple[str, ...], named: bool, num_ids: int) -> bool:
    if _has_names(first, num_ids):
        return True
    if _is_data(first, num_ids):
        log.warning("%s: the first row holds numbers: read without a header", table.path)
        return False
    below = [column[1:] for column in table.texts(*table.columns[:num_ids])]
    if named or all(len(column) and _all_numbers(column) for column in below):
        return True  # text above numbers
    raise _unclear_header(table, first)


def _all_numbers(column: Any) -> bool:
    return bool(pc.all(pc.match_substring_regex(column, NUMBER), min_count=0).as_py())


def _unclear_header(table: TableFile, first: Sequence[str]) -> InputError:
    return InputError(
        f"{table.path}: the first row ({', '.join(first)}) may hold names of columns or data; "
        "say header=True or header=False"
    )


def _unclear(table: TableFile, what: str, keywords: str) -> InputError:
    if len(table.columns) < 2:
        return InputError(
            f"{table.path} has 1 column but needs 2; columns are separated by {table.separator!r}"
        )
    return InputError(
        f"{table.path}: cannot tell which {what}; say so with {keywords}; "
        f"columns: {', '.join(table.columns)}"
    )


def _check_given(table: TableFile, keyword: str, name: str | None) -> None:
    if name is not None and name not in table.columns:
        raise InputError(
            f"{table.path} has no column '{name}'; set {keyword}= to one of: "
            + ", ".join(table.columns)
        )


def _only(names: Sequence[str], known: frozenset[str]) -> str | None:
    """The one name that is known; None if there is none or more than one."""
    matching = [name for name in names if _plain(name) in known]
    return matching[0] if len(matching) == 1 else None


def _plain(name: str) -> str:
    return re.sub(r"[\s-]+", "_", name.strip().lower())
