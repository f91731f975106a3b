"""The decisions of a review, in `RUN/review.sqlite`: on disk before anybody is told so.

SQLite runs with a write-ahead log and
`synchronous=FULL`: a decision whose call has returned outlives a killed process and a power cut.
Several processes may use one file; each write holds the write lock from its checks to its commit.
"""

import contextlib
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from brgcl.errors import BrgclError, InputError
from brgcl.review.database import (
    COLUMNS,
    FILE,
    FORMAT,
    PATIENCE,
    SCHEMA,
    check_format,
    events_after,
    read_state,
    remedy,
)
from brgcl.review.replay import Kind, State, holds

if TYPE_CHECKING:
    import pandas as pd


class NotSaved(BrgclError):  # noqa: N818 - reads as what happened
    """A decision could not be written; nothing of it is on disk."""


class Conflict(BrgclError):  # noqa: N818 - reads as what happened
    """Somebody else did something to the node first."""


@dataclass(frozen=True)
class Choice:
    """What a reviewer wants for one node; the fields are those of `Event`.

    Attributes:
        version: Version of the node's state that the reviewer saw; None if any will do.
    """

    node: str
    given: str
    label: str | None
    kind: Kind
    reason: str
    version: int | None = None


class Decisions:
    """The store of a run folder, open for writing."""

    def __init__(self, run: Path, *, fingerprint: str = "") -> None:
        self._file = run / FILE
        self._fingerprint = fingerprint
        self._lock = threading.RLock()
        self._state = State()
        with self._explaining():
            self._database = sqlite3.connect(
                self._file, timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")
            if check_format(self._database, self._file) < FORMAT:
                self._database.executescript(SCHEMA)
            self.state()

    def close(self) -> None:
        """Close the file; what was decided is there."""
        self._database.close()

    def state(self) -> State:
        """Return what holds now, with what other processes have written."""
        with self._lock:
            self._state.apply(events_after(self._database, self._state.last))
            return self._state

    def record(
        self, request: str, who: str, choices: Sequence[Choice], *, bulk: bool = False
    ) -> list[str]:
        """Write what a reviewer decided, all of it or nothing.

        A request that is on disk already is not written again. In bulk, nodes that were decided or
        skipped in the meantime are left as they are.

        Returns:
            The nodes to which this request did something.

        Raises:
            Conflict: A node is no longer in the state that the reviewer saw.
            NotSaved: The file could not be written.
        """
        with self._writing() as state:
            if request in state.requests:
                return [event.node for event in state.requests[request]]
            if bulk:
                choices = [choice for choice in choices if _open(choice, state)]
            for choice in choices:
                if choice.version not in (None, state.version(choice.node)):
                    raise Conflict(f"node {choice.node} was decided elsewhere in the meantime")
            self._insert(request, who, choices, bulk=bulk)
        return [choice.node for choice in choices]

    def undo(self, request: str, who: str, undoes: str) -> list[str]:
        """Revert the last request of a reviewer: one decision, or a whole bulk accept.

        Returns:
            The nodes that it concerns.

        Raises:
            Conflict: It is not the last request of this reviewer, or is undone already.
            NotSaved: The file could not be written.
        """
        with self._writing() as state:
            if request not in state.requests:
                if state.undoable(who) != undoes:
                    raise Conflict("this was undone already, or is not your last decision")
                choices = [
                    Choice(event.node, event.given, None, "undo", event.reason)
                    for event in state.requests[undoes]
                ]
                self._insert(request, who, choices, undoes=undoes)
            return [event.node for event in state.requests.get(undoes, [])]

    @contextlib.contextmanager
    def _writing(self) -> Iterator[State]:
        """Hold the write lock; the block is committed as a whole, or nothing of it is."""
        with self._lock, self._explaining(NotSaved):
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self.state()
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:  # SQLite itself rolls back on a full disk
                    self._database.execute("ROLLBACK")
                raise
            self.state()

    def _insert(
        self,
        request: str,
        who: str,
        choices: Sequence[Choice],
        *,
        bulk: bool = False,
        undoes: str | None = None,
    ) -> None:
        now, run = datetime.now(UTC).isoformat(timespec="milliseconds"), self._fingerprint
        self._database.executemany(
            f"INSERT INTO event ({COLUMNS}) VALUES (NULL{', ?' * COLUMNS.count(',')})",
            [
                (request, bulk, c.node, c.given, c.label, c.kind, who, now, c.reason, run, undoes)
                for c in choices
            ],
        )

    @contextlib.contextmanager
    def _explaining(self, error: type[BrgclError] = InputError) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as problem:
            raise error(f"cannot write '{self._file}': {problem}; {remedy(problem)}") from problem


def read_decisions(run: Path) -> "pd.DataFrame":
    """Read the decisions that hold: what people said about the labels of a run.

    Left out are decisions on a label that is no longer the node's: the run was replaced since, and
    its label is now neither the one that was judged nor the one that was decided on.

    Returns:
        One row per decided node: node (as in nodes.parquet), given, label, decided_at, who, reason,
        kind (accept, keep or choose), bulk (accepted together with others).
    """
    import pandas as pd

    from brgcl.review.content import read_labels

    events, labels = read_state(run).decided(), read_labels(run)
    current = dict(zip(labels["node"].map(str), labels["given"].map(str), strict=True))
    names = ["node", "given", "label", "decided_at", "who", "reason", "kind", "bulk"]
    rows = [[getattr(event, name) for name in names] for event in events if holds(event, current)]
    frame = pd.DataFrame(rows, columns=names).astype({"bulk": bool})
    for column, like in (("node", "node"), ("given", "given"), ("label", "given")):
        if pd.api.types.is_integer_dtype(labels[like]):  # the database has text
            frame[column] = frame[column].astype("int64")
    return frame


def _open(choice: Choice, state: State) -> bool:
    """Whether a node is neither decided nor skipped."""
    event = state.decision(choice.node)
    decided = event is not None and holds(event, {choice.node: choice.given})
    return not decided and not state.skipped(choice.node)
