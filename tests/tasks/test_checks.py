import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from brgcl.errors import InputError
from brgcl.tasks.checks import check_labels, check_representations

GRAPH = Data(class_names=["red", "green", "blue"])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([-1] * 4, "no node has a label; classification needs some, in two classes or more"),
        ([1, 1, -1, 1], "all labels are the same"),
        ([2, 0, 0, -1], "class 'blue' has a single label; give it another one"),
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
    for given in ([7, -1, 10**9, 7, 10**9], np.array([7, -1, 10**9, 7, 10**9], dtype=np.int32)):
        found = check_labels(given, 5)
        assert found.dtype == torch.long
        assert found.tolist() == [7, -1, 10**9, 7, 10**9]


def test_representations_are_scaled_to_unit_length_and_copied():
    z = np.array([[3.0, 4.0], [0.0, 0.0]])
    found = check_representations(z)
    assert torch.allclose(found, torch.tensor([[0.6, 0.8], [0.0, 0.0]]))
    assert torch.equal(check_representations(z, normalize=False), torch.tensor(z).float())
    assert z.tolist() == [[3, 4], [0, 0]]
