"""Is this something that a classifier can be fitted on? Checks of representations and labels."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Data

from brgcl.data.graphs import check_graph
from brgcl.errors import InputError
from brgcl.method.graph import adjacency_from_edges
from brgcl.method.sparse import Matrix


def check_representations(z: Any) -> Tensor:
    """Check that `z` is a finite matrix and return it with rows of unit length."""
    z = torch.as_tensor(z)
    if z.ndim != 2 or len(z) == 0:
        raise InputError(f"z must have shape (N, D) with N > 0, got {tuple(z.shape)}")
    z = z.detach().float()
    if not bool(z.isfinite().all()):
        row = int((~z.isfinite()).any(1).nonzero()[0])
        raise InputError(f"z has a value that is not finite in row {row}; remove or repair it")
    return F.normalize(z, dim=1)


def check_labels(labels: Any, num_nodes: int, graph: Data | None = None) -> Tensor:
    """Check that there is something to learn from the labels, and return them.

    Args:
        labels: Labels, -1 = unlabelled, `(N,)`.
        num_nodes: N.
        graph: The graph, for the names of classes in messages.

    Raises:
        InputError: Their number is wrong, none is given, or a class has a single one.
    """
    try:
        given: Tensor = torch.as_tensor(labels)
    except (TypeError, ValueError) as error:
        raise InputError(
            "labels must be integers; number the classes, e.g. with "
            "numpy.unique(labels, return_inverse=True)"
        ) from error
    if given.ndim != 1 or len(given) != num_nodes:
        raise InputError(
            f"labels have {len(given)} entries but the graph has {num_nodes} nodes; "
            "use -1 for unlabelled"
        )
    if given.is_floating_point() or given.dtype == torch.bool:
        raise InputError(f"labels must be integers, got {given.dtype}; use -1 for unlabelled")
    given = given.long()
    if bool((given < -1).any()):
        raise InputError(f"labels must be -1 or more, got {int(given.min())}")
    if bool((given < 0).all()):
        raise InputError("no node has a label; classification needs some, in two classes or more")
    counts = torch.bincount(given[given >= 0])
    if int((counts > 0).sum()) < 2:
        raise InputError("all labels are the same; classification needs two classes or more")
    single = (counts == 1).nonzero().flatten().tolist()
    if single:
        raise InputError(
            f"class {class_name(single[0], graph)!r} has a single label; "
            "give it another one or leave it unlabelled (-1)"
        )
    return given


def class_name(label: int, graph: Data | None) -> str | int:
    """Name of a class where the graph has one, else its number."""
    names = None if graph is None else graph.get("class_names")
    return names[label] if names and label < len(names) else label


def transition_of(graph: Data, num_nodes: int) -> Matrix:
    """Row-stochastic adjacency of a graph, after a check that it has as many nodes as z."""
    graph = check_graph(graph, announce=False)
    if graph.num_nodes != num_nodes:
        raise InputError(f"the graph has {graph.num_nodes} nodes but z has {num_nodes} rows")
    return adjacency_from_edges(graph.edge_index, num_nodes, graph.get("edge_weight")).transition
