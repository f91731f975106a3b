import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score, roc_auc_score
from torch_geometric.data import Data

import brgcl
from brgcl.errors import InputError
from brgcl.noise.graph import Noise, corrupt_graph
from brgcl.noise.spec import NoiseSpec
from brgcl.tasks.edge_errors import find_edge_errors
from brgcl.tasks.smoothed_space import attribute_matrix

COLUMNS = [
    "source", "target", "score", "is_error", "attribute_cosine", "others_cosine",
    "common_neighbours", "evidence",
]  # fmt: skip


def keys(graph):
    row, col = graph.edge_index.numpy()
    return row[row < col] * graph.num_nodes + col[row < col]


@pytest.fixture(scope="module")
def clean():
    return brgcl.make_graph(600, num_classes=8, avg_degree=6.0, homophily=0.99, topic_strength=0.5)


@pytest.fixture(scope="module")
def planted(clean):
    """A graph with a fifth more edges, and which of its edges were added."""
    noisy, _, _ = corrupt_graph(clean, Noise(edges=NoiseSpec("add", 0.2)), seed=0)
    noisy.node_ids = [f"n{i}" for i in range(600)]
    return noisy, set(keys(noisy).tolist()) - set(keys(clean).tolist())


@pytest.fixture(scope="module")
def found(planted):
    return find_edge_errors(None, planted[0])


def wrong_rows(frame, added, num_nodes=600):
    pairs = zip(frame["source"], frame["target"], strict=True)
    return np.array([int(a[1:]) * num_nodes + int(b[1:]) in added for a, b in pairs])


def test_planted_edges_are_found(planted, found):
    noisy, added = planted
    wrong = wrong_rows(found, added)
    assert found.columns.tolist() == COLUMNS
    assert len(found) == noisy.num_edges // 2
    assert found["score"].between(0, 1).all()
    assert found["score"].is_monotonic_increasing
    assert roc_auc_score(wrong, -found["score"]) > 0.9
    assert wrong[found["is_error"]].mean() > 0.7
    assert found["is_error"].sum() > 0.4 * wrong.sum()


def test_the_rate_of_planted_edges_is_estimated(planted, found, clean):
    noisy, added = planted
    share = len(added) / (noisy.num_edges // 2)
    low, high = found.attrs["interval"]
    assert low <= found.attrs["estimated_rate"] <= high
    assert abs(found.attrs["estimated_rate"] - share) < 0.06
    assert find_edge_errors(None, clean).attrs["estimated_rate"] < 0.06
    assert found.attrs["num_suspects"] == found["is_error"].sum()
    assert found.attrs["fdr_estimated"] <= found.attrs["fdr_target"] == 0.1


def test_better_than_the_cosine_of_attributes(planted, found):
    noisy, added = planted
    x = attribute_matrix(noisy.x).toarray()
    x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
    wrong = wrong_rows(found, added)
    ends = [[int(name[1:]) for name in found[side]] for side in ("source", "target")]
    plain = average_precision_score(wrong, -(x[ends[0]] * x[ends[1]]).sum(1))
    assert average_precision_score(wrong, -found["score"]) > plain + 0.1


def test_representations_that_contain_the_edge_do_not_hide_it(planted):
    """z pulled together along every edge, wrong ones too, must not make them look right."""
    noisy, added = planted
    row, col = noisy.edge_index
    z = torch.randn(600, 16, generator=torch.Generator().manual_seed(0))
    z = z.index_add(0, row, 5 * z[col])
    frame = find_edge_errors(z, noisy)
    assert roc_auc_score(wrong_rows(frame, added), -frame["score"]) > 0.85


def test_informative_representations_help(planted, clean, found):
    noisy, added = planted
    z = torch.eye(8)[clean.y]
    frame = find_edge_errors(z, noisy)
    assert frame.attrs["estimated_rate"] == found.attrs["estimated_rate"]  # z does not count
    precision = [
        average_precision_score(wrong_rows(one, added), -one["score"]) for one in (frame, found)
    ]
    assert precision[0] > precision[1]


def test_direction_repetition_and_loops_of_edges_do_not_matter(planted, found):
    noisy, _ = planted
    once = noisy.edge_index[:, noisy.edge_index[0] < noisy.edge_index[1]]
    loops = torch.arange(5).repeat(2, 1)
    edges = torch.cat([once, once[:, ::3], once.flip(0)[:, ::2], loops], 1)
    given = Data(x=noisy.x, edge_index=edges, num_nodes=600, node_ids=noisy.node_ids)
    frame = find_edge_errors(None, given)
    assert frame[["source", "target"]].equals(found[["source", "target"]])
    np.testing.assert_allclose(frame["score"], found["score"])
    assert torch.equal(given.edge_index, edges)


def test_labels_are_shown_but_do_not_judge(planted, found, clean):
    noisy, _ = planted
    labels = [None if i % 7 == 0 else "red & <b> blue"[: 3 + int(y)] for i, y in enumerate(clean.y)]
    frame = find_edge_errors(None, noisy, labels=labels)
    assert frame["score"].equals(found["score"])
    for side in ("source", "target"):
        shown = frame[f"{side}_label"].astype(object).where(frame[f"{side}_label"].notna(), None)
        assert shown.tolist() == [labels[int(name[1:])] for name in frame[side]]


def test_class_names_of_the_graph_are_shown(planted, clean):
    noisy, _ = planted
    noisy = noisy.clone()
    noisy.class_names = list("abcdefgh")
    frame = find_edge_errors(None, noisy, labels=clean.y)
    assert set(frame["source_label"]) == set("abcdefgh")


def test_the_same_seed_gives_the_same_frame(planted, found):
    assert find_edge_errors(None, planted[0]).equals(found)
    assert not find_edge_errors(None, planted[0], seed=1).equals(found)


def test_evidence_is_one_sentence_that_says_the_common_neighbours(found):
    for row in found.head(20).itertuples():
        assert row.evidence.endswith(".")
        said = {0: "no common neighbour", 1: "one common neighbour"}
        assert said.get(row.common_neighbours, f"{row.common_neighbours} common") in row.evidence
        assert ("no other neighbour" in row.evidence) == np.isnan(row.others_cosine)


def test_attributes_without_meaning_judge_nothing():
    generator = torch.Generator().manual_seed(0)
    edges = torch.randint(300, (2, 900), generator=generator)
    graph = Data(x=torch.randn(300, 5, generator=generator), edge_index=edges)
    frame = find_edge_errors(None, graph)
    assert not frame.attrs["judged"]
    assert frame.attrs["estimated_rate"] is None
    assert frame["score"].isna().all()
    assert not frame["is_error"].any()
    assert frame["evidence"].str.startswith("Not judged").all()


def test_a_graph_without_attributes_is_judged_by_its_structure():
    """Twelve cliques and a few edges between them; attributes are the identity."""
    blocks = [torch.combinations(torch.arange(10 * k, 10 * k + 10)).T for k in range(12)]
    between = torch.stack([torch.arange(0, 110, 10), torch.arange(13, 123, 10)])
    edges = torch.cat([*blocks, between], 1)
    frame = find_edge_errors(None, Data(x=torch.eye(123), edge_index=edges))
    worst = set(zip(frame["source"][:11], frame["target"][:11], strict=True))
    assert len(worst & set(map(tuple, between.T.tolist()))) >= 9


@pytest.mark.parametrize(
    "x",
    [
        torch.zeros(100, 4),
        torch.ones(100, 1),
        torch.randn(100, 1),
        torch.randn(100, 3).to_sparse_csr(),
    ],
    ids=["zeros", "constant", "one column", "sparse negative"],
)
def test_odd_attributes_and_isolated_nodes(x):
    ring = torch.stack([torch.arange(80), (torch.arange(80) + 1) % 80])  # 20 nodes are alone
    frame = find_edge_errors(None, Data(x=x, edge_index=ring))
    assert len(frame) == 80
    scores = frame["score"].dropna()
    assert scores.between(0, 1).all()


def test_mistakes_are_named(planted):
    noisy, _ = planted
    with pytest.raises(InputError, match="the graph has 600 nodes but z has 3 rows"):
        find_edge_errors(torch.ones(3, 2), noisy)
    with pytest.raises(InputError, match="fdr must be"):
        find_edge_errors(None, noisy, fdr=1.5)
    with pytest.raises(InputError, match="labels have 2 entries"):
        find_edge_errors(None, noisy, labels=[0, 1])
    with pytest.raises(InputError, match="no attributes"):
        find_edge_errors(None, Data(edge_index=noisy.edge_index, num_nodes=600))
    small = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]]))
    with pytest.raises(InputError, match="the graph has 2 edges; at least 50 are needed"):
        find_edge_errors(None, small)
