import sqlite3

import pytest

from brgcl.errors import InputError
from brgcl.review.database import FILE, read_state
from brgcl.review.decisions import Choice, Decisions


def test_a_damaged_or_newer_file_is_refused(tmp_path):
    (tmp_path / FILE).write_bytes(b"no database" * 100)
    for use in (Decisions, read_state):
        with pytest.raises(InputError, match="it is damaged"):
            use(tmp_path)
    (tmp_path / FILE).unlink()
    Decisions(tmp_path).close()
    database = sqlite3.connect(tmp_path / FILE)
    database.execute("PRAGMA user_version = 9")
    database.close()
    for use in (Decisions, read_state):
        with pytest.raises(InputError, match="newer brgcl"):
            use(tmp_path)


def test_a_folder_without_a_review_is_named(tmp_path):
    with pytest.raises(InputError, match=r"has no review.sqlite; brgcl review"):
        read_state(tmp_path)


def test_what_was_decided_can_be_read_where_nothing_can_be_written(tmp_path):
    store = Decisions(tmp_path)
    store.record("r1", "ann", [Choice("a", "old", "x", "accept", "because", 0)])
    store.close()
    (tmp_path / FILE).chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        assert read_state(tmp_path).decision("a").label == "x"
    finally:
        tmp_path.chmod(0o755)
