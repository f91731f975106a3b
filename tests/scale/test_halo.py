import pytest
import torch

from brgcl.method.encoder import Encoder
from brgcl.method.inputs import prepare
from brgcl.scale.halo import HaloFinder, uniform
from brgcl.scale.train import part_nodes


def whole_rows(encoder, data, parts):
    graph = prepare(data)
    return encoder(graph.x, graph.adjacency.normalized)[parts.given]


@pytest.mark.parametrize("num_layers", [1, 2, 3])
@pytest.mark.parametrize("hidden", [8, 200])  # narrower and wider than attributes
def test_rows_and_gradients_are_those_of_the_whole_graph(data, parts, num_layers, hidden):
    encoder = Encoder(40, hidden=hidden, dim=6, num_layers=num_layers)
    core = part_nodes(parts, torch.tensor([1, 4]))
    expected = whole_rows(encoder, data, parts)[core]
    expected.square().sum().backward()
    gradients = [weight.grad.clone() for weight in encoder.parameters()]
    encoder.zero_grad()
    finder = HaloFinder(parts, num_layers)
    for _ in range(2):  # the working memory is clean after use
        halo = finder.find(core)
        found = encoder(parts.attributes(halo.nodes), halo.operators())
    found.square().sum().backward()
    torch.testing.assert_close(found, expected)
    for weight, gradient in zip(encoder.parameters(), gradients, strict=True):
        torch.testing.assert_close(weight.grad, gradient, rtol=1e-4, atol=1e-5)


def test_rings_are_limited_and_rows_see_the_next_ring_only(parts, generator):
    core = part_nodes(parts, torch.tensor([0, 3]))
    halo = HaloFinder(parts, 2, limit=0.1).find(core, generator)
    ring = int(0.1 * len(core))
    assert halo.sizes == (len(core), len(core) + ring, len(core) + 2 * ring)
    assert len(halo.nodes.unique()) == len(halo.nodes)
    assert halo.col[halo.row < halo.sizes[0]].max() < halo.sizes[1]
    inner, outer = reversed(halo.operators())
    assert inner.shape == (halo.sizes[0], halo.sizes[1])
    assert outer.shape == (halo.sizes[1], halo.sizes[2])


def test_the_last_ring_has_a_limit_of_its_own(parts, generator):
    core = part_nodes(parts, torch.tensor([0, 3]))
    halo = HaloFinder(parts, 2, limit=0.1, last=0.2).find(core, generator)
    n = len(core)
    assert halo.sizes == (n, n + int(0.1 * n), n + int(0.1 * n) + int(0.2 * n))


@pytest.mark.parametrize("hidden", [8, 200])  # narrower and wider than attributes
def test_masked_columns_count_as_in_the_whole_graph(parts, hidden):
    encoder = Encoder(40, hidden=hidden, dim=6)
    halo = HaloFinder(parts, 2).find(torch.arange(300))
    x, (first, second) = parts.attributes(halo.nodes), halo.operators()
    columns = (torch.arange(40) % 3 > 0).float()
    gradients = []
    for operators, seen in (([first, second], columns), (first, columns)):
        encoder.zero_grad()
        rows = encoder(x, operators, seen)
        rows.square().sum().backward()
        gradients.append([rows.detach(), *(weight.grad for weight in encoder.parameters())])
    for by_parts, whole in zip(*gradients, strict=True):
        torch.testing.assert_close(by_parts, whole, rtol=1e-4, atol=1e-5)
    assert not encoder.weights[0].grad[columns == 0].any()


def test_no_limit_is_reached_without_need(parts, generator):
    core = part_nodes(parts, torch.arange(6))
    halo = HaloFinder(parts, 2, limit=0.1).find(core, generator)
    assert halo.sizes == (300, 300, 300)


def test_nodes_with_many_edges_into_the_core_are_drawn_more_often(parts):
    core = part_nodes(parts, torch.tensor([0, 3]))
    finder = HaloFinder(parts, 1, limit=0.2)
    whole = finder.find(core)
    links = torch.bincount(whole.col, minlength=whole.sizes[1])[whole.sizes[0] :]
    ring = whole.nodes[whole.sizes[0] :]
    drawn = torch.zeros(300)
    for seed in range(40):
        halo = finder.find(core, torch.Generator().manual_seed(seed))
        drawn[halo.nodes[halo.sizes[0] :]] += 1
    assert drawn[ring[links > 1]].mean() > drawn[ring[links == 1]].mean()


def test_both_directions_of_an_edge_share_their_fate_in_every_halo(parts):
    finder = HaloFinder(parts, 1)
    fate = {}
    for part in range(6):
        halo = finder.find(part_nodes(parts, torch.tensor([part])))
        keep = halo.kept_edges(0.4, salt=11)
        ends = torch.stack([halo.nodes[halo.row], halo.nodes[halo.col]]).T.tolist()
        for (a, b), kept in zip(ends, keep.tolist(), strict=True):
            assert fate.setdefault((min(a, b), max(a, b)), kept) == kept
    kept = [v for (a, b), v in fate.items() if a != b]
    assert all(v for (a, b), v in fate.items() if a == b)
    assert abs(sum(kept) / len(kept) - 0.6) < 0.1


def test_numbers_are_uniform_and_change_with_the_salt():
    key = torch.arange(100_000)
    first, second = uniform(key, 1), uniform(key, 2)
    counts = torch.histc(first, bins=10, min=0, max=1)
    assert (counts - 10_000).abs().max() < 500
    assert abs(float(torch.corrcoef(torch.stack([first, second]))[0, 1])) < 0.02
    assert abs(float(torch.corrcoef(torch.stack([first[1:], first[:-1]]))[0, 1])) < 0.02
