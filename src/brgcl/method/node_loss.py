"""Node-wise contrast: a node in one view against all nodes in the other.

With unit rows u_i of H1 and v_i of H2, cosines c_ij = u_i · v_j and similarities
s_ij = |c_ij| ("abs", the paper's) or exp(c_ij / tau) ("exp"),

    loss = mean_i  -log  s_ii / (sum_j s_ij)

in which the paper's denominator holds s_ii once more (`positive_twice`). The "exp" form is
averaged over both directions, view 1 -> 2 and view 2 -> 1.

Nothing here holds an N x N matrix. The loss and its gradient are computed together, a tile of
rows at a time:

    form   sweeps  products per tile                              why
    abs    1       C = U V', then sign(C) V and sign(C)' U        row sums are known tile by tile
    exp    2       C = U V' | C = U V' again, then G V and G' U   column sums need all tiles
    exp    2       C = U V' | G V and G' U                        all tiles fit `tile_bytes`

With `negatives`, the columns are a sample of m nodes, the same for every row, and an epoch costs
O(N m D): the denominator is s_ii plus (N - 1)/m' times the sum over the m' sampled columns other
than i. A sample of all nodes is the exact loss.
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

SAFE_EXPONENT = 40.0  # exp(±40) and sums of millions of such terms are finite in float32
TINY = 1e-12
CACHE_BYTES = 1 << 24  # a tile of this size is still in the cache when it is used again


@dataclass(frozen=True)
class _Form:
    objective: Literal["exp", "abs"]
    tau: float
    positive_twice: bool
    tile_bytes: int


def node_loss(
    h1: Tensor,
    h2: Tensor,
    *,
    objective: Literal["exp", "abs"] = "exp",
    tau: float = 0.4,
    positive_twice: bool = False,
    negatives: Tensor | None = None,
    tile_bytes: int = 1 << 28,
) -> Tensor:
    """Contrast each node's two views with all other nodes, Eq. (1).

    Args:
        h1: Representations of the nodes in view 1, `(N, D)`.
        h2: Representations of the same nodes in view 2, `(N, D)`.
        objective: "exp", the InfoNCE of the literature, or "abs", the formula as printed.
        tau: Temperature of the "exp" form.
        positive_twice: Whether the denominator counts s_ii a second time, as printed.
        negatives: Distinct sampled columns, `(m,)`, or None for all nodes.
        tile_bytes: Memory that similarities may take. Where all of them fit, the second sweep of
            the "exp" form need not compute them again.

    Returns:
        The loss, a mean over nodes.

    Deviation: a mean where the paper has a sum, and two forms of s (see docs/deviations.md).
    """
    u, v = F.normalize(h1, dim=1), F.normalize(h2, dim=1)
    negatives = None if negatives is None else negatives.to(u.device)
    form = _Form(objective, tau, positive_twice, tile_bytes)
    loss: Tensor = _NodeLoss.apply(u, v, form, negatives)  # type: ignore[no-untyped-call]
    return loss


def decorrelation_loss(h1: Tensor, h2: Tensor, *, weight: float = 1e-3) -> Tensor:
    """Align the two views while decorrelating the dimensions (CCA-SSG, Zhang et al. 2021).

    With column-standardised codes A and B, loss = -tr(A'B)/N + weight · (|A'A/N - I|² +
    |B'B/N - I|²), divided by D so that its scale does not follow the width. Linear in N.

    Args:
        h1: Representations of the nodes in view 1, `(N, D)`.
        h2: Representations of the same nodes in view 2, `(N, D)`.
        weight: Weight of the decorrelation terms.
    """
    N, D = h1.shape
    a, b = _standardize(h1), _standardize(h2)
    identity = torch.eye(D, dtype=h1.dtype, device=h1.device)
    redundancy = sum(((z.T @ z / N - identity) ** 2).sum() for z in (a, b))
    return (weight * redundancy - (a * b).sum() / N) / D


def sample_negatives(
    num_nodes: int, count: int | None, generator: torch.Generator
) -> Tensor | None:
    """Draw distinct columns for the sampled loss, or None when all nodes are wanted."""
    if count is None or count >= num_nodes:
        return None
    return torch.randperm(num_nodes, generator=generator)[:count]


def _standardize(h: Tensor) -> Tensor:
    centred = h - h.mean(0)
    return centred / centred.std(0).clamp_min(1e-6)


class _NodeLoss(torch.autograd.Function):
    """Value and gradient of the node loss in one go; backward only scales what forward found."""

    @staticmethod
    def forward(ctx: Any, u: Tensor, v: Tensor, form: _Form, negatives: Tensor | None) -> Tensor:
        wanted = ctx.needs_input_grad[0] or ctx.needs_input_grad[1]
        if form.objective == "abs":
            loss, du, dv = _one_way(u, v, form, negatives, wanted)
        elif negatives is not None or not _moderate(form):
            loss, du, dv = _one_way(u, v, form, negatives, wanted)
            back, dv2, du2 = _one_way(v, u, form, negatives, wanted)
            loss = (loss + back) / 2
            du, dv = du.add_(du2).div_(2), dv.add_(dv2).div_(2)
        else:
            loss, du, dv = _both_ways(u, v, form, wanted)
        ctx.save_for_backward(du, dv)
        return loss

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        du, dv = ctx.saved_tensors
        return gradient * du, gradient * dv, None, None


def _moderate(form: _Form) -> bool:
    return 1 / form.tau <= SAFE_EXPONENT


def _tiles(rows: int, columns: int, form: _Form, element_size: int) -> list[slice]:
    """Ranges of rows whose similarities fit the budget and, in any case, a CPU's cache."""
    step = min(form.tile_bytes, CACHE_BYTES) // (columns * element_size)
    step = max(1, min(rows, step))
    return [slice(start, min(start + step, rows)) for start in range(0, rows, step)]


def _both_ways(u: Tensor, v: Tensor, form: _Form, wanted: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Exact "exp" loss over both directions, without a shift: 1/tau is moderate."""
    N = u.shape[0]
    scaled = u / form.tau
    positive = (scaled * v).sum(1)  # (N,) log of s_ii
    extra = positive.exp() if form.positive_twice else torch.zeros_like(positive)
    row_sum, column_sum = extra.clone(), extra.clone()
    tiles = _tiles(N, N, form, u.element_size())
    keep = wanted and N * N * u.element_size() <= form.tile_bytes
    kept: list[Tensor] = []
    scratch = u.new_empty(2, tiles[0].stop, N)  # similarities of a tile, and their weights
    for tile in tiles:
        rows = tile.stop - tile.start
        s = torch.mm(scaled[tile], v.T, out=None if keep else scratch[0, :rows]).exp_()
        row_sum[tile] += s.sum(1)
        column_sum += s.sum(0)
        if keep:
            kept.append(s)
    loss = (row_sum.log() + column_sum.log()).mean() / 2 - positive.mean()
    if not wanted:
        return loss, torch.empty(0), torch.empty(0)
    by_row, by_column = 1 / row_sum, 1 / column_sum
    du, dv = torch.empty_like(u), torch.zeros_like(v)
    for number, tile in enumerate(tiles):
        rows = tile.stop - tile.start
        s = kept[number] if keep else torch.mm(scaled[tile], v.T, out=scratch[0, :rows]).exp_()
        s.mul_(torch.add(by_row[tile, None], by_column[None, :], out=scratch[1, :rows]))
        torch.mm(s, v, out=du[tile])
        dv.addmm_(s.T, u[tile])
    diagonal = (extra * (by_row + by_column) - 2)[:, None]
    du.addcmul_(diagonal, v)
    dv.addcmul_(diagonal, u)
    factor = 1 / (2 * N * form.tau)
    return loss, du.mul_(factor), dv.mul_(factor)


def _one_way(
    u: Tensor, v: Tensor, form: _Form, negatives: Tensor | None, wanted: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Loss of view 1 -> 2 in a single sweep; every row knows its own sum.

    Any tau: the "exp" form is shifted by the largest cosine of a row where 1/tau is not moderate.
    """
    N = u.shape[0]
    columns = v if negatives is None else v[negatives]  # (m, D)
    m = columns.shape[0]
    own = torch.arange(N, device=u.device)  # position of i among the columns, or -1
    if negatives is not None:
        own = torch.full((N,), -1, device=u.device)
        own[negatives] = torch.arange(m, device=u.device)
    absolute = form.objective == "abs"
    scaled = u if absolute else u / form.tau
    positive = (scaled * v).sum(1)  # (N,)
    loss = torch.zeros((), dtype=u.dtype, device=u.device)
    du, dcolumns = torch.empty_like(u), torch.zeros_like(columns)
    diagonal = torch.empty_like(positive)  # derivative by the positive's own cosine
    times = 2 if form.positive_twice else 1
    for tile in _tiles(N, m, form, u.element_size()):
        c = torch.mm(scaled[tile], columns.T)  # (tile, m)
        at = own[tile]
        mine = (at >= 0).nonzero().squeeze(1)
        c[mine, at[mine]] = 0 if absolute else -torch.inf  # the positive is counted apart
        scale = (N - 1) / (m - (at >= 0).to(u.dtype)).clamp_min(1)
        log_positive = positive[tile]
        if absolute:
            others = torch.linalg.vector_norm(c, ord=1, dim=1)
            c.sign_()
            log_positive = log_positive.abs().clamp_min(TINY).log()
        else:
            if not _moderate(form):
                shift = torch.maximum(c.max(1).values, log_positive)
                c.sub_(shift[:, None])
                log_positive = log_positive - shift
            others = c.exp_().sum(1)
        s_ii = log_positive.exp()
        total = times * s_ii + scale * others
        loss += (total.log() - log_positive).sum()
        if not wanted:
            continue
        if absolute:
            diagonal[tile] = positive[tile].sign() * (times / total - 1 / s_ii)
        else:
            diagonal[tile] = times * s_ii / total - 1
        c.mul_((scale / total)[:, None])
        torch.mm(c, columns, out=du[tile])
        dcolumns.addmm_(c.T, u[tile])
    if not wanted:
        return loss / N, torch.empty(0), torch.empty(0)
    du.addcmul_(diagonal[:, None], v)
    dv = diagonal[:, None] * u
    if negatives is None:
        dv += dcolumns
    else:
        dv.index_add_(0, negatives, dcolumns)
    factor = 1 / N if absolute else 1 / (N * form.tau)
    return loss / N, du.mul_(factor), dv.mul_(factor)
