import math

import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Data

from brgcl.baselines.shared import inputs
from brgcl.baselines.smooth import SmoothConfig, fit, principal_rows
from brgcl.data import make_graph
from brgcl.errors import InputError
from brgcl.method.inputs import prepare

GRAPH = make_graph(150, num_classes=3, num_features=40, seed=0)


def run(graph=GRAPH, seed=0, **settings) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return fit(graph, None, SmoothConfig(**settings), generator).representations


def dense_diffusion(graph, steps, alpha):
    """H with powers of a dense matrix."""
    N = graph.num_nodes
    A = torch.eye(N, dtype=torch.float64)
    A[graph.edge_index[0], graph.edge_index[1]] = 1
    scale = A.sum(1).rsqrt()
    A = scale[:, None] * A * scale
    x = graph.x.to_dense().double()
    x = x / x.sum(1, keepdim=True).clamp_min(1e-9)
    powers = sum(torch.linalg.matrix_power(A, k) for k in range(1, steps + 1))
    return alpha * x + (1 - alpha) / steps * powers @ x


@pytest.mark.parametrize(("steps", "alpha", "dim"), [(1, 0.0, 4), (16, 0.05, 8), (3, 0.4, 24)])
def test_rows_are_those_of_an_exact_decomposition(steps, alpha, dim):
    H = dense_diffusion(GRAPH, steps, alpha)
    _, values, v = torch.linalg.svd(H, full_matrices=False)
    config = SmoothConfig(steps=steps, alpha=alpha, dim=dim)
    found = principal_rows(prepare(GRAPH), config).double()
    # columns at right angles, as long as the singular values are large, and in their order
    assert torch.allclose(found.T @ found, torch.diag(values[:dim] ** 2), atol=1e-4)
    wanted = H @ v[:dim].T
    assert torch.allclose((found * wanted).sum(0).abs(), values[:dim] ** 2, rtol=1e-3, atol=1e-5)


def test_with_all_dimensions_angles_between_rows_are_those_of_the_diffused_attributes():
    H = F.normalize(dense_diffusion(GRAPH, 16, 0.05), dim=1)
    z = run(dim=64).double()
    assert z.shape == (150, 40)
    assert torch.allclose(z @ z.T, H @ H.T, atol=1e-5)


def test_a_pair_of_nodes_by_hand():
    # A is 1/2 everywhere, and so are its powers: H = [[.5 + .5a, .5 - .5a], ...], with a = 0.2
    graph = Data(x=torch.eye(2), edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
    found = run(graph, alpha=0.2, steps=5, dim=2)
    # its singular vectors are (1, 1) and (1, -1), with the values 1 and 0.2
    cosine, sine = (value / math.hypot(1, 0.2) for value in (1, 0.2))
    assert torch.allclose(found.abs(), torch.tensor([[cosine, sine], [cosine, sine]]), atol=1e-5)
    assert torch.allclose(found[:, 0], torch.full((2,), cosine), atol=1e-5)


def test_seeds_do_not_matter():
    assert torch.equal(run(seed=0), run(seed=1))


def test_signs_do_not_hang_on_rounding():
    nudged = GRAPH.clone()
    nudged.x = GRAPH.x.to_dense() * (1 + 1e-6 * torch.randn(40, generator=torch.Generator()))
    assert torch.allclose(run(dim=8), run(nudged, dim=8), atol=1e-3)


def test_all_attributes_zero_are_survived():
    blank = Data(x=torch.zeros(5, 3), edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=5)
    assert torch.equal(run(blank), torch.zeros(5, 3))


def test_what_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr(inputs, "MOST_BYTES", 1000)
    with pytest.raises(InputError, match=r"smooth would need .* dimensions"):
        run()
