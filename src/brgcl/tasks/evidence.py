"""Reasons a person can check: labels of the neighbours and of the nearest nodes, in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from brgcl.method.sparse import Matrix
from brgcl.tasks.out_of_fold import Labelled

Counts = tuple[int, int, int]  # of labelled nodes, of those given, of those suggested

NEAREST = 5
TILE = 1024  # rows of cosines that are held at a time
ALL_UP_TO, MOST_SUSPICIOUS = 20_000, 5_000  # labels for all of which nearest nodes are found


@dataclass(frozen=True)
class Around:
    """How many of the nodes around have the given and the suggested label.

    Attributes:
        labelled: Number of labelled nodes around, `(M,)`.
        given: Number of those whose label is the given one, `(M,)`.
        suggested: Number of those whose label is the suggested one, `(M,)`.
    """

    labelled: Tensor
    given: Tensor
    suggested: Tensor

    def tuples(self) -> list[Counts]:
        """The three numbers of each node."""
        columns = (self.labelled.tolist(), self.given.tolist(), self.suggested.tolist())
        return list(zip(*columns, strict=True))

    def shares(self) -> dict[str, NDArray[np.float64]]:
        """Shares of the given and the suggested label, NaN where nothing is labelled."""
        total = torch.where(self.labelled > 0, self.labelled, torch.nan).double()
        return {
            "given": (self.given / total).numpy(),
            "suggested": (self.suggested / total).numpy(),
        }


def count_neighbours(
    neighbours: Matrix, labels: Tensor, nodes: Tensor, given: Tensor, suggested: Tensor
) -> Around:
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

    return Around(count(edge), same(given), same(suggested))


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
    for start in range(0, len(nodes), TILE):
        tile = nodes[start : start + TILE]
        cosine = z[tile] @ others.T
        own = place[tile]
        within = (own >= 0).nonzero().squeeze(1)
        cosine[within, own[within]] = -torch.inf
        found.append(labelled[cosine.topk(k, dim=1).indices])
    return torch.cat(found) if found else labelled.new_empty(0, k)


def count_nearest(nearest: Tensor, labels: Tensor, given: Tensor, suggested: Tensor) -> Around:
    """Count the labels of the nearest nodes `(M, k)`."""
    around = labels[nearest]
    total = torch.full((len(nearest),), nearest.shape[1], device=nearest.device)
    return Around(total, (around == given[:, None]).sum(1), (around == suggested[:, None]).sum(1))


def evidence_columns(
    data: Labelled,
    nodes: Tensor,
    suggested: Tensor,
    judged: Tensor,
    names: Sequence[Any],
    ids: Sequence[Any] | None,
    neighbours: Matrix | None,
) -> dict[str, Any]:
    """Columns of evidence for labelled nodes, the most suspicious first.

    Args:
        data: Representations and labels.
        nodes: The labelled nodes in the order of the table, `(L,)`.
        suggested: Their suggested labels, `(L,)`.
        judged: Mask of those whose labels could be judged, `(L,)`.
        names: Name of each class.
        ids: Id of each node of the graph; None where it is its number.
        neighbours: Adjacency without loops, or None.

    Returns:
        `neighbours_given` and `neighbours_suggested`, shares of the labelled neighbours, NaN
        without any; `nearest`, empty where they were not looked for; `evidence`, a sentence.
    """
    L, labels = len(nodes), data.labels
    given, certain = labels[nodes], data.certain[nodes]
    M = L if L <= ALL_UP_TO else MOST_SUSPICIOUS
    nearest = nearest_nodes(data.z, data.nodes, nodes[:M])
    close = count_nearest(nearest, labels, given[:M], suggested[:M]).tuples()
    shares, near = {"given": np.full(L, np.nan), "suggested": np.full(L, np.nan)}, None
    if neighbours is not None:
        count = count_neighbours(neighbours, labels, nodes, given, suggested)
        near, shares = count.tuples(), count.shares()
    sizes = torch.bincount(given, minlength=len(names)).tolist()
    sentences = []
    for i, (own, other) in enumerate(zip(given.tolist(), suggested.tolist(), strict=True)):
        if bool(certain[i]):
            sentences.append("Known to be right.")
        elif not bool(judged[i]):
            sentences.append(too_few(names[own], sizes[own]))
        else:
            around = None if near is None else near[i]
            sentences.append(
                sentence(names[own], names[other], around, close[i] if i < M else None)
            )

    def show(node: int) -> str:
        return f"{node if ids is None else ids[node]} ({names[int(labels[node])]})"

    texts = [", ".join(map(show, row)) for row in nearest.tolist()]
    return {
        "neighbours_given": shares["given"],
        "neighbours_suggested": shares["suggested"],
        "nearest": texts + [""] * (L - M),
        "evidence": sentences,
    }


def sentence(given: Any, suggested: Any, neighbours: Counts | None, nearest: Counts | None) -> str:
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
        >>> sentence("a", "b", (0, 0, 0), (5, 0, 3))
        "3 of the 5 nearest nodes are 'b', none is 'a'; no neighbour has a label."
        >>> sentence("a", "b", (2, 1, 0), (5, 0, 0))
        "It looks like 'b', though no node around it is; 1 of 2 neighbours is 'a'."
    """
    kinds = (("neighbours", neighbours), ("nearest nodes", nearest))
    groups = [(kind, counts) for kind, counts in kinds if counts is not None and counts[0] > 0]
    alone = neighbours is not None and neighbours[0] == 0
    end = "; no neighbour has a label." if alone else "."
    if not groups:
        return "No node around it has a label." if alone else "No node around it was looked at."
    first = _those([(kind, total, right) for kind, (total, _, right) in groups], suggested)
    text = first or f"it looks like {quoted(suggested)}, though no node around it is"
    if suggested == given:
        text += ", as given" if first else ""
    else:
        second = _those([(kind, total, wrong) for kind, (total, wrong, _) in groups], given)
        text += f"; {second}" if second else f", none is {quoted(given)}" if first else ""
    return f"{text[0].upper()}{text[1:]}{end}"


def _those(groups: list[tuple[str, int, int]], name: Any) -> str:
    """Which of the nodes around have a label, or nothing if none has."""
    some = [group for group in groups if group[2] > 0]
    if not some:
        return ""
    verb = "is" if len(some) == 1 and some[0][2] == 1 else "are"
    return f"{' and '.join(_share(*group) for group in some)} {verb} {quoted(name)}"


def _share(kind: str, total: int, count: int) -> str:
    if count == total and kind == "neighbours" and total <= 2:
        return "its only neighbour" if total == 1 else "both neighbours"
    if count == total:
        return f"all {total} {kind}"
    return f"{count} of {'the ' if kind == 'nearest nodes' else ''}{total} {kind}"


def too_few(name: Any, size: int) -> str:
    """Say that the labels of a class cannot be judged."""
    labels = "a single label" if size == 1 else f"only {size} labels"
    return f"Not judged: {quoted(name)} has {labels}, too few to know the class by."


def quoted(name: Any) -> str:
    """Name of a class in a sentence: quoted, or a number."""
    return repr(name) if isinstance(name, str) else f"class {name}"
