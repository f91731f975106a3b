import pytest
import torch

from brgcl import BRGCLConfig, make_graph
from brgcl.method.depth import (
    DEEPEST,
    HIDDEN,
    lead_of_neighbours,
    neighbours_predict_best,
    with_depth,
)
from brgcl.method.graph import adjacency_from_edges
from brgcl.method.inputs import prepare
from brgcl.method.sparse import Matrix


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


def linked(start, end, num_nodes):
    """Row-stochastic adjacency of undirected edges."""
    low, high = torch.minimum(start, end), torch.maximum(start, end)
    edges = torch.unique(torch.stack([low, high])[:, low != high], dim=1)
    return adjacency_from_edges(torch.cat([edges, edges.flip(0)], 1), num_nodes).transition


def ring(num_nodes):
    """A ring of nodes, each linked to the next one."""
    nodes = torch.arange(num_nodes)
    return linked(nodes, (nodes + 1) % num_nodes, num_nodes)


def slow_wave(num_nodes, generator):
    """Attributes that go round a ring twice, in much noise."""
    angle = torch.arange(num_nodes) * (4 * torch.pi / num_nodes)
    wave = torch.stack([angle.sin(), angle.cos()], 1)
    return wave + torch.randn(wave.shape, generator=generator)


def small_groups(num_nodes, generator):
    """Groups of five nodes with the same attributes; half of their edges go anywhere."""
    group, nodes = torch.arange(num_nodes) // 5, torch.arange(num_nodes)
    mates = [5 * group + (nodes + step) % 5 for step in (1, 2)]
    others = [torch.randint(num_nodes, (num_nodes,), generator=generator) for _ in range(2)]
    transition = linked(nodes.repeat(4), torch.cat(mates + others), num_nodes)
    return torch.randn(num_nodes, 2, generator=generator)[5 * group], transition


def test_small_groups_are_told_by_neighbours_and_slow_waves_by_many_nodes(generator):
    x, transition = small_groups(1000, generator)
    assert neighbours_predict_best(Matrix(x), transition)
    assert not neighbours_predict_best(Matrix(slow_wave(1000, generator)), ring(1000))


def test_the_own_attributes_of_a_node_do_not_count(generator):
    """Noise that no other node shares can be predicted by nobody, however far one looks."""
    x = Matrix(torch.randn(2000, 8, generator=generator))
    assert not neighbours_predict_best(x, ring(2000))


def test_random_projections_decide_as_the_attributes_do(generator):
    turn = torch.linalg.qr(torch.randn(200, 200, generator=generator)).Q[:2]
    x, transition = small_groups(1000, generator)
    assert neighbours_predict_best(Matrix(x @ turn), transition)
    assert not neighbours_predict_best(Matrix(slow_wave(1000, generator) @ turn), ring(1000))


@pytest.mark.parametrize("num_nodes", [1, 2, 3])
def test_hardly_any_node_gives_the_deepest_encoder(num_nodes):
    transition = adjacency_from_edges(torch.zeros(2, 0, dtype=torch.long), num_nodes).transition
    x = Matrix(torch.eye(num_nodes))
    assert with_depth(BRGCLConfig(), x, transition).num_layers == DEEPEST


@pytest.mark.parametrize(
    ("setting", "shape", "expected"),
    [("auto", (10, 10), 2), ("auto", (10, 11), 1), (3, (10, 11), 3), (1, (10, 2), 1)],
)
def test_the_encoder_has_one_layer_where_attributes_outnumber_nodes(setting, shape, expected):
    nobody = adjacency_from_edges(torch.zeros(2, 0, dtype=torch.long), shape[0]).transition
    config = BRGCLConfig(num_layers=setting)
    assert with_depth(config, Matrix(torch.rand(shape)), nobody).num_layers == expected
    of_a_part = with_depth(config, Matrix(torch.rand(shape)), nobody, 100)
    assert of_a_part.num_layers == (2 if setting == "auto" else setting)


def test_a_generated_citation_graph_gets_two_layers():
    graph = prepare(make_graph(1000, seed=1))
    assert with_depth(BRGCLConfig(), graph.x, graph.adjacency.transition).num_layers == 2


def test_the_lead_is_the_difference_of_two_cosines(generator):
    """Written out for each hidden node, its neighbours and a walk of four steps one by one."""
    x, transition = small_groups(40, generator)
    P, rows = transition.data.to_dense(), x - x.mean(0)
    draw = torch.Generator().manual_seed(0)
    hidden = (torch.rand(40, generator=draw) < HIDDEN).nonzero().squeeze(1).tolist()
    known = torch.stack([torch.zeros(2) if i in hidden else rows[i] for i in range(40)])
    walk = known
    for _ in range(4):
        walk = 0.95 * (P @ walk) + 0.05 * known
    expected = [
        torch.cosine_similarity(P[i] @ known, rows[i], dim=0)
        - torch.cosine_similarity(walk[i], rows[i], dim=0)
        for i in hidden
    ]
    found = lead_of_neighbours(Matrix(x), transition)
    torch.testing.assert_close(found, torch.stack(expected).double(), atol=1e-5, rtol=0)


@pytest.mark.data
@pytest.mark.parametrize(("name", "layers"), [("cora", 2), ("citeseer", 1), ("coauthor-cs", 1)])
def test_the_depth_on_public_graphs(name, layers, real_data):
    graph = prepare(real_data(name))
    assert with_depth(BRGCLConfig(), graph.x, graph.adjacency.transition).num_layers == layers
