"""Graphs of other libraries -> `Data`: NetworkX and igraph."""

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from brgcl.data.attributes import structural_attributes
from brgcl.data.graphs import check_graph
from brgcl.data.ids import encode_labels, single_label
from brgcl.errors import InputError

if TYPE_CHECKING:
    import igraph
    import networkx


def from_networkx(
    g: "networkx.Graph",
    *,
    attributes: str | None = "x",
    label: str | None = "y",
    weight: str | None = None,
) -> Data:
    """Convert a NetworkX graph; its node keys become `node_ids`.

    Args:
        g: Any NetworkX graph; a directed one is made undirected.
        attributes: Node attribute with a number or a vector. With None, or if no node has the
            default "x", attributes are structural (see `structural_attributes`).
        label: Node attribute with the class, a text or number. A node without it, or with None,
            NaN, `pandas.NA`, "" or the integer -1, is unlabelled.
        weight: Edge attribute with the weight; None reads an unweighted graph.

    Raises:
        InputError: NetworkX or a named attribute is missing, or a value is not a number.
    """
    try:
        import networkx  # noqa: F401
    except ImportError as error:
        raise InputError(
            "from_networkx needs NetworkX; install it with: pip install networkx"
        ) from error
    place = {key: i for i, key in enumerate(g.nodes)}
    ends = [(place[u], place[v]) for u, v in g.edges()]
    return _graph(
        ends,
        dict.fromkeys(place) if attributes is None else dict(g.nodes(data=attributes)),
        dict.fromkeys(place) if label is None else dict(g.nodes(data=label)),
        None if weight is None else g.edges(data=weight),
        attributes=attributes, label=label, weight=weight,
    )  # fmt: skip


def from_igraph(
    g: "igraph.Graph",
    *,
    attributes: str | None = "x",
    label: str | None = "y",
    weight: str | None = None,
    name: str = "name",
) -> Data:
    """Convert an igraph graph.

    Args:
        g: Any igraph graph; a directed one is made undirected.
        attributes: Vertex attribute with a number or a vector; see `from_networkx`.
        label: Vertex attribute with the class; see `from_networkx`.
        weight: Edge attribute with the weight; None reads an unweighted graph.
        name: Vertex attribute with the ids; without it, vertices are numbered.

    Raises:
        InputError: A named attribute is missing, or a value is not a number.
    """
    known = g.vs.attributes()
    keys = list(g.vs[name]) if name in known else list(range(g.vcount()))

    def values(attribute: str | None) -> dict[Hashable, Any]:
        column = g.vs[attribute] if attribute in known else [None] * len(keys)
        return dict(zip(keys, column, strict=True))

    ends = g.get_edgelist()
    weights = None
    if weight is not None:
        given = g.es[weight] if weight in g.es.attributes() else [None] * len(ends)
        weights = ((keys[u], keys[v], w) for (u, v), w in zip(ends, given, strict=True))
    if len(set(keys)) < len(keys):
        raise InputError(f"vertex attribute '{name}' has equal values; name another one: name=")
    return _graph(
        ends, values(attributes), values(label), weights,
        attributes=attributes, label=label, weight=weight,
    )  # fmt: skip


def _graph(
    ends: list[tuple[int, int]],
    x: Mapping[Any, Any],
    y: Mapping[Any, Any],
    weights: Iterable[tuple[Any, Any, Any]] | None,
    *,
    attributes: str | None,
    label: str | None,
    weight: str | None,
) -> Data:
    """Make a graph of numbered edges, attributes and labels by node, and weights by edge."""
    edge_index = torch.tensor(ends, dtype=torch.int64).reshape(-1, 2).T
    data = Data(edge_index=edge_index, num_nodes=len(x), node_ids=list(x))
    data.x = _attributes(x, attributes, edge_index)
    if weights is not None:
        data.edge_weight = _weights(weights, weight)
    if label is not None:
        if label != "y" and all(value is None for value in y.values()):
            raise InputError(f"no node has the label attribute '{label}'; label=None reads none")
        data.y, data.class_names = encode_labels(single_label(v, node) for node, v in y.items())
    return check_graph(data)


def _attributes(values: Mapping[Any, Any], name: str | None, edge_index: Tensor) -> Tensor:
    missing = [node for node, value in values.items() if value is None]
    if len(missing) == len(values):
        if name not in (None, "x"):
            raise InputError(
                f"no node has the attribute '{name}'; attributes=None uses structural ones"
            )
        return structural_attributes(edge_index, len(values))
    if missing:
        raise InputError(
            f"node {missing[0]!r} has no attribute '{name}' ({len(missing)} nodes lack it); "
            "give it to every node"
        )
    try:
        rows = np.array([np.atleast_1d(np.asarray(v, dtype=np.float64)) for v in values.values()])
    except (TypeError, ValueError) as error:
        raise InputError(
            f"node attribute '{name}' must be a number or vectors of one length"
        ) from error
    return torch.from_numpy(rows)


def _weights(edges: Iterable[tuple[Any, Any, Any]], name: str | None) -> Tensor:
    weights = []
    for u, v, value in edges:
        try:
            weights.append(float(value))
        except (TypeError, ValueError) as error:
            raise InputError(
                f"edge {u!r} - {v!r} has weight '{name}' = {value!r}; give every edge a number"
            ) from error
    return torch.tensor(weights, dtype=torch.float64)
