import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from brgcl.errors import InputError
from brgcl.tasks.label_errors import find_label_errors


def blobs(per_class=15, num_classes=3, spread=0.15):
    rng = torch.Generator().manual_seed(0)
    y = torch.arange(num_classes).repeat_interleave(per_class)
    return torch.eye(num_classes)[y] + spread * torch.randn(len(y), num_classes, generator=rng), y


PLANTED = [2, 16, 17, 31, 44]


@pytest.fixture(scope="module")
def planted():
    """Three separated classes with five wrong labels."""
    z, y = blobs()
    given = y.clone()
    given[PLANTED] = (y[PLANTED] + 1) % 3
    return z, y, given


def test_planted_errors_on_separated_classes_are_found(planted):
    z, y, given = planted
    frame = find_label_errors(z, given)
    errors = frame[frame["is_error"]]
    assert sorted(errors["node"]) == PLANTED
    assert errors["suggested"].tolist() == y[errors["node"].tolist()].tolist()
    assert errors["given"].tolist() == given[errors["node"].tolist()].tolist()


def test_the_table_lists_every_label_the_most_suspicious_first(planted):
    z, _, given = planted
    frame = find_label_errors(z, given)
    assert list(frame.columns) == [
        "node", "given", "suggested", "probability", "score", "is_error", "neighbours_given",
        "neighbours_suggested", "nearest", "prototype_confidence", "evidence",
    ]  # fmt: skip
    assert sorted(frame["node"]) == list(range(45))
    assert frame["score"].between(0, 1).all()
    assert frame["score"].is_monotonic_increasing
    assert frame["is_error"].dtype == bool
    assert sorted(frame["node"][:5]) == PLANTED
    assert frame.index.tolist() == list(range(45))


def test_unlabelled_nodes_are_not_listed(planted):
    z, _, given = planted
    labels = given.clone()
    labels[::3] = -1
    frame = find_label_errors(z, labels)
    assert set(frame["node"]) == set((labels >= 0).nonzero().flatten().tolist())


def test_clean_labels_raise_no_suspicion():
    z, y = blobs()
    frame = find_label_errors(z, y)
    assert not frame["is_error"].any()
    assert (frame["given"] == frame["suggested"]).all()


def test_ids_and_class_names_come_back(planted):
    z, _, given = planted
    names = ["red", "green", "blue"]
    ids = np.array([f"paper-{i}" for i in range(45)], dtype=object)
    ends = torch.arange(44)
    graph = Data(x=z, edge_index=torch.stack([ends, ends + 1]), node_ids=ids, class_names=names)
    frame = find_label_errors(z, given, graph=graph)
    errors = frame[frame["is_error"]].set_index("node")
    assert set(errors.index) == {f"paper-{i}" for i in PLANTED}
    assert tuple(errors.loc["paper-2", ["given", "suggested"]]) == ("green", "red")


def test_errors_are_found_with_few_labels_per_class(planted):
    z, _, given = planted
    few = torch.full_like(given, -1)
    few[[0, 1, 2, 3, 15, 18, 19, 20, 30, 32, 33]] = given[[0, 1, 2, 3, 15, 18, 19, 20, 30, 32, 33]]
    frame = find_label_errors(z, few)
    assert frame["node"][0] == 2
    assert frame[frame["is_error"]]["node"].tolist() == [2]


def test_input_is_left_as_it_was_and_the_result_repeats(planted):
    z, _, given = planted
    before = z.clone(), given.clone()
    one, two = (find_label_errors(z, given) for _ in range(2))
    assert one.equals(two)
    assert torch.equal(z, before[0])
    assert torch.equal(given, before[1])


def test_wrong_labels_are_refused(planted):
    z, _, given = planted
    with pytest.raises(InputError, match="labels have 44 entries but there are 45 nodes"):
        find_label_errors(z, given[:44])
    with pytest.raises(InputError, match="no node has a label"):
        find_label_errors(z, torch.full((45,), -1))
