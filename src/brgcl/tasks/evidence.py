"""Reasons a person can check: labels of the neighbours and of the nearest nodes, in words."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from brgcl.method.sparse import Matrix

NEAREST = 5
TILE = 1024  # rows of cosines that are held at a time
ALL_UP_TO, MOST_SUSPICIOUS = 20_000, 5_000  # labels for all of which nearest nodes are found


@dataclass(frozen=True)
class Surroundings:
    """How many of the nodes around have the given and the suggested label.

    Attributes:
        labelled: Number of labelled nodes around, `(M,)`.
        given: Number of those whose label is the given one, `(M,)`.
        suggested: Number of those whose label is the suggested one, `(M,)`.
    """

    labelled: Tensor
    given: Tensor
    suggested: Tensor


def count_neighbours(
    neighbours: Matrix, labels: Tensor, nodes: Tensor, given: Tensor, suggested: Tensor
) -> Surroundings:
    """Count the labels of the neighbours of some nodes, each neighbour once.

    Args:
        neighbours: Adjacency without loops in CSR, `(N, N)`; a stored 0 is no edge.
        labels: Labels of all nodes, -1 = unlabelled, `(N,)`.
        nodes: The nodes, `(M,)`.
        given: Their given labels, `(M,)`.
        suggested: Their suggested labels, `(M,)`.
    """
    data, N = neighbours.data, len(labels)
    row = torch.repeat_interleave(data.crow_indices().diff())
    around = labels[data.col_indices()]
    edge = (data.values() > 0) & (around >= 0)

    def count(mask: Tensor) -> Tensor:
        return torch.bincount(row[mask], minlength=N)[nodes]

    def same(label: Tensor) -> Tensor:
        return count(edge & (around == labels.new_full((N,), -2).index_copy(0, nodes, label)[row]))

    return Surroundings(count(edge), same(given), same(suggested))


def nearest_nodes(z: Tensor, labelled: Tensor, nodes: Tensor, k: int = NEAREST) -> Tensor:
    """The k labelled nodes with the highest cosine to each node, itself aside, `(M, <= k)`.

    Memory is that of `TILE` rows of cosines.

    Args:
        z: Unit rows, `(N, D)`.
        labelled: The labelled nodes, `(L,)`.
        nodes: The nodes to find them for, `(M,)`.
        k: How many; fewer where there are not as many.
    """
    others, k = z[labelled], min(k, len(labelled) - 1)
    place = torch.full((len(z),), -1, device=z.device)
    place[labelled] = torch.arange(len(labelled), device=z.device)
    found = []
    for tile in torch.split(nodes, TILE):
        cosine = z[tile] @ others.T
        own = place[tile]
        within = (own >= 0).nonzero().squeeze(1)
        cosine[within, own[within]] = -torch.inf
        found.append(labelled[cosine.topk(k, dim=1).indices])
    return torch.cat(found) if found else labelled.new_empty(0, k)


def count_nearest(
    nearest: Tensor, labels: Tensor, given: Tensor, suggested: Tensor
) -> Surroundings:
    """Count the labels of the nearest nodes `(M, k)`."""
    around = labels[nearest]
    total = torch.full((len(nearest),), nearest.shape[1], device=nearest.device)
    return Surroundings(
        total, (around == given[:, None]).sum(1), (around == suggested[:, None]).sum(1)
    )


def sentence(
    given: object,
    suggested: object,
    neighbours: Sequence[int] | None,
    nearest: Sequence[int] | None,
) -> str:
    """Say what the nodes around a node are.

    Args:
        given: Name of the given class.
        suggested: Name of the suggested class.
        neighbours: Number of labelled neighbours, of those given, of those suggested; None without
            a graph.
        nearest: The same for the nearest nodes; None if they were not looked for.

    Example:
        >>> sentence("Rule Learning", "Theory", (5, 0, 4), (5, 0, 5))
        "4 of 5 neighbours and all 5 nearest nodes are 'Theory', none is 'Rule Learning'."
        >>> sentence("Theory", "Theory", (1, 1, 1), (5, 4, 4))
        "Its only neighbour and 4 of the 5 nearest nodes are 'Theory', as given."
        >>> sentence("a", "b", (0, 0, 0), (5, 2, 3))
        "3 of the 5 nearest nodes are 'b', 2 of them are 'a'; no neighbour has a label."
    """
    groups = [
        (counts, kind)
        for counts, kind in ((neighbours, "neighbours"), (nearest, "nearest nodes"))
        if counts is not None and counts[0] > 0
    ]
    alone = "no neighbour has a label" if neighbours is not None and neighbours[0] == 0 else ""
    if not groups:
        return _finish(alone or "No other node was looked at")
    parts = [_share(counts[2], counts[0], kind) for counts, kind in groups]
    verb = "is" if len(parts) == 1 and _singular(groups[0][0]) else "are"
    text = f"{' and '.join(parts)} {verb} {suggested!r}"
    if suggested == given:
        text += ", as given"
    elif all(counts[1] == 0 for counts, _ in groups):
        text += f", none is {given!r}"
    elif len(groups) == 1:
        count = groups[0][0][1]
        text += f", {count} of them {'is' if count == 1 else 'are'} {given!r}"
    else:
        some = [_share(counts[1], counts[0], kind) for counts, kind in groups]
        text += f"; {' and '.join(some)} are {given!r}"
    return _finish(f"{text}; {alone}" if alone else text)


def _share(count: int, total: int, kind: str) -> str:
    if kind == "neighbours" and total == 1:
        return "its only neighbour" if count == 1 else "no neighbour"
    the = "the " if kind == "nearest nodes" else ""
    if count == 0:
        return f"none of {total} neighbours" if not the else f"none of the {total} nearest nodes"
    if count == total:
        return f"all {total} {kind}"
    return f"{count} of {the}{total} {kind}"


def _singular(counts: Sequence[int]) -> bool:
    return counts[2] <= 1 and (counts[0] == 1 or counts[2] == 1)


def _finish(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
