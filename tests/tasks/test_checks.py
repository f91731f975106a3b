import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from brgcl.errors import InputError
from brgcl.tasks.checks import (
    by_class_number,
    check_labels,
    check_representations,
    encode_classes,
    encode_with,
)

GRAPH = Data(class_names=["red", "green", "blue"])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([-1] * 4, "no node has a label; classification needs some, in two classes or more"),
        ([1, 1, -1, 1], "all labels are the same"),
        ([2, 0, 0, -1], "class 'blue' has a single label; add a second label"),
        (["a", "a", "b", "b"], "labels must be integers; number the classes"),
        ([0, 0, 1], "labels have 3 entries but there are 4 nodes"),
    ],
)
def test_labels_can_be_checked_before_training(labels, message):
    """Defect 20: no labels or a single one were noticed only after training."""
    with pytest.raises(InputError, match=message):
        check_labels(labels, 4, GRAPH)


def test_validation_labels_can_be_checked_before_training():
    labels = torch.tensor([0, 0, 5, 5])
    assert torch.equal(check_labels(labels, 4, validation=[-1, 5, 0, -1]), labels)
    with pytest.raises(InputError, match="validation labels have the class 3, which no label has"):
        check_labels(labels, 4, validation=[3, 5, 0, -1])


def test_checked_labels_are_a_tensor_of_the_given_numbers():
    for numbers in ([7, -1, 10**9, 7, 10**9], np.array([7, -1, 10**9, 7, 10**9], dtype=np.int32)):
        found = check_labels(numbers, 5)
        assert found.dtype == torch.long
        assert found.tolist() == [7, -1, 10**9, 7, 10**9]


def test_representations_are_scaled_to_unit_length_and_copied():
    z = np.array([[3.0, 4.0], [0.0, 0.0]])
    found = check_representations(z)
    assert torch.allclose(found, torch.tensor([[0.6, 0.8], [0.0, 0.0]]))
    assert torch.equal(check_representations(z, normalize=False), torch.tensor(z).float())
    assert z.tolist() == [[3, 4], [0, 0]]


GIVEN = [
    (torch.tensor([5, -1, 2, 5]), [2, 5]),
    (np.array([5, -1, 2, 5], dtype=np.int16), [2, 5]),
    ([5, -1, 2, 5], [2, 5]),
    (pd.Series([5, None, 2, 5]), [2, 5]),
    (pd.Series([5, None, 2, 5], dtype="Int64"), [2, 5]),
    (np.array([5, None, 2, 5], dtype=object), [2, 5]),
    (torch.tensor([5.0, torch.nan, 2.0, 5.0]), [2, 5]),
    (["red", None, "blue", "red"], ["blue", "red"]),
    (["red", float("nan"), "blue", "red"], ["blue", "red"]),
    (["red", "", "blue", "red"], ["blue", "red"]),
    (["red", -1, "blue", "red"], ["blue", "red"]),
    (np.array(["red", -1, "blue", "red"]), ["blue", "red"]),
    (np.array(["red", -1, "blue", "red"], dtype=object), ["blue", "red"]),
    (pd.Series(["red", pd.NA, "blue", "red"], dtype="string"), ["blue", "red"]),
    (np.ma.masked_array([5, 9, 2, 5], [False, True, False, False]), [2, 5]),
    (pd.Categorical(["red", None, "blue", "red"]), ["blue", "red"]),
]


@pytest.mark.parametrize(("labels", "expected"), GIVEN, ids=lambda value: repr(value)[:50])
def test_labels_of_any_kind_are_numbered(labels, expected):
    classes, codes = encode_classes(labels, 4)
    assert classes.tolist() == expected
    assert codes.tolist() == [1, -1, 0, 1]


def test_a_huge_class_number_costs_nothing():
    """Defect 26: class 10^9 asked for 480 GB."""
    classes, codes = encode_classes(np.array([10**9, 3, -1, 10**18]), 4)
    assert (classes.tolist(), codes.tolist()) == ([3, 10**9, 10**18], [1, 0, -1, 2])


@given(st.lists(st.one_of(st.none(), st.text("abc", max_size=2)), min_size=1))
def test_codes_lead_back_to_names(labels):
    classes, codes = encode_classes(labels, len(labels))
    back = [None if code < 0 else classes[code] for code in codes]
    assert back == [label or None for label in labels]
    assert classes.tolist() == sorted({label for label in labels if label})


@given(st.lists(st.integers(-1, 9), min_size=1), st.lists(st.integers(-1, 9), min_size=1))
def test_other_labels_are_numbered_by_the_same_classes(labels, others):
    classes, _ = encode_classes(labels, len(labels))
    unknown = sorted(set(others) - set(labels) - {-1})
    if unknown:
        with pytest.raises(InputError, match=f"others have the class {unknown[0]}, which no label"):
            encode_with(classes, others, len(others), "others")
        return
    codes = encode_with(classes, others, len(others), "others")
    assert [-1 if code < 0 else classes[code] for code in codes] == others


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1], "labels have 2 entries but there are 4 nodes; use -1 for unlabelled"),
        (np.eye(4), r"labels must be one-dimensional, .* got shape \(4, 4\)"),
        ([[0], [1, 2], [3], [4]], "labels must be one-dimensional"),
        ([0, 1, 2.5, 1], "labels must be integers or names, got 2.5"),
        ([0, 1, np.inf, 1], "labels must be integers or names, got inf"),
        ([0, 1, -3, 1], "labels must be -1 or more, got -3"),
        ([True, False, True, True], "labels must be integers or names, got bool"),
        (["a", "b", 3, "a"], "labels must be all integers or all names, got 'a' and 3"),
        (
            np.array([{}, None, "a", 1], dtype=object),
            "all integers or all names, got {} and 'a' and 1",
        ),
    ],
)
def test_wrong_labels_are_named(labels, message):
    with pytest.raises(InputError, match=message):
        encode_classes(labels, 4)


def test_columns_by_class_number():
    proba = torch.tensor([[0.2, 0.8], [0.6, 0.4]])
    found = by_class_number(proba, np.array([1, 3]))
    assert torch.equal(found[:, [1, 3]], proba)
    assert found[:, [0, 2]].abs().sum() == 0
    assert found.shape == (2, 4)


@pytest.mark.parametrize("scale", [1e30, 1e-30, 1.0])
def test_rows_of_any_size_have_unit_length(scale):
    z = torch.tensor([[3.0, 4.0], [0.0, 0.0], [5.0, 12.0]])
    wanted = torch.tensor([[0.6, 0.8], [0.0, 0.0], [5 / 13, 12 / 13]])
    assert torch.allclose(check_representations(z * scale), wanted)
