"""Files that are whole or not there: every write goes to a neighbour first and is then renamed."""

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from brgcl.errors import InputError


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path`; on success it takes the place of `path` at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)  # mkstemp made it private
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write JSON atomically, indented, with a newline at the end."""
    write_text(path, json.dumps(value, indent=2, default=_plain) + "\n")


def write_parquet(path: Path, frame: pd.DataFrame) -> None:
    """Write a table atomically."""
    with replacing(path) as temporary:
        frame.to_parquet(temporary, index=False)


def claim_folder(path: Path, *, overwrite: bool) -> None:
    """Check that a run may write into a folder; nothing is created yet.

    Raises:
        InputError: The path is a file, or the folder is not empty and `overwrite` is off.
    """
    if path.exists() and not path.is_dir():
        raise InputError(f"'{path}' is a file, not a folder; give another --out")
    if path.is_dir() and not overwrite and any(path.iterdir()):
        raise InputError(f"folder '{path}' is not empty; give another --out or add --overwrite")


def claim_file(path: Path, *, overwrite: bool) -> None:
    """Check that a file may be written; nothing is created yet.

    Raises:
        InputError: The path is a folder, or the file is there and `overwrite` is off.
    """
    if path.is_dir():
        raise InputError(f"'{path}' is a folder, not a file; give another --out")
    if path.exists() and not overwrite:
        raise InputError(f"file '{path}' is there already; give another --out or add --overwrite")


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} has no JSON form")
