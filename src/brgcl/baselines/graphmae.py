"""GraphMAE: hide the attributes of half of the nodes and rebuild them from their neighbours.

Masked nodes show a learned token instead of their attributes, a few of them another node's
attributes. An encoder of two attention layers (GAT) gives codes; a linear map follows, masked nodes
are set to zero again, and a third attention layer with one head, linear in its output, rebuilds the
attributes x^ of masked nodes from those of their neighbours that are left:

    loss = mean over masked i of (1 - cos(x_i, x^_i))^exponent
    attention:  a_ij = softmax over j of LeakyReLU(r_i + s_j),  out_i = sum_j a_ij h_j + b

x^ = Z W + b is never built: x · x^ is (X W')_i · z_i + x_i · b and |x^|² is the quadratic form of
W W' in z, so that sparse attributes stay sparse and a step costs N D² instead of N D F.
"""

import math
from dataclasses import dataclass
from typing import Annotated

import torch
import torch.nn.functional as F
from annotated_types import Ge, Interval
from torch import Generator, Tensor, nn
from torch_geometric.data import Data

from brgcl.baselines.shared.descent import descend
from brgcl.baselines.shared.inputs import check_memory, seeded
from brgcl.config import Count, Positive, Settings, Share, Weight, require, setting
from brgcl.contract import Fitted, Hook, Labels, Method
from brgcl.method.attention import Attention, Links, attend, links_of, mix
from brgcl.method.inputs import prepare
from brgcl.method.sparse import Matrix, is_sparse

TINY = 1e-12


@dataclass(frozen=True)
class GraphMAEConfig(Settings):
    """Settings of GraphMAE."""

    dim: Count = setting(512, "Units of both layers and dimension of the representations.")
    heads: Count = setting(4, "Attention heads, among which the units are divided.")
    mask: Annotated[float, Interval(gt=0, lt=1)] = 0.5
    """Share of nodes whose attributes are hidden."""
    replace: Share = setting(
        0.05, "Share of these that show another node's attributes instead of the token."
    )
    exponent: Annotated[float, Ge(1)] = setting(3.0, "Exponent of the error.")
    input_dropout: Share = setting(0.2, "Share dropped of the input of each layer.")
    attention_dropout: Share = setting(0.1, "Share of attention dropped.")
    lr: Positive = setting(1e-3, "Learning rate of Adam, which falls to 0 along a cosine.")
    weight_decay: Weight = setting(2e-4, "L2 penalty in Adam.")
    epochs: Count = setting(1500, "Training epochs.")

    def __post_init__(self) -> None:
        """Check every field, and what they need of each other."""
        super().__post_init__()
        require(self, "heads", self.dim % self.heads == 0, f"a divisor of dim = {self.dim}")


def fit(
    graph: Data, labels: Labels, config: GraphMAEConfig, generator: Generator, report: Hook = None
) -> Fitted:
    """Train the autoencoder and return the codes of its encoder; `labels` are not read."""
    advice = f"set dim below {config.dim}, e.g. 128"
    check_memory("graphmae", 4.0 * 16 * graph.num_nodes * config.dim, advice)
    prepared = prepare(graph)
    x, links = prepared.x, links_of(prepared.adjacency)
    with seeded(generator):
        model = Autoencoder(x.shape[1], config)
        weights = model.parameters()
        optimizer = torch.optim.Adam(weights, lr=config.lr, weight_decay=config.weight_decay)
        for epoch in range(config.epochs):
            rate = config.lr * (1 + math.cos(math.pi * epoch / config.epochs)) / 2
            optimizer.param_groups[0]["lr"] = rate
            loss = model(x, links, draw_mask(x.shape[0], config, generator), generator)
            descend(optimizer, loss)
            if report is not None:
                report(epoch + 1, config.epochs, f"loss {loss.item():.3f}")
    model.eval()
    with torch.no_grad():
        return Fitted(model.encode(x @ model.first.weight, links))


@dataclass(frozen=True)
class Mask:
    """Which nodes are hidden.

    Attributes:
        hidden: Masked nodes, `(n,)`.
        token: Whether a node shows the token, `(N,)`.
        shown: Node whose attributes a node shows, `(N,)`; itself, but for the replaced ones.
    """

    hidden: Tensor
    token: Tensor
    shown: Tensor


def draw_mask(num_nodes: int, config: GraphMAEConfig, generator: Generator) -> Mask:
    """Draw the nodes to hide, and of these the ones to replace; at least one node is hidden."""
    order = torch.randperm(num_nodes, generator=generator)
    hidden = order[: max(1, int(config.mask * num_nodes))]
    count = int(config.replace * len(hidden))
    token = torch.zeros(num_nodes, dtype=torch.bool)
    token[hidden[count:]] = True
    shown = torch.arange(num_nodes)
    shown[hidden[:count]] = torch.randperm(num_nodes, generator=generator)[:count]
    return Mask(hidden, token, shown)


class Autoencoder(nn.Module):
    """Encoder, decoder, token; `forward` is the loss."""

    def __init__(self, num_features: int, config: GraphMAEConfig) -> None:
        super().__init__()
        self.config = config
        units = config.dim // config.heads
        self.first = Attention(num_features, config.heads, units)
        self.second = Attention(config.dim, config.heads, units)
        self.activations = nn.ModuleList(nn.PReLU() for _ in range(2))
        self.token = nn.Parameter(torch.zeros(1, num_features))
        self.bridge = nn.Linear(config.dim, config.dim, bias=False)
        self.decoder = Attention(config.dim, 1, num_features)

    def forward(self, x: Matrix, links: Links, mask: Mask, generator: Generator) -> Tensor:
        """Mean error over the masked nodes."""
        p = self.config.input_dropout
        seen = x.dropout(p, generator) if p > 0 else x
        projected = seen @ self.first.weight
        if self.config.replace > 0:
            projected = projected.index_select(0, mask.shown)
        token = self.token @ self.first.weight
        codes = self.encode(torch.where(mask.token[:, None], token, projected), links)
        kept = torch.ones(x.shape[0], 1)
        kept[mask.hidden] = 0
        z = F.dropout(self.bridge(codes) * kept, p, self.training)
        z = self.neighbourhoods(z, links)[mask.hidden]
        cosine = cosines(x, z, self.decoder.weight, self.decoder.bias, mask.hidden)
        return (1 - cosine).pow(self.config.exponent).mean()

    def encode(self, projected: Tensor, links: Links) -> Tensor:
        """Codes from attributes times the first weight, `(N, D)`."""
        dropout = self.config.attention_dropout
        h = self.activations[0](self.first(projected, links, dropout))
        h = F.dropout(h, self.config.input_dropout, self.training)
        codes: Tensor = self.activations[1](self.second(h @ self.second.weight, links, dropout))
        return codes

    def neighbourhoods(self, z: Tensor, links: Links) -> Tensor:
        """What the decoder's attention makes of z, `(N, D)`, before its weight."""
        receive, send = (
            z @ (self.decoder.weight @ v.T) for v in (self.decoder.receive, self.decoder.send)
        )
        shares = attend(receive, send, links)
        shares = F.dropout(shares, self.config.attention_dropout, self.training)
        return mix(shares, z, links)


def cosines(x: Matrix, z: Tensor, weight: Tensor, bias: Tensor, nodes: Tensor) -> Tensor:
    """Cosine of the attributes of some nodes with z W + b, which is never built, `(n,)`.

    Args:
        x: Attributes, `(N, F)`.
        z: Rows for these nodes, `(n, D)`.
        weight: W, `(D, F)`.
        bias: b, `(F,)`.
        nodes: The nodes, `(n,)`. One without attributes, or with zeros rebuilt, gets a cosine of 0.
    """
    both = x @ torch.cat([weight.T, bias[:, None]], 1)  # (N, D + 1): X W' and X b
    both = both.index_select(0, nodes)
    product = (both[:, :-1] * z).sum(1) + both[:, -1]
    square = ((z @ (weight @ weight.T) + 2 * (weight @ bias)) * z).sum(1) + bias @ bias
    lengths = row_lengths(x)[nodes]
    known = (square > TINY) & (lengths > TINY)
    scale = torch.where(known, lengths * square.clamp_min(TINY).sqrt(), 1.0)
    return torch.where(known, product / scale, 0.0)


def row_lengths(x: Matrix) -> Tensor:
    """Euclidean length of each row, `(N,)`."""
    if not is_sparse(x.data):
        return x.data.square().sum(1).sqrt()
    row = torch.repeat_interleave(x.data.crow_indices().diff())
    squares = x.data.values().square()
    return squares.new_zeros(x.shape[0]).index_add_(0, row, squares).sqrt()


METHOD = Method(
    name="graphmae",
    fit=fit,
    Config=GraphMAEConfig,
    kind="representation",
    citation="Hou, Liu, Cen, Dong, Yang, Wang & Tang, GraphMAE: Self-Supervised Masked Graph "
    "Autoencoders, KDD 2022",
    cost="time O(E D + N D²); memory O(E + N D)",
    source="The authors' code",
    presets={
        "citeseer": {
            "heads": 2,
            "replace": 0.1,
            "exponent": 1.0,
            "weight_decay": 2e-5,
            "epochs": 300,
        },
        "pubmed": {"dim": 1024, "mask": 0.75, "replace": 0.0, "weight_decay": 1e-5, "epochs": 1000},
    },
    deviations=(
        "Reconstructed attributes are never stored: their products with the attributes and "
        "their lengths are computed from the representations, with the same value.",
        "Dropout of the input applies to attributes, not to the token.",
        "A reconstructed row of zeros, such as that of an isolated hidden node in the first "
        "epoch, has no gradient.",
        "Edge weights multiply the attention.",
    ),
)
