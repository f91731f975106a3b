"""A progress bar on stderr, where someone can see it; in words, where someone asks for them."""

import contextlib
import functools
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.console import Console

_verbose = False


@functools.cache
def stderr() -> "Console":
    """Return the one console on stderr: a message that shares it appears above the bar."""
    from rich.console import Console

    return Console(stderr=True, markup=False, highlight=False, emoji=False, soft_wrap=True)


def be_verbose(verbose: bool) -> None:
    """Whether each step of a bar is also a line, and how long it took at its end."""
    global _verbose
    _verbose = verbose


@contextlib.contextmanager
def progress_bar(
    title: str, *, unit: Literal["steps", "bytes"] = "steps"
) -> Iterator[Callable[[int, int | None, str], None]]:
    """Show how far something is and how long it will take; nothing where stderr is a file.

    What has no known end shows how long it has taken instead. Once all is done, the bar shows that
    the rest of the work goes on.

    Yields:
        A function to call with what is done, what there is in all, and a few words.
    """
    from rich import progress as rich
    from rich.text import Text

    counts = (
        (rich.MofNCompleteColumn(), rich.TextColumn("{task.fields[state]}", markup=False))
        if unit == "steps"
        else (rich.DownloadColumn(), rich.TransferSpeedColumn())
    )

    class Clock(rich.ProgressColumn):
        def render(self, task: rich.Task) -> Text:
            left = None if task.total is None else task.time_remaining
            return Text(clock(task.elapsed or 0) if left is None else f"{clock(left)} left")

    name = rich.TextColumn("{task.description}", markup=False)
    columns = (name, rich.BarColumn(), *counts, Clock())
    console, start, verbose = stderr(), time.monotonic(), _verbose
    hidden = console.quiet or not (console.is_terminal or console.is_jupyter)
    with rich.Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task(title, total=None, state="")

        def report(done: int, total: int | None, state: str) -> None:
            bar.update(task, completed=done, total=total, state=state)
            if unit == "steps" and done == total:
                bar.update(task, total=None, state=f"{state}  finishing")
            if verbose and unit == "steps":
                of = "" if total is None else f" of {total}"
                console.print(f"{title}: {done}{of}  {state}".rstrip())

        yield report
    if verbose:
        console.print(f"{title}: {time.monotonic() - start:.1f} s")


def clock(seconds: float) -> str:
    """Show a time as a clock does.

    Example:
        >>> clock(75.2), clock(3_700)
        ('1:15', '1:01:40')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
