"""What every method starts from: labels that are there, memory enough, its own randomness."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Generator, Tensor

from brgcl.contract import Hook, Labels, ObservedLabels
from brgcl.errors import InputError

MOST_BYTES = 4e9  # memory of a method's own arrays


def labelled_nodes(labels: Labels, method: str) -> tuple[ObservedLabels, Tensor]:
    """Return the labels and the indices of the nodes that have one, or raise an error."""
    if labels is None or not bool((labels.train >= 0).any()):
        raise InputError(f"{method} learns from labels, and none are given; brgcl needs none")
    return labels, (labels.train >= 0).nonzero().squeeze(1)


def check_memory(method: str, num_bytes: float, advice: str) -> None:
    """Refuse, before any work is done, what would take more memory than a method may use."""
    if num_bytes > MOST_BYTES:
        raise InputError(
            f"{method} would need about {num_bytes / 1e9:.0f} GB for this graph, more than the "
            f"{MOST_BYTES / 1e9:.0f} GB that a method may take; {advice}"
        )


@contextmanager
def seeded(generator: Generator) -> Iterator[None]:
    """Let library code that knows only torch's global generator draw from `generator`.

    The global generator is as it was afterwards.
    """
    seed = int(torch.randint(2**31 - 1, (), generator=generator))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def stages(report: Hook, first: int, second: int) -> tuple[Hook, Hook]:
    """Count the epochs of two trainings, `first` and `second` many, as parts of one whole."""
    if report is None:
        return None, None
    total = first + second
    return (
        lambda done, _, words: report(done, total, words),
        lambda done, _, words: report(first + done, total, words),
    )
