"""Edge noise on an undirected graph: edges added, removed, or rewired.

An undirected edge {i, j}, i < j, is one number `i * N + j` here.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from brgcl.errors import InputError
from brgcl.noise.spec import EDGE_NOISE, check_kind, check_level


@dataclass(frozen=True)
class NoisyEdges:
    """Edges after noise.

    Attributes:
        edge_index: Both directions of every edge, sorted by row and column, `(2, 2E')`.
        edge_weight: Weight of each column of `edge_index`, `(2E',)`; `None` without weights.
        realised: Edges added, removed or rewired, as a share of the edges before; 0 without edges.
    """

    edge_index: Tensor
    edge_weight: Tensor | None
    realised: float


def corrupt_edges(
    edge_index: Tensor,
    kind: str,
    level: float,
    *,
    num_nodes: int,
    generator: torch.Generator,
    edge_weight: Tensor | None = None,
) -> NoisyEdges:
    """Add, remove or rewire a share of the edges of an undirected graph.

    `add` puts `round(level * E)` edges between random pairs of nodes without one, `remove` takes as
    many away, and `rewire` does both at once: its new edges were not in the graph before. An added
    edge weighs as much as the median edge (the lower of two), a rewired one what the removed edge
    weighed.

    Args:
        edge_index: Both directions of every edge, without self-loops and repetitions, `(2, 2E)`.
        kind: One of `EDGE_NOISE`.
        level: Share of the E undirected edges, in [0, 1).
        num_nodes: `N`.
        generator: Source of randomness, on the CPU.
        edge_weight: Weights, equal in both directions, `(2E,)`.

    Example:
        >>> seeded = torch.Generator().manual_seed(0)
        >>> triangle = torch.tensor([[0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1]])
        >>> corrupt_edges(triangle, "remove", 0.4, num_nodes=3, generator=seeded).edge_index
        tensor([[0, 0, 1, 2],
                [1, 2, 0, 0]])
    """
    check_kind("edge noise", kind, EDGE_NOISE)
    check_level(level)
    edges, weight = _undirected(edge_index.detach().cpu(), edge_weight, num_nodes)
    count = round(level * len(edges))

    kept = torch.ones(len(edges), dtype=torch.bool)
    gone = new = edges[:0]
    if kind != "add":
        gone = torch.randperm(len(edges), generator=generator)[:count]
        kept[gone] = False
    if kind != "remove":
        new = _non_edges(edges, count, num_nodes, kind, generator)

    noisy = torch.cat([edges[kept], new])
    i, j = noisy // max(num_nodes, 1), noisy % max(num_nodes, 1)
    order = torch.cat([i * num_nodes + j, j * num_nodes + i]).argsort()
    both = torch.stack([torch.cat([i, j]), torch.cat([j, i])])[:, order].to(edge_index.device)
    if weight is not None:
        usual = weight.median().expand(count) if count else weight[:0]
        new_weight = weight[gone] if kind == "rewire" else usual[: len(new)]
        weight = torch.cat([weight[kept], new_weight]).repeat(2)[order].to(edge_index.device)
    return NoisyEdges(both, weight, count / max(len(edges), 1))


def _undirected(
    edge_index: Tensor, edge_weight: Tensor | None, num_nodes: int
) -> tuple[Tensor, Tensor | None]:
    """Check the graph; return each edge once, as sorted numbers `(E,)`, and its weight."""
    if edge_index.ndim != 2 or edge_index.shape[0] != 2:
        raise InputError(f"edge_index must have shape (2, E), got {tuple(edge_index.shape)}")
    outside = edge_index[(edge_index < 0) | (edge_index >= num_nodes)]
    if len(outside):
        raise InputError(f"edge_index must name nodes in 0..{num_nodes - 1}, got {int(outside[0])}")
    row, col = edge_index.long()
    loops = row[row == col]
    if len(loops):
        raise InputError(
            f"the graph has a self-loop at node {int(loops[0])}; "
            "remove it with torch_geometric.utils.remove_self_loops"
        )
    up, down = row < col, row > col
    edges, order = (row[up] * num_nodes + col[up]).sort()
    reverse, reverse_order = (col[down] * num_nodes + row[down]).sort()
    if not torch.equal(edges, reverse) or bool((edges[1:] == edges[:-1]).any()):
        raise InputError(
            "edge noise needs both directions of every edge, each once; "
            "use torch_geometric.utils.to_undirected"
        )
    if edge_weight is None:
        return edges, None
    if edge_weight.shape != row.shape:
        raise InputError(
            f"edge_weight has shape {tuple(edge_weight.shape)} but there are {len(row)} edges"
        )
    given = edge_weight.detach().cpu()
    weight = given[up][order]
    if not torch.equal(weight, given[down][reverse_order]):
        raise InputError("edge_weight must be the same in both directions of an edge")
    return edges, weight


def _non_edges(
    edges: Tensor, count: int, num_nodes: int, kind: str, generator: torch.Generator
) -> Tensor:
    """Draw `count` distinct pairs of nodes that are not in `edges`, all alike."""
    num_pairs = num_nodes * (num_nodes - 1) // 2
    if count > num_pairs - len(edges):
        raise InputError(
            f"{kind} noise needs {count} pairs of nodes without an edge, but the graph has only "
            f"{num_pairs - len(edges)}; lower the level"
        )
    if 2 * (len(edges) + count) > num_pairs:  # few pairs are free: list them all, O(E)
        i, j = torch.triu_indices(num_nodes, num_nodes, offset=1)
        pairs = i * num_nodes + j
        free: Tensor = pairs[~torch.isin(pairs, edges)]
        return free[torch.randperm(len(free), generator=generator)[:count]]
    new: Tensor = edges[:0]
    while len(new) < count:  # at least half of the pairs are free, so a few rounds do
        i, j = torch.randint(num_nodes, (2, 2 * (count - len(new)) + 8), generator=generator)
        pair = torch.minimum(i, j) * num_nodes + torch.maximum(i, j)
        drawn: Tensor = torch.unique(torch.cat([new, pair[(i != j) & ~torch.isin(pair, edges)]]))
        # `unique` sorts, so a prefix would favour low node numbers
        new = drawn[torch.randperm(len(drawn), generator=generator)[:count]]
    return new
