"""Smooth: attributes diffused over the graph and cut to a few dimensions; nothing is trained.

    H = M X,   M = alpha I + (1 - alpha)/K (A + A² + ... + A^K)      (shared/diffusion.py)
    Z = rows of H V at unit length            V = the first `dim` right singular vectors of H

This is the floor: what it scores is owed to averaging over neighbours and to the classifier on
top, and a method that trains has to do better.

H, of size N x F, is never stored. Its singular vectors come from a randomised iteration (Halko,
Martinsson & Tropp, Finding Structure with Randomness, SIAM Review 2011), which only multiplies: H B
= M (X B) and H' B = X' (M B), with X as sparse as it is. The starting matrix is the same for every
generator, and the sign of each column is fixed, so that seeds do not matter.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Generator, Tensor
from torch_geometric.data import Data

from brgcl.baselines.shared.diffusion import diffuse
from brgcl.baselines.shared.inputs import check_memory
from brgcl.config import Count, Probability, Settings, setting
from brgcl.contract import Fitted, Hook, Labels, Method, Reporter
from brgcl.method.graph import Graph
from brgcl.method.inputs import prepare

SPARE = 16  # columns of the iteration beyond those that are kept, for accuracy
ROUNDS = 4  # of the iteration


@dataclass(frozen=True)
class SmoothConfig(Settings):
    """Settings of the floor."""

    steps: Count = setting(16, "Diffusion steps, K.")
    alpha: Probability = setting(
        0.05, "Weight of a node's own attributes beside the average over the steps."
    )
    dim: Count = setting(64, "Dimension of the representations, cut to that of the attributes.")


def fit(
    graph: Data, labels: Labels, config: SmoothConfig, generator: Generator, report: Hook = None
) -> Fitted:
    """Diffuse and project; nothing is learned, and neither `labels` nor `generator` are read."""
    width = config.dim + SPARE
    check_memory("smooth", 6 * 4.0 * sum(graph.x.shape) * width, "take fewer dimensions (dim)")
    projected = principal_rows(prepare(graph), config, report)
    return Fitted(F.normalize(projected, dim=1))


def principal_rows(graph: Graph, config: SmoothConfig, report: Reporter | None = None) -> Tensor:
    """H V, `(N, dim)`, the columns in order of their singular values; see above.

    Args:
        graph: The prepared graph.
        config: Settings; `dim` is cut to min(N, F).
        report: Called after each round of the iteration.
    """
    x, adjacency = graph.x, graph.adjacency.normalized
    dim = min(config.dim, *x.shape)
    width = min(dim + SPARE, *x.shape)
    start = torch.randn(x.shape[1], width, generator=torch.Generator().manual_seed(0))
    q = _basis(diffuse(adjacency, x @ start, config.steps, config.alpha))  # (N, width)
    for done in range(1, ROUNDS + 1):
        p = _basis(x.transposed_product(diffuse(adjacency, q, config.steps, config.alpha)))
        q = _basis(diffuse(adjacency, x @ p, config.steps, config.alpha))
        if report is not None:
            report(done, ROUNDS, "singular vectors")
    across = x.transposed_product(diffuse(adjacency, q, config.steps, config.alpha))  # H' Q
    v, values, u = torch.linalg.svd(across.double(), full_matrices=False)
    v, scaled = v[:, :dim], (u.T * values)[:, :dim]
    rows: Tensor = q.double() @ (scaled * _signs(v))
    return rows.to(q.dtype)


def _basis(columns: Tensor) -> Tensor:
    """Orthonormal columns of the same span."""
    basis: Tensor = torch.linalg.qr(columns).Q
    return basis


def _signs(v: Tensor) -> Tensor:
    """1 or -1 for each column, that makes the sum of its cubes positive, `(dim,)`.

    The largest entry would do, but which of two entries is the larger may hang on rounding.
    """
    return torch.where((v**3).sum(0) < 0, -1.0, 1.0).to(v.dtype)


METHOD = Method(
    name="smooth",
    fit=fit,
    Config=SmoothConfig,
    kind="representation",
    citation="Zhu & Koniusz, Simple Spectral Graph Convolution, ICLR 2021, its diffusion alone",
    cost="time O(K E D + nnz(X) D + (N + F) D²), once; memory O(E + nnz(X) + (N + F) D)",
    source="The authors' code",
    ours={
        "dim": "a round number; the authors keep all attributes",
    },
    space={
        "steps": (4, 8, 16, 32),
        "alpha": (0.02, 0.05, 0.1, 0.2),
        "dim": (32, 64, 128, 256),
    },
    deviations=(
        "No regression is trained; the classifiers of all representation methods are used instead.",
        "The singular vectors come from a randomised iteration.",
    ),
)
