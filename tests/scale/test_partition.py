import sys

import torch

from brgcl import make_graph
from brgcl.scale.partition import partition


def csr(data):
    crow = torch.zeros(data.num_nodes + 1, dtype=torch.long)
    crow[1:] = torch.bincount(data.edge_index[0], minlength=data.num_nodes).cumsum(0)
    return crow, data.edge_index[1]


def cut(data, part):
    row, col = data.edge_index
    return int((part[row] != part[col]).sum())


def test_parts_are_even_and_cut_fewer_edges_than_blocks(monkeypatch):
    data = make_graph(600, num_classes=4, num_features=40, homophily=0.95)
    part = partition(*csr(data), 6)
    sizes = torch.bincount(part)
    assert len(sizes) == 6
    assert sizes.max() < 1.2 * 100
    monkeypatch.setitem(sys.modules, "pymetis", None)
    blocks = partition(*csr(data), 6)
    assert torch.bincount(blocks).tolist() == [100] * 6
    assert cut(data, part) < 0.7 * cut(data, blocks)


def test_the_same_seed_gives_the_same_parts():
    data = make_graph(300, num_classes=3, num_features=40)
    first = partition(*csr(data), 5, seed=4)
    assert torch.equal(first, partition(*csr(data), 5, seed=4))


def test_without_pymetis_a_sentence_says_how_to_get_it(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    assert partition(torch.tensor([0, 1, 2, 2]), torch.tensor([1, 0]), 2).tolist() == [0, 0, 1]
    assert "pip install 'brgcl[scale]'" in caplog.text


def test_edge_cases():
    none = torch.zeros(4, dtype=torch.long), torch.zeros(0, dtype=torch.long)
    assert partition(*none, 1).tolist() == [0, 0, 0]
    assert partition(*none, 2).tolist() == [0, 0, 1]
    assert partition(*none, 3).tolist() == [0, 1, 2]
