"""A run folder to review, and a review of it."""

import pytest

from brgcl.review.content import read_content
from brgcl.review.decisions import Decisions
from brgcl.review.session import Session
from run_folders import write_run


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "run")


@pytest.fixture
def start(run):
    """A function that starts a review, as a process would; all are closed at the end."""
    started = []

    def begin(who="ann", run=run):
        content = read_content(run)
        session = Session(content, Decisions(run, fingerprint=content.fingerprint), who)
        started.append(session)
        return session

    yield begin
    for session in started:
        session.decisions.close()
