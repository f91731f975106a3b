"""GRACE: a node's two views are nearer to each other than to every other node in either view.

With projected codes p = W2 ELU(W1 h + b1) + b2, their unit rows u_i (view 1) and v_i (view 2), and
s(a, b) = exp(a · b / tau),

    l(u_i) = -log s(u_i, v_i) / (sum_j s(u_i, v_j) + sum_{j != i} s(u_i, u_j))
    loss   = mean_i (l(u_i) + l(v_i)) / 2

Seen as 2N rows w = (u, v), the denominator of a row is its sum over all rows but itself. That is
how it is computed here, with its gradient, one tile of rows at a time:

    total_a = sum_{b != a} s(w_a, w_b)
    grad_a  = (sum_{b != a} s(w_a, w_b) (1 / total_a + 1 / total_b) w_b - 2 w_a') / (2N tau)

where a' is the other view of a. Tiles above the diagonal do for both triangles. With `negatives`
the sums run over a sample of m nodes, in both views, and cost O(N m D): total_a is s(w_a, w_a')
plus (N - 1)/m' times the sum over the m' sampled nodes other than a's own. A sample of all nodes
is the exact loss.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch
import torch.nn.functional as F
from annotated_types import Ge
from torch import Generator, Tensor, nn
from torch_geometric.data import Data

from brgcl.baselines.shared.descent import descend
from brgcl.baselines.shared.inputs import seeded
from brgcl.config import Count, Positive, Settings, Share, ViewSettings, Weight, setting
from brgcl.contract import Fitted, Hook, Labels, Method
from brgcl.machine import check_width
from brgcl.method.encoder import Encoder
from brgcl.method.inputs import prepare
from brgcl.method.node_loss import (
    CACHE_BYTES,
    LOG2_E,
    aligned_rows,
    check_all_pairs,
    sample_negatives,
)
from brgcl.method.views import two_views


@dataclass(frozen=True)
class GRACEConfig(Settings):
    """Settings of GRACE."""

    dim: Count = setting(
        128, "Dimension of the representations; the first layer has twice as many units."
    )
    projection_dim: Count = setting(128, "Units of the projection's hidden layer.")
    activation: Literal["relu", "prelu"] = setting("relu", "Non-linearity after both layers.")
    drop1: Share = setting(0.2, "Share of edges dropped in view 1.")
    drop2: Share = setting(0.4, "Share of edges dropped in view 2.")
    mask1: Share = setting(0.3, "Share of attribute columns masked in view 1.")
    mask2: Share = setting(0.4, "Share of attribute columns masked in view 2.")
    tau: Annotated[float, Ge(0.05)] = setting(0.4, "Temperature.")  # exp(1 / tau) is not shifted
    num_negatives: Annotated[int, Ge(2)] | Literal["auto"] | None = setting(
        "auto",
        "Sampled negatives per epoch: none = all nodes, auto = all up to 4,000 nodes, then 512.",
    )
    lr: Positive = setting(5e-4, "Learning rate of Adam.")
    weight_decay: Weight = setting(1e-5, "L2 penalty in Adam.")
    epochs: Count = setting(200, "Training epochs.")


def fit(
    graph: Data, labels: Labels, config: GRACEConfig, generator: Generator, report: Hook = None
) -> Fitted:
    """Train on pairs of views; `labels` are not read."""
    prepared = prepare(graph)
    x, D, units = prepared.x, config.dim, config.projection_dim
    check_width(*x.shape, 2 * D, D, units, D)
    activation, (N, F_in) = config.activation, x.shape
    network = Encoder(F_in, hidden=2 * D, dim=D, activation=activation, generator=generator)
    with seeded(generator):
        projection = nn.Sequential(nn.Linear(D, units), nn.ELU(), nn.Linear(units, D))
    weights = [*network.parameters(), *projection.parameters()]
    optimizer = torch.optim.Adam(weights, lr=config.lr, weight_decay=config.weight_decay)
    first = ViewSettings("edges", config.drop1, config.mask1)
    second = ViewSettings("edges", config.drop2, config.mask2)
    count = num_negatives(config, N)
    for epoch in range(1, config.epochs + 1):
        views = two_views(prepared, (first, second), generator)
        h1, h2 = (network(x, view.adjacency, view.columns) for view in views)
        p1, p2 = (projection(network.activation(h)) for h in (h1, h2))
        loss = contrast(p1, p2, config.tau, negatives=sample_negatives(N, count, generator))
        descend(optimizer, loss)
        if report is not None:
            report(epoch, config.epochs, f"loss {loss.item():.3f}")
    with torch.no_grad():
        return Fitted(network.activation(network(x, prepared.adjacency.normalized)))


def num_negatives(config: GRACEConfig, num_nodes: int) -> int | None:
    """Resolve the setting "auto": all nodes while that takes seconds, a sample beyond."""
    if config.num_negatives == "auto":
        return None if num_nodes <= 4000 else 512
    if config.num_negatives is None:
        check_all_pairs(num_nodes)
    return config.num_negatives


def contrast(
    p1: Tensor,
    p2: Tensor,
    tau: float,
    *,
    negatives: Tensor | None = None,
    tile_bytes: int = 1 << 28,
) -> Tensor:
    """InfoNCE with negatives from both views.

    Args:
        p1: Projected codes of the nodes in view 1, `(N, D)`.
        p2: Projected codes of the same nodes in view 2, `(N, D)`.
        tau: Temperature.
        negatives: Distinct sampled nodes, `(m,)`, or None for all.
        tile_bytes: Memory for similarities; where all fit, they are computed once, not twice.
    """
    w = F.normalize(torch.cat([p1, p2]), dim=1)
    loss: Tensor = _Contrast.apply(w, tau, negatives, tile_bytes)  # type: ignore[no-untyped-call]
    return loss


class _Contrast(torch.autograd.Function):
    """Value and gradient in one go; backward only scales what forward found."""

    @staticmethod
    def forward(
        ctx: Any, w: Tensor, tau: float, negatives: Tensor | None, tile_bytes: int
    ) -> Tensor:
        if negatives is None:
            loss, gradient = _exact(w, tau, tile_bytes)
        else:
            loss, gradient = _sampled(w, tau, negatives, tile_bytes)
        ctx.save_for_backward(gradient)
        return loss

    @staticmethod
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor, None, None, None]:
        (gradient,) = ctx.saved_tensors
        return outer * gradient, None, None, None


def _tiles(rows: int, columns: int, w: Tensor, tile_bytes: int) -> list[slice]:
    """Ranges of rows whose similarities fit the budget and, in any case, a CPU's cache."""
    step = min(tile_bytes, CACHE_BYTES) // (columns * w.element_size())
    step = max(1, min(rows, step))
    return [slice(start, min(start + step, rows)) for start in range(0, rows, step)]


def _exact(w: Tensor, tau: float, tile_bytes: int) -> tuple[Tensor, Tensor]:
    """Loss over all nodes and its gradient by the unit rows w, `(2N, D)`."""
    rows = w.shape[0]
    other = w.roll(rows // 2, 0)  # each row's partner in the other view
    tiles = _tiles(rows, rows, w, tile_bytes)
    keep = rows * (rows + tiles[0].stop) // 2 * w.element_size() <= tile_bytes
    kept: list[Tensor] = []

    def similarities(tile: slice) -> Tensor:
        right = w[tile.start :]  # from the diagonal on
        s = aligned_rows(tile.stop - tile.start, len(right), w)
        torch.mm(w[tile] * (LOG2_E / tau), right.T, out=s).exp2_()
        s.diagonal().zero_()
        return s

    total = w.new_zeros(rows)
    for tile in tiles:
        s = similarities(tile)
        total[tile] += s.sum(1)
        total[tile.stop :] += s[:, tile.stop - tile.start :].sum(0)
        if keep:
            kept.append(s)
    loss = total.log().mean() - (w * other).sum(1).mean() / tau
    factor = 1 / (rows * tau)
    share = factor / total
    gradient = other.mul_(-2 * factor)
    for number, tile in enumerate(tiles):
        s = kept[number] if keep else similarities(tile)
        s.mul_(share[tile, None] + share[tile.start :])
        gradient[tile].addmm_(s, w[tile.start :])
        gradient[tile.stop :].addmm_(s[:, tile.stop - tile.start :].T, w[tile])
    return loss, gradient


def _sampled(w: Tensor, tau: float, negatives: Tensor, tile_bytes: int) -> tuple[Tensor, Tensor]:
    """The same with a sample of nodes as negatives, in a single sweep."""
    rows, m = w.shape[0], len(negatives)
    N = rows // 2
    where = torch.cat([negatives, negatives + N])
    columns = w[where]  # (2m, D)
    own = torch.full((N,), -1)  # place of a node among the sampled ones, or -1
    own[negatives] = torch.arange(m)
    own = own.repeat(2)
    other = w.roll(N, 0)
    positive = (w * other).sum(1) / tau
    factor = 1 / (rows * tau)
    loss = w.new_zeros(())
    gradient, of_columns = torch.empty_like(w), torch.zeros_like(columns)
    of_positive = torch.empty_like(positive)
    for tile in _tiles(rows, 2 * m, w, tile_bytes):
        s = aligned_rows(tile.stop - tile.start, 2 * m, w)
        torch.mm(w[tile] * (LOG2_E / tau), columns.T, out=s).exp2_()
        mine = (own[tile] >= 0).nonzero().squeeze(1)
        place = own[tile][mine]
        s[mine, place] = 0  # a node is not its own negative, in neither view
        s[mine, place + m] = 0
        scale = (N - 1) / (m - (own[tile] >= 0).to(w.dtype)).clamp_min(1)
        pair = positive[tile].exp()
        total = pair + scale * s.sum(1)
        loss += (total.log() - positive[tile]).sum()
        share = (factor * scale / total)[:, None]
        torch.mm(s, columns, out=gradient[tile]).mul_(share)
        of_columns.addmm_(s.T, share * w[tile])
        of_positive[tile] = factor * (pair / total - 1)
    gradient.addcmul_(of_positive[:, None], other)
    gradient += (of_positive[:, None] * w).roll(N, 0)
    gradient.index_add_(0, where, of_columns)
    return loss / rows, gradient


PRESETS: dict[str, dict[str, Any]] = {
    "citeseer": {"dim": 256, "projection_dim": 256, "activation": "prelu",
                 "drop2": 0.0, "mask2": 0.2, "tau": 0.9, "lr": 0.001},
    "pubmed": {"dim": 256, "projection_dim": 256, "drop1": 0.4, "drop2": 0.1,
               "mask1": 0.0, "mask2": 0.2, "tau": 0.7, "lr": 0.001, "epochs": 1500},
    "coauthor-cs": {"dim": 256, "projection_dim": 256, "activation": "prelu",
                    "drop1": 0.3, "drop2": 0.2, "epochs": 1000},
}  # fmt: skip

METHOD = Method(
    name="grace",
    fit=fit,
    Config=GRACEConfig,
    kind="representation",
    citation="Zhu, Xu, Yu, Liu, Wu & Wang, Deep Graph Contrastive Representation Learning, 2020",
    cost="time O(N² D) exact or O(N m D) with m sampled negatives; memory O(E + N D)",
    source="The authors' code",
    ours={
        "num_negatives": "all nodes, as the authors, up to 4,000 nodes, then a new sample of 512 "
        "in each epoch",
    },
    presets=PRESETS,
    reduced={
        name: {"num_negatives": 512, "epochs": 300}
        for name in ("pubmed", "coauthor-cs", "ogbn-arxiv")
    },
    space={
        "dim": (128, 256),
        "tau": (0.2, 0.4, 0.9),
        "drop2": (0.0, 0.2, 0.4),
        "mask2": (0.2, 0.4),
        "lr": (5e-4, 1e-3),
    },
    deviations=(
        "Both directions of an edge are dropped together.",
        "The loss and its gradient are computed in tiles of rows, without storing N x N "
        "numbers; the value is the same.",
        "On graphs with more than 4,000 nodes, negatives are sampled, the same nodes for every "
        "row; `num_negatives=none` uses all nodes.",
    ),
)
