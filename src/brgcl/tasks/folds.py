"""Parts of the labelled nodes to leave out in turn."""

from typing import Any

import torch
from torch import Tensor

FOLDS = 5
MOST_LEFT_ONE_OUT = 200  # labels up to which each is left out alone, where folds are impossible


def stratified_folds(labels: Tensor, seed: int) -> list[Tensor] | None:
    """Split the labelled nodes into five parts with the same classes; None if one has too few."""
    from sklearn.model_selection import StratifiedKFold

    nodes = (labels >= 0).nonzero().squeeze(1)
    counts = torch.bincount(labels[nodes])
    if int(counts[counts > 0].min()) < FOLDS:
        return None
    splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    given = labels[nodes].cpu().numpy()
    parts: list[tuple[Any, Any]] = list(splitter.split(given, given))
    return [nodes[torch.from_numpy(part)] for _, part in parts]


def folds_of_few(labels: Tensor) -> list[Tensor]:
    """Split the labelled nodes where a class has too few for strata, no fold with all of a class.

    Up to 200 labels each is left out alone, of more a fifth at a time.
    """
    nodes = (labels >= 0).nonzero().squeeze(1)
    number = len(nodes) if len(nodes) <= MOST_LEFT_ONE_OUT else FOLDS
    nodes = nodes[torch.argsort(labels[nodes], stable=True)]
    return [nodes[i::number] for i in range(number)]
