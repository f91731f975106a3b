"""What training starts from: scaled attributes and the adjacency, on a device."""

from typing import Literal

import torch
from torch import Tensor
from torch_geometric.data import Data

from brgcl.config import Scaling
from brgcl.errors import InputError
from brgcl.method.attributes import Preparation, learn_preparation
from brgcl.method.graph import Graph, adjacency_from_edges
from brgcl.method.sparse import Matrix


def prepare(
    graph: Data,
    attributes: Literal["auto"] | Scaling | Preparation = "auto",
    device: str | torch.device = "cpu",
) -> Graph:
    """Scale the attributes and build the adjacency with self-loops.

    Args:
        graph: A checked graph.
        attributes: The scaling to learn from this graph, or one learned from another.
        device: Where to put the result.

    Raises:
        InputError: Nothing can be trained on the device.
    """
    place = check_device(device)
    x, weight = scale(graph.x, attributes).to(place), graph.get("edge_weight")
    adjacency = adjacency_from_edges(
        graph.edge_index.to(place), x.shape[0], None if weight is None else weight.to(place)
    )
    return Graph(x, adjacency)


def scale(x: Tensor, attributes: Literal["auto"] | Scaling | Preparation = "auto") -> Matrix:
    """Scale attributes, dense or CSR, `(N, F)`; see `prepare`."""
    if not isinstance(attributes, Preparation):
        attributes = learn_preparation(x, None if attributes == "auto" else attributes)
    return attributes.apply(x)


def check_device(device: str | torch.device) -> torch.device:
    """Return a device that can be trained on: the processor, or a GPU that CUDA finds.

    Example:
        >>> check_device("cpu")
        device(type='cpu')
    """
    known = ["cpu"]
    if torch.cuda.is_available():
        known += ["cuda", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
    if str(device) not in known:
        names = " or ".join(map(repr, known))
        raise InputError(f"device must be {names} on this machine, got {str(device)!r}")
    return torch.device(device)
