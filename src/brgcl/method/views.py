"""Two augmented views of a graph: the same nodes seen twice, each time with something missing.

    edges      each undirected edge is dropped with a probability
    nodes      each node is dropped, with its edges and attributes
    subgraph   a snowball of nodes around a random one survives
    diffusion  the adjacency is replaced by personalised PageRank (no edge is dropped)

On top of any of them some attribute columns are masked, the same ones for all nodes.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from brgcl.config import ViewSettings
from brgcl.method.graph import Adjacency, Graph
from brgcl.method.sparse import Matrix


@dataclass(frozen=True)
class Diffusion:
    """Personalised PageRank, alpha (I - (1 - alpha) A)^-1, applied by power iteration.

    The truncated series is a polynomial in the symmetric A, hence its own transpose; products
    with it never build the dense inverse.
    """

    adjacency: Matrix
    alpha: float
    steps: int = 20

    def __matmul__(self, dense: Tensor) -> Tensor:
        """Multiply by a dense matrix, O(steps · E · columns)."""
        if not dense.requires_grad:
            return self._power_iteration(dense)
        product: Tensor = _DiffusionProduct.apply(dense, self)  # type: ignore[no-untyped-call]
        return product

    def _power_iteration(self, dense: Tensor) -> Tensor:
        result = dense
        for _ in range(self.steps):
            result = self.adjacency.data @ result
            result.mul_(1 - self.alpha).add_(dense, alpha=self.alpha)
        return result


class _DiffusionProduct(torch.autograd.Function):
    """One node in the autograd graph for all steps, whose results it would keep otherwise."""

    @staticmethod
    def forward(ctx: Any, dense: Tensor, diffusion: Diffusion) -> Tensor:
        ctx.diffusion = diffusion
        return diffusion._power_iteration(dense)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return ctx.diffusion._power_iteration(gradient), None


@dataclass(frozen=True)
class View:
    """One view: an operator on nodes, a mask over attributes, and who survived.

    Attributes:
        adjacency: The operator that mixes neighbours, `(N, N)`.
        columns: 1 for attributes that are seen, 0 for masked ones, `(F,)`; None sees all.
        nodes: Mask of surviving nodes, `(N,)`; None when all survive.
    """

    adjacency: Matrix | Diffusion
    columns: Tensor | None
    nodes: Tensor | None


def make_view(graph: Graph, settings: ViewSettings, generator: torch.Generator) -> View:
    """Draw one view of the graph; the graph itself is left alone.

    Args:
        graph: The graph.
        settings: Kind of view, share dropped (teleport probability for "diffusion"), and share
            of attribute columns masked.
        generator: Source of randomness.
    """
    adjacency = graph.adjacency
    device = adjacency.col.device
    columns = None
    if settings.mask > 0:
        seen = torch.rand(graph.x.shape[1], generator=generator) >= settings.mask
        columns = seen.to(device=device, dtype=graph.x.data.dtype)
    if settings.kind == "diffusion":
        return View(Diffusion(adjacency.normalized, settings.drop), columns, None)
    if settings.drop == 0:
        return View(adjacency.normalized, columns, None)
    if settings.kind == "edges":
        keep = (torch.rand(adjacency.num_edges + 1, generator=generator) >= settings.drop).to(
            device
        )
        keep[-1] = True
        return View(adjacency.normalized_without(keep), columns, None)
    if settings.kind == "nodes":
        nodes = (torch.rand(adjacency.num_nodes, generator=generator) >= settings.drop).to(device)
    else:
        nodes = _snowball(adjacency, 1 - settings.drop, generator)
    keep = torch.ones(adjacency.num_edges + 1, dtype=torch.bool, device=device)
    keep[adjacency.edge[~(nodes[adjacency.row] & nodes[adjacency.col])]] = False
    keep[-1] = True
    return View(adjacency.normalized_without(keep), columns, nodes)


def two_views(
    graph: Graph, settings: tuple[ViewSettings, ViewSettings], generator: torch.Generator
) -> tuple[View, View]:
    """Draw the two views that are contrasted with each other."""
    return make_view(graph, settings[0], generator), make_view(graph, settings[1], generator)


def common_nodes(first: View, second: View) -> Tensor | None:
    """Return the indices of the nodes that survive in both views, or None when all do."""
    masks = [view.nodes for view in (first, second) if view.nodes is not None]
    if not masks:
        return None
    both = masks[0] if len(masks) == 1 else masks[0] & masks[1]
    return both.nonzero().squeeze(1)


def _snowball(adjacency: Adjacency, share: float, generator: torch.Generator) -> Tensor:
    """Grow a set of nodes from a random one, ring by ring, until it holds the wanted share.

    The last ring is cut at random; when a component is exhausted, another seed is drawn.
    """
    N = adjacency.num_nodes
    wanted = max(1, round(share * N))
    order = torch.rand(N, generator=generator).to(adjacency.col.device)  # also ranks the last ring
    inside = torch.zeros(N, dtype=torch.bool, device=adjacency.col.device)
    ring = inside.clone()
    count = 0
    while count < wanted:
        if not ring.any():
            ring[torch.where(inside, -1.0, order).argmax()] = True
        members = ring.nonzero().squeeze(1)
        if count + members.numel() > wanted:
            members = members[order[members].argsort()[: wanted - count]]
        inside[members] = True
        count += members.numel()
        reached = torch.zeros_like(inside)
        reached[adjacency.col[ring[adjacency.row]]] = True
        ring = reached & ~inside
    return inside
