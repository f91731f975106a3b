"""The file of a review, `RUN/review.sqlite`: its one table, and how it is read.

The table is append-only; triggers refuse anything else.
"""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from brgcl.errors import InputError
from brgcl.review.replay import Event, State

FILE, FORMAT, PATIENCE = "review.sqlite", 1, 5.0  # seconds to wait for another process
COLUMNS = "id, request, bulk, node, given, label, kind, who, decided_at, reason, run, undoes"
SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS event (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    request TEXT NOT NULL,
    bulk INTEGER NOT NULL CHECK (bulk IN (0, 1)),
    node TEXT NOT NULL,
    given TEXT NOT NULL,
    label TEXT,
    kind TEXT NOT NULL CHECK (kind IN ('accept', 'keep', 'choose', 'skip', 'undo')),
    who TEXT NOT NULL,
    decided_at TEXT NOT NULL,
    reason TEXT NOT NULL,
    run TEXT NOT NULL,
    undoes TEXT,
    UNIQUE (request, node),
    CHECK ((label IS NULL) = (kind IN ('skip', 'undo'))),
    CHECK ((undoes IS NULL) = (kind <> 'undo'))
);
CREATE TRIGGER IF NOT EXISTS event_stays BEFORE UPDATE ON event
    BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
CREATE TRIGGER IF NOT EXISTS event_is_kept BEFORE DELETE ON event
    BEGIN SELECT RAISE(ABORT, 'events are never removed'); END;
PRAGMA user_version = {FORMAT};
COMMIT;
"""


def read_state(run: Path) -> State:
    """Read what was decided in a run folder, also where nothing can be written.

    Raises:
        InputError: There was no review, or its file cannot be read.
    """
    file = run / FILE
    if not file.is_file():
        raise InputError(f"'{run}' has no {FILE}; brgcl review '{run}' makes one")
    state, wal = State(), file.with_name(f"{FILE}-wal")
    address = f"{file.absolute().as_uri()}?mode=ro"
    if not wal.exists():  # nobody writes, and no log needs to be read
        address += "&immutable=1"
    try:
        with contextlib.closing(sqlite3.connect(address, uri=True, timeout=PATIENCE)) as database:
            check_format(database, file)
            state.apply(events_after(database, 0))
    except sqlite3.Error as problem:
        raise InputError(f"cannot read '{file}': {problem}; {remedy(problem)}") from problem
    return state


def events_after(database: sqlite3.Connection, after: int) -> Iterator[Event]:
    """Read the events after one, in order; 0 = all."""
    rows = database.execute(f"SELECT {COLUMNS} FROM event WHERE id > ? ORDER BY id", (after,))
    for identity, request, bulk, *rest in rows.fetchall():
        yield Event(identity, request, bool(bulk), *rest)


def check_format(database: sqlite3.Connection, file: Path) -> int:
    """Return the format of a file, 0 if it is new; refuse one that is newer than this program."""
    number = int(database.execute("PRAGMA user_version").fetchone()[0])
    if number > FORMAT:
        raise InputError(f"'{file}' was written by a newer brgcl; upgrade brgcl")
    return number


def remedy(problem: sqlite3.Error) -> str:
    """Say what to do about a problem with the file."""
    text = str(problem)
    if "locked" in text or "busy" in text:
        return "another program holds it, try again"
    if "not a database" in text or "malformed" in text or "no such" in text:
        return "it is damaged, move it away or restore a copy"
    return "check the free disk and the permissions of the folder"
