"""Names of nodes and of classes: exact text, integers only where nothing is lost."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import torch
from numpy.typing import NDArray
from torch import Tensor

from brgcl.errors import InputError

MISSING = frozenset(
    (
        *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"),
        *("1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", "?"),
    )
)
"""Labels in a file that mean none: what `pandas.read_csv` takes as missing, and `?`."""

INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")
WHOLE = r"^-?\d+(\.0+)?$|^$"


def encode_labels(values: Iterable[Any]) -> tuple[Tensor, list[str]]:
    """Number the classes `0..C-1` in the order of their names (by value if all are integers).

    Labels are compared by their text; None and "" are unlabelled, -1. The names come second.

    Example:
        >>> encode_labels(["10", "9", None])
        (tensor([ 1,  0, -1]), ['9', '10'])
    """
    texts = ["" if value is None else str(value) for value in values]
    names = sorted_ids(set(texts) - {""})
    codes = pd.Index(names, dtype=object).get_indexer(pd.Index(texts, dtype=object))
    return torch.tensor(codes, dtype=torch.int64), names


def sorted_ids(ids: Iterable[str]) -> list[str]:
    """Sort by value if every text is a canonical integer ("7", not "07"), else as text."""
    texts = list(ids)
    return sorted(texts, key=int) if all(map(is_integer_text, texts)) else sorted(texts)


def without_zero_fractions(columns: Sequence[Any]) -> tuple[list[Any], bool]:
    """Read `1.0` as `1` if all columns hold nothing but whole numbers.

    pandas writes integers that way as soon as one of their column is missing. `columns` are Arrow
    arrays of text that are compared with each other; the second result is whether one changed.

    Example:
        >>> import pyarrow as pa
        >>> columns, changed = without_zero_fractions([pa.array(["1.0", "2"])])
        >>> columns[0].to_pylist(), changed
        (['1', '2'], True)
    """
    seen = ZeroFractions()
    for column in columns:
        seen.look(column)
    return [seen.drop(column) for column in columns], seen.apply


@dataclass
class ZeroFractions:
    """Whether the columns seen so far hold nothing but whole numbers, some written as `1.0`.

    Attributes:
        points: Whether a text has a point.
        whole: Whether all texts are whole numbers or empty.
    """

    points: bool = False
    whole: bool = True

    def look(self, column: Any) -> None:
        """Look at a column, an Arrow array of text."""
        self.points = self.points or bool(pc.any(pc.match_substring(column, ".")).as_py())
        self.whole = self.whole and pc.all(pc.match_substring_regex(column, WHOLE)).as_py() in (
            True,
            None,
        )

    @property
    def apply(self) -> bool:
        """Whether `drop` changes anything."""
        return self.points and self.whole

    def drop(self, column: Any) -> Any:
        """Write `1.0` as `1`, if that is how all columns are read."""
        return pc.replace_substring_regex(column, r"\.0+$", "") if self.apply else column


def is_integer_text(text: str) -> bool:
    """Whether `text` is an int64 as Python prints it, so that nothing is lost by reading it.

    Example:
        >>> [is_integer_text(text) for text in ("7", "-7", "007", "7.0", "-0")]
        [True, True, False, False, False]
    """
    return bool(INTEGER.fullmatch(text)) and -(2**63) <= int(text) < 2**63


def integer_values(texts: Any) -> NDArray[np.int64] | None:
    """The values of texts that are all integers (see `is_integer_text`); None if one is not.

    Example:
        >>> import pyarrow as pa
        >>> integer_values(pa.array(["7", "-7"])), integer_values(pa.array(["7", "07"]))
        (array([ 7, -7]), None)
    """
    if pc.all(pc.match_substring_regex(texts, f"^({INTEGER.pattern})$")).as_py() is False:
        return None
    try:
        return np.asarray(texts.cast(pa.int64()).to_numpy())
    except pa.ArrowInvalid:  # nineteen digits may be too much for int64
        return None


def checked_ids(ids: Any, num_nodes: int) -> NDArray[Any]:
    """Different ids, one per node: int64 if all are integers, else text; `0..N-1` for None."""
    if ids is None:
        return np.arange(num_nodes)
    if len(ids) != num_nodes:
        raise InputError(f"node_ids has {len(ids)} entries but the graph has {num_nodes} nodes")
    array = np.asarray(ids) if isinstance(ids, (np.ndarray, Tensor)) else np.empty(0, dtype=object)
    whole = array.dtype.kind in "iu"
    if not whole:
        whole = all(isinstance(key, (int, np.integer)) and -(2**63) <= key < 2**63 for key in ids)
        array = np.array(list(ids) if whole else [str(key) for key in ids], dtype=object)
    array = array.astype(np.int64) if whole else array
    repeated = pd.Index(array).duplicated()
    if repeated.any():
        raise InputError(f"node id {array[repeated][0]!r} is duplicated in node_ids; keep one")
    return array


def checked_class_names(names: Any, y: Tensor) -> list[str]:
    """A name for every class of `y`; its number for None."""
    num_classes = int(y.max()) + 1
    names = range(num_classes) if names is None else names
    if len(names) < num_classes:
        raise InputError(
            f"class_names has {len(names)} entries but y reaches class {num_classes - 1}; "
            "name every class"
        )
    return [str(name) for name in names]


def checked_feature_names(names: Any, num_features: int) -> list[str]:
    """A name for every attribute."""
    if len(names) != num_features:
        raise InputError(
            f"feature_names has {len(names)} entries but the graph has {num_features} attributes; "
            "name every attribute"
        )
    return [str(name) for name in names]


def check_feature_names(names: list[str] | None, fitted: list[str] | None) -> None:
    """Refuse attributes that are called otherwise than those that a model was fitted with."""
    if names is None or fitted is None or names == fitted:
        return
    place = next(i for i, pair in enumerate(zip(names, fitted, strict=True)) if len({*pair}) > 1)
    raise InputError(
        f"attribute {place + 1} is '{names[place]}' but the model was fitted with "
        f"'{fitted[place]}' there; give the same columns in the same order"
    )


def single_label(value: Any, node: Any) -> Any:
    """One value, out of an array or tensor if need be; None for NaN, `pandas.NA`, "" or int -1."""
    label = value.numpy(force=True) if isinstance(value, Tensor) else value
    if isinstance(label, np.ndarray) and label.size == 1:
        label = label.item()
    if np.ndim(label) or isinstance(label, (set, dict)):
        raise InputError(
            f"the label of node {node!r} is a {type(value).__name__}; "
            "give one text or number per node"
        )
    no_class = isinstance(label, (int, np.integer)) and label == -1
    return None if no_class or pd.isna(label) or label == "" else label
