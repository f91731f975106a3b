import networkx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch

from brgcl.data import from_networkx
from brgcl.data.ids import MISSING, encode_labels, sorted_ids, without_zero_fractions
from brgcl.errors import InputError


def test_classes_are_sorted_by_value_or_by_text():
    assert encode_labels(["10", "9", None])[1] == ["9", "10"]
    assert encode_labels(["10", "9", "b", ""])[1] == ["10", "9", "b"]
    assert sorted_ids(["10", "07", "9"]) == ["07", "10", "9"]


def test_missing_labels_are_those_of_pandas_and_a_question_mark():
    from pandas._libs.parsers import STR_NA_VALUES

    assert STR_NA_VALUES | {"?"} == MISSING


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ([["1.0", "2.0"], ["1", "3"]], [["1", "2"], ["1", "3"]]),
        ([["1.0", "-2.00", ""]], [["1", "-2", ""]]),
        ([["1.0", "2"], ["a"]], [["1.0", "2"], ["a"]]),  # a version may be called 1.0
        ([["1.0", "1.5"]], [["1.0", "1.5"]]),
        ([["007", "7"]], [["007", "7"]]),
    ],
)
def test_whole_numbers_lose_their_zero_fraction_together(columns, expected):
    arrays, changed = without_zero_fractions([pa.array(column) for column in columns])
    assert [array.to_pylist() for array in arrays] == expected
    assert changed == (columns != expected)


def labelled(*values: object) -> networkx.Graph:
    g = networkx.path_graph(len(values))
    networkx.set_node_attributes(g, dict(enumerate(values)), "y")
    return g


def test_networkx_labels_that_mean_none():
    """Defect 28: `pandas.NA` as a label raised a TypeError."""
    data = from_networkx(labelled(7, -1, None, float("nan"), pd.NA, pd.NaT, "", 30))
    assert data.y.tolist() == [0, -1, -1, -1, -1, -1, -1, 1]
    assert data.class_names == ["7", "30"]


def test_networkx_labels_of_one_entry_are_unpacked():
    """Defect 28: a tensor became the class `tensor(1)`."""
    data = from_networkx(labelled(torch.tensor(1), np.array([2]), np.int64(1), 2))
    assert data.y.tolist() == [0, 1, 0, 1]
    assert data.class_names == ["1", "2"]


@pytest.mark.parametrize("value", [np.array([0, 1]), torch.eye(2), [0, 1], (), {1}, {"a": 1}])
def test_networkx_label_of_several_values_is_refused(value):
    """Defect 28: an array as a label raised a ValueError."""
    with pytest.raises(InputError, match=r"label of node 1 is a .*; give one text or number"):
        from_networkx(labelled(0, value))
