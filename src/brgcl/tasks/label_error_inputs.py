"""What `find_label_errors` is given, checked."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from brgcl.data.attributes import checked_attributes
from brgcl.data.edges import canonical_edges
from brgcl.errors import InputError
from brgcl.method.centering import center_rows
from brgcl.method.graph import adjacency_from_edges
from brgcl.method.inputs import scale
from brgcl.method.sparse import Matrix
from brgcl.tasks.attribute_rows import attribute_rows
from brgcl.tasks.checks import Classes, Codes, check_representations, encode_classes

if TYPE_CHECKING:
    from torch_geometric.data import Data


def representations(z: Any) -> list[Tensor]:
    """One matrix of representations or a list of several, centred, with unit rows."""
    several = isinstance(z, list | tuple) and len(z) > 0 and getattr(z[0], "ndim", 1) == 2
    zs = [check_representations(one).cpu() for one in (z if several else [z])]
    if len({len(one) for one in zs}) > 1:
        raise InputError(f"representations must have as many rows each, got {[*map(len, zs)]}")
    return [center_rows(one, one.mean(0)) for one in zs]


LEAST_LABELS = 4  # of a class; labels of a smaller one are not judged


def enough_labels(labels: Any, num_nodes: int) -> tuple[Classes, Codes]:
    """Number the classes as `encode_classes` does; one class, or a few labels, cannot be judged."""
    classes, codes = encode_classes(labels, num_nodes)
    if len(classes) == 0:
        raise InputError("no node has a label; label some, in two classes or more")
    if len(classes) == 1:
        raise InputError("all labels are the same; to judge them takes two classes or more")
    if np.bincount(codes[codes >= 0]).max() < LEAST_LABELS:
        raise InputError(f"no class has {LEAST_LABELS} labels or more; label more nodes of a class")
    return classes, codes


def transition_without_attributes(graph: "Data", num_nodes: int) -> Matrix:
    """Row-stochastic adjacency with self-loops; the graph needs no attributes."""
    rows = num_nodes if graph.x is None else len(graph.x)
    if rows != num_nodes:
        raise InputError(f"the graph has {rows} nodes but z has {num_nodes} rows")
    edges, weight = canonical_edges(
        graph.edge_index, graph.get("edge_weight"), num_nodes, announce=False
    )
    return adjacency_from_edges(edges.cpu(), num_nodes, weight).transition


def attributes(graph: "Data | None", transition: Matrix | None) -> list[Tensor]:
    """The node's own attributes and those around it, if there are any."""
    if graph is None or transition is None or graph.x is None:
        return []
    return list(attribute_rows(scale(checked_attributes(graph.x).cpu()), transition))


def mask(certain: Any, num_nodes: int) -> Tensor:
    """Mask of the labels that are certain, `(N,)`; by default none is."""
    if certain is None:
        return torch.zeros(num_nodes, dtype=torch.bool)
    known = torch.as_tensor(certain).cpu()
    if known.dtype != torch.bool or known.shape != (num_nodes,):
        raise InputError(
            f"certain must be a mask with {num_nodes} entries, True or False, "
            f"got {known.dtype} of shape {tuple(known.shape)}"
        )
    return known


def earlier(labels_before: Any, classes: Classes, num_nodes: int) -> Tensor | None:
    """Codes of the labels before a review, -1 = unlabelled or another class, `(N,)`."""
    if labels_before is None:
        return None
    names, codes = encode_classes(labels_before, num_nodes)
    place = {name: code for code, name in enumerate(classes.tolist())}
    code = np.array([*(place.get(name, -1) for name in names.tolist()), -1])
    return torch.from_numpy(code[codes])


def confidences(confidence: Any, num_nodes: int) -> NDArray[np.float64]:
    """Confidence of each node in its cluster, `(N,)`; NaN by default."""
    if confidence is None:
        return np.full(num_nodes, np.nan)
    values = torch.as_tensor(confidence).detach().cpu().double()
    if values.shape != (num_nodes,):
        raise InputError(
            f"confidence must have {num_nodes} entries, one per node, "
            f"got shape {tuple(values.shape)}"
        )
    return np.asarray(values.numpy())


def probabilities(pred_probs: Any, num_nodes: int, classes: Classes) -> Tensor:
    """Rows that sum to 1, one column per class, `(N, C)`.

    The columns given are those of the classes in sorted order or, where classes are numbers, one
    for each number; those of a data frame that have the names of the classes may be in any order.
    """
    if hasattr(pred_probs, "columns"):
        if set(pred_probs.columns) == set(classes.tolist()):
            pred_probs = pred_probs[classes.tolist()]
        pred_probs = np.array(pred_probs)
    p = torch.as_tensor(pred_probs).detach().cpu().double()
    C, numbered = len(classes), classes.dtype.kind in "iu"
    fits = p.ndim == 2 and len(p) == num_nodes
    if fits and numbered and p.shape[1] > int(classes.max()):
        p = p[:, torch.from_numpy(classes.astype(np.int64))]
    elif not fits or p.shape[1] != C:
        raise InputError(
            f"pred_probs must have shape ({num_nodes}, {C}), a column for each class, "
            f"got {tuple(p.shape)}"
        )
    if not bool(p.isfinite().all()) or bool((p < 0).any()):
        raise InputError("pred_probs must be probabilities: finite, and not below 0")
    return p / p.sum(1, keepdim=True).clamp_min(1e-30)
