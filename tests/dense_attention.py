"""Attention as dense matrices on a small graph, which layers with sparse attention are held to."""

import torch
import torch.nn.functional as F

from brgcl.method.attention import links_of
from brgcl.method.graph import adjacency_from_edges

# Two triangles with a bridge, 2-3, and an isolated node.
ENDS = torch.tensor([[0, 0, 1, 2, 3, 3, 4], [1, 2, 2, 3, 4, 5, 5]])
EDGES = torch.cat([ENDS, ENDS.flip(0)], dim=1)
EDGES = EDGES[:, (EDGES[0] * 7 + EDGES[1]).argsort()]
LINKS = links_of(adjacency_from_edges(EDGES, 7, dtype=torch.float64))
LINKED = torch.eye(7, dtype=torch.bool)
LINKED[EDGES[0], EDGES[1]] = True


def seeded(seed=0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=seeded(seed), dtype=torch.float64)


def dense_attention(receive, send, weight=None):
    """Attention as dense matrices, one per head, `(heads, N, N)`."""
    logits = F.leaky_relu(receive.T[:, :, None] + send.T[:, None, :], 0.2)
    if weight is not None:
        logits = logits + weight.log()
    return logits.masked_fill(~LINKED, -torch.inf).softmax(2)
