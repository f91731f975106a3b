"""Parts of a graph: METIS where pymetis is installed, else blocks of neighbouring numbers."""

import logging
from typing import Any

import numpy as np
import torch
from torch import Tensor

log = logging.getLogger("brgcl")


def partition(crow: Tensor, col: Tensor, num_parts: int, *, seed: int = 0) -> Tensor:
    """Put nodes into parts of about the same size with few edges between them.

    Linear in nodes and edges (Karypis & Kumar 1998). Without pymetis, or with as many parts as
    nodes, a part is a block of neighbouring numbers.

    Args:
        crow: Start of each node's neighbours, `(N + 1,)`.
        col: Neighbours of each node, both directions of an edge, no self-loops, `(2E,)`.
        num_parts: P, at most N.
        seed: The same seed gives the same parts.

    Returns:
        Part of each node in `0..P-1`, `(N,)`; no part is empty.
    """
    N = crow.numel() - 1
    if num_parts <= 1:
        return torch.zeros(N, dtype=torch.long)
    pymetis = _pymetis()
    if pymetis is None or num_parts >= N or col.numel() == 0:
        return torch.arange(N) * min(num_parts, N) // N
    options = pymetis.Options(seed=seed)
    adjacency = pymetis.CSRAdjacency(crow.numpy(), col.numpy())
    _, found = pymetis.part_graph(num_parts, adjacency=adjacency, options=options)
    # METIS may leave a part empty; the others are numbered anew
    return torch.from_numpy(np.unique(np.asarray(found), return_inverse=True)[1]).long()


def _pymetis() -> Any:
    try:
        import pymetis
    except ImportError:
        log.warning(
            "pymetis is not installed: parts are blocks of neighbouring nodes, which lose more "
            "edges; pip install 'brgcl[scale]'"
        )
        return None
    return pymetis
