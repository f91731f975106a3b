"""GALA: an autoencoder of attributes that smooths over neighbours and sharpens back.

    H = ReLU(A X W0), Z = A H W1                  A = D^-1/2 (A + I) D^-1/2
    G = ReLU(S Z W2), Y = S G W3                  S = D^-1/2 (2 I - A) D^-1/2, D = degrees + 2
    loss = |X - Y|² / (2 N)

S moves a node away from its neighbours as A moves it towards them; its eigenvalues are at most 1 in
absolute value, so that the decoder cannot blow up. The middle Z are the representations.

Y is never made. With P = S G, the square is expanded and what is dense is folded to h x h:

    |X - P W|² = <P'P, W W'> - 2 <P, X W'> + |X|²

An autoencoder of so many weights learns rows by heart. Therefore a tenth of the attributes is taken
away before training, and the codes kept are those whose Y tells best what they were.
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Generator, Tensor
from torch_geometric.data import Data

from brgcl.baselines.shared.descent import descend
from brgcl.baselines.shared.inputs import check_memory
from brgcl.config import Count, Positive, Scaling, Settings, Share, setting
from brgcl.contract import Fitted, Hook, Labels, Method
from brgcl.method.encoder import Encoder
from brgcl.method.graph import Adjacency
from brgcl.method.inputs import prepare
from brgcl.method.sparse import Matrix, csr_tensor, is_sparse

WIDE_UP_TO = 5000  # nodes
EVERY = 10  # epochs between two looks at what is held out
MOST_HELD_OUT = 20_000  # attributes


@dataclass(frozen=True)
class GALAConfig(Settings):
    """Settings of GALA."""

    hidden: Count | Literal["auto"] = setting(
        "auto", "Units of the outer hidden layers: auto = 1,600 up to 5,000 nodes, then 256."
    )
    dim: Count | Literal["auto"] = setting(
        "auto", "Dimension of the representations: auto = 400 up to 5,000 nodes, then 64."
    )
    lr: Positive = setting(1e-4, "Learning rate of Adam.")
    epochs: Count = setting(1000, "Training epochs at most.")
    held_out: Share = setting(
        0.1, "Share of the attributes that chooses the epoch; 0 = train for all epochs."
    )
    patience: Count = setting(
        50, "Stop after so many epochs in which the attributes held out were told no better."
    )
    attributes: Literal["auto"] | Scaling = setting(
        "none", "Scaling of attributes: none = as given; auto = as in brgcl."
    )


def widths(config: GALAConfig, num_nodes: int) -> tuple[int, int]:
    """Resolve the setting "auto" for the hidden layers and the code."""
    wide = num_nodes <= WIDE_UP_TO
    hidden = (1600 if wide else 256) if config.hidden == "auto" else config.hidden
    return hidden, (400 if wide else 64) if config.dim == "auto" else config.dim


def sharpening(adjacency: Adjacency) -> Matrix:
    """D^-1/2 (2 I - A) D^-1/2 with D = degrees + 2, `(N, N)`, symmetric and sparse."""
    row, col = adjacency.row, adjacency.col
    weight = torch.ones(len(row)) if adjacency.weight is None else adjacency.weight[adjacency.edge]
    N = adjacency.num_nodes
    scale = (torch.zeros(N).index_add_(0, row, weight) + 1).rsqrt()  # a loop of 1 is in the sum
    value = torch.where(row == col, 2.0, -weight) * scale[row] * scale[col]
    return Matrix(csr_tensor(adjacency.crow, col, value, (N, N)), symmetric=True)


def attribute_loss(p: Tensor, weight: Tensor, x: Matrix) -> Tensor:
    """Squared error |X - P W|² / (2 N), without P W, for P `(N, h)`, W `(h, F)`, X `(N, F)`."""
    error: Tensor = _SquaredError.apply(p, weight, x)  # type: ignore[no-untyped-call]
    return error / (2 * p.shape[0])


class _SquaredError(torch.autograd.Function):
    """|X - P W|² with its gradients 2 (P'P W - P'X) and 2 (P W W' - X W') in one go.

    O((N + F) h² + nnz(X) h), two thirds of what autograd would take for the same formula.
    """

    @staticmethod
    def forward(ctx: Any, p: Tensor, weight: Tensor, x: Matrix) -> Tensor:
        values = x.data.values() if is_sparse(x.data) else x.data
        gram = (p.T @ p) @ weight  # (h, F)
        cross = x.transposed_product(p).T  # (h, F)
        error = ((gram - 2 * cross) * weight).sum() + values.square().sum()
        ctx.save_for_backward((p @ (weight @ weight.T)).sub_(x.data @ weight.T), gram.sub_(cross))
        return error

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        dp, dweight = ctx.saved_tensors
        return 2 * gradient * dp, 2 * gradient * dweight, None


@dataclass(frozen=True)
class HeldOut:
    """Attributes taken away, and as many zeros: their nodes, columns and values, `(n,)` each."""

    row: Tensor
    col: Tensor
    value: Tensor

    def told(self, p: Tensor, weight: Tensor) -> float:
        """Correlation of the values with P W at these places, whose other entries are not made."""
        found = (p[self.row] * weight.T[self.col]).sum(1)
        pair = torch.corrcoef(torch.stack([found, self.value]))[0, 1]
        return float(pair.nan_to_num(-1.0))


def hold_out(x: Matrix, share: float, generator: Generator) -> tuple[Matrix, HeldOut | None]:
    """Take a share of the non-zero attributes away, `MOST_HELD_OUT` of them at most.

    Returns the rest, in the layout of `x`, and what was taken, if any.
    """
    if share == 0:
        return x, None
    sparse = x.data if is_sparse(x.data) else x.data.to_sparse_csr()
    crow, col, value = sparse.crow_indices(), sparse.col_indices(), sparse.values()
    row = torch.repeat_interleave(crow.diff())
    count = min(int(share * len(value)), MOST_HELD_OUT)
    if count < 2:
        return x, None  # too few to tell anything
    taken = torch.randperm(len(value), generator=generator)[:count]
    rest = value.clone()
    rest[taken] = 0
    N, num_features = x.shape
    known = row * num_features + col
    spots = torch.randint(N * num_features, (count,), generator=generator)
    spots = spots[~torch.isin(spots, known)]
    held = HeldOut(
        torch.cat([row[taken], spots // num_features]),
        torch.cat([col[taken], spots % num_features]),
        torch.cat([value[taken], torch.zeros(len(spots))]),
    )
    left = csr_tensor(crow, col, rest, (N, num_features))
    return Matrix(left if is_sparse(x.data) else left.to_dense()), held


def fit(
    graph: Data, labels: Labels, config: GALAConfig, generator: Generator, report: Hook = None
) -> Fitted:
    """Train the autoencoder and return its middle layer; `labels` are not read."""
    N, num_features = graph.x.shape
    hidden, dim = widths(config, N)
    check_memory("gala", 10 * 4.0 * N * hidden, "make it narrower (hidden, dim)")
    prepared = prepare(graph, config.attributes)
    x, smooth = prepared.x, prepared.adjacency.normalized
    sharpen = sharpening(prepared.adjacency)
    seen, held = hold_out(x, config.held_out, generator)
    inward = Encoder(num_features, hidden=hidden, dim=dim, generator=generator).weights
    outward = Encoder(dim, hidden=hidden, dim=num_features, generator=generator).weights
    weights: list[Tensor] = [*inward, *outward]
    W0, W1, W2, W3 = weights
    optimizer = torch.optim.Adam(weights, lr=config.lr)

    def encode(x: Matrix) -> Tensor:
        return smooth @ (F.relu(smooth @ (x @ W0)) @ W1)

    codes, best, since = torch.empty(0), -torch.inf, 0
    for epoch in range(1, config.epochs + 1):
        p = sharpen @ F.relu(sharpen @ (encode(seen) @ W2))
        if held is not None and epoch % EVERY == 0:
            with torch.no_grad():
                told = held.told(p, W3)
                since += EVERY
                if told > best:
                    codes, best, since = encode(x), told, 0
            if since >= config.patience:
                break
        loss = attribute_loss(p, W3, seen)
        descend(optimizer, loss)
        if report is not None:
            report(epoch, config.epochs, f"loss {loss.item():.3f}")
    with torch.no_grad():
        return Fitted(codes if len(codes) else encode(x))


METHOD = Method(
    name="gala",
    fit=fit,
    Config=GALAConfig,
    kind="representation",
    citation="Park, Lee, Chang, Lee & Choi, Symmetric Graph Convolutional Autoencoder for "
    "Unsupervised Graph Representation Learning, ICCV 2019",
    cost="time O(E h + (N + F) h²); memory O(E + N h)",
    source="A public implementation for cora",
    sources={
        "hidden": "1,600 from it, up to 5,000 nodes; then 256, ours",
        "dim": "400 from it, up to 5,000 nodes; then 64, ours",
        "lr": "The authors' code, which covers images only",
        "attributes": "It takes attributes as given",
    },
    ours={
        "held_out": "attributes held out choose the epoch, see below",
        "patience": "epochs without a gain on them",
    },
    deviations=(
        "The authors' code is for images. Widths and epochs for citation graphs are those of a "
        "public implementation, without its additional loss on edges.",
        "The loss has no term for affinities.",
        "Y is never stored: with P = S G, the squared error is <P'P, W W'> - 2 <P, X W'> + "
        "|X|², in which the attributes stay sparse.",
    ),
)
