import math

import numpy as np
import pytest
import torch

from brgcl.method.encoder import Encoder, averaged, averages_first, relu_product, two_products
from brgcl.method.graph import adjacency_from_edges
from brgcl.method.sparse import Matrix, csr_from_scipy, is_sparse

EDGES = torch.tensor([[0, 1, 1, 2, 2, 3, 0, 3], [1, 0, 2, 1, 3, 2, 3, 0]])
NONLINEAR = {
    "relu": lambda h: np.maximum(h, 0),
    "prelu": lambda h: np.where(h > 0, h, 0.25 * h),
    "elu": lambda h: np.where(h > 0, h, np.expm1(np.minimum(h, 0))),
}


def setting(num_layers=2, activation="relu", F=7, seed=0):
    generator = torch.Generator().manual_seed(seed)
    encoder = Encoder(
        F, hidden=5, dim=3, num_layers=num_layers, activation=activation, generator=generator
    ).double()
    with torch.no_grad():
        for bias in encoder.biases:
            bias.copy_(torch.randn(bias.shape, generator=generator))
    x = torch.randn(6, F, generator=generator, dtype=torch.float64)
    return encoder, x, adjacency_from_edges(EDGES, 6, dtype=torch.float64).normalized


def dense_encoder(encoder, x, A, nonlinear):
    h = x
    for layer, (weight, bias) in enumerate(zip(encoder.weights, encoder.biases, strict=True)):
        h = h if layer == 0 else nonlinear(h)
        h = A @ h @ weight.detach().numpy() + bias.detach().numpy()
    return h


@pytest.mark.parametrize("num_layers", [1, 2, 3])
@pytest.mark.parametrize("activation", ["relu", "prelu", "elu"])
def test_the_encoder_equals_the_dense_formula(num_layers, activation):
    encoder, x, A = setting(num_layers, activation)
    expected = dense_encoder(encoder, x.numpy(), A.data.to_dense().numpy(), NONLINEAR[activation])
    found = encoder(Matrix(x), A)
    assert found.shape == (6, 3)
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-12)


def test_the_shapes_of_the_weights():
    sizes = [tuple(weight.shape) for weight in setting(num_layers=3)[0].weights]
    assert sizes == [(7, 5), (5, 5), (5, 3)]


@pytest.mark.parametrize("num_layers", [1, 2])
def test_masking_columns_of_the_weights_equals_masking_the_attributes(num_layers):
    encoder, x, A = setting(num_layers)
    columns = torch.tensor([1, 0, 1, 1, 0, 1, 0], dtype=torch.float64)
    found = encoder(Matrix(x), A, columns)
    torch.testing.assert_close(found, encoder(Matrix(x * columns), A), rtol=1e-12, atol=1e-14)
    assert not torch.equal(found, encoder(Matrix(x), A))


def test_sparse_attributes_give_what_dense_ones_give():
    encoder, x, A = setting()
    encoder = encoder.float()
    x = x.float() * (x > 0.5)
    sparse = csr_from_scipy(x.numpy())
    assert is_sparse(sparse)
    A = adjacency_from_edges(EDGES, 6).normalized
    expected, found = encoder(Matrix(x), A), encoder(Matrix(sparse), A)
    torch.testing.assert_close(found, expected)
    expected_gradients = torch.autograd.grad(expected.square().sum(), [*encoder.parameters()])
    gradients = torch.autograd.grad(found.square().sum(), [*encoder.parameters()])
    for one, other in zip(gradients, expected_gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("num_layers", [1, 2, 3])
@pytest.mark.parametrize("activation", ["relu", "prelu", "elu"])
def test_the_gradient_reaches_every_parameter(num_layers, activation):
    encoder, x, A = setting(num_layers, activation)
    encoder(Matrix(x), A).square().sum().backward()
    for name, parameter in encoder.named_parameters():
        if num_layers == 1 and name.startswith("activation"):
            continue  # one layer has nothing between layers
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_gradcheck_of_the_weights():
    encoder, x, A = setting(activation="elu")

    def loss(first, second):
        return torch.func.functional_call(
            encoder, {"weights.0": first, "weights.1": second}, (Matrix(x), A)
        )

    assert torch.autograd.gradcheck(loss, tuple(encoder.weights))


def test_initial_weights_follow_the_generator_and_glorot():
    def weights(seed):
        generator = torch.Generator().manual_seed(seed)
        return Encoder(300, hidden=100, dim=50, generator=generator)

    first, again, other = weights(0), weights(0), weights(1)
    assert torch.equal(first.weights[0], again.weights[0])
    assert not torch.equal(first.weights[0], other.weights[0])
    bound = math.sqrt(6 / 400)
    assert 0.99 * bound < first.weights[0].abs().max() <= bound
    assert all(not bias.any() for bias in first.biases)


def test_permuting_nodes_permutes_representations():
    encoder, x, A = setting()
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    shuffled = torch.argsort(order)[EDGES]
    B = adjacency_from_edges(shuffled, 6, dtype=torch.float64).normalized
    torch.testing.assert_close(encoder(Matrix(x[order]), B), encoder(Matrix(x), A)[order])


# What is fused or reordered is the same function


def test_the_product_with_relu_has_the_gradients_of_its_parts():
    generator = torch.Generator().manual_seed(0)
    h, weight = (
        torch.randn(*shape, dtype=torch.float64, generator=generator) for shape in ((6, 5), (5, 3))
    )

    def gradients(product):
        leaves = [h.clone().requires_grad_(), weight.clone().requires_grad_()]
        (product(leaves[0] + 0, leaves[1]) ** 2).sum().backward()
        return [leaf.grad for leaf in leaves]

    for found, expected in zip(
        gradients(relu_product), gradients(lambda h, w: h.relu() @ w), strict=True
    ):
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("kept", [0, 1000])
@pytest.mark.parametrize("rows", [2, 4, 100])
def test_two_products_have_the_value_and_the_gradients_of_their_parts(monkeypatch, rows, kept):
    monkeypatch.setattr("brgcl.method.encoder.ROWS", rows)
    monkeypatch.setattr("brgcl.method.encoder.KEPT_UNITS", kept)
    generator = torch.Generator().manual_seed(0)
    shapes = ((7, 4), (4, 5), (5,), (5, 3))
    p, *start = (torch.randn(*shape, dtype=torch.float64, generator=generator) for shape in shapes)
    found = []
    for function in (two_products, lambda p, a, b, c: (p @ a + b).relu() @ c):
        leaves = [tensor.clone().requires_grad_() for tensor in start]
        value = function(p, *leaves)
        (value**2).sum().backward()
        found.append([value, *(leaf.grad for leaf in leaves)])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("num_layers", [1, 2, 3])
@pytest.mark.parametrize("masked", [False, True])
def test_averaging_first_changes_neither_value_nor_gradient(monkeypatch, masked, num_layers):
    found = []
    for first in (False, True):
        monkeypatch.setattr("brgcl.method.encoder.averages_first", lambda *_, first=first: first)
        encoder, x, adjacency = setting(num_layers)
        columns = (torch.arange(7) % 2).double() if masked else None
        h = encoder(Matrix(x), adjacency, columns)
        (h**2).sum().backward()
        found.append([h, *(p.grad for p in encoder.parameters())])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)


def test_averages_are_computed_once_for_an_operator_and_anew_for_other_attributes():
    _, x, adjacency = setting()
    one, other = Matrix(x), Matrix(2 * x)
    assert averaged(one, adjacency) is averaged(one, adjacency)
    torch.testing.assert_close(averaged(other, adjacency), 2 * averaged(one, adjacency))


def test_narrow_attributes_are_averaged_first_and_wide_sparse_ones_are_not():
    generator = torch.Generator().manual_seed(0)
    N = 400
    ends = torch.randint(N, (2, 8000), generator=generator)
    ends = torch.unique(ends[:, ends[0] < ends[1]], dim=1)
    adjacency = adjacency_from_edges(torch.cat([ends, ends.flip(0)], dim=1), N).normalized
    narrow = Matrix(torch.rand(N, 16, generator=generator))
    wide = (torch.rand(N, 3000, generator=generator) < 0.01).float().to_sparse_csr()
    assert averages_first(narrow, adjacency, 512)
    assert not averages_first(Matrix(wide), adjacency, 512)
