"""The bare products that an epoch cannot avoid: a fixed list, with shapes and counts.

One epoch after the warm-up encodes three graphs (two views and the whole one), contrasts the two
views, and takes a step. With N nodes, F attributes (X has `x` stored entries), `a` entries in an
adjacency, h hidden units, D dimensions, and m columns in the node loss (m = N when it is exact):

    X W0        3 x (N,F)(F,h)      X' G        3 x (F,N)(N,h)
    A H         6 x (N,N)(N,h)      A Z         6 x (N,N)(N,D)
    H W1        3 x (N,h)(h,D)      G W1'       3 x (N,D)(D,h)     H' G   3 x (h,N)(N,D)

or, in the place of the first three where X is narrow, with P = A X (which the whole graph has once
and for all, so that only the views compute it):

    A X         2 x (N,N)(N,F)      P W0        3 x (N,F)(F,h)     P' G   3 x (F,N)(N,h)

and then

    U V'        (N,D)(D,m)          once for each direction, and again where tiles are not kept
    S V, S' U   (N,m)(m,D), (m,N)(N,D)   once for each direction
    exp         N m elements        once for each U V' ("exp" only)
    Adam        (F+1) h + (h+1) D parameters

The exact "exp" form treats both directions in one pass over the similarities.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch
from torch import Tensor

from brgcl.config import BRGCLConfig
from brgcl.method.encoder import averages_first
from brgcl.method.graph import Graph
from brgcl.method.node_loss import aligned_rows
from brgcl.method.train import num_negatives
from brgcl.method.views import View

TILE_ROWS = (128, 512, 2048)  # each kernel on tiles is timed with all, the best one counts

# Other jobs lengthen what takes long on the wall, an epoch, more often than what is short, a kernel
# of which the median counts; seconds of the processor they do not. These add up over threads.
CLOCK = time.process_time if torch.get_num_threads() == 1 else time.perf_counter


@dataclass(frozen=True)
class Kernel:
    """One line of the list.

    Attributes:
        name: What is multiplied.
        shape: With what shapes.
        count: How often in an epoch.
        flops: Floating-point operations of one call.
    """

    name: str
    shape: str
    count: int
    flops: float


@dataclass(frozen=True)
class Sizes:
    """The numbers that decide what an epoch costs; the letters are those of the list above."""

    N: int
    F: int
    x: int
    a: int
    h: int
    D: int
    m: int
    objective: str
    exact: bool
    kept: bool
    averages_first: bool = False


def sizes_of(graph: Graph, config: BRGCLConfig) -> Sizes:
    """Read the sizes off a graph and settings."""
    N, F = graph.x.shape
    m = num_negatives(config, N)
    return Sizes(
        N=N,
        F=F,
        x=graph.x.num_stored,
        a=graph.adjacency.col.numel(),
        h=config.hidden,
        D=config.dim,
        m=N if m is None else m,
        objective=config.node_objective,
        exact=m is None,
        kept=m is None and config.tile_mb << 20 >= N * N * 4,
        averages_first=averages_first(graph.x, graph.adjacency.normalized, config.hidden),
    )


def epoch_kernels(sizes: Sizes) -> list[Kernel]:
    """List the bare kernels of one epoch after the warm-up, for a two-layer encoder."""
    N, F, h, D, m = sizes.N, sizes.F, sizes.h, sizes.D, sizes.m
    both = 1 if sizes.objective == "abs" or sizes.exact else 2  # passes over similarities
    again = 1 if sizes.objective == "exp" and sizes.exact and not sizes.kept else 0
    if sizes.averages_first:
        kernels = [
            Kernel("A X", f"({N},{N})({N},{F}), {sizes.a} stored", 2, 2 * sizes.a * F),
            Kernel("P W0", f"({N},{F})({F},{h})", 3, 2 * N * F * h),
            Kernel("P' G", f"({F},{N})({N},{h})", 3, 2 * N * F * h),
        ]
    else:
        kernels = [
            Kernel("X W0", f"({N},{F})({F},{h}), {sizes.x} stored", 3, 2 * sizes.x * h),
            Kernel("X' G", f"({F},{N})({N},{h}), {sizes.x} stored", 3, 2 * sizes.x * h),
            Kernel("A H", f"({N},{N})({N},{h}), {sizes.a} stored", 6, 2 * sizes.a * h),
        ]
    kernels += [
        Kernel("A Z", f"({N},{N})({N},{D}), {sizes.a} stored", 6, 2 * sizes.a * D),
        Kernel("H W1", f"({N},{h})({h},{D})", 3, 2 * N * h * D),
        Kernel("G W1'", f"({N},{D})({D},{h})", 3, 2 * N * h * D),
        Kernel("H' G", f"({h},{N})({N},{D})", 3, 2 * N * h * D),
        Kernel("U V'", f"({N},{D})({D},{m})", both + again, 2 * N * m * D),
        Kernel("S V", f"({N},{m})({m},{D})", both, 2 * N * m * D),
        Kernel("S' U", f"({m},{N})({N},{D})", both, 2 * N * m * D),
    ]
    if sizes.objective == "exp":
        kernels.append(Kernel("exp", f"({N},{m})", both + again, N * m))
    parameters = (F + 1) * h + (h + 1) * D
    return [*kernels, Kernel("Adam", f"{parameters} parameters", 1, 12 * parameters)]


def time_kernels(
    graph: Graph, views: tuple[View, View], sizes: Sizes, *, repeats: int
) -> dict[str, float]:
    """Time each kernel alone, at its best tile size and thread count.

    Returns:
        Seconds of all calls of each kernel in one epoch.
    """
    calls = _calls(graph, views, sizes)
    found = {}
    most = torch.get_num_threads()
    for kernel in epoch_kernels(sizes):
        best = float("inf")
        for threads in sorted({1, most}):
            torch.set_num_threads(threads)
            for call in calls[kernel.name]:
                best = min(best, median_seconds(call, repeats))
        torch.set_num_threads(most)
        together = {"A H": 3, "A Z": 3, "A X": 2}.get(kernel.name, 1)  # operators in one call
        found[kernel.name] = kernel.count * best / together
    return found


def median_seconds(call: Callable[[], Any], repeats: int) -> float:
    """Median time of a call, after one that is not counted."""
    call()
    taken = []
    for _ in range(repeats):
        start = CLOCK()
        call()
        taken.append(CLOCK() - start)
    return median(taken)


def _calls(
    graph: Graph, views: tuple[View, View], sizes: Sizes
) -> dict[str, list[Callable[[], Any]]]:
    """Ways to call each kernel; the quickest counts."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    H, Z = normal(sizes.N, sizes.h), normal(sizes.N, sizes.D)
    W0, W1, V = normal(sizes.F, sizes.h), normal(sizes.h, sizes.D), normal(sizes.m, sizes.D)
    x, adjacency = graph.x, [views[0].adjacency, views[1].adjacency, graph.adjacency.normalized]
    P = normal(sizes.N, sizes.F if sizes.averages_first else 1)

    def tiled(work: Callable[[slice, Tensor], Any]) -> list[Callable[[], Any]]:
        def sweep(rows: int) -> None:
            scratch = aligned_rows(min(rows, sizes.N), sizes.m, Z).fill_(0.5)
            for start in range(0, sizes.N, rows):
                tile = slice(start, min(start + rows, sizes.N))
                work(tile, scratch[: tile.stop - tile.start])

        return [lambda rows=rows: sweep(rows) for rows in TILE_ROWS]  # type: ignore[misc]

    into, gathered = torch.empty_like(Z), torch.zeros_like(V)
    weights = [torch.nn.Parameter(W0.clone()), torch.nn.Parameter(W1.clone())]
    for weight in weights:
        weight.grad = torch.ones_like(weight)
    adam = torch.optim.Adam(weights)

    def all_three(dense: Tensor) -> Callable[[], Any]:
        return lambda: [matrix @ dense for matrix in adjacency]

    return {
        "A X": [lambda: [matrix @ x.dense for matrix in adjacency[:2]]],
        "P W0": [lambda: P @ W0],
        "P' G": [lambda: P.T @ H],
        "X W0": [lambda: x @ W0],
        "X' G": [lambda: x.transposed_product(H)],
        "A H": [all_three(H)],
        "A Z": [all_three(Z)],
        "H W1": [lambda: H @ W1],
        "G W1'": [lambda: Z @ W1.T],
        "H' G": [lambda: H.T @ Z],
        "U V'": tiled(lambda tile, s: torch.mm(Z[tile], V.T, out=s)),
        "S V": tiled(lambda tile, s: torch.mm(s, V, out=into[tile])),
        "S' U": tiled(lambda tile, s: gathered.addmm_(s.T, Z[tile])),
        "exp": tiled(lambda tile, s: s.exp2_().mul_(0)),
        "Adam": [adam.step],
    }
