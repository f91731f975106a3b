"""What users give to the tasks: checked representations, labels and numbers of clusters.

Labels come as numbers or names with gaps, and become what classifiers need: 0..C-1, and -1 for an
unlabelled node.
"""

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from brgcl.data.graphs import check_graph
from brgcl.errors import InputError
from brgcl.method.graph import adjacency_from_edges
from brgcl.method.sparse import Matrix

if TYPE_CHECKING:
    from torch_geometric.data import Data

Classes = NDArray[Any]
Codes = NDArray[np.int64]
NO_NAME = ("", "-1")  # numpy makes "-1" of a -1 among names


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
    return F.normalize(within_range(rows), dim=1) if normalize else rows


def within_range(rows: Tensor) -> Tensor:
    """Scale rows whose squares a 32-bit float cannot hold; all others stay as they are.

    Example:
        >>> within_range(torch.tensor([[3e30, 4e30], [3.0, 4.0]]))
        tensor([[0.7500, 1.0000],
                [3.0000, 4.0000]])
    """
    largest = rows.abs().amax(1, keepdim=True)
    extreme = (largest > 1e15) | ((largest > 0) & (largest < 1e-10))
    return torch.where(extreme, rows / largest.clamp_min(torch.finfo(rows.dtype).tiny), rows)


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
    labels: Any,
    num_nodes: int,
    graph: "Data | None" = None,
    validation: Any = None,
    *,
    least: int = 2,
) -> Tensor:
    """Check that there is something to learn from integer labels, -1 = unlabelled; return them.

    Every class needs `least` labels, and the validation labels, which choose a classifier, may name
    no further class. The graph gives the names of classes in messages.
    """
    classes, codes = check_classes(labels, num_nodes, graph, least=least)
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
    labels: Any, num_nodes: int, graph: "Data | None" = None, *, least: int = 2
) -> tuple[Classes, Codes]:
    """Like `check_labels` for labels of any kind; return what `encode_classes` does."""
    classes, codes = encode_classes(labels, num_nodes)
    if len(classes) == 0:
        raise InputError("no node has a label; classification needs some, in two classes or more")
    if len(classes) == 1:
        raise InputError("all labels are the same; classification needs two classes or more")
    single = (np.bincount(codes[codes >= 0]) < least).nonzero()[0]
    if len(single):
        raise InputError(
            f"class {class_name(classes.tolist()[single[0]], graph)!r} has a single label; "
            "add a second label or leave the node unlabelled (-1)"
        )
    return classes, codes


def encode_classes(labels: Any, num_nodes: int, what: str = "labels") -> tuple[Classes, Codes]:
    """Number the classes that occur, whatever they are called.

    Labels are integers or names in a tensor, an array, a list or a pandas column, `(N,)`; messages
    call them `what`. Unlabelled are -1 and, for names and numbers with gaps, None, NaN, `pandas.NA`
    and "".

    Returns:
        The classes in sorted order, `(C,)`, and for each node the position of its class among
        them, -1 = unlabelled, `(N,)`.

    Example:
        >>> classes, codes = encode_classes(["red", "blue", None, "red"], 4)
        >>> classes.tolist(), codes.tolist()
        (['blue', 'red'], [1, 0, -1, 1])
    """
    values, known = _known(_as_array(labels, num_nodes, what), what)
    codes = np.full(num_nodes, -1, dtype=np.int64)
    classes, codes[known] = np.unique(values[known], return_inverse=True)
    return classes, codes


def encode_with(classes: Classes, labels: Any, num_nodes: int, what: str) -> Codes:
    """Number labels by classes that are already known; another class is an error."""
    given, codes = encode_classes(labels, num_nodes, what)
    place = {name: i for i, name in enumerate(classes.tolist())}
    places = [place.get(name, -1) for name in given.tolist()]
    if -1 in places:
        raise InputError(
            f"{what} have the class {given.tolist()[places.index(-1)]!r}, which no label has; "
            "label some nodes of this class, or leave it out (-1)"
        )
    return np.array([*places, -1])[codes]  # the last is for -1


def by_class_number(proba: Tensor, classes: Classes) -> Tensor:
    """Give every class number from 0 to the highest its own column; those not learned are 0.

    `classes` are the class numbers `(C,)` of the columns of `proba`, `(N, C)`.
    """
    wide = proba.new_zeros(len(proba), int(classes.max()) + 1)
    wide[:, torch.as_tensor(classes, device=proba.device).long()] = proba
    return wide


def _as_array(labels: Any, num_nodes: int, what: str) -> NDArray[Any]:
    if isinstance(labels, np.ma.MaskedArray):  # a masked entry is no label
        hidden, labels = np.ma.getmaskarray(labels), labels.data.astype(object)
        labels[hidden] = None
    try:
        values = labels.detach().cpu().numpy() if isinstance(labels, Tensor) else np.asarray(labels)
        if values.dtype.kind == "U" and not isinstance(labels, np.ndarray):
            values = np.asarray(labels, dtype=object)  # keeps a None or NaN among names
    except ValueError as error:  # rows of different lengths
        raise InputError(f"{what} must be one-dimensional, with one entry per node") from error
    if values.ndim != 1:
        raise InputError(
            f"{what} must be one-dimensional, with one entry per node, got shape {values.shape}"
        )
    if len(values) != num_nodes:
        raise InputError(
            f"{what} have {len(values)} entries but there are {num_nodes} nodes; "
            "use -1 for unlabelled"
        )
    return values


def _known(values: NDArray[Any], what: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The values as integers or names, and which of them are labels at all."""
    if values.dtype.kind == "O":
        return _known_objects(values, what)
    if values.dtype.kind == "U":
        return values, ~np.isin(values, NO_NAME)
    if values.dtype.kind == "f":
        values = np.where(np.isnan(values), -1, values)
        odd = values[~np.isfinite(values) | (values != np.floor(values))]
        if len(odd):
            raise InputError(
                f"{what} must be integers or names, got {odd[0]}; use -1 for unlabelled"
            )
        values = values.astype(np.int64)
    if values.dtype.kind not in "iu":
        raise InputError(
            f"{what} must be integers or names, got {values.dtype}; use -1 for unlabelled"
        )
    if len(values) and values.min() < -1:
        raise InputError(f"{what} must be -1 or more, got {values.min()}")
    return values, values >= 0


def _known_objects(values: NDArray[Any], what: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The same for Python objects: names, or numbers with gaps."""
    import pandas as pd

    missing = pd.isna(values)
    missing |= [isinstance(value, str | Real) and value in (-1, *NO_NAME) for value in values]
    rest = values[~missing]
    if all(isinstance(value, str) for value in rest):
        return values, ~missing
    if not all(isinstance(value, Real) and not isinstance(value, bool) for value in rest):
        examples = {type(value): repr(value) for value in rest}
        raise InputError(
            f"{what} must be all integers or all names, got {' and '.join(examples.values())}; "
            "use -1 for unlabelled"
        )
    return _known(np.array(np.where(missing, -1, values).tolist()), what)


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
