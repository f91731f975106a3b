"""A study on disk: what was tried, so that a search that was killed can be resumed.

Optuna keeps it in a journal, a file to which lines are only added. One file can hold the studies
of many graphs; a study is found by a digest of all that its scores depend on.
"""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brgcl.errors import InputError

if TYPE_CHECKING:
    import optuna

LOCK_SECONDS = 15  # a process that was killed may have left a lock behind; wait no longer for it


def import_optuna() -> Any:
    """Import Optuna, or say how to get it."""
    try:
        import optuna
    except ImportError as error:
        raise InputError("tuning needs Optuna; pip install 'brgcl[tune]' brings it") from error
    return optuna


@contextlib.contextmanager
def quiet_optuna() -> Iterator[None]:
    """Keep Optuna's own messages away while a study runs."""
    optuna = import_optuna()
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


def open_study(file: Path | None, name: str) -> "optuna.Study":
    """Open the study of this name, or begin it; without a file it lives in memory only."""
    optuna = import_optuna()
    try:
        return optuna.create_study(  # type: ignore[no-any-return]
            storage=None if file is None else _journal(file),
            study_name=name,
            direction="maximize",
            pruner=optuna.pruners.MedianPruner(),
            load_if_exists=True,
        )
    except OSError as error:
        raise InputError(f"cannot use '{file}' as storage: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AssertionError) as error:
        raise InputError(
            f"'{file}' is not a journal of brgcl tune, or is damaged; choose another file"
        ) from error


def _journal(file: Path) -> Any:
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

    file = file.absolute()
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = JournalFileOpenLock(str(file), grace_period=LOCK_SECONDS)
    if file.is_file():
        lock.acquire()
        try:
            _mend(file)
        finally:
            lock.release()
    return JournalStorage(JournalFileBackend(str(file), lock_obj=lock))


def _mend(file: Path) -> None:
    """Cut off a last line that was not written to its end; Optuna would add to it.

    A file that is not a journal is left as it is: ValueError.
    """
    content = file.read_bytes()
    whole = content.rfind(b"\n") + 1
    for line in content[:whole].splitlines() or ([content] if content else []):
        entry = json.loads(line)
        if not isinstance(entry, dict) or "op_code" not in entry:
            raise ValueError("not a journal")
    if whole < len(content):
        with file.open("r+b") as journal:
            journal.truncate(whole)
