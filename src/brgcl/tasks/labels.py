"""Labels as users give them (numbers, names, gaps) and as classifiers need them (0..C-1, -1)."""

from numbers import Real
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from brgcl.errors import InputError

Classes = NDArray[Any]
Codes = NDArray[np.int64]
NO_NAME = ("", "-1")  # numpy makes "-1" of a -1 among names


def encode_classes(labels: Any, num_nodes: int, what: str = "labels") -> tuple[Classes, Codes]:
    """Number the classes that occur, whatever they are called.

    Unlabelled are -1 and, for names and numbers with gaps, None, NaN, `pandas.NA` and "".

    Args:
        labels: Integers or names: a tensor, an array, a list or a pandas column, `(N,)`.
        num_nodes: N.
        what: What the labels are called in messages.

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
    """Number labels by classes that are already known.

    Raises:
        InputError: A label is of another class; the message names it.
    """
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
