"""Files that are whole or not there: every write goes to a neighbour first and is then renamed."""

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError, safe_open

from brgcl.errors import InputError

if TYPE_CHECKING:  # the command line imports this module, and starts without these
    import pandas as pd
    from torch import Tensor

UNREADABLE = (SafetensorError, OSError, ValueError, KeyError, TypeError, RuntimeError)


def make_parent(path: Path) -> None:
    """Make the folder that is to hold a file.

    Raises:
        InputError: The path is a folder, or a folder on the way to it is a file.
    """
    if path.is_dir():
        raise InputError(f"'{path}' is a folder, not a file; give the path of a file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise InputError(f"'{path.parent}' is a file, not a folder; give another path") from error


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path`; on success it takes the place of `path` at once."""
    make_parent(path)
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


def write_json(path: Path, value: Mapping[str, Any] | Sequence[Any]) -> None:
    """Write JSON atomically, indented, with a newline at the end."""
    write_text(path, json.dumps(value, indent=2, default=_plain) + "\n")


def write_parquet(path: Path, frame: "pd.DataFrame") -> None:
    """Write a table atomically."""
    with replacing(path) as temporary:
        frame.to_parquet(temporary, index=False)


def write_csv(path: Path, frame: "pd.DataFrame") -> None:
    """Write a table as UTF-8 text atomically; cells are written as they are."""
    with replacing(path) as temporary:
        frame.to_csv(temporary, index=False, lineterminator="\n")


def write_tensors(path: Path, tensors: Mapping[str, "Tensor"], about: Mapping[str, Any]) -> None:
    """Write named tensors and JSON about them into one safetensors file, atomically."""
    from safetensors.torch import save_file

    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with replacing(path) as temporary:
        try:
            save_file(plain, temporary, {"brgcl": json.dumps(about)})
        except SafetensorError as error:  # the disk is full, for example
            raise OSError(str(error)) from error


def read_tensors(path: Path) -> tuple[dict[str, "Tensor"], Any]:
    """Read what `write_tensors` wrote; nothing in it is executed.

    Returns:
        The tensors, and what the JSON says; an empty dict in a file of another program.

    Raises:
        One of `UNREADABLE`: The file is damaged or not there.
    """
    with safe_open(path, framework="pt") as stored:
        about = json.loads((stored.metadata() or {}).get("brgcl", "{}"))
        return {name: stored.get_tensor(name) for name in stored.keys()}, about  # noqa: SIM118


@contextlib.contextmanager
def refusing_damage(path: Path, remedy: str) -> Iterator[None]:
    """Turn an error while a file is read and taken apart into an `InputError` with a remedy."""
    try:
        yield
    except InputError:
        raise
    except UNREADABLE as error:
        text = " ".join(str(error).split())
        raise InputError(f"'{path}' is damaged ({text}); {remedy}") from error


def claim_folder(path: Path, *, overwrite: bool) -> None:
    """Check that a run may write into a folder; nothing is created yet.

    Raises:
        InputError: The path is a file, or the folder is not empty and `overwrite` is off.
    """
    if path.exists() and not path.is_dir():
        raise InputError(f"'{path}' is a file, not a folder; choose another path")
    if path.is_dir() and not overwrite and any(path.iterdir()):
        raise InputError(f"folder '{path}' is not empty; choose another or allow overwriting")


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):  # a number of numpy
        return value.item()
    raise TypeError(f"{type(value).__name__} has no JSON form")
