import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.nn import GATConv, GINConv, SAGEConv

from brgcl.method.graph import adjacency_from_edges
from brgcl.method.message_passing import (
    GatEncoder,
    GinEncoder,
    MessagePassing,
    SageEncoder,
    neighbours_of,
)
from brgcl.method.sparse import Matrix, csr_from_scipy

# A path 0-1-2-3, a triangle on it, and an isolated node.
ENDS = torch.tensor([[0, 1, 2, 1], [1, 2, 3, 3]])
EDGES = torch.cat([ENDS, ENDS.flip(0)], dim=1)
KINDS = {"sage": SageEncoder, "gat": GatEncoder, "gin": GinEncoder}
F, UNITS = 7, (16, 3)


def setting(kind, num_layers=2, activation="relu", num_features=F):
    generator = torch.Generator().manual_seed(0)
    encoder = KINDS[kind](
        num_features, hidden=UNITS[0], dim=UNITS[1], num_layers=num_layers,
        activation=activation, generator=generator,
    ).double()  # fmt: skip
    with torch.no_grad():
        for name, weight in encoder.named_parameters():
            if "biases" in name:
                weight.copy_(torch.randn(weight.shape, generator=generator))
    x = torch.randn(5, num_features, generator=generator, dtype=torch.float64)
    return encoder, x, adjacency_from_edges(EDGES, 5, dtype=torch.float64).normalized


def pyg_layers(kind, encoder):
    """The same layers of PyTorch Geometric with the same weights."""
    for number, (weight, bias) in enumerate(zip(encoder.weights, encoder.biases, strict=True)):
        fan_in, fan_out = weight.shape
        if kind == "sage":
            layer = SAGEConv(fan_in, fan_out).double()
            layer.lin_r.weight.data = weight.data.T
            layer.lin_l.weight.data = encoder.neighbours[number].data.T
            layer.lin_l.bias.data = bias.data
        elif kind == "gin":
            first, second = nn.Linear(fan_in, fan_out), nn.Linear(fan_out, fan_out)
            first.weight.data, first.bias.data = weight.data.T, bias.data
            second.weight.data = encoder.second[number].data.T
            second.bias.data = encoder.second_biases[number].data
            layer = GINConv(nn.Sequential(first, nn.ReLU(), second))
        else:
            heads, units = encoder.receive[number].shape
            layer = GATConv(fan_in, units, heads=heads).double()
            layer.lin.weight.data, layer.bias.data = weight.data.T, bias.data
            layer.att_dst.data = encoder.receive[number].data[None]
            layer.att_src.data = encoder.send[number].data[None]
        yield layer


@pytest.mark.parametrize("num_features", [F, 300])  # narrow attributes are summed first
@pytest.mark.parametrize("num_layers", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_the_layers_are_those_of_pytorch_geometric(kind, num_layers, num_features):
    encoder, x, operator = setting(kind, num_layers, num_features=num_features)
    h = x
    for number, layer in enumerate(pyg_layers(kind, encoder)):
        h = layer(h if number == 0 else h.relu(), EDGES)
    torch.testing.assert_close(encoder(Matrix(x), operator), h)


def test_the_last_layer_of_attention_has_one_head_and_others_as_many_as_divide_the_units():
    encoder, *_ = setting("gat", num_layers=3)
    assert [tuple(part.shape) for part in encoder.receive] == [(8, 2), (8, 2), (1, 3)]
    odd = GatEncoder(F, hidden=6, dim=4)
    assert [tuple(part.shape) for part in odd.send] == [(2, 3), (1, 4)]


@pytest.mark.parametrize("kind", KINDS)
def test_masking_columns_equals_masking_the_attributes(kind):
    encoder, x, operator = setting(kind)
    columns = torch.tensor([1, 0, 1, 1, 0, 1, 0], dtype=torch.float64)
    found = encoder(Matrix(x), operator, columns)
    torch.testing.assert_close(found, encoder(Matrix(x * columns), operator))
    assert not torch.allclose(found, encoder(Matrix(x), operator))


@pytest.mark.parametrize("kind", KINDS)
def test_sparse_attributes_give_what_dense_ones_give_with_their_gradients(kind):
    encoder, x, _ = setting(kind)
    encoder, x = encoder.float(), x.float() * (x > 0.5)
    operator = adjacency_from_edges(EDGES, 5).normalized
    found = []
    for matrix in (Matrix(x), Matrix(csr_from_scipy(x.numpy()))):
        encoder.zero_grad()
        h = encoder(matrix, operator)
        h.square().sum().backward()
        found.append([h, *(weight.grad for weight in encoder.parameters())])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("activation", ["relu", "prelu", "elu"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_is_that_of_small_steps(kind, activation):
    encoder, x, operator = setting(kind, activation=activation)
    names, weights = zip(*encoder.named_parameters(), strict=True)

    def loss(*values):
        given = dict(zip(names, values, strict=True))
        return torch.func.functional_call(encoder, given, (Matrix(x), operator)).sum()

    assert torch.autograd.gradcheck(loss, weights, eps=1e-7, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_view_without_an_edge_is_a_graph_without_it(kind):
    encoder, x, _ = setting(kind)
    adjacency = adjacency_from_edges(EDGES, 5, dtype=torch.float64)
    keep = torch.ones(5, dtype=torch.bool)
    keep[2] = False  # the edge 1-3, third in the order of both ends
    fewer = EDGES[:, [0, 1, 2, 4, 5, 6]]
    expected = adjacency_from_edges(fewer, 5, dtype=torch.float64).normalized
    found = encoder(Matrix(x), adjacency.normalized_without(keep))
    torch.testing.assert_close(found, encoder(Matrix(x), expected))


def test_neighbours_are_found_once_for_an_operator():
    operator = setting("sage")[2]
    around = neighbours_of(operator)
    assert neighbours_of(operator) is around
    np.testing.assert_allclose(around.shares.squeeze(1), [1, 1 / 3, 1 / 2, 1 / 2, 0])
    dense = around.ones.data.to_dense()
    assert torch.equal(dense, (operator.data.to_dense() > 0).double())


def test_weights_follow_the_generator():
    for make in KINDS.values():
        first, again, other = (
            make(9, hidden=8, dim=4, generator=torch.Generator().manual_seed(seed))
            for seed in (0, 0, 1)
        )
        for name, weight in first.named_parameters():
            assert torch.equal(weight, again.get_parameter(name))
            assert "biases" in name or not torch.equal(weight, other.get_parameter(name))


def test_a_kind_without_layers_is_not_finished():
    with pytest.raises(NotImplementedError):
        MessagePassing(F)(Matrix(torch.ones(5, F)), adjacency_from_edges(EDGES, 5).normalized)
