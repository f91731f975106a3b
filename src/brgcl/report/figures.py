"""Places of nodes on a plane, for maps."""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from scipy.spatial import KDTree
from torch import Tensor

from brgcl.report.extra import import_extra

MOST_PLACED = 100_000  # nodes on a map
LANDMARKS = 20_000  # of them placed by t-SNE


def place_nodes(z: Tensor, *, seed: int = 0) -> tuple[Any, Any]:
    """Place nodes on a plane so that neighbours in direction are neighbours there.

    Up to 20,000 nodes are placed by t-SNE. In a larger graph t-SNE places a sample of as many, and
    each other node comes to lie beside one of the five placed nodes that are nearest to it, which
    takes less time and shows the same groups.

    Args:
        z: Representations, `(N, D)`; above 100,000 nodes a random sample is placed.
        seed: Seed of the samples and of the layout.

    Returns:
        Indices of the nodes that are placed in rising order, `(M,)`, and where, `(M, 2)`.
    """
    rng = np.random.default_rng(seed)
    drawn = rng.permutation(len(z))[:MOST_PLACED]
    first = np.sort(drawn[:LANDMARKS])
    rest = np.sort(drawn[LANDMARKS:])
    rows = F.normalize(z[first], dim=1)  # a row of zeros stays, which cosine would not bear
    points = _tsne(rows.numpy(), seed)
    if not len(rest):
        return first, points
    others = _beside(rows, points, F.normalize(z[rest], dim=1), rng)
    shown = np.concatenate([first, rest])
    order = np.argsort(shown)
    return shown[order], np.concatenate([points, others])[order]


def _tsne(rows: Any, seed: int) -> Any:
    """Place unit rows `(N, D)` on a plane, `(N, 2)`."""
    N = len(rows)
    if N < 5:  # too few to have neighbours
        return np.stack([np.arange(N), np.zeros(N)], axis=1)
    flat = min(rows.shape) < 2 or bool((rows == rows[0]).all())  # no two principal components
    tsne = import_extra("openTSNE").TSNE(
        perplexity=min(30, (N - 1) / 3),
        initialization="random" if flat else "pca",
        random_state=seed,
        n_jobs=1 if N < 5_000 else 2,  # few points: threads would wait for each other
    )
    return np.asarray(tsne.fit(rows))


def _beside(rows: Tensor, points: Any, others: Tensor, rng: np.random.Generator) -> Any:
    """Place other unit rows `(R, D)` beside one of the five nearest `rows` that have `points`."""
    axes = torch.linalg.eigh(rows.T @ rows).eigenvectors[:, -50:]  # most of the angles, less work
    rows, others = rows @ axes, others @ axes
    parts = [others[start : start + 2_000] for start in range(0, len(others), 2_000)]
    near = torch.cat([(part @ rows.T).topk(5, dim=1).indices for part in parts])
    chosen = near.numpy()[np.arange(len(near)), rng.integers(5, size=len(near))]
    tree = KDTree(points)
    room = tree.query(points[chosen], k=4)[0][:, -1:]  # to the third neighbour on the map
    return points[chosen] + 0.5 * room * rng.normal(size=(len(near), 2))
