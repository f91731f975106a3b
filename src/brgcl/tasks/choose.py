"""Choose among classifiers by the nodes that each has right, the most cautious classifier first."""

from typing import Literal

import torch
from torch import Tensor

FOLDS = 5
MOST_LEFT_ONE_OUT = 200  # labels up to which each is left out alone, where folds are impossible

Right = dict[str, Tensor]  # name of a classifier -> which of the same n nodes it has right, (n,)


def right_nodes(probabilities: dict[str, Tensor], labels: Tensor) -> Right:
    """Which of the nodes with a label each classifier predicts as labelled."""
    known = labels >= 0
    return {name: proba[known].argmax(1) == labels[known] for name, proba in probabilities.items()}


def shares(right: Right) -> dict[str, float]:
    """Share of the nodes that each classifier has right."""
    return {name: int(hits.sum()) / len(hits) for name, hits in right.items()}


def clearly_better(
    challenger: Tensor,
    incumbent: Tensor,
    *,
    errors: Literal["null", "observed"] = "null",
    margin: int = 2,
) -> bool:
    """Whether the one is right on more nodes than the other by at least `margin` standard errors.

    With b nodes that only the challenger has right and c that only the incumbent has, of n in all,
    the lead is b - c. Its squared standard error is b + c if both are equally good ("null", as in
    McNemar's test), and b + c - (b - c)² / n as "observed". All are whole numbers, so rounding of
    probabilities matters only where it changes a prediction, and a changed prediction only where
    the lead is just at the margin.

    Args:
        challenger: Mask of the nodes that the one has right, `(n,)`.
        incumbent: Mask of the nodes that the other has right, `(n,)`.
        errors: Which standard error.
        margin: Number of standard errors.

    Example:
        >>> few, many = torch.tensor([True] * 6 + [False] * 6), torch.tensor([True] * 12)
        >>> clearly_better(many, few), clearly_better(~few, few)
        (True, False)
    """
    n, b, c = (
        len(incumbent),
        int((challenger & ~incumbent).sum()),
        int((incumbent & ~challenger).sum()),
    )
    less = (b - c) ** 2 if errors == "observed" else 0
    return b > c and n * (b - c) ** 2 >= margin**2 * (n * (b + c) - less)


def most_cautious(right: Right, *, margin: int = 2) -> str:
    """Name the classifier that none after it clearly beats: each is held against the one taken.

    Args:
        right: Which nodes each has right.
        margin: Standard errors by which one is clearly better.
    """
    taken, *others = right
    for name in others:
        if clearly_better(right[name], right[taken], margin=margin):
            taken = name
    return taken


def most_right(right: Right) -> str:
    """Name the classifier with the most right nodes; of equals the most cautious."""
    return max(right, key=lambda name: int(right[name].sum()))


def one_error_better(right: Right) -> str:
    """Name the classifier whose lead over the first, less its standard error, is the largest."""
    first = right[next(iter(right))].double()

    def gain(name: str) -> float:
        lead = right[name].double() - first
        return float(lead.mean() - lead.std() / len(lead) ** 0.5)

    return max(right, key=gain)


def stratified_folds(labels: Tensor, seed: int) -> list[Tensor] | None:
    """Split the labelled nodes into five parts with the same classes; None if one has too few."""
    from sklearn.model_selection import StratifiedKFold

    nodes = (labels >= 0).nonzero().squeeze(1)
    counts = torch.bincount(labels[nodes])
    if int(counts[counts > 0].min()) < FOLDS:
        return None
    given = labels[nodes].cpu().numpy()
    parts = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(given, given)
    return [nodes[torch.from_numpy(part)] for _, part in parts]


def folds_of_few(labels: Tensor) -> list[Tensor]:
    """Split the labelled nodes where a class has too few for strata, no fold with all of a class.

    Up to 200 labels each is left out alone, of more a fifth at a time.
    """
    nodes = (labels >= 0).nonzero().squeeze(1)
    number = len(nodes) if len(nodes) <= MOST_LEFT_ONE_OUT else FOLDS
    nodes = nodes[torch.argsort(labels[nodes], stable=True)]
    return [nodes[i::number] for i in range(number)]
