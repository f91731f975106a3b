import pytest
import torch

from brgcl.data import DATASETS, check_graph
from brgcl.method.sparse import csr_to_scipy, is_sparse

pytestmark = pytest.mark.data

CLASS_SIZES = {
    "cora": [351, 217, 418, 818, 426, 298, 180],
    "citeseer": [249, 590, 668, 701, 596, 508],
    "pubmed": [4103, 7739, 7875],
    "coauthor-cs": [
        708,
        462,
        2050,
        429,
        1394,
        2193,
        371,
        924,
        775,
        118,
        1444,
        2033,
        420,
        4136,
        876,
    ],
}
HOMOPHILY = {"cora": 0.810, "citeseer": 0.736, "pubmed": 0.802, "coauthor-cs": 0.808}


@pytest.mark.parametrize("name", CLASS_SIZES)
def test_sizes_are_the_published_ones(real_data, name):
    data, entry = real_data(name), DATASETS[name]
    assert data.num_nodes == entry.num_nodes
    assert data.edge_index.shape == (2, 2 * entry.num_edges)
    assert data.x.shape == (entry.num_nodes, entry.num_features)
    assert is_sparse(data.x)
    assert torch.bincount(data.y[data.y >= 0]).tolist() == CLASS_SIZES[name]
    assert len(data.class_names) == entry.num_classes
    u, v = data.edge_index
    # the usual figure counts Citeseer's 15 unlabelled nodes as class 0
    same = data.y.clamp(min=0)[u] == data.y.clamp(min=0)[v]
    assert float(same.float().mean()) == pytest.approx(HOMOPHILY[name], abs=0.0006)
    assert check_graph(data).edge_index is data.edge_index


@pytest.mark.parametrize(("name", "num_train"), [("cora", 140), ("citeseer", 120), ("pubmed", 60)])
def test_public_split(real_data, name, num_train):
    data = real_data(name)
    assert torch.bincount(data.y[data.train_mask]).unique().tolist() == [20]
    assert int(data.train_mask.sum()) == num_train
    assert int(data.val_mask.sum()) == 500
    assert int(data.test_mask.sum()) == 1000
    assert not bool((data.train_mask & data.val_mask | data.val_mask & data.test_mask).any())
    assert int(data.y[data.test_mask].min()) >= 0


def test_citeseer_has_fifteen_nodes_without_attributes_or_label(real_data):
    data = real_data("citeseer")
    unlabelled = data.y == -1
    assert int(unlabelled.sum()) == 15
    assert csr_to_scipy(data.x).sum(axis=1)[unlabelled.numpy()].tolist() == [0] * 15
    isolated = torch.bincount(data.edge_index[0], minlength=data.num_nodes) == 0
    assert int(isolated.sum()) == 48


def test_attribute_values_are_raw(real_data):
    assert set(real_data("cora").x.values().tolist()) == {1.0}
    assert real_data("pubmed").x.values().numel() == 988_031
    coauthor = real_data("coauthor-cs").x
    assert coauthor.values().numel() == 1_092_079
    assert set(coauthor.values().tolist()) == {1.0}


def test_coauthor_split_is_balanced_and_its_classes_have_names(real_data):
    data = real_data("coauthor-cs")
    assert torch.bincount(data.y[data.train_mask]).tolist() == [20] * 15
    assert torch.bincount(data.y[data.val_mask]).tolist() == [30] * 15
    assert data.class_names[:3] == ["bioinformatics", "machine_learning", "computer_vision"]
