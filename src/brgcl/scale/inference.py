"""Exact representations of all nodes, layer by layer, in blocks of rows.

A layer of all nodes is computed before the next one, so no node is encoded twice and no halo is
needed: time is that of the encoder over the whole graph. What lies between two layers is one matrix
of N rows; a matrix beyond the allowed memory is kept in a temporary file instead.
"""

import copy
import tempfile
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from brgcl.method.encoder import Encoder
from brgcl.method.sparse import csr_tensor
from brgcl.scale.parts import PartGraph, rows_with_loops

ENTRIES = 1 << 20  # entries of the adjacency in a block


def encode_by_blocks(
    encoder: Encoder, graph: PartGraph, *, memory: float = float("inf"), entries: int = ENTRIES
) -> Tensor:
    """Representations of unit length, `(N, D)`, in the order of the parts.

    Args:
        encoder: The encoder.
        graph: The graph.
        memory: Bytes that a matrix of N rows may take; a larger one is kept in a file.
        entries: Entries of the adjacency in a block.
    """
    N, scale = graph.num_nodes, graph.degree.rsqrt()
    room = partial(make_room, memory=memory)
    encoder = copy.deepcopy(encoder).requires_grad_(False).cpu()
    weights = list(zip(encoder.weights, encoder.biases, strict=True))
    first = weights[0][0]
    narrow = first.shape[0] <= first.shape[1]  # then A X W is (A X) W
    below = None if narrow else room(N, first.shape[1])
    if below is not None:
        for rows in graph.blocks(entries):
            product = graph.attributes(torch.arange(rows.start, rows.stop)) @ first
            below[rows] = product
    for number, (weight, bias) in enumerate(weights):
        last = number + 1 == len(weights)
        width = weight.shape[1] if last else weights[number + 1][0].shape[1]
        above = room(N, width)
        for rows in graph.blocks(entries):
            h = _averaged(graph, rows, scale, below)
            if number == 0 and narrow:
                h = h @ weight
            h = h.add_(bias)
            if last:
                above[rows] = F.normalize(h, dim=1)
            else:
                above[rows] = encoder.activation(h) @ weights[number + 1][0]
        below = above
    assert below is not None
    return below


def _averaged(graph: PartGraph, rows: slice, scale: Tensor, below: Tensor | None) -> Tensor:
    """Some rows of A times the matrix below, or times the attributes."""
    crow, ends, weight = rows_with_loops(graph, torch.arange(rows.start, rows.stop))
    value = scale[rows].repeat_interleave(crow.diff()) * scale[ends]
    if weight is not None:
        value *= weight
    if below is None:
        needed, ends = torch.unique(ends, return_inverse=True)
        below = graph.attributes(needed).dense
    matrix = csr_tensor(crow, ends, value, (rows.stop - rows.start, below.shape[0]))
    return matrix @ below


def make_room(num_rows: int, num_columns: int, *, memory: float) -> Tensor:
    """Room for a float32 matrix: in memory, or in a file that vanishes with it."""
    if 4 * num_rows * num_columns <= memory:
        return torch.empty(num_rows, num_columns)
    with tempfile.TemporaryFile() as file:  # the mapping outlives the open file
        array = np.memmap(file, dtype=np.float32, mode="w+", shape=(num_rows, num_columns))
    return torch.from_numpy(array)
