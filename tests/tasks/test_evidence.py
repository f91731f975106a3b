import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Data

from brgcl.tasks import evidence
from brgcl.tasks.checks import transition_of
from brgcl.tasks.evidence import (
    count_nearest,
    count_neighbours,
    evidence_columns,
    nearest_nodes,
    sentence,
    too_few,
)
from brgcl.tasks.label_noise import without_loops
from brgcl.tasks.out_of_fold import Labelled


def path_graph():
    """0 - 1 - 2 - 3 and the isolated node 4; node 2 is unlabelled."""
    ends = torch.tensor([[0, 1, 2], [1, 2, 3]])
    graph = Data(x=torch.ones(5, 1), edge_index=ends, num_nodes=5)
    return without_loops(transition_of(graph, 5)), torch.tensor([0, 1, -1, 1, 0])


def test_neighbours_are_counted_as_by_hand():
    neighbours, labels = path_graph()
    nodes = torch.tensor([1, 3, 4, 0])
    found = count_neighbours(neighbours, labels, nodes, labels[nodes], torch.tensor([0, 0, 1, 1]))
    # node 1 has 0 (class 0) and the unlabelled 2; node 3 only the unlabelled 2; node 0 has 1
    assert found.tuples() == [(1, 0, 1), (0, 0, 0), (0, 0, 0), (1, 0, 1)]
    np.testing.assert_array_equal(found.shares()["suggested"], [1, np.nan, np.nan, 1])
    np.testing.assert_array_equal(found.shares()["given"], [0, np.nan, np.nan, 0])


def test_nearest_nodes_are_those_of_a_full_sort_whatever_the_tile(monkeypatch):
    monkeypatch.setattr(evidence, "TILE", 7)
    generator = torch.Generator().manual_seed(0)
    z = F.normalize(torch.randn(40, 6, generator=generator), dim=1)
    labelled, nodes = torch.arange(0, 40, 2), torch.arange(3, 33)
    found = nearest_nodes(z, labelled, nodes)
    for node, row in zip(nodes.tolist(), found.tolist(), strict=True):
        cosine = {j: float(z[node] @ z[j]) for j in labelled.tolist() if j != node}
        assert row == sorted(cosine, key=cosine.get, reverse=True)[:5]


def test_there_are_fewer_nearest_nodes_where_labels_are_few():
    z = F.normalize(torch.eye(3) + 0.1, dim=1)
    assert nearest_nodes(z, torch.tensor([0, 2]), torch.tensor([0, 2])).tolist() == [[2], [0]]


def test_labels_of_nearest_nodes_are_counted():
    found = count_nearest(
        torch.tensor([[1, 2, 3], [0, 2, 3]]), torch.tensor([0, 1, 1, 0]), torch.tensor([0, 1]),
        torch.tensor([1, 0]),
    )  # fmt: skip
    assert found.tuples() == [(3, 1, 2), (3, 1, 2)]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("X", "T", (5, 0, 4), (5, 0, 5)),
         "4 of 5 neighbours and all 5 nearest nodes are 'T', none is 'X'."),
        (("X", "T", (1, 0, 1), (5, 2, 3)),
         "Its only neighbour and 3 of the 5 nearest nodes are 'T'; "
         "2 of the 5 nearest nodes are 'X'."),
        (("X", "T", (2, 0, 2), None), "Both neighbours are 'T', none is 'X'."),
        (("X", "T", (3, 1, 1), None), "1 of 3 neighbours is 'T'; 1 of 3 neighbours is 'X'."),
        (("X", "T", None, (5, 1, 4)),
         "4 of the 5 nearest nodes are 'T'; 1 of the 5 nearest nodes is 'X'."),
        (("X", "T", (0, 0, 0), (5, 0, 5)),
         "All 5 nearest nodes are 'T', none is 'X'; no neighbour has a label."),
        (("X", "T", (2, 0, 0), (5, 0, 0)), "It looks like 'T', though no node around it is."),
        (("T", "T", (3, 3, 3), (5, 4, 4)),
         "All 3 neighbours and 4 of the 5 nearest nodes are 'T', as given."),
        (("T", "T", (3, 0, 0), (5, 0, 0)), "It looks like 'T', though no node around it is."),
        (("T", "T", (0, 0, 0), None), "No node around it has a label."),
        ((0, 3, (4, 1, 3), None), "3 of 4 neighbours are class 3; 1 of 4 neighbours is class 0."),
    ],
)  # fmt: skip
def test_sentences(words, text):
    assert sentence(*words) == text


def test_too_few_labels_are_said():
    assert too_few("X", 3) == "Not judged: 'X' has only 3 labels, too few to know the class by."
    assert too_few("X", 1).startswith("Not judged: 'X' has a single label")


def test_nearest_nodes_are_found_for_the_most_suspicious_only_where_labels_are_many(monkeypatch):
    monkeypatch.setattr(evidence, "ALL_UP_TO", 3)
    monkeypatch.setattr(evidence, "MOST_SUSPICIOUS", 2)
    neighbours, labels = path_graph()
    z = F.normalize(torch.tensor([[1.0, 0], [0.9, 0.2], [1, 1], [0, 1], [0.8, 0.1]]), dim=1)
    data = Labelled(z, [], labels, 2, torch.tensor([False, False, False, True, False]))
    nodes = torch.tensor([4, 1, 0, 3])
    found = evidence_columns(
        data, nodes, torch.tensor([1, 0, 0, 1]), torch.tensor([True, True, False, True]),
        ["a", "b"], [f"n{i}" for i in range(5)], neighbours,
    )  # fmt: skip
    assert found["nearest"] == ["n1 (b), n0 (a), n3 (b)", "n4 (a), n0 (a), n3 (b)", "", ""]
    assert found["evidence"] == [
        "2 of the 3 nearest nodes are 'b'; 1 of the 3 nearest nodes is 'a'; "
        "no neighbour has a label.",
        "Its only neighbour and 2 of the 3 nearest nodes are 'a'; 1 of the 3 nearest nodes is 'b'.",
        "Not judged: 'a' has only 2 labels, too few to know the class by.",
        "Known to be right.",
    ]
