"""`-` in place of a file: stdin for one that is read, stdout for a table that is written."""

import atexit
import shutil
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from brgcl.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

DASH = Path("-")
MAGIC = {b"PAR1": ".parquet", b"\x93NUM": ".npy", b"PK\x03\x04": ".npz", b"\x1f\x8b": ".csv.gz"}


def read_stdin(files: Mapping[str, Path]) -> dict[str, Path]:
    """Find the file that is given as `-`, and keep what stdin has for it in a temporary file.

    Args:
        files: Files by the option that gives them.

    Returns:
        The option that was given `-` with its temporary file; empty if there is none.

    Raises:
        InputError: Two options are given `-`, or nothing is piped into the command.
    """
    names = [f"--{name}" for name, file in files.items() if file == DASH]
    if not names:
        return {}
    if len(names) > 1:
        raise InputError(f"{' and '.join(names)} cannot both read stdin; give one of them a file")
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError(f"{names[0]} - reads stdin; pipe a file into the command")
    folder = Path(tempfile.mkdtemp(prefix="brgcl-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    stream = sys.stdin.buffer
    first = stream.read(4)
    if not first:
        raise InputError(f"stdin is empty for {names[0]} -; pipe a file into it")
    suffix = next((s for magic, s in MAGIC.items() if first.startswith(magic)), ".csv")
    file = folder / f"stdin{suffix}"
    with file.open("wb") as kept:
        kept.write(first)
        shutil.copyfileobj(stream, kept)
    return {names[0].removeprefix("--"): file}


def print_csv(frame: "pd.DataFrame") -> None:
    """Write a table to stdout as CSV; a reader that has closed the pipe is no error."""
    with suppress(BrokenPipeError):
        frame.to_csv(sys.stdout, index=False, lineterminator="\n")
