import numpy as np
import pytest
import scipy.sparse
import torch

from brgcl.method.sparse import (
    Matrix,
    csr_from_scipy,
    csr_tensor,
    csr_to_scipy,
    is_sparse,
    multiply,
    take_rows,
)


def random_matrix(rows=9, columns=6, seed=0):
    """A dense matrix with many zeros, an empty row and an empty column; and the same as CSR."""
    generator = torch.Generator().manual_seed(seed)
    dense = torch.randn(rows, columns, generator=generator, dtype=torch.float64)
    dense[torch.rand(rows, columns, generator=generator) < 0.6] = 0
    dense[2], dense[:, 1] = 0, 0
    row, col = dense.nonzero(as_tuple=True)
    crow = torch.zeros(rows + 1, dtype=torch.long)
    crow[1:] = torch.bincount(row, minlength=rows).cumsum(0)
    return dense, csr_tensor(crow, col, dense[row, col], (rows, columns))


def value_and_gradient(product, factor, weight):
    found = product(factor)
    return found, *torch.autograd.grad((found * weight).sum(), factor)


@pytest.mark.parametrize("shape", [(9, 6), (6, 9), (7, 7), (3, 2)])
@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_products_and_gradients_equal_dense_autograd(shape, layout):
    dense, csr = random_matrix(*shape)
    generator = torch.Generator().manual_seed(1)
    factor = torch.randn(dense.shape[1], 4, generator=generator, dtype=torch.float64)
    weight = torch.randn(dense.shape[0], 4, generator=generator, dtype=torch.float64)
    factor.requires_grad_()
    matrix = Matrix(csr if layout == "csr" else dense)
    expected = value_and_gradient(lambda f: dense @ f, factor, weight)
    found = value_and_gradient(lambda f: matrix @ f, factor, weight)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == torch.float64
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-14)


def test_a_product_without_gradients_is_the_same():
    dense, csr = random_matrix()
    factor = torch.randn(6, 3, dtype=torch.float64)
    found = Matrix(csr) @ factor
    assert not found.requires_grad
    torch.testing.assert_close(found, dense @ factor)


def test_gradcheck_of_the_sparse_product():
    _, csr = random_matrix()
    factor = torch.randn(6, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda f: Matrix(csr) @ f, factor)


def test_gradients_flow_through_a_chain_of_products():
    dense, csr = random_matrix(7, 7)
    factor = torch.randn(7, 2, dtype=torch.float64, requires_grad=True)
    matrix = Matrix(csr)
    expected = torch.autograd.grad((dense @ torch.tanh(dense @ factor)).sum(), factor)[0]
    found = torch.autograd.grad((matrix @ torch.tanh(matrix @ factor)).sum(), factor)[0]
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_the_transpose_is_the_transpose(layout):
    dense, csr = random_matrix()
    matrix = Matrix(csr if layout == "csr" else dense)
    [(rows, transpose)] = matrix.transposed
    assert rows == slice(0, dense.shape[0])
    assert is_sparse(transpose) == (layout == "csr")
    assert torch.equal(transpose.to_dense(), dense.T)
    assert matrix.transposed[0][1] is transpose  # built once


@pytest.mark.parametrize("rows_per_block", [1, 3, 5, 100])
def test_a_transpose_in_blocks_is_the_transpose(monkeypatch, rows_per_block):
    monkeypatch.setattr("brgcl.method.sparse.ROWS_PER_BLOCK", rows_per_block)
    dense, csr = random_matrix()
    matrix = Matrix(csr)
    blocks = [block.to_dense() for _, block in matrix.transposed]
    assert torch.equal(torch.cat(blocks, 1), dense.T)
    factor = torch.randn(dense.shape[0], 4, dtype=torch.float64)
    torch.testing.assert_close(matrix.transposed_product(factor), dense.T @ factor)


def test_a_symmetric_matrix_is_its_own_transpose():
    _, csr = random_matrix(7, 7)
    assert Matrix(csr, symmetric=True).transposed[0][1] is csr


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_dropout_zeroes_a_share_scales_up_the_rest_and_keeps_its_transpose(layout):
    dense = torch.ones(60, 50, dtype=torch.float64)
    csr = csr_from_scipy(scipy.sparse.csr_array(dense.numpy()))
    csr = csr_tensor(csr.crow_indices(), csr.col_indices(), csr.values().double(), (60, 50))
    matrix = Matrix(csr if layout == "csr" else dense)
    dropped = matrix.dropout(0.25, torch.Generator().manual_seed(0))
    values = dropped.data.to_dense()
    assert set(values.unique().tolist()) == {0.0, 1 / 0.75}
    assert (values == 0).double().mean().item() == pytest.approx(0.25, abs=0.03)
    assert torch.equal(dropped.transposed[0][1].to_dense(), values.T)
    assert torch.equal(matrix.data.to_dense(), dense)  # the input is left alone


def test_dropout_of_a_symmetric_matrix_has_the_right_gradient():
    dense, _ = random_matrix(7, 7)
    dense = dense + dense.T
    row, col = dense.nonzero(as_tuple=True)
    crow = torch.zeros(8, dtype=torch.long)
    crow[1:] = torch.bincount(row, minlength=7).cumsum(0)
    matrix = Matrix(csr_tensor(crow, col, dense[row, col], (7, 7)), symmetric=True)
    dropped = matrix.dropout(0.5, torch.Generator().manual_seed(3))
    values = dropped.data.to_dense()
    assert not torch.equal(values, values.T)
    factor = torch.randn(7, 2, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(7, 2, dtype=torch.float64)
    (gradient,) = torch.autograd.grad(((dropped @ factor) * weight).sum(), factor)
    torch.testing.assert_close(gradient, values.T @ weight, rtol=1e-12, atol=1e-14)


def test_dropout_follows_its_generator():
    _, csr = random_matrix()
    first, again, other = (
        Matrix(csr).dropout(0.5, torch.Generator().manual_seed(seed)).data.values()
        for seed in (0, 0, 1)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_scipy_there_and_back():
    rng = np.random.default_rng(0)
    original = scipy.sparse.random_array((8, 5), density=0.3, rng=rng, dtype=np.float32)
    tensor = csr_from_scipy(original)
    assert is_sparse(tensor)
    assert tensor.dtype == torch.float32
    assert (csr_to_scipy(tensor).toarray() == original.toarray()).all()


def test_repeated_and_unsorted_scipy_entries_are_summed_in_order():
    messy = scipy.sparse.coo_array(
        (np.array([1.0, 2.0, 5.0]), (np.array([1, 1, 1]), np.array([3, 0, 3]))), shape=(2, 4)
    )
    tensor = csr_from_scipy(messy)
    assert tensor.col_indices().tolist() == [0, 3]
    assert tensor.values().tolist() == [2, 6]


def test_a_scipy_matrix_is_left_alone():
    """Also one whose rows are stored out of order, with repeats."""
    messy = scipy.sparse.csr_array(
        (np.array([1.0, 2.0, 5.0]), np.array([3, 0, 3]), np.array([0, 3])), shape=(1, 4)
    )
    assert csr_from_scipy(messy).to_dense().tolist() == [[2, 0, 0, 6]]
    assert messy.indices.tolist() == [3, 0, 3]
    assert messy.data.tolist() == [1, 2, 5]


def test_rows_of_dense_and_sparse_matrices():
    dense, csr = random_matrix()
    rows = torch.tensor([3, 3, 2, 0])
    assert torch.equal(take_rows(csr, rows).to_dense(), dense[rows])
    assert torch.equal(take_rows(dense, rows), dense[rows])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("columns", [1, 5])
def test_a_product_is_torchs_own_bit_for_bit_whatever_was_in_its_memory(dtype, columns):
    matrix = random_matrix(rows=300, columns=200)[1].to(dtype)
    dense = torch.randn(200, columns, dtype=dtype, generator=torch.Generator().manual_seed(1))
    nothing = csr_tensor(torch.zeros(301).long(), torch.zeros(0).long(), dense[:0, 0], (300, 200))
    for sparse in (matrix, nothing):
        expected = sparse @ dense
        for _ in range(3):
            torch.full((300, columns), torch.nan, dtype=dtype)  # memory that may be taken up again
            assert torch.equal(multiply(sparse, dense), expected)
    assert torch.equal(multiply(matrix, dense.T.contiguous().T), matrix @ dense)
    assert multiply(matrix, dense[:, :0]).shape == (300, 0)


def test_a_factor_that_wants_a_gradient_gets_one():
    dense, sparse = random_matrix()
    factor = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    multiply(sparse, factor).sum().backward()
    torch.testing.assert_close(factor.grad, dense.sum(0)[:, None].expand(6, 3))
