"""A graph in memory -> a checked, canonical `Data`; all other readers use this one."""

import logging
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor
from torch_geometric.data import Data

from brgcl.data.attributes import attribute_tensor, checked_attributes, structural_attributes
from brgcl.data.edges import canonical_edges
from brgcl.data.ids import checked_class_names, checked_feature_names, checked_ids
from brgcl.errors import InputError

log = logging.getLogger("brgcl")

MASKS = ("train_mask", "val_mask", "test_mask")


def check_graph(data: Data, *, announce: bool = True) -> Data:
    """Check a graph and convert it to canonical form; the input is not modified.

    The result has `x` (float32, dense or CSR), `edge_index` (undirected, sorted, each pair once per
    direction, no self-loops), `edge_weight` if there are weights (see `canonical_edges`), `y`
    (-1 = unlabelled), the masks of the input, `node_ids`, `class_names`, `feature_names` if
    attributes have any, `name` and `num_nodes`, and no other field. Tensors that are already
    canonical are shared with the input. Time is linear in nodes and edges.

    Args:
        data: A graph with at least `x` `(N, F)` and `edge_index` `(2, E)`.
        announce: Whether to log what was fixed.

    Raises:
        InputError: The graph is invalid; the message says where and what to do.

    Example:
        >>> graph = Data(x=torch.eye(3), edge_index=torch.tensor([[2, 0], [1, 1]]))
        >>> check_graph(graph).edge_index.tolist()
        [[0, 1, 1, 2], [1, 0, 2, 1]]
    """
    if not isinstance(data, Data):
        raise InputError(
            f"a graph must be a torch_geometric Data, got {type(data).__name__}; "
            "see read_graph, from_pandas, from_networkx, from_igraph and from_scipy"
        )
    x = checked_attributes(data.x)
    num_nodes = int(x.shape[0])
    given = data.to_dict()
    declared, weight = given.get("num_nodes"), given.get("edge_weight")
    if declared is not None and int(declared) != num_nodes:
        raise InputError(
            f"x has {num_nodes} rows but num_nodes is {declared}; give each node a row"
        )
    edge_index, edge_weight = canonical_edges(data.edge_index, weight, num_nodes, announce=announce)
    if announce and data.edge_attr is not None:
        log.warning("edge_attr is not used; put one positive weight per edge into edge_weight")
    y = _checked_labels(data.y, num_nodes)
    checked = Data(x=x, edge_index=edge_index, y=y, num_nodes=num_nodes)
    if edge_weight is not None:
        checked.edge_weight = edge_weight
    for name in MASKS:
        if data.get(name) is not None:
            checked[name] = _checked_mask(name, data[name], num_nodes)
    checked.node_ids = checked_ids(data.get("node_ids"), num_nodes)
    checked.class_names = checked_class_names(data.get("class_names"), y)
    checked.name = str(data.get("name") or "graph")
    if data.get("feature_names") is not None:
        checked.feature_names = checked_feature_names(data.feature_names, int(x.shape[1]))
    return checked


def from_scipy(
    adj: Any,
    x: Any,
    y: Any = None,
    *,
    node_ids: Sequence[Hashable] | None = None,
    class_names: Sequence[str] | None = None,
) -> Data:
    """Make a graph from an adjacency matrix.

    Args:
        adj: Adjacency, scipy sparse or 2-D array, `(N, N)`. Values other than 0 and 1 are weights.
        x: Attributes, scipy sparse, array or tensor, `(N, F)`; None for structural attributes
            (see `structural_attributes`).
        y: Class of each node, -1 = unlabelled, `(N,)`; None if no labels are known.
        node_ids: Name of each node; by default `0..N-1`.
        class_names: Name of each class; by default its number.

    Example:
        >>> from_scipy(np.array([[0, 1], [0, 0]]), np.eye(2), [0, -1]).edge_index.tolist()
        [[0, 1], [1, 0]]
    """
    adj = adj if scipy.sparse.issparse(adj) else np.asarray(adj)
    if adj.dtype.kind not in "fiub":
        raise InputError(f"an adjacency matrix must hold numbers, got {adj.dtype}")
    coo = scipy.sparse.coo_array(adj.astype(np.float64))
    if coo.ndim != 2 or coo.shape[0] != coo.shape[1]:
        raise InputError(f"an adjacency matrix must be square, got shape {coo.shape}")
    stored = coo.data != 0
    edge_index = torch.from_numpy(np.stack([coo.row, coo.col])[:, stored].astype(np.int64))
    weight = torch.from_numpy(coo.data[stored])
    if x is None:
        x = structural_attributes(edge_index, int(coo.shape[0]))
    data = Data(x=attribute_tensor(x, "x"), edge_index=edge_index, num_nodes=int(coo.shape[0]))
    if not bool((weight == 1).all()):
        data.edge_weight = weight
    if y is not None:
        array = y if isinstance(y, Tensor) else np.array(y)
        if isinstance(array, np.ndarray) and array.dtype.kind not in "iufb":
            raise InputError(
                f"labels y must be integers, got {array.dtype}; number the classes, e.g. with "
                "numpy.unique(y, return_inverse=True), and pass class_names"
            )
        data.y = torch.as_tensor(array)
    data.node_ids, data.class_names = node_ids, class_names
    return check_graph(data)


def _checked_labels(y: Tensor | None, num_nodes: int) -> Tensor:
    if y is None:
        return torch.full((num_nodes,), -1, dtype=torch.int64)
    if not isinstance(y, Tensor):
        raise InputError(f"labels y must be a tensor, got {type(y).__name__}")
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise InputError(
            f"labels y must be one class per node, got shape {tuple(y.shape)}; "
            "turn one-hot rows into numbers with argmax"
        )
    if len(y) != num_nodes:
        raise InputError(
            f"labels have {len(y)} entries but the graph has {num_nodes} nodes; use -1 for "
            "unlabelled"
        )
    if y.is_floating_point() or y.is_complex() or y.dtype == torch.bool:
        raise InputError(
            f"labels y must be integers, got {y.dtype}; use y.long(), with -1 for unlabelled"
        )
    y = y.long()
    if bool((y < -1).any()):
        node = int(torch.nonzero(y < -1)[0])
        raise InputError(f"y[{node}] is {int(y[node])}; classes count from 0, -1 is unlabelled")
    return y


def _checked_mask(name: str, mask: Tensor, num_nodes: int) -> Tensor:
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        kind = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
        raise InputError(f"{name} must be a bool tensor with an entry per node, got {kind}")
    if mask.ndim == 2:
        raise InputError(
            f"{name} holds {mask.shape[1]} splits; choose one: data.{name} = data.{name}[:, 0]"
        )
    if mask.shape != (num_nodes,):
        raise InputError(f"{name} has {len(mask)} entries but the graph has {num_nodes} nodes")
    return mask
