"""A progress bar for training, on stderr."""

import contextlib
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from brgcl.method.train import Epoch


@contextlib.contextmanager
def training_progress(total: int, title: str = "training") -> Iterator[Callable[[Epoch], None]]:
    """Show epochs done, loss, number of prototypes and share of confident nodes.

    Args:
        total: Number of epochs.
        title: Text before the bar.

    Yields:
        A callback for `BRGCL.fit`.
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[state]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=total, state="")
        yield lambda epoch: progress.update(task, completed=epoch.epoch, state=describe(epoch))


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
