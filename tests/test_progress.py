"""The one progress bar."""

import io

import pytest
from rich.console import Console

from brgcl import progress


@pytest.fixture
def terminal(monkeypatch):
    """A terminal in memory."""
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=100, soft_wrap=True, highlight=False)
    monkeypatch.setattr(progress, "stderr", lambda: console)
    return console


def test_the_bar_says_that_work_goes_on_after_the_last_epoch(terminal):
    """Defect 55: the bar stood at 60/60 while classifiers were cross-validated."""
    with progress.progress_bar("training") as report:
        report(60, 60, "loss 1.0")
    assert "finishing" in terminal.file.getvalue()


def test_messages_appear_above_the_bar(terminal):
    """Defect 55: the first message landed on the bar."""
    with progress.progress_bar("training") as report:
        report(1, 60, "")
        terminal.print("a message")
    lines = terminal.file.getvalue().replace("\r", "\n").splitlines()
    assert any(line.endswith("a message") and "training" not in line for line in lines)


def test_nothing_is_shown_where_no_one_can_see_it(capsys):
    with progress.progress_bar("training") as report:
        report(1, 2, "")
    with progress.progress_bar("file", unit="bytes") as report:
        report(1, None, "")
    assert capsys.readouterr().err == ""


def test_names_with_brackets_are_shown_as_they_are(terminal):
    with progress.progress_bar("my[b]graph") as report:
        report(1, 2, "[red]state")
    assert "my[b]graph" in terminal.file.getvalue()


def test_the_bar_shows_the_time_left_or_the_time_taken(terminal):
    with progress.progress_bar("training") as report:
        report(0, 4, "")
        report(1, 4, "")
        report(2, 4, "")
    assert "left" in terminal.file.getvalue()
    terminal.file.truncate(0)
    with progress.progress_bar("writing"):
        pass
    assert "0:00" in terminal.file.getvalue()
    assert "left" not in terminal.file.getvalue()


def test_verbose_has_a_line_for_every_step_and_the_time_at_the_end(monkeypatch):
    console = Console(file=io.StringIO(), width=100)
    monkeypatch.setattr(progress, "stderr", lambda: console)
    progress.be_verbose(True)
    try:
        with progress.progress_bar("training") as report:
            report(1, 2, "loss 3.1")
            report(2, 2, "loss 2.9")
    finally:
        progress.be_verbose(False)
    lines = console.file.getvalue().splitlines()
    assert lines[:2] == ["training: 1 of 2  loss 3.1", "training: 2 of 2  loss 2.9"]
    assert lines[2].startswith("training: 0.")
    assert lines[2].endswith(" s")
    with progress.progress_bar("training") as report:
        report(1, 2, "loss 3.1")
    assert len(console.file.getvalue().splitlines()) == 3
