"""Centring and the effective rank, by hand and by their properties."""

import pytest
import torch
import torch.nn.functional as F

from brgcl.method.centering import center_rows, effective_rank, smooth_rows, uncenter_rows
from brgcl.method.graph import adjacency_from_edges


def rows(num_rows=50, dim=6, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return F.normalize(torch.randn(num_rows, dim, generator=generator) + 1, dim=1)


def test_centred_rows_have_unit_length_and_the_given_mean_is_gone():
    h = rows()
    z = center_rows(h, h.mean(0))
    assert torch.allclose(z.norm(dim=1), torch.ones(50))
    assert z.mean(0).norm() < h.mean(0).norm() / 3
    assert torch.allclose(z, F.normalize(h - h.mean(0), dim=1))


def test_rows_at_the_mean_become_zero_and_not_rounding_at_unit_length():
    h = rows(1).repeat(1000, 1)
    assert center_rows(h, h.mean(0)).abs().max() < 0.1


@pytest.mark.parametrize("directions", [1, 2, 5, 8])
def test_equal_variance_in_some_directions_counts_them(directions):
    corners = torch.eye(8)[:directions]
    assert effective_rank(torch.cat([corners, -corners])) == pytest.approx(directions, rel=1e-5)


def test_shares_of_variance_by_hand():
    """Three quarters and a quarter: exp of the entropy is 4 / 3 ** 0.75."""
    first, second = torch.eye(2)
    h = torch.stack([first, -first] * 3 + [second, -second])
    assert effective_rank(h) == pytest.approx(4 / 3**0.75, rel=1e-5)


def test_a_rotation_or_a_shift_of_scale_does_not_change_the_rank():
    h = rows()
    turn, _ = torch.linalg.qr(rows(6))
    assert effective_rank(7 * h @ turn) == pytest.approx(effective_rank(h), rel=1e-4)


def test_equal_or_broken_rows_have_rank_zero():
    assert effective_rank(torch.ones(5, 3)) == 0
    assert effective_rank(torch.full((5, 3), torch.nan)) == 0
    assert effective_rank(torch.ones(0, 3)) == 0


def test_a_sample_of_rows_is_enough():
    h = rows(20000, 16)
    assert effective_rank(h) == pytest.approx(effective_rank(h, 20000), rel=0.02)


def test_the_rows_are_left_alone():
    h = 3 * rows()
    before = h.clone()
    effective_rank(h)
    center_rows(h, h.mean(0))
    assert torch.equal(h, before)


def test_smoothing_a_few_columns_at_a_time_changes_nothing(monkeypatch):
    ends = torch.arange(50)
    ring = torch.cat(
        [torch.stack([ends, (ends + 1) % 50]), torch.stack([(ends + 1) % 50, ends])], 1
    )
    transition, h = adjacency_from_edges(ring, 50).transition, rows()
    expected = smooth_rows(h, transition)
    monkeypatch.setattr("brgcl.method.centering.ENTRIES", 100)
    torch.testing.assert_close(smooth_rows(h, transition), expected)
    assert torch.equal(h, rows())


def test_uncentred_rows_are_those_that_were_centred():
    torch.manual_seed(0)
    h = F.normalize(torch.randn(50, 8) + 1, dim=1)
    assert torch.allclose(uncenter_rows(center_rows(h, h.mean(0)), h.mean(0)), h, atol=1e-5)
    mean = torch.tensor([0.6, 0.0])
    assert uncenter_rows(torch.zeros(1, 2), mean).tolist() == [[1.0, 0.0]]
