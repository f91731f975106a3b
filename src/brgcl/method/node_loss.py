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

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from brgcl.errors import InputError

SAFE_EXPONENT = 40.0  # exp(±40) and sums of millions of such terms are finite in float32
TINY = 1e-12
LEAST_DEVIATION = 1e-6  # of a column; one that varies less is taken for constant
ROWS_AT_ONCE = 4096
MOST_EXACT = 100_000  # nodes; an epoch over all pairs of these takes minutes
CACHE_BYTES = 1 << 24  # a tile of this size is still in the cache when it is used again
ALIGNED = 16  # entries; MKL's product into rows that begin elsewhere can take twice as long
LOG2_E = math.log2(math.e)  # exp(x) is 2^(x LOG2_E), and torch's exp2 is faster than its exp


@dataclass(frozen=True)
class _Form:
    objective: Literal["exp", "abs"]
    tau: float
    positive_twice: bool
    tile_bytes: int

    @property
    def times(self) -> int:
        """How often the denominator counts the positive pair."""
        return 2 if self.positive_twice else 1


def node_loss(
    h1: Tensor,
    h2: Tensor,
    *,
    objective: Literal["exp", "abs"] = "exp",
    tau: float = 0.4,
    positive_twice: bool = False,
    negatives: Tensor | None = None,
    tile_bytes: int = 1 << 28,
    unit: bool = False,
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
        unit: Whether rows have unit length already, which spares a copy of them.

    Returns:
        The loss, a mean over nodes.

    Deviation: a mean where the paper has a sum, and two forms of s (see docs/deviations.md).
    """
    form = _Form(objective, tau, positive_twice, tile_bytes)
    negatives = None if negatives is None else negatives.to(h1.device)
    u, v = (h1, h2) if unit else (unit_rows(h1.clone()), unit_rows(h2.clone()))
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
    loss: Tensor = _Decorrelation.apply(h1, h2, weight)  # type: ignore[no-untyped-call]
    return loss


def check_all_pairs(num_nodes: int) -> None:
    """Refuse to contrast all pairs of nodes where a training of that would take days."""
    if num_nodes > MOST_EXACT:
        raise InputError(
            f"num_negatives=none contrasts all pairs of {num_nodes:,} nodes in every epoch, which "
            f"would take days; set num_negatives=256, or num_negatives={num_nodes} if you mean it"
        )


def sample_negatives(
    num_nodes: int, count: int | None, generator: torch.Generator
) -> Tensor | None:
    """Draw distinct columns for the sampled loss, or None when all nodes are wanted."""
    if count is None or count >= num_nodes:
        return None
    return torch.randperm(num_nodes, generator=generator)[:count]


class _Decorrelation(torch.autograd.Function):
    """Value and gradient a block of rows at a time; standardised codes A and B are never stored.

    With E = A'A/N - I, the loss times D has the gradient A (4 weight E) / N - B/N by A. Passing
    it through the standardisation takes from each column its part along A, and scales.
    """

    @staticmethod
    def forward(ctx: Any, h1: Tensor, h2: Tensor, weight: float) -> Tensor:
        (N, D), codes = h1.shape, (h1, h2)
        step = max(1, CACHE_BYTES // (D * h1.element_size()))
        blocks = [slice(start, start + step) for start in range(0, N, step)]
        means, deviations = [h.mean(0) for h in codes], [h.std(0) for h in codes]
        scales = [1 / deviation.clamp_min(LEAST_DEVIATION) for deviation in deviations]

        def standardized(block: slice) -> list[Tensor]:
            columns = zip(codes, means, scales, strict=True)
            return [(h[block] - mean).mul_(scale) for h, mean, scale in columns]

        shared = h1.new_zeros(D)  # diagonal of A'B/N
        grams = [h1.new_zeros(D, D) for _ in codes]  # A'A/N and B'B/N
        for block in blocks:
            a, b = standardized(block)
            shared += (a * b).sum(0) / N
            for gram, z in zip(grams, (a, b), strict=True):
                gram.addmm_(z.T, z, alpha=1 / N)
        identity = torch.eye(D, dtype=h1.dtype, device=h1.device)
        excess = [gram - identity for gram in grams]
        loss = (weight * sum(e.square().sum() for e in excess) - shared.sum()) / D
        if not (ctx.needs_input_grad[0] or ctx.needs_input_grad[1]):
            return loss
        along = [
            (4 * weight * (gram * e).sum(0) - shared) / (N - 1) * (deviation > LEAST_DEVIATION)
            for gram, e, deviation in zip(grams, excess, deviations, strict=True)
        ]
        gradients = [torch.empty_like(h) for h in codes]
        for block in blocks:
            a, b = standardized(block)
            for view, (z, other) in enumerate(((a, b), (b, a))):
                out = torch.mm(z, excess[view], out=gradients[view][block]).mul_(4 * weight / N)
                out.sub_(other, alpha=1 / N).addcmul_(z, along[view], value=-1)
                out.mul_(scales[view] / D)
        ctx.save_for_backward(*gradients)
        return loss

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        dh1, dh2 = ctx.saved_tensors
        return gradient * dh1, gradient * dh2, None


class _NodeLoss(torch.autograd.Function):
    """Value and gradient of the node loss in one go; backward only scales what forward found."""

    @staticmethod
    def forward(ctx: Any, u: Tensor, v: Tensor, form: _Form, negatives: Tensor | None) -> Tensor:
        wanted = ctx.needs_input_grad[0] or ctx.needs_input_grad[1]
        du, dv = (torch.zeros_like(u), torch.zeros_like(v)) if wanted else (None, None)
        if form.objective == "abs":
            loss = _one_way(u, v, du, dv, form, negatives, weight=1)
        elif negatives is not None or not _moderate(form):
            loss = _one_way(u, v, du, dv, form, negatives, weight=0.5)
            loss += _one_way(v, u, dv, du, form, negatives, weight=0.5)
        else:
            loss = _both_ways(u, v, du, dv, form)
        if du is not None and dv is not None:
            ctx.save_for_backward(du, dv)
        return loss

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        du, dv = ctx.saved_tensors
        if gradient == 1:  # the usual weight: nothing to copy
            return du, dv, None, None
        return gradient * du, gradient * dv, None, None


def unit_rows(h: Tensor) -> Tensor:
    """Scale each row to unit length, in place; a row of zeros stays, and gets no gradient."""
    u: Tensor = _UnitRows.apply(h)  # type: ignore[no-untyped-call]
    return u


class _UnitRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor) -> Tensor:
        length = _lengths(h)
        ctx.mark_dirty(h)
        h.div_(length.clamp_min(TINY))
        ctx.save_for_backward(h, length)
        return h

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return _to_rows(gradient.clone(), *ctx.saved_tensors)


def _lengths(h: Tensor) -> Tensor:
    lengths: Tensor = torch.linalg.vector_norm(h, dim=1, keepdim=True)
    return lengths  # (N, 1)


def _to_rows(du: Tensor, u: Tensor, length: Tensor) -> Tensor:
    """Turn the gradient by unit rows into that by the rows, in place; a row of zeros gets none."""
    du.addcmul_(_row_products(du, u)[:, None], u, value=-1)
    return du.mul_(torch.where(length > TINY, 1 / length, 0))


def _row_products(a: Tensor, b: Tensor) -> Tensor:
    """Inner product of each row of a with that of b, `(N,)`, without their product in memory."""
    parts = zip(torch.split(a, ROWS_AT_ONCE), torch.split(b, ROWS_AT_ONCE), strict=True)
    return torch.cat([(x * y).sum(1) for x, y in parts])


def _moderate(form: _Form) -> bool:
    return 1 / form.tau <= SAFE_EXPONENT


def _tiles(rows: int, columns: int, form: _Form, element_size: int) -> list[slice]:
    """Ranges of rows whose similarities fit the budget and, in any case, a CPU's cache."""
    step = min(form.tile_bytes, CACHE_BYTES) // (columns * element_size)
    step = max(1, min(rows, step))
    return [slice(start, min(start + step, rows)) for start in range(0, rows, step)]


def aligned_rows(rows: int, columns: int, like: Tensor) -> Tensor:
    """Room for a tile of products, `(rows, columns)`, not filled, with rows at aligned places."""
    stride = -(-columns // ALIGNED) * ALIGNED
    return like.new_empty(rows, stride)[:, :columns]


def _both_ways(u: Tensor, v: Tensor, du: Tensor | None, dv: Tensor | None, form: _Form) -> Tensor:
    """Exact "exp" loss over both directions, without a shift: 1/tau is moderate.

    The gradients by u and v are added to du and dv.
    """
    N = u.shape[0]
    positive = _row_products(u, v) / form.tau  # (N,) log of s_ii
    extra = positive.exp() if form.positive_twice else torch.zeros_like(positive)
    row_sum, column_sum = extra.clone(), extra.clone()
    tiles = _tiles(N, N, form, u.element_size())
    keep = du is not None and N * N * u.element_size() <= form.tile_bytes
    kept: list[Tensor] = []
    most = tiles[0].stop
    scratch = [aligned_rows(most, N, u) for _ in range(2)]  # a tile's similarities, their weights

    def similarities(tile: slice, out: Tensor) -> Tensor:
        return torch.mm(u[tile] * (LOG2_E / form.tau), v.T, out=out).exp2_()

    for tile in tiles:
        rows = tile.stop - tile.start
        s = similarities(tile, aligned_rows(rows, N, u) if keep else scratch[0][:rows])
        row_sum[tile] += s.sum(1)
        column_sum += s.sum(0)
        if keep:
            kept.append(s)
    loss = (row_sum.log() + column_sum.log()).mean() / 2 - positive.mean()
    if du is None or dv is None:
        return loss
    factor = 1 / (2 * N * form.tau)
    by_row, by_column = factor / row_sum, factor / column_sum
    for number, tile in enumerate(tiles):
        rows = tile.stop - tile.start
        s = kept[number] if keep else similarities(tile, scratch[0][:rows])
        s.mul_(torch.add(by_row[tile, None], by_column[None, :], out=scratch[1][:rows]))
        du[tile].addmm_(s, v)
        dv.addmm_(s.T, u[tile])
    diagonal = (extra * (by_row + by_column) - 2 * factor)[:, None]
    du.addcmul_(diagonal, v)
    dv.addcmul_(diagonal, u)
    return loss


class _Terms(NamedTuple):
    """What a tile of n rows adds to the loss and its gradient."""

    log_positive: Tensor  # (n,) log of s_ii
    total: Tensor  # (n,) the denominator; for "exp" shifted as s_ii is
    by_positive: Tensor  # (n,) derivative of the loss by the positive's own cosine
    into_rows: Tensor | None  # (n, D) slopes times columns, where a gradient is wanted


def _exp_terms(
    c: Tensor, positive: Tensor, scale: Tensor, columns: Tensor, form: _Form, gradient: bool
) -> _Terms:
    """Turn cosines over tau, in base 2, into s = exp(c / tau), its own slope, in place.

    They are shifted by the largest of a row where 1/tau is not moderate.
    """
    if not _moderate(form):
        shift = torch.maximum(c.max(1).values, positive * LOG2_E)
        c.sub_(shift[:, None])
        positive = positive - shift / LOG2_E
    others, s_ii = c.exp2_().sum(1), positive.exp()
    total = form.times * s_ii + scale * others
    by_positive = form.times * s_ii / total - 1
    return _Terms(positive, total, by_positive, c @ columns if gradient else None)


def _abs_terms(
    c: Tensor, u: Tensor, positive: Tensor, scale: Tensor, columns: Tensor, form: _Form,
    gradient: bool,
) -> _Terms:  # fmt: skip
    """Turn cosines into the slopes of s = |c|, their signs, in place, where gradients are wanted.

    Then |c_ij| summed over j is u_i times the sum of sign(c_ij) v_j.
    """
    into_rows = c.sign_() @ columns if gradient else None
    if into_rows is None:
        others = torch.linalg.vector_norm(c, ord=1, dim=1)
    else:
        others = (u * into_rows).sum(1)
    log_positive = positive.abs().clamp_min(TINY).log()
    s_ii = log_positive.exp()
    total = form.times * s_ii + scale * others
    by_positive = positive.sign() * (form.times / total - 1 / s_ii)
    return _Terms(log_positive, total, by_positive, into_rows)


def _one_way(
    u: Tensor,
    v: Tensor,
    du: Tensor | None,
    dv: Tensor | None,
    form: _Form,
    negatives: Tensor | None,
    *,
    weight: float,
) -> Tensor:
    """Loss of view 1 -> 2 times a weight, in a single sweep; every row knows its own sum.

    Any tau. The gradients by u and v are added to du and dv.
    """
    N = u.shape[0]
    columns = v if negatives is None else v[negatives]  # (m, D)
    m = columns.shape[0]
    own = torch.arange(N, device=u.device)  # position of i among the columns, or -1
    if negatives is not None:
        own = torch.full((N,), -1, device=u.device)
        own[negatives] = torch.arange(m, device=u.device)
    absolute = form.objective == "abs"
    tau = 1.0 if absolute else form.tau
    factor = weight / (N * tau)
    positive = _row_products(u, v) / tau  # (N,)
    loss = torch.zeros((), dtype=u.dtype, device=u.device)
    dcolumns = dv if negatives is None else torch.zeros_like(columns)
    diagonal = torch.empty_like(positive)  # derivative by the positive's own cosine
    tiles = _tiles(N, m, form, u.element_size())
    scratch = aligned_rows(tiles[0].stop, m, u)
    for tile in tiles:
        at = own[tile]
        mine = (at >= 0).nonzero().squeeze(1)
        scale = (N - 1) / (m - (at >= 0).to(u.dtype)).clamp_min(1)
        rows = u[tile] if absolute else u[tile] * (LOG2_E / tau)
        c = torch.mm(rows, columns.T, out=scratch[: tile.stop - tile.start])  # (tile, m)
        c[mine, at[mine]] = 0 if absolute else -torch.inf  # the positive is counted apart
        if absolute:
            terms = _abs_terms(c, rows, positive[tile], scale, columns, form, du is not None)
        else:
            terms = _exp_terms(c, positive[tile], scale, columns, form, du is not None)
        loss += (terms.total.log() - terms.log_positive).sum()
        if du is None or dcolumns is None or terms.into_rows is None:
            continue
        diagonal[tile] = terms.by_positive
        # the weight of a row scales what goes in and what comes out, not the whole tile
        by_row = (factor * scale / terms.total)[:, None]
        du[tile].addcmul_(by_row, terms.into_rows)
        dcolumns.addmm_(c.T, by_row * u[tile])
    if du is not None and dv is not None and dcolumns is not None:
        diagonal = (factor * diagonal)[:, None]
        du.addcmul_(diagonal, v)
        dv.addcmul_(diagonal, u)
        if negatives is not None:
            dv.index_add_(0, negatives, dcolumns)
    return weight * loss / N
