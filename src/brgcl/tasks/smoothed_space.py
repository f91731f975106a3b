"""A space in which neighbours are alike: few directions of the attributes, made by smoothing.

With T the weighted attributes (rows of unit length) and S = D^-1/2 (A + I) D^-1/2, the space is
spanned by the leading right singular vectors of S T: words that neighbours share count, words that
a single node has do not. Whoever judges an edge or a node leaves it out of A or T beforehand, so
that it cannot speak for itself.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from torch import Tensor

from brgcl.method.sparse import csr_to_scipy, is_sparse

Array = NDArray[Any]
DIMENSIONS = 64  # directions of the space; 128 measured alike
SWEEPS = 5  # of the subspace iteration
SPARSE_BELOW = 0.12  # share of non-zeros up to which attributes count as bags of words


def attribute_matrix(x: Tensor) -> Any:
    """Attributes `(N, F)` for scipy: a `csr_array` if few are non-zero, else a dense array."""
    if is_sparse(x):
        matrix = csr_to_scipy(x.detach())
        dense = matrix.nnz >= SPARSE_BELOW * matrix.shape[0] * matrix.shape[1]
        return matrix.toarray() if dense else matrix
    array = x.detach().cpu().numpy()
    few = np.count_nonzero(array) < SPARSE_BELOW * array.size
    return scipy.sparse.csr_array(array) if few else array


@dataclass(frozen=True)
class Weighting:
    """How columns are weighted: `(x - mean) * scale`, then rows to unit length.

    Attributes:
        mean: Column means, `(F,)`; None for sparse attributes, which are not centred.
        scale: Column weights, `(F,)`.
    """

    mean: Array | None
    scale: Array

    def apply(self, x: Any) -> Any:
        """Weight attributes `(M, F)`; a row of zeros stays."""
        if self.mean is not None:
            return unit_rows((x - self.mean) * self.scale)
        weighted = scipy.sparse.csr_array(x.multiply(self.scale[None, :]))
        length = np.sqrt(np.asarray(weighted.multiply(weighted).sum(1)).ravel())
        return scipy.sparse.diags_array(1 / np.where(length > 0, length, 1)) @ weighted


def learn_weighting(x: Any) -> Weighting:
    """Learn the weights from attributes `(M, F)`, as `attribute_matrix` gives them.

    Sparse attributes without negative values are weighted by their inverse document frequency,
    log((1 + M) / (1 + M_f)) + 1 with M_f nodes that have attribute f; others are standardised.
    """
    if not scipy.sparse.issparse(x):
        deviation = x.std(0)
        return Weighting(x.mean(0), np.where(deviation > 1e-8, 1 / deviation.clip(1e-8), 0))
    M = x.shape[0]
    if (x.data < 0).any():
        square = np.asarray(x.multiply(x).sum(0)).ravel() / max(M, 1)
        return Weighting(None, np.where(square > 0, 1 / np.sqrt(square.clip(1e-16)), 0))
    present = np.bincount(x.indices[x.data != 0], minlength=x.shape[1])
    return Weighting(None, np.log((1 + M) / (1 + present)) + 1)


def normalized_adjacency(source: Array, target: Array, num_nodes: int) -> Any:
    """S = D^-1/2 (A + I) D^-1/2, `(N, N)`, of undirected edges that are each listed once."""
    adjacency = undirected_adjacency(source, target, num_nodes)
    with_loops = adjacency + scipy.sparse.eye_array(num_nodes, dtype=np.float32, format="csr")
    half = scipy.sparse.diags_array(np.asarray(with_loops.sum(1)).ravel() ** -0.5)
    return (half @ with_loops @ half).astype(np.float32).tocsr()


def undirected_adjacency(source: Array, target: Array, num_nodes: int) -> Any:
    """A of undirected edges that are each listed once, `(N, N)`, CSR with sorted columns."""
    ends = np.concatenate([source, target]), np.concatenate([target, source])
    ones = np.ones(len(ends[0]), dtype=np.float32)
    adjacency = scipy.sparse.csr_array((ones, ends), shape=(num_nodes, num_nodes))
    adjacency.sort_indices()
    return adjacency


def smoothed_directions(weighted: Any, smoothing: Any, rng: np.random.Generator) -> Array:
    """Leading right singular vectors of S T, orthonormal, `(F, K)`, by subspace iteration.

    S T is never formed: the cost is linear in the non-zeros of T and the edges.

    Args:
        weighted: T, `(N, F)`; rows that must not take part are zero.
        smoothing: S, `(N, N)`.
        rng: Start of the iteration.
    """
    F = weighted.shape[1]
    K = min(DIMENSIONS, F, weighted.shape[0])
    start = rng.standard_normal((F, K)).astype(np.float32)
    directions = np.linalg.qr(start)[0]
    for _ in range(SWEEPS):
        smooth = smoothing @ (smoothing @ (weighted @ directions))
        directions = np.linalg.qr(weighted.T @ smooth)[0]
    return directions


def smoothed_representations(x: Any, source: Array, target: Array, seed: int) -> Array:
    """Representations without training: S^2 T in the smoothed space, `(N, K)`."""
    weighted = learn_weighting(x).apply(x)
    smoothing = normalized_adjacency(source, target, x.shape[0])
    directions = smoothed_directions(weighted, smoothing, np.random.default_rng(seed))
    own = weighted @ directions
    return np.asarray(smoothing @ (smoothing @ (own - own.mean(0))))


def unit_rows(rows: Any) -> Any:
    """Scale rows to unit length; a row of zeros stays."""
    length = np.sqrt((rows * rows).sum(1, keepdims=True))
    return rows / np.where(length > 0, length, 1)


def row_cosines(left: Array, right: Array) -> Array:
    """Cosine of each row with the row beside it, `(M,)`; 0 where one of them is zero."""
    product = (left * right).sum(1)
    length = np.sqrt((left * left).sum(1) * (right * right).sum(1))
    return np.asarray(product / np.where(length > 0, length, 1))
