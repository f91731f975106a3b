"""S²GC's diffusion of attributes over a graph.

    M = alpha I + (1 - alpha)/K (A + A² + ... + A^K)        A = D^-1/2 (A + I) D^-1/2

M is symmetric, as A is, and is never stored: only its products are computed.

Zhu & Koniusz, Simple Spectral Graph Convolution, ICLR 2021.
"""

from torch import Tensor

from brgcl.method.sparse import Matrix


def diffuse(adjacency: Matrix, dense: Tensor, steps: int, alpha: float) -> Tensor:
    """Multiply M by a matrix: alpha B + (1 - alpha)/K (A B + A² B + ... + A^K B).

    Args:
        adjacency: The normalised adjacency, `(N, N)`.
        dense: B, `(N, columns)`.
        steps: K.
        alpha: Weight of B itself.
    """
    moved, total = dense, alpha * dense
    for _ in range(steps):
        moved = adjacency @ moved
        total.add_(moved, alpha=(1 - alpha) / steps)
    return total
