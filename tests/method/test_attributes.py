import pytest
import torch

from brgcl.method.attributes import Preparation, learn_preparation
from brgcl.method.sparse import csr_from_scipy, is_sparse

COUNTS = torch.tensor([[1.0, 3, 0], [0, 0, 0], [2, 2, 4], [0, 0, 5]])
REALS = torch.tensor([[1.0, -1, 7], [3, 0, 7], [5, 1, 7], [7, 4, 7]])


def csr(x):
    return csr_from_scipy(x.numpy())


def dense(matrix):
    return matrix.data.to_dense() if is_sparse(matrix.data) else matrix.data


@pytest.mark.parametrize("store", [torch.clone, csr], ids=["dense", "csr"])
def test_l1_gives_rows_that_sum_to_one_and_leaves_empty_rows(store):
    preparation = learn_preparation(store(COUNTS))
    assert preparation == Preparation("l1")
    expected = torch.tensor([[0.25, 0.75, 0], [0, 0, 0], [0.25, 0.25, 0.5], [0, 0, 1]])
    assert torch.equal(dense(preparation.apply(store(COUNTS))), expected)


@pytest.mark.parametrize("store", [torch.clone, csr], ids=["dense", "csr"])
def test_l1_of_signed_attributes_uses_absolute_values(store):
    x = torch.tensor([[1.0, -3], [0, -2]])
    assert torch.equal(
        dense(Preparation("l1").apply(store(x))), torch.tensor([[0.25, -0.75], [0, -1]])
    )


def test_standardize_gives_mean_zero_and_deviation_one():
    preparation = learn_preparation(REALS)
    assert preparation.kind == "standardize"
    found = dense(preparation.apply(REALS))
    torch.testing.assert_close(found.mean(0), torch.zeros(3))
    torch.testing.assert_close(found.std(0, correction=0), torch.tensor([1.0, 1.0, 0.0]))
    assert torch.equal(found[:, 2], torch.zeros(4))  # a constant column says nothing


def test_sparse_attributes_are_scaled_but_not_centred():
    preparation = learn_preparation(csr(REALS))
    assert preparation.mean is None
    deviation = REALS.double().std(0, correction=0)
    expected = REALS.double() / deviation
    expected[:, 2] = 0
    found = preparation.apply(csr(REALS))
    assert is_sparse(found.data)
    torch.testing.assert_close(dense(found).double(), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("store", [torch.clone, csr], ids=["dense", "csr"])
@pytest.mark.parametrize("value", [0.1, 5.3, 12345.678])
def test_a_constant_column_is_recognised_in_single_precision(store, value):
    x = torch.randn(1000, 2, generator=torch.Generator().manual_seed(0))
    x[:, 1] = value
    preparation = learn_preparation(store(x), "standardize")
    assert preparation.scale[1] == 0
    assert preparation.scale[0].item() == pytest.approx(
        1 / x[:, 0].std(correction=0).item(), rel=1e-5
    )


def test_the_deviation_of_a_sparse_column_counts_its_zeros():
    x = torch.zeros(100, 1)
    x[:25] = 4.0
    preparation = learn_preparation(csr(x), "standardize")
    assert preparation.scale.item() == pytest.approx(1 / (4 * (0.25 * 0.75) ** 0.5), rel=1e-6)


@pytest.mark.parametrize("store", [torch.clone, csr], ids=["dense", "csr"])
def test_unseen_attributes_are_scaled_by_what_training_showed(store):
    preparation = learn_preparation(store(REALS))
    unseen = torch.tensor([[100.0, 50, 3]])
    deviation = REALS.double().std(0, correction=0)
    mean = REALS.double().mean(0) if preparation.mean is not None else 0
    expected = (unseen.double() - mean) / deviation
    expected[:, 2] = 0
    torch.testing.assert_close(
        dense(preparation.apply(store(unseen))).double(), expected, rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("learned", [torch.clone, csr], ids=["learned-dense", "learned-csr"])
def test_the_layout_of_unseen_attributes_does_not_matter(learned):
    preparation = learn_preparation(learned(REALS))
    torch.testing.assert_close(
        dense(preparation.apply(csr(REALS))), dense(preparation.apply(REALS))
    )


@pytest.mark.parametrize("store", [torch.clone, csr], ids=["dense", "csr"])
def test_none_changes_nothing(store):
    assert torch.equal(dense(learn_preparation(store(REALS), "none").apply(store(REALS))), REALS)


@pytest.mark.parametrize("store", [torch.clone, csr], ids=["dense", "csr"])
@pytest.mark.parametrize(("x", "kind"), [(COUNTS, "l1"), (REALS, "standardize")])
def test_the_scaling_is_chosen_by_the_sign(store, x, kind):
    assert learn_preparation(store(x)).kind == kind


@pytest.mark.parametrize("kind", ["l1", "standardize", "none"])
@pytest.mark.parametrize("store", [torch.clone, csr], ids=["dense", "csr"])
def test_attributes_are_left_alone(store, kind):
    x = store(REALS)
    learn_preparation(x, kind).apply(x)
    assert torch.equal(x.to_dense() if is_sparse(x) else x, REALS)


@pytest.mark.parametrize(("density", "sparse"), [(0.05, True), (0.5, False)])
def test_dense_attributes_are_stored_in_the_quicker_layout(density, sparse):
    generator = torch.Generator().manual_seed(0)
    x = (torch.rand(50, 40, generator=generator) < density).float()
    x[7] = 0
    found = Preparation("none").apply(x)
    assert is_sparse(found.data) is sparse
    assert torch.equal(dense(found), x)


def test_attributes_without_a_stored_entry():
    empty = csr(torch.zeros(3, 2))
    assert learn_preparation(empty).kind == "l1"
    assert torch.equal(dense(learn_preparation(empty).apply(empty)), torch.zeros(3, 2))
    assert learn_preparation(empty, "standardize").scale.tolist() == [0, 0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_type_of_the_attributes_is_kept(dtype):
    for kind in ("l1", "standardize", "none"):
        x = REALS.to(dtype)
        assert learn_preparation(x, kind).apply(x).data.dtype == dtype
