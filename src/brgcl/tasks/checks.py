"""Checks that need no training: representations, labels, the number of clusters."""

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse
import torch
import torch.nn.functional as F
from torch import Tensor

from brgcl.data.graphs import check_graph
from brgcl.errors import InputError
from brgcl.method.graph import adjacency_from_edges
from brgcl.method.sparse import Matrix
from brgcl.tasks.labels import Classes, Codes, encode_classes, encode_with

if TYPE_CHECKING:
    from torch_geometric.data import Data


def check_representations(z: Any, *, normalize: bool = True) -> Tensor:
    """Check that `z` is a finite matrix and return it in float32.

    Args:
        z: A tensor, an array, a DataFrame or nested lists of numbers, `(N, D)`.
        normalize: Scale each row to unit length; a row of zeros stays.
    """
    if scipy.sparse.issparse(z) or (isinstance(z, Tensor) and z.layout != torch.strided):
        raise InputError("z must be dense, got a sparse matrix; use z.toarray() or z.to_dense()")
    rows = z if isinstance(z, Tensor) else _number_tensor(z)
    if rows.ndim != 2 or 0 in rows.shape:
        raise InputError(f"z must have shape (N, D) with N, D > 0, got {tuple(rows.shape)}")
    rows = rows.detach().float()
    bad = (~rows.isfinite().all(1)).nonzero()
    if len(bad):
        raise InputError(
            f"z has NaN or infinite values in {len(bad)} rows, the first at row {int(bad[0])}; "
            "remove or repair them"
        )
    return F.normalize(rows, dim=1) if normalize else rows


def _number_tensor(z: Any) -> Tensor:
    try:
        array = np.asarray(z)
        if array.dtype.kind == "O":  # as a DataFrame with columns of several types
            array = array.astype(np.float64)
        if array.dtype.kind not in "fiub":
            raise TypeError(f"they are {array.dtype}")
        return torch.from_numpy(np.array(array, order="C"))  # a copy, which torch may write to
    except (TypeError, ValueError) as error:
        raise InputError(f"z must be a matrix of numbers ({error})") from error


def check_labels(
    labels: Any, num_nodes: int, graph: "Data | None" = None, validation: Any = None
) -> Tensor:
    """Check that there is something to learn from the labels, and return them.

    Every class needs two labels, and validation labels may name no further class.

    Args:
        labels: Integers, -1 = unlabelled, `(N,)`.
        num_nodes: N.
        graph: The graph, for the names of classes in messages.
        validation: Labels that choose a classifier, -1 = none, `(N,)`.
    """
    classes, codes = check_classes(labels, num_nodes, graph)
    if classes.dtype.kind not in "iu":
        raise InputError(
            "labels must be integers; number the classes, e.g. with "
            "numpy.unique(labels, return_inverse=True)"
        )
    if validation is not None:
        encode_with(classes, validation, num_nodes, "validation labels")
    numbers = np.append(classes, -1)[codes]  # the last is for -1
    device = labels.device if isinstance(labels, Tensor) else None
    return torch.as_tensor(numbers, dtype=torch.long, device=device)


def check_classes(
    labels: Any, num_nodes: int, graph: "Data | None" = None
) -> tuple[Classes, Codes]:
    """Like `check_labels` for labels of any kind; return what `encode_classes` does."""
    classes, codes = encode_classes(labels, num_nodes)
    if len(classes) == 0:
        raise InputError("no node has a label; classification needs some, in two classes or more")
    if len(classes) == 1:
        raise InputError("all labels are the same; classification needs two classes or more")
    single = (np.bincount(codes[codes >= 0]) == 1).nonzero()[0]
    if len(single):
        raise InputError(
            f"class {class_name(classes.tolist()[single[0]], graph)!r} has a single label; "
            "give it another one or leave it unlabelled (-1)"
        )
    return classes, codes


def check_num_clusters(num_clusters: Any, num_nodes: int) -> int:
    """Check that the number of clusters is an integer in 1..N, and return it."""
    if not is_integer(num_clusters):
        raise InputError(f"num_clusters must be an integer, got {num_clusters!r}")
    if not 1 <= num_clusters <= num_nodes:
        raise InputError(
            f"num_clusters must be in 1..{num_nodes}, the number of nodes, got {num_clusters}"
        )
    return int(num_clusters)


def is_integer(value: Any) -> bool:
    """Whether a value is an integer, of Python or numpy; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def class_name(label: int | str, graph: "Data | None") -> str | int:
    """Name of a class: where labels are numbers, the graph's name for it if there is one."""
    names = None if graph is None else graph.get("class_names")
    if isinstance(label, str) or not names or label >= len(names):
        return label
    return str(names[label])


def transition_of(graph: "Data", num_nodes: int) -> Matrix:
    """Row-stochastic adjacency of a graph, after a check that it has as many nodes as z."""
    graph = check_graph(graph, announce=False)
    if graph.num_nodes != num_nodes:
        raise InputError(f"the graph has {graph.num_nodes} nodes but z has {num_nodes} rows")
    return adjacency_from_edges(graph.edge_index, num_nodes, graph.get("edge_weight")).transition
