import numpy as np
import pytest
import scipy.sparse
import torch

from brgcl.tasks.smoothed_space import (
    attribute_matrix,
    learn_weighting,
    normalized_adjacency,
    row_cosines,
    smoothed_directions,
    smoothed_representations,
    undirected_adjacency,
    unit_rows,
)

PATH = np.array([0, 1, 2]), np.array([1, 2, 3])


def test_adjacency_has_both_directions_and_no_loops():
    dense = undirected_adjacency(*PATH, 4).toarray()
    assert (dense == dense.T).all()
    assert dense.diagonal().sum() == 0
    assert dense.sum() == 6


def test_normalized_adjacency_is_the_textbook_formula():
    with_loops = undirected_adjacency(*PATH, 5).toarray() + np.eye(5)
    half = np.diag(with_loops.sum(1) ** -0.5)
    found = normalized_adjacency(*PATH, 5).toarray()
    np.testing.assert_allclose(found, half @ with_loops @ half, rtol=1e-6)


@pytest.mark.parametrize("sparse", [True, False])
def test_directions_are_the_singular_vectors_of_the_smoothed_attributes(sparse, monkeypatch):
    monkeypatch.setattr("brgcl.tasks.smoothed_space.DIMENSIONS", 2)
    rng = np.random.default_rng(0)
    weighted = rng.normal(size=(30, 6)) * np.array([9, 5, 1, 0.3, 0.2, 0.1])
    smoothing = normalized_adjacency(np.arange(29), np.arange(1, 30), 30)
    found = smoothed_directions(
        scipy.sparse.csr_array(weighted) if sparse else weighted, smoothing, rng
    )
    _, _, right = np.linalg.svd(smoothing.toarray() @ weighted)
    np.testing.assert_allclose(found @ found.T, right[:2].T @ right[:2], atol=1e-4)


def test_rare_words_weigh_more_and_rows_have_unit_length():
    x = attribute_matrix(torch.tensor([[1.0, 0, 0], [1, 1, 0], [1, 0, 0]]).to_sparse_csr())
    x = scipy.sparse.csr_array(x)
    weighting = learn_weighting(x)
    np.testing.assert_allclose(weighting.scale, np.log(4 / np.array([4, 2, 1])) + 1)
    length = np.sqrt((weighting.apply(x).toarray() ** 2).sum(1))
    np.testing.assert_allclose(length, 1, rtol=1e-6)


def test_dense_attributes_are_standardised_and_a_constant_column_is_dropped():
    x = np.array([[1.0, 5, -2], [3, 5, 2], [8, 5, 9]])
    weighting = learn_weighting(x)
    scaled = (x - weighting.mean) * weighting.scale
    np.testing.assert_allclose(scaled.mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(0), [1, 0, 1])


def test_sparse_attributes_with_negative_values_are_scaled_but_stay_sparse():
    x = scipy.sparse.csr_array(np.diag([1.0, -4.0, 2.0]))
    weighted = learn_weighting(x).apply(x)
    assert scipy.sparse.issparse(weighted)
    np.testing.assert_allclose(weighted.toarray(), np.diag([1, -1, 1]))


def test_layout_follows_the_share_of_non_zeros():
    full, thin = torch.ones(4, 20), torch.zeros(4, 20)
    thin[0, 0] = 1
    for x in (full, full.to_sparse_csr()):
        assert isinstance(attribute_matrix(x), np.ndarray)
    for x in (thin, thin.to_sparse_csr()):
        assert scipy.sparse.issparse(attribute_matrix(x))


def test_rows_of_zeros_stay_and_have_no_cosine():
    rows = np.array([[3.0, 4], [0, 0]])
    np.testing.assert_allclose(unit_rows(rows), [[0.6, 0.8], [0, 0]])
    np.testing.assert_allclose(row_cosines(rows, np.array([[6.0, 8], [1, 1]])), [1, 0])


def test_representations_smooth_twice():
    x = np.random.default_rng(0).normal(size=(4, 3))
    found = smoothed_representations(x, *PATH, seed=0)
    weighted = learn_weighting(x).apply(x)
    smoothing = normalized_adjacency(*PATH, 4).toarray()
    expected = smoothing @ smoothing @ (weighted - weighted.mean(0))
    # the three directions span all attributes, so inner products are those of the attributes
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-5)
