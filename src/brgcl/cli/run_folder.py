"""A run folder: what a command leaves behind for one graph.

`run.json` says how the run was made and lists its files with their checksums; `run_files` says
what is in them. A command takes the folder before it begins and holds a lock until it ends. It
replaces only files that are listed in `run.json` and were not changed since; others are never
touched, least of all `review.sqlite`, the decisions of a person.
"""

import contextlib
import hashlib
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from brgcl import __version__
from brgcl.cli.console import say
from brgcl.errors import InputError
from brgcl.machine import library_versions, processor

LOCK, ABOUT = ".brgcl.lock", "run.json"
TRAINING = ".training"  # what ranks share until the run is finished
MODEL = ("model/model.safetensors", "model/config.json")
FILES = (
    "embeddings.parquet", "nodes.parquet", "edges.parquet", *MODEL, "history.json", "metrics.json",
    "suspects.parquet", "suspects.csv", "findings.json", "classifier.safetensors", "report.html",
)  # fmt: skip
REVIEW = "review.sqlite"
SPARE = 50 * 2**20  # bytes that are left free on the disk


@dataclass
class RunFolder:
    """A folder that one command may write into.

    Attributes:
        path: The folder.
        about: How the run was made; it is written into `run.json`.
        before: Files of the run that was there before, with their checksums.
        files: Files of this run; a checksum is None while the file is being written.
    """

    path: Path
    before: Mapping[str, str | None]
    about: dict[str, Any] = field(default_factory=dict)
    files: dict[str, str | None] = field(default_factory=dict)
    _start: float = field(default_factory=time.time)

    def write(self, name: str, write: Callable[..., None], *content: Any) -> None:
        """Write a file or the model, and note its files in `run.json` before and after."""
        names = MODEL if name == "model" else (name,)
        self.files |= dict.fromkeys(names)
        self._note("unfinished")
        write(self.path / name, *content)
        self.files |= {name: _checksum(self.path / name) for name in names}
        self._note("unfinished")

    def finish(self) -> None:
        """Remove files of the run before that this one does not have, and close `run.json`."""
        for name in self.before.keys() - self.files.keys():
            (self.path / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            (self.path / "model").rmdir()  # only if it is empty
        self._note("finished")

    def need(self, num_bytes: int) -> None:
        """Check that the disk has room for the results."""
        free = shutil.disk_usage(self.path).free
        if free < num_bytes + SPARE:
            raise InputError(
                f"'{self.path}' has {free / 2**20:,.0f} MB of free disk, the results need about "
                f"{(num_bytes + SPARE) / 2**20:,.0f} MB; make room or give another --out"
            )

    def _note(self, state: str) -> None:
        from brgcl.atomic_files import write_json

        left = {} if state == "finished" else self.before
        about = {
            "brgcl": __version__,
            "state": state,
            "command": ["brgcl", *sys.argv[1:]],
            "started": datetime.fromtimestamp(self._start, UTC).isoformat(timespec="seconds"),
            "seconds": round(time.time() - self._start, 3),
            **self.about,
            "versions": library_versions(),
            "processor": processor(),
            "files": {**left, **self.files},
        }
        write_json(self.path / ABOUT, about)


@contextlib.contextmanager
def claim_folder(path: Path, *, overwrite: bool, reviewed: bool = False) -> Iterator[RunFolder]:
    """Take a folder, made if need be; a run that fails before it writes leaves nothing behind.

    Args:
        path: The folder.
        overwrite: Whether a run that is there may be replaced.
        reviewed: Whether the new run takes over the decisions of a review that are there.

    Raises:
        InputError: The folder cannot be written to, has files in it that the run would replace,
            or another command is writing into it.
    """
    if path.exists() and not path.is_dir():
        raise InputError(f"'{path}' is a file, not a folder; give another --out")
    made = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = _lock(path)
    except OSError as error:
        _remove(made)
        raise InputError(
            f"cannot write into '{path}': {error.strerror}; give another --out"
        ) from error
    folder = None
    try:
        folder = RunFolder(path, _check_content(path, overwrite, reviewed))
        yield folder
        folder.finish()
    except BaseException:
        if folder is not None and folder.files:
            say(f"'{path}' has an unfinished run: {', '.join(folder.files)}")
        raise
    finally:
        lock()
        if folder is None or not folder.files:
            _remove(made)


def write_anew(path: Path, name: str, write: Callable[[Path], object]) -> None:
    """Write one file of a run that is there, such as its report, and note its new checksum.

    Raises:
        InputError: The folder has no run, another command is writing into it, or the file is a
            link, was changed, or is not of the run.
    """
    from brgcl.atomic_files import write_json

    about = _read_about(path)
    if not about:
        raise InputError(
            f"'{path}' has no run (run.json); give the folder that a command wrote with --out"
        )
    try:
        release = _lock(path)
    except OSError as error:
        raise InputError(
            f"cannot write into '{path}': {error.strerror}; give another --out"
        ) from error
    try:
        _check_file(path, name, about["files"])
        write(path / name)
        about["files"][name] = _checksum(path / name)
        write_json(path / ABOUT, about)
    finally:
        release()


def tell_unfinished(path: Path) -> None:
    """Say so if the command that writes a run has not finished, or was killed."""
    if _read_about(path).get("state") == "unfinished":
        say(
            f"'{path}' holds an unfinished run, whose files may not belong together; wait for the "
            "command that writes it, or run it again with --overwrite"
        )


def last_command(path: Path) -> str | None:
    """Return the command that wrote the run in a folder; None if there is no run."""
    about = _read_about(path)
    return about["command"][1] if about else None


def claim_file(path: Path, *, overwrite: bool) -> None:
    """Check that a file can be written; nothing is created yet.

    Raises:
        InputError: The path is a folder or a file of a run, the file is there and `overwrite` is
            off, or its folder cannot be written to.
    """
    if path.is_dir():
        raise InputError(f"'{path}' is a folder, not a file; give another name")
    if _is_of_run(path):
        raise InputError(f"'{path}' is a file of a run; give another name")
    if path.exists() and not overwrite:
        raise InputError(f"file '{path}' already exists; give another name or add --overwrite")
    made = [folder for folder in path.parents if not folder.exists()]
    probe = path.with_name(f".{path.name}.brgcl")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InputError(f"cannot write '{path}': {error.strerror}; give another name") from error
    finally:
        _remove(made)


def _is_of_run(path: Path) -> bool:
    """Whether a path is that of a file of a run, or of decisions, wherever they are."""
    file = path.absolute()
    return file.name.startswith(REVIEW) or any(
        (folder / ABOUT).is_file() and file.relative_to(folder).as_posix() in (*FILES, ABOUT)
        for folder in file.parents[:2]  # the second is that of the model
    )


def _check_content(path: Path, overwrite: bool, reviewed: bool) -> dict[str, str | None]:
    """Check that a run may write into the folder; returns the files of the run before."""
    names = {entry.name for entry in path.iterdir()} - {LOCK, TRAINING}
    if names and not overwrite:
        raise InputError(f"folder '{path}' is not empty; give another --out or add --overwrite")
    if REVIEW in names and not reviewed:
        raise InputError(
            f"'{path / REVIEW}' has decisions about the run that would be replaced; give another "
            f"--out, or let brgcl find-errors take them over with --reviewed {path}"
        )
    about = _read_about(path)
    known = {**about["files"], ABOUT: None} if about else {}
    for name in (*FILES, ABOUT):
        _check_file(path, name, known)
    return {name: checksum for name, checksum in known.items() if name in FILES}


def _check_file(path: Path, name: str, known: Mapping[str, str | None]) -> None:
    """Check that a file may be replaced: it is not there, or as the run before left it."""
    file = path / name
    link = next((p for p in (file, file.parent) if p != path and p.is_symlink()), None)
    changed = known.get(name) is not None and file.is_file() and _checksum(file) != known[name]
    if link is not None or changed or (file.exists() and name not in known):
        why = "is a link" if link else "was changed" if changed else "was not written by brgcl"
        raise InputError(
            f"'{link or file}' {why} and would be replaced; move it or give another --out"
        )


def _lock(path: Path) -> Callable[[], None]:
    """Lock a folder for one command; returns what unlocks it."""
    from filelock import FileLock, Timeout

    try:
        lock = FileLock(path / LOCK, timeout=0).acquire()
    except Timeout:
        raise InputError(
            f"another command is writing into '{path}'; wait for it or give another --out"
        ) from None

    def release() -> None:
        (path / LOCK).unlink(missing_ok=True)
        lock.lock.release()

    return release


def _read_about(path: Path) -> dict[str, Any]:
    """Read how the run in a folder was made; empty if there is none."""
    try:
        about = json.loads((path / ABOUT).read_text(encoding="utf-8"))
        return about if {"brgcl", "command", "files"} <= about.keys() else {}
    except (OSError, ValueError, AttributeError):
        return {}


def _checksum(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _remove(folders: list[Path]) -> None:
    """Remove folders that are empty, the innermost first."""
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()
