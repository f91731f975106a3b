import pytest
import torch
import torch.nn.functional as F

from brgcl.method.graph import adjacency_from_edges
from brgcl.method.sparse import Matrix
from brgcl.tasks import attribute_rows as module
from brgcl.tasks.attribute_rows import (
    AttributeViews,
    attribute_rows,
    leading_rows,
    principal_rows,
)


def rows_with_gap(num=60, features=40, rank=5):
    """A matrix with a few large singular values."""
    generator = torch.Generator().manual_seed(0)
    low = torch.randn(num, rank, generator=generator) @ torch.randn(
        rank, features, generator=generator
    )
    return low + 0.01 * torch.randn(num, features, generator=generator)


@pytest.mark.parametrize("sparse", [False, True])
def test_leading_rows_are_those_of_the_exact_decomposition(sparse):
    x = rows_with_gap()
    u, s, _ = torch.linalg.svd(x, full_matrices=False)
    exact = (u * s)[:, :5]
    found = leading_rows(Matrix(x.to_sparse_csr() if sparse else x), 5)
    assert torch.allclose(found @ found.T, exact @ exact.T, atol=1e-2)  # up to a rotation


def test_few_columns_are_all_kept():
    x = rows_with_gap(features=4, rank=2)
    found = leading_rows(Matrix(x), 64)
    assert found.shape == (60, 4)
    assert torch.allclose(found @ found.T, x @ x.T, atol=1e-3)
    centred = x - x.mean(0)
    assert torch.allclose(principal_rows(x, 64), centred)


def test_principal_rows_keep_the_most_variance():
    x = rows_with_gap()
    centred = x - x.mean(0)
    u, s, _ = torch.linalg.svd(centred, full_matrices=False)
    exact, found = (u * s)[:, :3], principal_rows(x, 3)
    assert torch.allclose(found @ found.T, exact @ exact.T, atol=1e-2)


@pytest.mark.parametrize(("features", "narrow"), [(40, 8), (40, 64), (300, 16)])
def test_rows_of_attributes_are_found_again_by_their_projection(features, narrow, monkeypatch):
    monkeypatch.setattr(module, "AROUND_COLUMNS", narrow)
    x = Matrix(rows_with_gap(features=features, rank=12))
    ring = torch.stack([torch.arange(60), (torch.arange(60) + 1) % 60])
    transition = adjacency_from_edges(torch.cat([ring, ring.flip(0)], 1), 60).transition
    views = AttributeViews(x, transition)
    own, around = attribute_rows(x, transition)
    assert torch.equal(views.around, around)
    assert views.own.shape == own.shape
    projection = views.projection(around=True)
    assert projection.matrix.shape == (features, min(features, narrow))
    assert torch.allclose(projection.apply(x, transition), around, atol=1e-4)
    again = views.projection(around=False).apply(x, transition)
    assert torch.allclose(again, views.own, atol=1e-4)


def test_attributes_are_a_nodes_own_and_those_around(monkeypatch):
    monkeypatch.setattr(module, "SPREAD", {"alpha": 0.5, "T": 2})
    x = torch.eye(4)
    both = torch.tensor([[0, 1], [1, 0]])  # 0 - 1, while 2 and 3 are alone
    transition = adjacency_from_edges(both, 4).transition
    own, around = attribute_rows(Matrix(x), transition)
    assert torch.allclose(own @ own.T, torch.eye(4), atol=1e-5)
    spread = torch.tensor([[0.75, 0.25, 0, 0], [0.25, 0.75, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    expected = F.normalize(spread - spread.mean(0), dim=1)
    assert torch.allclose(around @ around.T, expected @ expected.T, atol=1e-5)
