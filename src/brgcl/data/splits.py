"""Which nodes train, validate and test: masks from class sizes and a generator."""

from dataclasses import dataclass

import torch
from torch import Tensor

from brgcl.errors import InputError


@dataclass(frozen=True)
class Split:
    """Three disjoint masks over the nodes; unlabelled nodes are in none of them.

    Attributes:
        train: Nodes whose labels may be learned from, `(N,)` bool.
        val: Nodes whose labels may only choose, `(N,)` bool.
        test: Nodes that are scored, `(N,)` bool.
    """

    train: Tensor
    val: Tensor
    test: Tensor


def random_split(
    y: Tensor, *, num_train_per_class: int, num_val_per_class: int, generator: torch.Generator
) -> Split:
    """Draw the same number of training and of validation nodes from every class; the rest test.

    `y` is the class of each node, -1 = unlabelled, `(N,)`; each class must have enough nodes.

    Example:
        >>> y = torch.tensor([0, 0, 0, 1, 1, 1, -1])
        >>> rng = torch.Generator().manual_seed(0)
        >>> split = random_split(y, num_train_per_class=1, num_val_per_class=1, generator=rng)
        >>> [int(mask.sum()) for mask in (split.train, split.val, split.test)]
        [2, 2, 2]
    """
    _check_counts(num_train_per_class=num_train_per_class, num_val_per_class=num_val_per_class)
    wanted = num_train_per_class + num_val_per_class
    sizes = torch.bincount(y[y >= 0])
    small = torch.nonzero((sizes > 0) & (sizes < wanted)).flatten()
    if len(small) > 0:
        c = int(small[0])
        raise InputError(
            f"class {c} has {int(sizes[c])} labelled nodes but the split takes {wanted} "
            f"({num_train_per_class} train + {num_val_per_class} validation); ask for fewer"
        )
    rank = _rank_in_class(y, generator)
    train = (rank >= 0) & (rank < num_train_per_class)
    return Split(train, (rank >= num_train_per_class) & (rank < wanted), rank >= wanted)


def citation_split(
    y: Tensor, *, num_train_per_class: int, num_val: int, generator: torch.Generator
) -> Split:
    """Draw training nodes per class and validation nodes from all the rest; what is left tests.

    This is how the public splits of the citation graphs were made (20 per class, 500, the rest).
    A small graph gets less: training takes at most half of a class, validation at most half of what
    training left. `num_val` counts the validation nodes of all classes.
    """
    _check_counts(num_train_per_class=num_train_per_class, num_val=num_val)
    sizes = torch.bincount(y[y >= 0])
    rank = _rank_in_class(y, generator)
    quota = (sizes // 2).clamp(max=num_train_per_class)
    train = (rank >= 0) & (rank < quota[y.clamp(min=0)]) if len(sizes) else rank >= 0
    rest = torch.nonzero((y >= 0) & ~train).flatten()
    rest = rest[torch.randperm(len(rest), generator=generator)]
    val = torch.zeros_like(train)
    val[rest[: min(num_val, len(rest) // 2)]] = True
    return Split(train, val, (y >= 0) & ~train & ~val)


def _rank_in_class(y: Tensor, generator: torch.Generator) -> Tensor:
    """Place of each node in a random order of its class, from 0; -1 where unlabelled."""
    order = torch.randperm(len(y), generator=generator)
    order = order[torch.argsort(y[order], stable=True)]  # by class, random inside
    grouped = y[order]
    first = torch.searchsorted(grouped, grouped)  # where the class of each begins
    rank = torch.empty_like(order)
    rank[order] = torch.arange(len(y)) - first
    rank[y < 0] = -1
    return rank


def _check_counts(**counts: int) -> None:
    for name, value in counts.items():
        if value < 0:
            raise InputError(f"{name} must be 0 or more, got {value}")
