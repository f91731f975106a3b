"""CCA-SSG: two views of a node agree, and the dimensions of the code say different things.

With A and B the column-standardised codes of two views, D columns each,

    loss = -tr(A'B)/N + weight (|A'A/N - I|² + |B'B/N - I|²)

There are no negatives, no projection and no second network; a view drops edges and masks columns
of the attributes. The representation is the encoder's output on the whole graph.
"""

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn
from torch_geometric.data import Data

from brgcl.baselines.shared.descent import descend
from brgcl.config import Count, Positive, Settings, Share, ViewSettings, Weight, setting
from brgcl.contract import Fitted, Hook, Labels, Method
from brgcl.machine import check_width
from brgcl.method.encoder import Encoder
from brgcl.method.graph import Graph
from brgcl.method.inputs import prepare
from brgcl.method.node_loss import decorrelation_loss
from brgcl.method.views import View, make_view


@dataclass(frozen=True)
class CCASSGConfig(Settings):
    """Settings of CCA-SSG."""

    encoder: Literal["gcn", "mlp"] = setting(
        "gcn", "Graph convolutions, or a perceptron of two layers that sees no edges."
    )
    num_layers: Count = setting(2, "Graph convolutions (gcn only).")
    hidden: Count = setting(512, "Units of every layer but the last.")
    dim: Count = setting(512, "Dimension of the representations.")
    drop: Share = setting(0.4, "Share of edges dropped in each view.")
    mask: Share = setting(0.1, "Share of attribute columns masked in each view.")
    decorrelation_weight: Weight = setting(1e-3, "Weight of the decorrelation of dimensions.")
    lr: Positive = setting(1e-3, "Learning rate of Adam.")
    epochs: Count = setting(50, "Training epochs.")


def fit(
    graph: Data, labels: Labels, config: CCASSGConfig, generator: Generator, report: Hook = None
) -> Fitted:
    """Train on pairs of views; `labels` are not read."""
    prepared = prepare(graph)
    perceptron, hidden, D = config.encoder == "mlp", config.hidden, config.dim
    layers, (N, F_in) = 2 if perceptron else config.num_layers, prepared.x.shape
    check_width(N, F_in, *[hidden] * (layers - 1), D)
    network = Encoder(F_in, hidden=hidden, dim=D, num_layers=layers, generator=generator)
    # standardised columns hide the last bias; Adam would add up rounding errors in it
    network.biases[-1].requires_grad_(False)
    norm = nn.BatchNorm1d(hidden) if perceptron else None
    parameters = [*network.parameters(), *(norm.parameters() if norm is not None else ())]
    optimizer = torch.optim.Adam(parameters, lr=config.lr)
    settings = ViewSettings("edges", 0.0 if perceptron else config.drop, config.mask)
    for epoch in range(1, config.epochs + 1):
        views = [make_view(prepared, settings, generator) for _ in range(2)]
        h1, h2 = (encode(network, norm, prepared, view) for view in views)
        loss = decorrelation_loss(h1, h2, weight=config.decorrelation_weight)
        descend(optimizer, loss)
        if report is not None:
            report(epoch, config.epochs, f"loss {loss.item():.3f}")
    whole = View(prepared.adjacency.normalized, None, None)
    with torch.no_grad():
        return Fitted(encode(network, norm, prepared, whole))


def encode(network: Encoder, norm: nn.BatchNorm1d | None, graph: Graph, view: View) -> Tensor:
    """Codes of all nodes in a view, `(N, D)`.

    With `norm`, the network is a perceptron of two layers that sees no edges, normalised over all
    nodes before its ReLU.
    """
    if norm is None:
        return network(graph.x, view.adjacency, view.columns)  # type: ignore[no-any-return]
    (first, second), columns = network.weights, view.columns
    hidden = graph.x @ (first if columns is None else columns[:, None] * first) + network.biases[0]
    codes: Tensor = F.relu(norm(hidden)) @ second + network.biases[1]
    return codes


METHOD = Method(
    name="cca-ssg",
    fit=fit,
    Config=CCASSGConfig,
    kind="representation",
    citation="Zhang, Wu, Yan, Wipf & Yu, From Canonical Correlation Analysis to Self-supervised "
    "Graph Neural Networks, NeurIPS 2021",
    cost="time O(E D + N D²); memory O(E + N D)",
    source="The authors' code",
    sources={
        "encoder": 'The authors\' code; `"mlp"` for coauthor-cs: two layers, batch normalisation, '
        "no edges",
    },
    presets={
        "citeseer": {"num_layers": 1, "mask": 0.0, "decorrelation_weight": 0.0005, "epochs": 20},
        "pubmed": {"drop": 0.5, "mask": 0.3, "epochs": 100},
        "coauthor-cs": {"encoder": "mlp", "mask": 0.2},
    },
    space={
        "num_layers": (1, 2),
        "drop": (0.2, 0.4, 0.6),
        "mask": (0.0, 0.1, 0.3),
        "decorrelation_weight": (5e-4, 1e-3, 2e-3),
        "epochs": (20, 50, 100),
    },
    deviations=(
        "Both directions of an edge are dropped together.",
        "Attributes of coauthor-cs are scaled like all others.",
        "The loss is divided by D, which does not affect Adam.",
        "The last layer has no bias: the loss does not depend on it, so Adam would only "
        "accumulate rounding errors in it.",
    ),
)
