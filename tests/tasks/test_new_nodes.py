import copy

import pytest
import torch
from torch_geometric.utils import subgraph

from brgcl import BRGCL, make_graph
from brgcl.errors import InputError
from brgcl.method.centering import smooth_rows
from brgcl.method.dpmeans import k_means
from brgcl.tasks.checks import transition_of

SETTINGS = {"epochs": 6, "hidden": 32, "dim": 16, "warmup_epochs": 2}


@pytest.fixture(scope="module")
def graph():
    return make_graph(150, num_classes=3, num_features=40, labels_per_class=10, seed=1)


@pytest.fixture(scope="module")
def model(graph):
    return BRGCL(**SETTINGS).fit(graph)


@pytest.mark.parametrize("change", [{}, {"center": False}, {"reported": "prototypes"}])
def test_on_the_training_graph_all_is_as_training_left_it(graph, change, tmp_path):
    model = BRGCL(**SETTINGS, **change).fit(graph)
    model.save(tmp_path)
    found = BRGCL.load(tmp_path).assign(graph)
    assert torch.allclose(found.representations, model.representations_, atol=1e-6)
    assert torch.equal(found.cluster, model.pseudo_labels_)
    assert torch.allclose(found.confidence, model.confidence_, atol=1e-6)
    assert torch.equal(found.confident, model.confident_)


@pytest.mark.parametrize("smoothed", [False, True])
def test_rows_are_compared_where_the_clusters_were_found(graph, model, smoothed):
    model, rows = copy.copy(model), model.representations_
    if smoothed:
        rows = smooth_rows(rows, transition_of(graph, 150))
    model.clustering_ = k_means(rows, rows[::30])
    assert torch.equal(model.assign(graph).cluster, model.pseudo_labels_)


def test_most_nodes_keep_their_cluster_in_a_part_of_the_graph(graph, model):
    model = copy.copy(model)
    model.clustering_ = k_means(model.representations_, model.representations_[::50])
    assert model.num_clusters_ == 3
    other = make_graph(150, num_classes=3, num_features=40, labels_per_class=10, seed=1)
    kept = torch.arange(0, 150, 2)
    other.edge_index, _ = subgraph(kept, other.edge_index, relabel_nodes=True, num_nodes=150)
    other.x = other.x.to_dense()[kept]
    for name in ("y", "train_mask", "val_mask", "test_mask", "node_ids", "num_nodes"):
        del other[name]
    found = model.assign(other)
    assert found.cluster.shape == found.confidence.shape == found.confident.shape == (75,)
    assert bool(((found.confidence >= 0) & (found.confidence <= 1)).all())
    same = found.cluster == model.pseudo_labels_[kept]
    assert float(same.float().mean()) > 0.6  # a third by chance


def test_a_graph_with_other_attributes_is_refused(model):
    with pytest.raises(InputError, match="was fitted with 40"):
        model.assign(make_graph(40, num_classes=2, num_features=7, labels_per_class=3))
