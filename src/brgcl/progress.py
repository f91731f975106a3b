"""A progress bar for training, on stderr, where someone can see it."""

import contextlib
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from brgcl.method.train import Epoch


@contextlib.contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show how far a training is; nothing is printed where stderr is a file.

    Args:
        title: Text before the bar.

    Yields:
        A function to call with the epochs done, the epochs in all, and a few words.
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[state]}"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    hidden = not console.is_terminal and not console.is_jupyter
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task(title, total=None, state="")

        def report(done: int, total: int, state: str) -> None:
            bar.update(task, completed=done, total=total, state=state)

        yield report


def describe(epoch: Epoch) -> str:
    """Say in a few words what an epoch did.

    Example:
        >>> describe(Epoch(1, 7.5, 7.5, None, None, None, 0.99, 0.1))
        'loss 7.500'
    """
    text = f"loss {epoch.loss:.3f}"
    if epoch.num_prototypes is not None and epoch.confident_share is not None:
        text += f"  K {epoch.num_prototypes}  confident {epoch.confident_share:.0%}"
    return text
