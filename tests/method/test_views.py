import pytest
import torch

from brgcl.config import ViewSettings
from brgcl.method.graph import Graph, adjacency_from_edges
from brgcl.method.sparse import Matrix
from brgcl.method.views import Diffusion, View, common_nodes, make_view, two_views


def undirected(pairs):
    edges = torch.as_tensor(pairs, dtype=torch.long).reshape(-1, 2).T
    return torch.cat([edges, edges.flip(0)], dim=1)


def random_graph(N=60, F=40, share=0.2, seed=0):
    generator = torch.Generator().manual_seed(seed)
    pairs = torch.combinations(torch.arange(N))
    pairs = pairs[torch.rand(len(pairs), generator=generator) < share]
    x = torch.rand(N, F, generator=generator, dtype=torch.float64)
    return Graph(Matrix(x), adjacency_from_edges(undirected(pairs), N, dtype=torch.float64))


def draw(graph, kind, drop=0.3, mask=0.0, seed=0):
    return make_view(graph, ViewSettings(kind, drop, mask), torch.Generator().manual_seed(seed))


def pattern(operator):
    """Which pairs of nodes the operator joins, self-loops left out."""
    joined = operator.data.to_dense() != 0
    return joined & ~torch.eye(len(joined), dtype=torch.bool)


def dense_normalized(joined):
    A = joined.double() + torch.eye(len(joined), dtype=torch.float64)
    d = A.sum(1) ** -0.5
    return d[:, None] * A * d[None, :]


@pytest.mark.parametrize("drop", [0.1, 0.3, 0.8])
def test_edges_drops_its_share_of_undirected_edges(drop):
    graph = random_graph()
    view = draw(graph, "edges", drop)
    left = pattern(view.adjacency)
    assert torch.equal(left, left.T)
    assert not (left & ~pattern(graph.adjacency.normalized)).any()
    share = 1 - left.sum().item() / (2 * graph.adjacency.num_edges)
    assert share == pytest.approx(drop, abs=0.08)
    assert view.nodes is None


@pytest.mark.parametrize("kind", ["edges", "nodes", "subgraph"])
def test_what_is_left_is_normalised_anew(kind):
    view = draw(random_graph(), kind)
    expected = dense_normalized(pattern(view.adjacency))
    torch.testing.assert_close(view.adjacency.data.to_dense(), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("kind", ["nodes", "subgraph"])
def test_dropped_nodes_lose_exactly_their_edges(kind):
    graph = random_graph()
    view = draw(graph, kind)
    expected = pattern(graph.adjacency.normalized) & view.nodes[:, None] & view.nodes[None, :]
    assert torch.equal(pattern(view.adjacency), expected)
    assert not view.nodes.all()


def test_nodes_drops_its_share():
    nodes = draw(random_graph(N=400, share=0.01), "nodes", drop=0.3).nodes
    assert 1 - nodes.double().mean().item() == pytest.approx(0.3, abs=0.07)


@pytest.mark.parametrize(("drop", "left"), [(0.1, 54), (0.5, 30), (0.99, 1)])
def test_subgraph_keeps_exactly_its_share(drop, left):
    assert draw(random_graph(), "subgraph", drop).nodes.sum() == left


def test_a_subgraph_of_a_connected_graph_is_connected():
    ring = adjacency_from_edges(undirected([(i, (i + 1) % 30) for i in range(30)]), 30)
    graph = Graph(Matrix(torch.ones(30, 1)), ring)
    for seed in range(5):
        nodes = draw(graph, "subgraph", drop=0.5, seed=seed).nodes
        # an arc of the ring has exactly one beginning
        assert (nodes & ~nodes.roll(1)).sum() == 1
        assert nodes.sum() == 15


def test_a_subgraph_goes_on_elsewhere_when_its_component_is_exhausted():
    triangles = undirected([(3 * t + a, 3 * t + b) for t in range(5) for a, b in ((0, 1), (0, 2))])
    graph = Graph(Matrix(torch.ones(15, 1)), adjacency_from_edges(triangles, 15))
    nodes = draw(graph, "subgraph", drop=0.4).nodes  # 9 nodes: three whole components
    assert sorted(nodes.reshape(5, 3).sum(1).tolist()) == [0, 0, 3, 3, 3]


@pytest.mark.parametrize("alpha", [0.15, 0.5])
def test_diffusion_is_the_truncated_series(alpha):
    graph = random_graph(N=12)
    A = graph.adjacency.normalized.data.to_dense()
    view = draw(graph, "diffusion", drop=alpha)
    expected = torch.zeros(12, 12, dtype=torch.float64)
    power = torch.eye(12, dtype=torch.float64)
    steps = view.adjacency.steps
    for k in range(steps):
        expected += alpha * (1 - alpha) ** k * power
        power = power @ A
    expected += (1 - alpha) ** steps * power
    found = view.adjacency @ torch.eye(12, dtype=torch.float64)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(found, found.T, rtol=1e-12, atol=1e-14)
    assert view.nodes is None


def test_diffusion_with_many_steps_is_personalised_pagerank():
    A = random_graph(N=12).adjacency.normalized
    eye = torch.eye(12, dtype=torch.float64)
    exact = 0.2 * torch.linalg.inv(eye - 0.8 * A.data.to_dense())
    torch.testing.assert_close(Diffusion(A, 0.2, steps=200) @ eye, exact, rtol=1e-9, atol=1e-12)
    assert (Diffusion(A, 0.2) @ eye - exact).abs().max() < 0.01  # the default number of steps


def test_diffusion_passes_gradients():
    A = random_graph(N=8).adjacency.normalized
    h = torch.randn(8, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda h: Diffusion(A, 0.3, steps=4) @ h, h)


@pytest.mark.parametrize("kind", ["edges", "nodes", "subgraph", "diffusion"])
def test_the_mask_hides_its_share_of_columns(kind):
    graph = random_graph(F=500)
    columns = draw(graph, kind, mask=0.4).columns
    assert columns.shape == (500,)
    assert columns.dtype == torch.float64
    assert set(columns.tolist()) == {0.0, 1.0}
    assert 1 - columns.mean().item() == pytest.approx(0.4, abs=0.07)


def test_no_mask_means_that_all_columns_are_seen():
    assert draw(random_graph(), "edges", mask=0.0).columns is None


@pytest.mark.parametrize("kind", ["edges", "nodes", "subgraph"])
def test_dropping_nothing_is_the_graph_itself(kind):
    graph = random_graph()
    view = draw(graph, kind, drop=0.0)
    assert view.adjacency is graph.adjacency.normalized
    assert view.nodes is None


@pytest.mark.parametrize("kind", ["edges", "nodes", "subgraph", "diffusion"])
def test_a_view_follows_its_generator_and_leaves_the_graph_alone(kind):
    graph = random_graph()
    before = graph.adjacency.normalized.data.to_dense(), graph.x.data.clone()

    def seen(seed):
        view = draw(graph, kind, mask=0.3, seed=seed)
        return view.adjacency @ (graph.x.data * view.columns)

    assert torch.equal(seen(0), seen(0))
    assert not torch.equal(seen(0), seen(1))
    assert torch.equal(graph.adjacency.normalized.data.to_dense(), before[0])
    assert torch.equal(graph.x.data, before[1])


def test_the_two_views_differ_in_their_settings_and_draws():
    graph = random_graph()
    settings = (ViewSettings("edges", 0.2, 0.3), ViewSettings("nodes", 0.4, 0.0))
    first, second = two_views(graph, settings, torch.Generator().manual_seed(0))
    assert first.nodes is None
    assert first.columns is not None
    assert second.nodes is not None
    assert second.columns is None
    same = (ViewSettings("edges", 0.2, 0.3),) * 2
    first, second = two_views(graph, same, torch.Generator().manual_seed(0))
    assert not torch.equal(pattern(first.adjacency), pattern(second.adjacency))
    assert not torch.equal(first.columns, second.columns)


def test_common_nodes_by_hand():
    A = random_graph(N=4).adjacency.normalized
    everyone = View(A, None, None)
    some = View(A, None, torch.tensor([True, False, True, True]))
    others = View(A, None, torch.tensor([True, True, False, True]))
    assert common_nodes(everyone, everyone) is None
    assert common_nodes(some, everyone).tolist() == [0, 2, 3]
    assert common_nodes(everyone, others).tolist() == [0, 1, 3]
    assert common_nodes(some, others).tolist() == [0, 3]


@pytest.mark.parametrize("kind", ["edges", "nodes", "subgraph", "diffusion"])
def test_a_graph_without_edges_has_views(kind):
    nowhere = torch.empty(2, 0, dtype=torch.long)
    graph = Graph(Matrix(torch.ones(6, 3)), adjacency_from_edges(nowhere, 6))
    view = draw(graph, kind, drop=0.5)
    torch.testing.assert_close(view.adjacency @ torch.eye(6), torch.eye(6))
