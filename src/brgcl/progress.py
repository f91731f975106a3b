"""A progress bar on stderr, where someone can see it."""

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.console import Console


@functools.cache
def stderr() -> "Console":
    """Return the one console on stderr: a message that shares it appears above the bar."""
    from rich.console import Console

    return Console(stderr=True, markup=False, highlight=False, emoji=False, soft_wrap=True)


@contextlib.contextmanager
def progress_bar(
    title: str, *, unit: Literal["steps", "bytes"] = "steps"
) -> Iterator[Callable[[int, int | None, str], None]]:
    """Show how far something is; nothing is printed where stderr is a file.

    Once all is done, the bar shows that the rest of the work goes on.

    Yields:
        A function to call with what is done, what there is in all, and a few words.
    """
    from rich import progress as rich

    counts = (
        (rich.MofNCompleteColumn(), rich.TextColumn("{task.fields[state]}", markup=False))
        if unit == "steps"
        else (rich.DownloadColumn(), rich.TransferSpeedColumn())
    )
    name = rich.TextColumn("{task.description}", markup=False)
    columns = (name, rich.BarColumn(), *counts, rich.TimeRemainingColumn())
    console = stderr()
    hidden = console.quiet or not (console.is_terminal or console.is_jupyter)
    with rich.Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task(title, total=None, state="")

        def report(done: int, total: int | None, state: str) -> None:
            bar.update(task, completed=done, total=total, state=state)
            if unit == "steps" and done == total:
                bar.update(task, total=None, state=f"{state}  finishing")

        yield report
