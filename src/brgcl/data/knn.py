"""Vectors without a graph -> the graph of nearest neighbours."""

from collections.abc import Hashable, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch_geometric.data import Data

from brgcl.config import Count, check_value
from brgcl.data.attributes import attribute_tensor, checked_attributes
from brgcl.data.graphs import check_graph
from brgcl.data.ids import encode_labels, single_label
from brgcl.errors import InputError
from brgcl.method.sparse import csr_to_scipy, is_sparse


def knn_graph(
    x: Any,
    labels: Any = None,
    *,
    k: int = 10,
    metric: Literal["cosine", "euclidean"] = "cosine",
    node_ids: Sequence[Hashable] | None = None,
) -> Data:
    """Make a graph of nearest neighbours from vectors, such as embeddings of texts or images.

    Two nodes are connected if one is among the k nearest neighbours of the other. Distances are
    computed in blocks of rows: time grows with the square of the number of nodes, memory does not.

    Args:
        x: Vectors, array, tensor, scipy sparse or DataFrame, `(N, F)`; they become the attributes.
            The index of a DataFrame names the nodes, and its columns the attributes.
        labels: Class of each node, a text or integer; None or -1 = unlabelled, `(N,)`. A Series is
            matched with the index of `x`.
        k: Number of neighbours of each node.
        metric: Distance between vectors.
        node_ids: Name of each node; by default the index of a DataFrame, or `0..N-1`.

    Example:
        >>> x = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]])
        >>> knn_graph(x, ["a", "a", "b", None], k=1).edge_index.tolist()
        [[0, 1, 2, 3], [1, 0, 3, 2]]
    """
    from sklearn.neighbors import NearestNeighbors

    index, names = getattr(x, "index", None), getattr(x, "columns", None)
    tensor = checked_attributes(attribute_tensor(x, "x"))
    N = int(tensor.shape[0])
    if metric not in ("cosine", "euclidean"):
        raise InputError(f"metric must be 'cosine' or 'euclidean', got {metric!r}")
    k = check_value("k", Count, k)
    if k >= N:
        raise InputError(f"k must be in 1..{N - 1}, below the number of rows, got {k}")
    rows = csr_to_scipy(tensor) if is_sparse(tensor) else tensor.numpy()
    nearest = NearestNeighbors(n_neighbors=k, metric=metric, algorithm="brute").fit(rows)
    target = nearest.kneighbors(return_distance=False)  # without the node itself
    source = np.repeat(np.arange(N), k)
    edge_index = torch.from_numpy(np.stack([source, target.ravel()]).astype(np.int64))
    if node_ids is None and names is not None:
        node_ids = index.tolist()  # type: ignore[union-attr]  # a DataFrame has both
    data = Data(x=tensor, edge_index=edge_index, num_nodes=N, node_ids=node_ids)
    if names is not None:
        data.feature_names = [str(name) for name in names]
    if labels is not None:
        if names is not None and hasattr(labels, "reindex"):
            if not labels.index.isin(index).all():
                raise InputError(
                    "labels is a Series whose index has names that are not in the index of x; give "
                    "labels.to_numpy() to take them by position"
                )
            labels = labels.astype(object).reindex(index)
        if len(labels) != N:
            raise InputError(f"labels have {len(labels)} entries but x has {N} rows")
        named = (single_label(label, node) for node, label in enumerate(labels))
        data.y, data.class_names = encode_labels(named)
    return check_graph(data)
