import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.metrics import roc_auc_score
from torch_geometric.data import Data

import brgcl
from brgcl.errors import InputError
from brgcl.noise.attributes import corrupt_attributes
from brgcl.tasks import attribute_errors
from brgcl.tasks.attribute_errors import find_attribute_errors, hidden_features, shuffle_rows
from brgcl.tasks.mixture import Share
from brgcl.tasks.smoothed_space import attribute_matrix


@pytest.fixture(scope="module")
def clean():
    return brgcl.make_graph(800, num_classes=6, avg_degree=8.0, homophily=0.99, topic_strength=0.7)


def corrupted(clean, kind):
    """The graph with a fifth of its attribute rows corrupted, and the mask of these nodes."""
    generator = torch.Generator().manual_seed(0)
    nodes = torch.randperm(800, generator=generator)[:160]
    level = 0.99
    graph = clean.clone()
    graph.x = corrupt_attributes(clean.x, kind, level, generator=generator, nodes=nodes).x
    graph.node_ids = [f"n{i}" for i in range(800)]
    changed = abs(attribute_matrix(graph.x) - attribute_matrix(clean.x)).sum(1) > 0
    return graph, np.asarray(changed).ravel()


@pytest.mark.parametrize(
    ("kind", "looks_like"), [("rows", "another node's"), ("within", "random values")]
)
def test_planted_errors_are_found(clean, kind, looks_like):
    graph, wrong = corrupted(clean, kind)
    frame = find_attribute_errors(graph)
    here = wrong[[int(name[1:]) for name in frame["node"]]]
    assert frame["score"].between(0, 1).all()
    assert frame["score"].is_monotonic_increasing
    assert roc_auc_score(here, -frame["score"]) > 0.9
    assert here[frame["is_error"]].mean() > 0.7
    assert (frame["looks_like"][frame["is_error"]] == looks_like).mean() > 0.7
    assert abs(frame.attrs["estimated_rate"] - here.mean()) < 0.1
    assert frame.attrs["interval"][0] > 0.05


def test_a_clean_graph_has_few(clean):
    frame = find_attribute_errors(clean)
    assert frame.attrs["judged"]
    assert frame.attrs["estimated_rate"] < 0.06
    assert frame["is_error"].mean() < 0.03


def test_isolated_and_empty_nodes_are_not_judged(clean):
    graph = clean.clone()
    alone, empty = 3, 5
    graph.edge_index = graph.edge_index[:, (graph.edge_index != alone).all(0)]
    dense = graph.x.to_dense()
    dense[empty] = 0
    graph.x = dense
    frame = find_attribute_errors(graph)
    degree = np.bincount(graph.edge_index[0].numpy(), minlength=800)
    judged = set(np.flatnonzero(degree > 0).tolist()) - {empty}
    assert set(frame["node"]) == judged
    assert alone not in judged
    count = frame.set_index("node")["num_neighbours"]
    assert all(count[node] == degree[node] for node in judged)


def test_dense_and_sparse_attributes_give_the_same(clean):
    dense = clean.clone()
    dense.x = clean.x.to_dense()
    assert find_attribute_errors(dense).equals(find_attribute_errors(clean))


def test_dense_attributes_with_negative_values():
    generator = torch.Generator().manual_seed(0)
    blocks = torch.arange(300) // 30
    centres = torch.randn(10, 12, generator=generator)
    x = centres[blocks] + 0.3 * torch.randn(300, 12, generator=generator)
    source = torch.arange(300).repeat(4)
    target = blocks[source] * 30 + torch.randint(30, source.shape, generator=generator)
    wrong = torch.arange(0, 300, 10)
    x[wrong] = x[wrong.roll(7)]
    frame = find_attribute_errors(Data(x=x, edge_index=torch.stack([source, target])))
    assert np.isin(frame["node"][:25], wrong.numpy()).mean() > 0.85


def test_a_hidden_row_does_not_judge_itself(clean):
    """What is expected of a node, seen by a row put in its place, does not depend on its own."""
    x = attribute_matrix(clean.x)
    row, col = clean.edge_index.numpy()
    source, target = row[row < col], col[row < col]
    judged = np.bincount(row, minlength=800) > 0
    nodes = np.flatnonzero(judged)
    before = hidden_features(x, source, target, judged, np.random.default_rng(0))
    other = x.copy()
    chosen = slice(*other.indptr[nodes[11] : nodes[11] + 2])
    other.indices[chosen] = (other.indices[chosen] + 500) % other.shape[1]  # other words, as many
    after = hidden_features(other, source, target, judged, np.random.default_rng(0))
    smoothed = slice(0, 3)
    np.testing.assert_allclose(before[1][11, smoothed], after[1][11, smoothed], atol=1e-5)
    assert not np.allclose(before[0][11, smoothed], after[0][11, smoothed], atol=1e-2)


def test_shuffled_rows_keep_their_values():
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(20, 7))
    np.testing.assert_allclose(np.sort(shuffle_rows(dense, rng), 1), np.sort(dense, 1))
    sparse = scipy.sparse.random_array((50, 400), density=0.02, format="csr", rng=rng)
    shuffled = shuffle_rows(sparse, rng)
    np.testing.assert_allclose(shuffled.sum(1), sparse.sum(1))
    assert shuffled.has_canonical_format
    assert abs(shuffled - sparse).sum() > 0


def test_attributes_without_meaning_judge_nothing():
    generator = torch.Generator().manual_seed(0)
    edges = torch.randint(300, (2, 900), generator=generator)
    frame = find_attribute_errors(
        Data(x=torch.randn(300, 5, generator=generator), edge_index=edges)
    )
    assert not frame.attrs["judged"]
    assert frame["score"].isna().all()
    assert not frame["is_error"].any()


def test_nothing_is_flagged_where_both_kinds_of_chance_explain_all(clean, monkeypatch):
    """Each of the shares could be judged, and all attributes together were called wrong."""
    monkeypatch.setattr(attribute_errors, "estimate_share", lambda *scores: Share(0.6, 0.5, 0.7))
    frame = find_attribute_errors(clean)
    assert not frame.attrs["judged"]
    assert frame["score"].isna().all()
    assert not frame["is_error"].any()


@pytest.mark.parametrize("x", [torch.ones(100, 1), torch.eye(100), torch.arange(100.0)[:, None]])
def test_odd_attributes(x):
    ring = torch.stack([torch.arange(100), (torch.arange(100) + 1) % 100])
    frame = find_attribute_errors(Data(x=x, edge_index=ring))
    assert frame["score"].dropna().between(0, 1).all()


def test_the_same_seed_gives_the_same_frame(clean):
    first = find_attribute_errors(clean, seed=3)
    assert first.equals(find_attribute_errors(clean, seed=3))


def test_mistakes_are_named(clean):
    with pytest.raises(InputError, match="fdr must be"):
        find_attribute_errors(clean, fdr=0)
    with pytest.raises(InputError, match="only 2 nodes have neighbours and attributes"):
        find_attribute_errors(Data(x=torch.ones(60, 2), edge_index=torch.tensor([[0], [1]])))
    with pytest.raises(InputError, match="no attributes"):
        find_attribute_errors(Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2))
