"""The surroundings of some nodes: what a step of training needs besides its own nodes.

To encode a set of nodes with L layers, their neighbours up to L steps away are needed, one ring for
each layer:

    nodes      core | ring 1 | ... | ring L        numbered in this order
    layer 1    rows of core to ring L - 1, from columns of core to ring L
    layer L    rows of core, from columns of core and ring 1

Operators are normalised by the degrees of the whole graph, so rows of the core are those of the
whole graph. Where a graph has no good parts, a ring can hold most of it; then some of the ring is
drawn at random, those with many edges into the set first, and the other edges are dropped as those
that a view drops.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from brgcl.method.sparse import Matrix, csr_tensor, csr_to_scipy
from brgcl.scale.parts import PartGraph, rows_with_loops

MIX = (-7046029254386353131, -4658895280553007687, -7723592293110705685)  # of SplitMix64


@dataclass(frozen=True)
class Halo:
    """A set of nodes with its rings.

    Attributes:
        nodes: Nodes of the graph, core first, then ring by ring, `(n,)`.
        sizes: Number of nodes within 0, 1, ..., L steps.
        crow: Row starts of all nodes but those of the last ring.
        row: Row of each entry.
        col: Column of each entry; the first of a row is the row itself.
        weight: Weight of each entry; None when all are 1.
        degree: Sum of weights of the nodes of the last ring in the whole graph.
    """

    nodes: Tensor
    sizes: tuple[int, ...]
    crow: Tensor
    row: Tensor
    col: Tensor
    weight: Tensor | None
    degree: Tensor

    def kept_edges(self, drop: float, salt: int) -> Tensor | None:
        """Mask of entries that survive when each edge is dropped with a probability.

        Both directions of an edge, wherever they are looked at, share their fate.
        """
        if drop == 0:
            return None
        a, b = self.nodes[self.row], self.nodes[self.col]
        low, high = torch.minimum(a, b), torch.maximum(a, b)
        return (uniform(low * MIX[0] + high, salt) >= drop) | (a == b)

    def kept_nodes(self, drop: float, salt: int) -> Tensor:
        """Mask of nodes that survive when each is dropped with a probability, `(n,)`."""
        return uniform(self.nodes, salt) >= drop

    def operators(self, keep: Tensor | None = None, drop: float = 0.0) -> list[Matrix]:
        """Normalised adjacency for each layer, after some entries were dropped.

        Args:
            keep: Mask of surviving entries; None keeps all.
            drop: Probability with which an entry was dropped; it tells what is left of the
                degrees of the last ring, whose edges are not looked at.
        """
        crow, row, col, weight = self.crow, self.row, self.col, self.weight
        if keep is not None:
            index = keep.nonzero().squeeze(1)
            crow = torch.cat([crow.new_zeros(1), keep.cumsum(0)])[crow]
            row, col = row[index], col[index]
            weight = None if weight is None else weight[index]
        rows = len(crow) - 1
        if weight is None:
            degree = crow.diff().to(torch.float32)
        else:
            degree = torch.zeros(rows).index_add_(0, row, weight)
        outer = 1 + (1 - drop) * (self.degree - 1)
        scale = torch.cat([degree, outer]).rsqrt()
        value = scale[row] * scale[col]
        if weight is not None:
            value = value * weight
        crow, col = crow.int(), col.int()
        found = []
        for inner, outer_size in reversed(list(zip(self.sizes, self.sizes[1:], strict=False))):
            stop = int(crow[inner])
            data = csr_tensor(crow[: inner + 1], col[:stop], value[:stop], (inner, outer_size))
            found.append(with_transpose(data))
        return found


def with_transpose(data: Tensor) -> Matrix:
    """Matrix of a CSR tensor whose transpose is made in linear time, when it is needed."""
    return _Rectangular(data)


class _Rectangular(Matrix):
    def to(self, device: str | torch.device) -> Matrix:
        return self if self.data.device == torch.device(device) else super().to(device)

    @property
    def transposed(self) -> list[tuple[slice, Tensor]]:
        kept = self.__dict__.get("_flipped")
        if kept is None:
            csc = csr_to_scipy(self.data).tocsc()
            crow, col, value = (torch.from_numpy(a) for a in (csc.indptr, csc.indices, csc.data))
            flipped = csr_tensor(crow, col, value, (self.shape[1], self.shape[0]))
            kept = [(slice(0, self.shape[0]), flipped)]
            self.__dict__["_flipped"] = kept
        return kept


class HaloFinder:
    """Finds rings; keeps one number per node of the graph as its working memory.

    Args:
        graph: The graph.
        num_layers: L.
        limit: Nodes of a ring at most, as a multiple of the nodes of the core.
        last: The same for the last ring, whose attributes alone are needed; None for `limit`.
    """

    def __init__(
        self, graph: PartGraph, num_layers: int, limit: float = 1.0, last: float | None = None
    ) -> None:
        self.graph, self.num_layers = graph, num_layers
        self.limits = [limit] * (num_layers - 1) + [limit if last is None else last]
        self.place = torch.full((graph.num_nodes,), -1, dtype=torch.int32)

    def find(self, core: Tensor, generator: torch.Generator | None = None) -> Halo:
        """Find the rings around some distinct nodes.

        Args:
            core: The nodes, `(n,)`.
            generator: Chooses from a ring that is too large; None takes rings as they are.
        """
        graph, place = self.graph, self.place
        rings, starts, ends, weights = [core], [torch.zeros(1, dtype=torch.long)], [], []
        place[core] = torch.arange(len(core), dtype=torch.int32)
        count = len(core)
        for limit in self.limits:
            most = int(len(core) * limit)
            begin, found, weight = rows_with_loops(graph, rings[-1])
            starts.append(begin[1:] + starts[-1][-1])
            ends.append(found)
            if weight is not None:
                weights.append(weight)
            ring, links = torch.unique(found[place[found] < 0], return_counts=True)
            if generator is not None and len(ring) > most:
                ring = ring[_draw(links, most, generator)]
            place[ring] = torch.arange(count, count + len(ring), dtype=torch.int32)
            count += len(ring)
            rings.append(ring)
        sizes = tuple(torch.tensor([len(ring) for ring in rings]).cumsum(0).tolist())
        nodes, crow, col = torch.cat(rings), torch.cat(starts), place[torch.cat(ends)].long()
        place[nodes] = -1
        row = torch.repeat_interleave(crow.diff())
        # a row sees the next ring, not the one after it, in which an edge left out may end
        reach = torch.cat(
            [torch.full((len(ring),), size) for ring, size in zip(rings, sizes[1:], strict=False)]
        )
        inside = (col >= 0) & (col < reach[row])
        weight = torch.cat(weights) if weights else None
        if not bool(inside.all()):
            crow = torch.cat([crow.new_zeros(1), inside.cumsum(0)])[crow]
            row, col = row[inside], col[inside]
            weight = None if weight is None else weight[inside]
        return Halo(nodes, sizes, crow, row, col, weight, graph.degree[rings[-1]])


def _draw(links: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Draw nodes without replacement, by their number of links (Efraimidis & Spirakis 2006)."""
    keys = torch.rand(len(links), generator=generator).log() / links
    return keys.topk(count).indices.sort().values


def uniform(key: Tensor, salt: int) -> Tensor:
    """Numbers in [0, 1) that depend on an integer key and a salt alone (Steele et al. 2014)."""
    z = key + salt
    for shift, factor in ((30, MIX[1]), (27, MIX[2])):
        z = (z ^ ((z >> shift) & ((1 << (64 - shift)) - 1))) * factor
    return ((z >> 40) & 0xFFFFFF).to(torch.float32) / (1 << 24)
