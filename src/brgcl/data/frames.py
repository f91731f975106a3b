"""Data frames -> `Data` and back; pandas or Polars, by the rules that hold for files."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import scipy.sparse
import torch
from torch import Tensor
from torch_geometric.data import Data

from brgcl.data.attributes import attribute_tensor
from brgcl.data.columns import has_id_column
from brgcl.data.files import join_tables
from brgcl.data.graphs import check_graph
from brgcl.data.table_files import TableFile, check_names
from brgcl.errors import InputError
from brgcl.method.sparse import csr_to_scipy

if TYPE_CHECKING:
    import pandas as pd


def from_pandas(
    edges: Any,
    features: Any = None,
    labels: Any = None,
    *,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    id: str | None = None,
    label: str | None = None,
) -> Data:
    """Make a graph from data frames of pandas or Polars.

    Columns are recognised as in `read_graph`. The ids of features and labels are a column, or the
    index of a pandas frame.

    Args:
        edges: Frame with one edge per row.
        features: Frame with one node per row and numeric columns; or a matrix (array, tensor or
            scipy sparse) whose row i is node i; None for structural attributes.
        labels: Frame with an id and a label per row, or a pandas series with the ids as its index.
        source: Column of `edges` with one end.
        target: Column of `edges` with the other end.
        weight: Column of `edges` with positive weights.
        id: Column of `features` and `labels` with the id.
        label: Column of `labels` with the label; without `labels`, a column of `features`.

    Example:
        >>> import pandas as pd
        >>> edges = pd.DataFrame({"source": ["ann", "bob"], "target": ["bob", "eve"]})
        >>> team = pd.Series({"ann": "red", "eve": "blue"})
        >>> graph = from_pandas(edges, labels=team)
        >>> list(graph.node_ids), graph.y.tolist(), graph.class_names
        (['ann', 'bob', 'eve'], [1, -1, 0], ['blue', 'red'])
    """
    nodes: TableFile | Tensor | None = None
    if features is not None:
        frame = hasattr(features, "columns")
        nodes = (
            _table("features", features, id) if frame else attribute_tensor(features, "features")
        )
    return join_tables(
        _table("edges", edges),
        nodes,
        None if labels is None else _table("labels", labels, id),
        listed=Path("edges" if features is None else "features"),
        source=source, target=target, weight=weight, id=id, label=label,
    )  # fmt: skip


def to_pandas(graph: Data) -> tuple["pd.DataFrame", "pd.DataFrame"]:
    """Return a graph as two frames, its edges and its nodes.

    Returns:
        The edges, each once: `source`, `target` and, if there are weights, `weight`. The nodes:
        `node_id`, `label` (None = unlabelled) and the attributes, in sparse columns if they are
        sparse. Attributes have the names of the graph's `feature_names`; they are `x0`, `x1`, ...
        if there are none, or if two columns would have the same name.
    """
    import pandas as pd

    graph = check_graph(graph, announce=False)
    once = graph.edge_index[0] < graph.edge_index[1]
    ids = np.asarray(graph.node_ids)
    source, target = (ids[end[once].numpy()] for end in graph.edge_index)
    edges = pd.DataFrame({"source": source, "target": target})
    if graph.get("edge_weight") is not None:
        edges["weight"] = graph.edge_weight[once].numpy()
    names = [None if label < 0 else graph.class_names[label] for label in graph.y.tolist()]
    about = pd.DataFrame({"node_id": ids, "label": pd.Series(names, dtype=object)})
    columns = graph.get("feature_names") or []
    if len({*about.columns, *columns}) < 2 + graph.num_features:
        columns = [f"x{i}" for i in range(graph.num_features)]
    if graph.x.layout == torch.sparse_csr:
        matrix = scipy.sparse.csr_matrix(csr_to_scipy(graph.x))
        x = pd.DataFrame.sparse.from_spmatrix(matrix, columns=columns)  # type: ignore[attr-defined]
    else:
        x = pd.DataFrame(graph.x.numpy(), columns=columns)
    return edges, pd.concat([about, x], axis=1)


def _table(what: str, frame: Any, id: str | None = None) -> TableFile:
    """A frame as the table of a file that is called `what`."""
    import pandas as pd

    if hasattr(frame, "to_frame") and not hasattr(frame, "columns"):  # a series of labels
        frame = frame.to_frame("label").rename_axis("id")
    if hasattr(frame, "to_arrow"):
        table = frame.to_arrow()
    elif hasattr(frame, "columns"):
        names = [str(name) for name in frame.columns]
        check_names(Path(what), names)
        frame = frame.set_axis(names, axis=1)
        by_index = what != "edges" and not has_id_column(names, id)  # even if it just counts
        kinds = frame.dtypes.items()
        sparse = {n: kind.subtype for n, kind in kinds if isinstance(kind, pd.SparseDtype)}
        try:
            table = pa.Table.from_pandas(  # Arrow has no sparse columns
                frame.astype(sparse), preserve_index=True if by_index else None
            )
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise InputError(
                f"{what}: a column holds values of several kinds, or of an unknown kind "
                f"({error.args[-1]}); give each column texts or real numbers"
            ) from error
    else:
        raise InputError(
            f"{what} must be a data frame of pandas or Polars, got {type(frame).__name__}; "
            "read_graph reads files"
        )
    stored = (table.schema.pandas_metadata or {}).get("index_columns", [])
    index = tuple(name for name in stored if isinstance(name, str))  # not a mere range
    return TableFile(Path(what), tuple(table.column_names), None, index, ",", table)
