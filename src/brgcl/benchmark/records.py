"""Results of runs, one JSON line each, in a file that only grows.

A line is written whole and flushed to disk before the next one begins. If the machine stops in
the middle of a line, that line is dropped: its run counts as not done. Several processes
may write to one file; a lock beside it lets them take turns.
"""

import contextlib
import dataclasses
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from brgcl.benchmark.run_spec import RunSpec
from brgcl.errors import InputError


@dataclass(frozen=True)
class Record:
    """The result of one run, and what computed it."""

    spec: RunSpec
    metrics: Mapping[str, float]  # scores by name; empty if the run failed
    rule: str = ""  # the classifier that was taken, or "own"; empty where there is none
    realised: Mapping[str, float] = dataclasses.field(default_factory=dict)  # noise rates
    config: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # all settings
    training_seconds: float = 0.0  # processor time, whichever run the training was done for
    scoring_seconds: float = 0.0  # processor time of classifying or clustering
    peak_mb: float | None = None  # of the process during the training; None if unknown
    shared_training: bool = False  # whether the training was done for another run
    threads: int = 1
    versions: Mapping[str, str] = dataclasses.field(default_factory=dict)
    commit: str | None = None  # of the source, or its version where that is all there is
    processor: str | None = None  # like the commit None in records of earlier versions
    error: str | None = None  # traceback, where it failed

    def to_json(self) -> str:
        """One line, without its end."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        fields.pop("spec")
        values = {"key": self.spec.key, "experiment": self.spec.to_dict(), **fields}
        return json.dumps(values, separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str) -> "Record":
        """Read a line."""
        values = json.loads(line)
        values.pop("key")
        return cls(spec=RunSpec.from_dict(values.pop("experiment")), **values)

    @property
    def reason(self) -> str:
        """The last line of the traceback; empty if it did not fail."""
        return (self.error or "").strip().rpartition("\n")[2]

    @property
    def is_current(self) -> bool:
        """Whether the method still has the version and the defaults that this was computed with.

        A setting that did not exist then does not count: it is added so that nothing changes.
        """
        if self.spec.method_version != self.spec.entry.version:
            return False
        try:
            now = dataclasses.asdict(self.spec.config)
        except (InputError, TypeError):  # a setting that is no more
            return False
        return all(now.get(k, v) == v for k, v in self.config.items() if k != "seed")


@dataclass(frozen=True)
class ResultsFolder:
    """Where a runner works."""

    records: Path  # file of records; claims and trainings are kept in folders beside it
    root: Path | None = None  # folder with the graphs, where it is not the usual one

    @property
    def cache(self) -> Path:
        """Folder of trainings."""
        return self.records.parent / "cache"

    @property
    def searches(self) -> Path:
        """Folder of searches; one file a graph, as `brgcl tune NAME --json` prints it."""
        return self.records.parent / "tuning"

    def absolute(self) -> "ResultsFolder":
        """The same, wherever a process stands."""
        root = None if self.root is None else self.root.absolute()
        return ResultsFolder(self.records.absolute(), root)


class Reader:
    """Reads a file of records, if it exists, and when asked again only what was added to it."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._forget()

    def _forget(self) -> None:
        self._inode, self._offset, self._lines = 0, 0, 0
        self._records: dict[str, Record] = {}

    def read(self) -> dict[str, Record]:
        """The newest record of each run, by key; one that is no longer current is left out."""
        for line in self._new_lines():
            self._lines += 1
            try:
                record = Record.from_json(line)
            except InputError:  # of a method, noise or graph that is no more
                continue
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise InputError(
                    f"line {self._lines} of '{self.path}' is not a record: {error}; remove the line"
                ) from error
            if record.is_current:
                self._records[record.spec.key] = record
        return self._records

    def _new_lines(self) -> list[str]:
        try:
            with self.path.open("rb") as file:
                inode, size = os.fstat(file.fileno()).st_ino, file.seek(0, os.SEEK_END)
                if inode != self._inode or size < self._offset:  # another has taken its place
                    self._forget()
                self._inode = inode
                file.seek(self._offset)
                text = file.read()
        except FileNotFoundError:
            self._forget()
            return []
        whole = text[: text.rfind(b"\n") + 1]  # what follows the last line end was cut off
        self._offset += len(whole)
        return whole.decode().splitlines()


def read_records(path: Path) -> dict[str, Record]:
    """Read all records; see `Reader`."""
    return Reader(path).read()


def append_record(path: Path, record: Record) -> None:
    """Add a record and wait until it is on disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{path}.lock"), path.open("ab+") as file:
        _drop_torn_line(file)
        file.write(record.to_json().encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def claim(path: Path, key: str) -> Iterator[bool]:
    """Try to take a piece of work for this process; yields whether it could be had.

    The system gives a claim back when its process ends, however it ends.
    """
    folder = path.parent / "claims"
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / f"{key}.lock")
    try:
        lock.acquire(blocking=False)
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


def _drop_torn_line(file: Any) -> None:
    """Cut off what follows the last line end."""
    end = file.seek(0, os.SEEK_END)
    if end == 0:
        return
    file.seek(end - 1)
    if file.read(1) == b"\n":
        return
    file.seek(0)
    file.truncate(file.read().rfind(b"\n") + 1)
    file.seek(0, os.SEEK_END)
