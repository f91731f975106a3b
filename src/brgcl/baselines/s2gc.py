"""S²GC: average the attributes over all diffusion steps up to K, then regress on the labels.

    M = alpha I + (1 - alpha)/K (A + A² + ... + A^K)        (shared/diffusion.py)
    H = M X,    logits = H W + b,    cross-entropy on labelled nodes

H is constant, and training reads only its rows for nodes with a label. As M is symmetric, these
rows come from whichever is narrower, the attributes or the rows of M (`smoothed_rows`); nothing
of size N x F is stored. The logits of all nodes are M (X W) + b, computed once.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Generator, Tensor
from torch_geometric.data import Data

from brgcl.baselines.shared.descent import descend
from brgcl.baselines.shared.diffusion import diffuse as diffuse
from brgcl.baselines.shared.gcn_training import BestEpoch
from brgcl.baselines.shared.inputs import check_memory, labelled_nodes
from brgcl.config import Count, Positive, Probability, Settings, Weight, setting
from brgcl.contract import Fitted, Hook, Labels, Method
from brgcl.method.graph import Graph
from brgcl.method.inputs import prepare
from brgcl.method.sparse import is_sparse

BLOCK = 256  # columns diffused at a time, so that memory stays at a few N x BLOCK


@dataclass(frozen=True)
class S2GCConfig(Settings):
    """Settings of S²GC, those of its authors for Cora."""

    steps: Count = setting(16, "Diffusion steps, K.")
    alpha: Probability = setting(
        0.05, "Weight of a node's own attributes beside the average over the steps."
    )
    lr: Positive = setting(0.2, "Learning rate of Adam; high because the model is linear.")
    weight_decay: Weight = setting(1e-5, "L2 penalty in Adam.")
    epochs: Count = setting(100, "Training epochs.")


def smoothed_rows(graph: Graph, nodes: Tensor, steps: int, alpha: float) -> Tensor:
    """The rows of H = M X for some nodes, `(n, F)`.

    With fewer nodes than attributes, rows of M are diffused and multiplied by X, which can stay
    sparse; otherwise columns of X are diffused. Time O(K E min(n, F)).
    """
    x, adjacency = graph.x, graph.adjacency.normalized
    n, (num_nodes, num_features) = nodes.numel(), x.shape
    rows = torch.empty(n, num_features)
    if n < num_features:
        for some in torch.split(torch.arange(n), BLOCK):
            unit = _unit_columns(num_nodes, nodes[some])
            found = x.transposed_product(diffuse(adjacency, unit, steps, alpha))  # (F, some)
            rows[some] = found.T
        return rows
    for some in torch.split(torch.arange(num_features), BLOCK):
        sparse = is_sparse(x.data)
        columns = x @ _unit_columns(num_features, some) if sparse else x.data[:, some]
        rows[:, some] = diffuse(adjacency, columns, steps, alpha)[nodes]
    return rows


def _unit_columns(size: int, places: Tensor) -> Tensor:
    """Columns of the identity, `(size, len(places))`."""
    columns = torch.zeros(size, places.numel())
    columns[places, torch.arange(places.numel())] = 1
    return columns


def fit(
    graph: Data, labels: Labels, config: S2GCConfig, generator: Generator, report: Hook = None
) -> Fitted:
    """Diffuse once, train the regression, return logits as representations, and probabilities."""
    labels, trained = labelled_nodes(labels, "s2gc")
    prepared = prepare(graph)
    used = labels.train >= 0
    if labels.validation is not None:
        used = used | (labels.validation >= 0)
    nodes = used.nonzero().squeeze(1)
    num_nodes, num_features = prepared.x.shape
    check_memory(
        "s2gc",
        4 * nodes.numel() * num_features + 12 * num_nodes * BLOCK,
        "give fewer labelled nodes or fewer attributes, or take gcn",
    )
    rows = smoothed_rows(prepared, nodes, config.steps, config.alpha)
    place = torch.searchsorted(nodes, trained)
    inputs, given = rows[place], labels.train[trained]

    bound = 1 / math.sqrt(num_features)  # as in the authors' linear layer
    weight, bias = (
        torch.empty(shape).uniform_(-bound, bound, generator=generator).requires_grad_()
        for shape in ((num_features, labels.num_classes), (labels.num_classes,))
    )
    optimizer = torch.optim.Adam([weight, bias], lr=config.lr, weight_decay=config.weight_decay)
    best = BestEpoch(None if labels.validation is None else labels.validation[nodes])
    chosen = weight, bias
    for epoch in range(1, config.epochs + 1):
        loss = F.cross_entropy(inputs @ weight + bias, given)
        descend(optimizer, loss)
        if best.wants(last=epoch == config.epochs):
            with torch.no_grad():
                logits = rows @ weight + bias
            if best.offer(logits, logits):
                chosen = weight.detach().clone(), bias.detach().clone()
        if report is not None:
            report(epoch, config.epochs, f"loss {loss.item():.3f}")
    with torch.no_grad():
        mapped = prepared.x @ chosen[0]
        logits = diffuse(prepared.adjacency.normalized, mapped, config.steps, config.alpha)
        logits += chosen[1]
    return Fitted(logits, logits.softmax(1))


METHOD = Method(
    name="s2gc",
    fit=fit,
    Config=S2GCConfig,
    kind="classifier",
    citation="Zhu & Koniusz, Simple Spectral Graph Convolution, ICLR 2021",
    cost=("time O(K E min(n, F)) once, then O(n F C) per epoch; memory O(E + n F), n labels"),
    source="The authors' code",
    sources={
        "steps": "K; the authors' code",
        "weight_decay": "The authors' code for Cora",
        "epochs": "The authors' code for Cora",
    },
    presets={
        "citeseer": {"weight_decay": 5e-5, "epochs": 150},  # the authors have 1e-4
        "pubmed": {"weight_decay": 2e-05},
    },
    space={
        "steps": (8, 16, 32),
        "alpha": (0.02, 0.05, 0.1),
        "lr": (0.05, 0.1, 0.2),
        "weight_decay": (5e-6, 1e-5, 5e-5, 1e-4),
        "epochs": (50, 100, 150),
    },
    deviations=(
        "The epoch with the best validation accuracy is kept.",
        (
            "The authors intend to keep the epoch with the lowest validation loss, but their "
            "code stores a reference to the model and so returns the last epoch."
        ),
        (
            "For ogbn-arxiv they add a perceptron with three layers and omit the factor 1 - "
            "alpha; here the regression is used for every graph."
        ),
        "Representations are the logits of all nodes.",
        (
            "On citeseer the authors' penalty of 1e-4 loses two points under label noise and "
            "gains nothing without noise; half of it was chosen on validation nodes."
        ),
    ),
)
