import torch
from torch_geometric.nn import GATConv

from brgcl.method.attention import Attention, attend, links_of, mix
from brgcl.method.graph import adjacency_from_edges
from dense_attention import EDGES, LINKED, LINKS, dense_attention, normal, seeded


def test_attention_is_a_softmax_over_neighbours_and_the_node_itself():
    receive, send = 3 * normal(7, 2), 3 * normal(7, 2, seed=1)
    found = attend(receive, send, LINKS)
    expected = dense_attention(receive, send)
    assert torch.allclose(found, expected[:, LINKS.row, LINKS.col].T)
    assert found[LINKS.row == 6].tolist() == [[1.0, 1.0]]  # the isolated node sees itself


def test_large_logits_do_not_overflow():
    found = attend(900 * normal(7, 1), 900 * normal(7, 1, seed=1), LINKS)
    assert found.isfinite().all()


def test_edge_weights_multiply_the_attention():
    weight = torch.rand(7, generator=seeded(), dtype=torch.float64) + 0.5
    links = links_of(
        adjacency_from_edges(EDGES, 7, (weight[EDGES[0]] + weight[EDGES[1]]), dtype=torch.float64)
    )
    dense = torch.where(LINKED, weight[:, None] + weight, 1.0).fill_diagonal_(1)
    receive, send = normal(7, 2), normal(7, 2, seed=1)
    expected = dense_attention(receive, send, dense)
    assert torch.allclose(attend(receive, send, links), expected[:, LINKS.row, LINKS.col].T)


def test_mixing_and_its_gradients_are_those_of_dense_products():
    shares, h = normal(len(LINKS.row), 3).requires_grad_(), normal(7, 12, seed=1).requires_grad_()
    dense = torch.zeros(3, 7, 7, dtype=torch.float64)
    dense = dense.index_put((torch.arange(3)[:, None], LINKS.row, LINKS.col), shares.T)
    expected = torch.cat([dense[k] @ h[:, 4 * k : 4 * k + 4] for k in range(3)], 1)
    found = mix(shares, h, LINKS)
    assert torch.allclose(found, expected)
    outer = normal(7, 12, seed=2)
    ours, theirs = (torch.autograd.grad(out, (shares, h), outer) for out in (found, expected))
    assert all(torch.allclose(a, b) for a, b in zip(ours, theirs, strict=True))


def test_a_layer_equals_that_of_pytorch_geometric():
    torch.manual_seed(0)
    layer = Attention(5, heads=2, units=3).double()
    other = GATConv(5, 3, heads=2).double()
    other.lin.weight.data = layer.weight.data.T.clone()
    other.att_src.data, other.att_dst.data = layer.send.data[None], layer.receive.data[None]
    other.bias.data = layer.bias.data = normal(6, seed=3)
    x = normal(7, 5)
    assert torch.allclose(layer(x @ layer.weight, LINKS, 0.0), other(x, EDGES))
