"""GAE: a GCN encoder whose inner products say where the edges are.

    Z = A ReLU(A X W0) W1                 A = D^-1/2 (A + I) D^-1/2, no biases
    loss = weighted cross-entropy between sigmoid(z_i · z_j) and A + I over all pairs

The loss is in reconstruction.py.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Generator
from torch_geometric.data import Data

from brgcl.baselines.shared.descent import descend
from brgcl.baselines.shared.reconstruction import num_columns, reconstruction_loss
from brgcl.config import Count, Positive, Scaling, Settings, setting
from brgcl.contract import Fitted, Hook, Labels, Method
from brgcl.machine import check_width
from brgcl.method.encoder import Encoder
from brgcl.method.inputs import prepare
from brgcl.method.node_loss import sample_negatives


@dataclass(frozen=True)
class GAEConfig(Settings):
    """Settings of GAE, those of its authors."""

    hidden: Count = setting(32, "Units of the hidden layer.")
    dim: Count = setting(16, "Dimension of the representations.")
    lr: Positive = setting(0.01, "Learning rate of Adam.")
    epochs: Count = setting(200, "Training epochs.")
    num_negatives: Count | Literal["auto"] | None = setting(
        "auto",
        "Nodes drawn per epoch to pair all with: none = all, auto = all up to 10,000, then 512.",
    )
    attributes: Literal["auto"] | Scaling = setting(
        "none", "Scaling of attributes: none = as given; auto = as in brgcl."
    )


def fit(
    graph: Data, labels: Labels, config: GAEConfig, generator: Generator, report: Hook = None
) -> Fitted:
    """Train the autoencoder and return its codes; `labels` are not read."""
    prepared = prepare(graph, config.attributes)
    x, adjacency = prepared.x, prepared.adjacency
    N, F = x.shape
    check_width(*x.shape, config.hidden, config.dim)
    encoder = Encoder(F, hidden=config.hidden, dim=config.dim, generator=generator)
    for bias in encoder.biases:
        bias.requires_grad_(False)  # they start at 0 and stay there
    optimizer = torch.optim.Adam(encoder.weights, lr=config.lr)
    count = num_columns(config.num_negatives, N)
    for epoch in range(1, config.epochs + 1):
        columns = sample_negatives(N, count, generator)
        loss = reconstruction_loss(encoder(x, adjacency.normalized), adjacency, columns)
        descend(optimizer, loss)
        if report is not None:
            report(epoch, config.epochs, f"loss {loss.item():.3f}")
    with torch.no_grad():
        return Fitted(encoder(x, adjacency.normalized))


METHOD = Method(
    name="gae",
    fit=fit,
    Config=GAEConfig,
    kind="representation",
    citation="Kipf & Welling, Variational Graph Auto-Encoders, NeurIPS workshop on Bayesian deep "
    "learning, 2016",
    cost="time O(N² D) exact or O(N m D) with m sampled nodes; memory O(E + N D)",
    source="The authors' code",
    sources={"attributes": "The authors' code takes attributes as given"},
    ours={"num_negatives": "all pairs, as in the authors' code, up to 10,000 nodes; then 512"},
    deviations=(
        "All edges are used in training; the authors' code is for link prediction and holds "
        "out 15 % of them.",
        "On large graphs every node is paired with 512 nodes, drawn again in each epoch, "
        "instead of with all nodes. This gives the same loss on average.",
    ),
)
