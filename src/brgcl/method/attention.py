"""Attention over a graph (GAT), by sparse products: no message along an edge is stored.

    a_ij = softmax over j of LeakyReLU(r_i + s_j)          out_i = sum_j a_ij h_j + b

Each node attends to its neighbours and to itself; r and s are linear in h, per head. Edge weights,
where there are any, multiply the attention before it is normalised.

Velickovic et al., Graph Attention Networks, ICLR 2018.
"""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from brgcl.method.graph import Adjacency
from brgcl.method.sparse import csr_tensor


class Links:
    """Who attends to whom: each node to its neighbours and itself, in CSR order.

    Args:
        crow: Start of each row, `(N + 1,)`.
        row: Row of each link, `(M,)`.
        col: Column of each link, `(M,)`; the pattern is symmetric.
        weight: Weight of each link, `(M,)`; None when all are 1.
    """

    def __init__(self, crow: Tensor, row: Tensor, col: Tensor, weight: Tensor | None = None):
        self.crow, self.row, self.col, self.weight = crow, row, col, weight
        self.num_nodes = crow.numel() - 1
        # the pattern is symmetric, so that a transpose differs in the order of its values alone
        self.transposed = torch.argsort(col * self.num_nodes + row)

    def matrix(self, values: Tensor) -> Tensor:
        """CSR matrix with these values, `(N, N)`."""
        return csr_tensor(self.crow, self.col, values.contiguous(), (self.num_nodes,) * 2)


def links_of(adjacency: Adjacency) -> Links:
    """Links of a graph, with its edge weights."""
    weight = None if adjacency.weight is None else adjacency.weight[adjacency.edge]
    return Links(adjacency.crow, adjacency.row, adjacency.col, weight)


class Attention(nn.Module):
    """Weights of one attention layer with `heads` heads of `units` units."""

    def __init__(self, inputs: int, heads: int, units: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, heads * units))
        self.receive = nn.Parameter(torch.empty(heads, units))
        self.send = nn.Parameter(torch.empty(heads, units))
        self.bias = nn.Parameter(torch.zeros(heads * units))
        gain = math.sqrt(2)
        nn.init.xavier_normal_(self.weight, gain)
        spread = gain * math.sqrt(2 / (heads * units + units))  # Glorot's for 1 x heads x units
        nn.init.normal_(self.receive, std=spread)
        nn.init.normal_(self.send, std=spread)

    def forward(self, projected: Tensor, links: Links, dropout: float) -> Tensor:
        """Mix the rows of neighbours, `(N, heads · units)`, projected by the weight before."""
        heads, units = self.receive.shape
        split = projected.view(-1, heads, units)
        shares = attend((split * self.receive).sum(2), (split * self.send).sum(2), links)
        shares = F.dropout(shares, dropout, self.training)
        return mix(shares, projected, links) + self.bias


def attend(receive: Tensor, send: Tensor, links: Links) -> Tensor:
    """Attention of each node over its neighbours and itself, one column per head, `(M, heads)`.

    Args:
        receive: What a node adds to the logits of its own row, `(N, heads)`.
        send: What it adds to those of the nodes that attend to it, `(N, heads)`.
        links: Who attends to whom.
    """
    logits = receive.index_select(0, links.row) + send.index_select(0, links.col)
    logits = F.leaky_relu(logits, 0.2)
    index = links.row[:, None].expand_as(logits)
    highest = torch.full_like(receive, -torch.inf)
    highest = highest.scatter_reduce(0, index, logits.detach(), "amax")
    weight = (logits - highest.detach().index_select(0, links.row)).exp()
    if links.weight is not None:
        weight = weight * links.weight[:, None]
    total = torch.zeros_like(receive).index_add(0, links.row, weight)
    return weight / total.index_select(0, links.row)


def mix(shares: Tensor, h: Tensor, links: Links) -> Tensor:
    """Sum the rows of neighbours, each head its own columns: out_i = sum_j shares_ij h_j.

    Args:
        shares: Weight of each link, one column per head, `(M, heads)`.
        h: Rows to sum, `(N, heads · units)`.
        links: Who is summed with whom.
    """
    product: Tensor = _Mix.apply(shares, h, links)  # type: ignore[no-untyped-call]
    return product


class _Mix(torch.autograd.Function):
    """One sparse product per head, and per gradient; no message is stored."""

    @staticmethod
    def forward(ctx: Any, shares: Tensor, h: Tensor, links: Links) -> Tensor:
        ctx.save_for_backward(shares, h)
        ctx.links = links
        blocks = h.chunk(shares.shape[1], dim=1)
        return torch.cat([links.matrix(s) @ b for s, b in zip(shares.T, blocks, strict=True)], 1)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        shares, h = ctx.saved_tensors
        links: Links = ctx.links
        of_shares, of_h = torch.empty_like(shares), torch.empty_like(h)
        heads = shares.shape[1]
        nothing = links.matrix(h.new_zeros(len(shares)))
        for k, (g, b, out) in enumerate(
            zip(gradient.chunk(heads, 1), h.chunk(heads, 1), of_h.chunk(heads, 1), strict=True)
        ):
            g = g.contiguous()
            out.copy_(links.matrix(shares[:, k][links.transposed]) @ g)
            of_shares[:, k] = torch.sparse.sampled_addmm(nothing, g, b.contiguous().T).values()
        return of_shares, of_h, None
