import pytest
import torch
from torch_geometric.utils import subgraph

from brgcl import BRGCL, make_graph
from brgcl.errors import InputError
from brgcl.method.dpmeans import k_means
from brgcl.method.sparse import Matrix
from brgcl.tasks.checks import transition_of

SETTINGS = {"epochs": 6, "hidden": 32, "dim": 16, "warmup_epochs": 2}


@pytest.fixture(scope="module")
def graph():
    return make_graph(150, num_classes=3, num_features=40, labels_per_class=10, seed=1)


@pytest.mark.parametrize(
    "change", [{}, {"center": False}, {"reported": "prototypes"}, {"alpha": 0.5}]
)
def test_on_the_training_graph_all_is_as_training_left_it(graph, change, tmp_path):
    model = BRGCL(**SETTINGS, **change).fit(graph)
    model.save(tmp_path)
    found = BRGCL.load(tmp_path).assign(graph)
    assert torch.allclose(found.representations, model.representations_, atol=1e-6)
    assert torch.equal(found.cluster, model.pseudo_labels_)
    assert torch.allclose(found.confidence, model.confidence_, atol=1e-6)
    assert torch.equal(found.confident, model.confident_)


@pytest.mark.parametrize("smoothed", [False, True])
def test_rows_are_compared_where_the_clusters_were_found(graph, smoothed):
    from brgcl.method.centering import smooth_rows

    model = BRGCL(**SETTINGS).fit(graph)
    rows = model.representations_
    if smoothed:
        transition = transition_of(graph, 150)
        assert isinstance(transition, Matrix)
        rows = smooth_rows(rows, transition)
    model.clustering_ = k_means(rows, rows[::30])
    assert torch.equal(model.assign(graph).cluster, model.pseudo_labels_)


def test_new_nodes_join_the_clusters_of_nodes_like_them(graph):
    """A model of half of the nodes gives the other half the clusters that it gives their kind."""
    model = BRGCL(**SETTINGS | {"epochs": 30}).fit(graph)
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
    assert float(same.float().mean()) > 0.7


def test_a_graph_with_other_attributes_is_refused(graph):
    model = BRGCL(**SETTINGS).fit(graph)
    with pytest.raises(InputError, match="was fitted with 40"):
        model.assign(make_graph(40, num_classes=2, num_features=7, labels_per_class=3))
