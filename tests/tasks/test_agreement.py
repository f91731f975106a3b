import dataclasses

import pytest
import torch

from brgcl.tasks.agreement import confident_errors, cross_validated_agreement

PLANTED = [2, 16, 17, 31, 44]


def blobs(per_class=15, num_classes=3, spread=0.15):
    rng = torch.Generator().manual_seed(0)
    y = torch.arange(num_classes).repeat_interleave(per_class)
    return torch.eye(num_classes)[y] + spread * torch.randn(len(y), num_classes, generator=rng), y


@pytest.fixture(scope="module")
def planted():
    """Three separated classes with five wrong labels."""
    z, y = blobs()
    given = y.clone()
    given[PLANTED] = (y[PLANTED] + 1) % 3
    return z, y, given


# The confident joint, by hand


def test_confident_errors_by_hand():
    proba = torch.tensor(
        [
            [0.9, 0.1],  # given 0
            [0.7, 0.3],  # given 0
            [0.2, 0.8],  # given 0: reaches the level of class 1, an error
            [0.4, 0.6],  # given 0: prefers class 1, but not with enough confidence
            [0.1, 0.9],  # given 1
            [0.4, 0.6],  # given 1: below the level of its own class too, undecided
            [0.6, 0.4],  # given 1: reaches the level of class 0, an error
        ]
    )
    given = torch.tensor([0, 0, 0, 0, 1, 1, 1])
    # levels: class 0 (0.9 + 0.7 + 0.2 + 0.4) / 4 = 0.55, class 1 (0.9 + 0.6 + 0.4) / 3 = 0.6333
    expected = [False, False, True, False, False, False, True]
    assert confident_errors(proba, given).tolist() == expected


def test_of_two_confident_classes_the_more_probable_counts():
    proba = torch.tensor([[0.5, 0.5, 0.0], [0.45, 0.55, 0.0], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8]])
    given = torch.tensor([0, 0, 1, 2])
    # levels 0.475, 0.5, 0.8: the first reaches both and keeps its own, the second only class 1
    assert confident_errors(proba, given).tolist() == [False, True, False, False]


def test_a_class_that_nobody_was_given_is_never_suggested_as_an_error():
    proba = torch.tensor([[0.1, 0.9, 0.0], [0.3, 0.7, 0.0], [0.0, 0.6, 0.4]])
    assert not confident_errors(proba, torch.tensor([0, 0, 2])).any()


# Agreement, where the truth is unknown


def test_agreement_and_its_ceiling(planted):
    z, _, given = planted
    found = cross_validated_agreement(z, given)
    assert found.cv_agreement == pytest.approx(40 / 45)
    assert found.estimated_noise == pytest.approx(5 / 45)
    assert found.cv_ceiling == pytest.approx(40 / 45)


def test_clean_labels_have_a_ceiling_of_one():
    z, y = blobs()
    assert dataclasses.astuple(cross_validated_agreement(z, y)) == (1.0, 0.0, 1.0)
