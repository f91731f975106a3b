import numpy as np
import pytest
import torch

from brgcl.report import figures
from brgcl.report.figures import place_nodes

pytest.importorskip("openTSNE")


@pytest.mark.parametrize(
    "z",
    [
        torch.eye(2),
        torch.randn(7, 3, generator=torch.Generator().manual_seed(0)),
        torch.linspace(-1, 1, 9)[:, None],
        torch.ones(12, 4),
        torch.zeros(12, 4),
    ],
    ids=["two nodes", "seven nodes", "one column", "all the same", "all zero"],
)
def test_the_oddest_representations_have_places(z):
    shown, points = place_nodes(z)
    assert shown.tolist() == list(range(len(z)))
    assert points.shape == (len(z), 2)
    assert np.isfinite(points).all()


def blobs(N):
    generator = torch.Generator().manual_seed(0)
    centres = 4 * torch.randn(4, 8, generator=generator)
    groups = torch.arange(N) % 4
    return centres[groups] + torch.randn(N, 8, generator=generator), groups.numpy()


def test_places_repeat():
    z, _ = blobs(40)
    np.testing.assert_array_equal(place_nodes(z, seed=3)[1], place_nodes(z, seed=3)[1])


def test_nodes_beside_landmarks_lie_in_their_group(monkeypatch):
    """Most nodes are placed beside landmarks; the nearest landmark on the map is of their group."""
    monkeypatch.setattr(figures, "MOST_PLACED", 300)
    monkeypatch.setattr(figures, "LANDMARKS", 80)
    z, groups = blobs(400)
    shown, points = place_nodes(z)
    assert len(shown) == len(points) == 300
    assert (np.diff(shown) > 0).all()
    apart = np.linalg.norm(points[:, None] - points[None], axis=2) + 1e9 * np.eye(300)
    nearest = groups[shown][apart.argmin(axis=1)]
    assert (nearest == groups[shown]).mean() > 0.97
