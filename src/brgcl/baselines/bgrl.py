"""BGRL: one network predicts, from one view, what a slower copy of it says about the other view.

The online network is a GCN of two layers, each followed by batch normalisation and PReLU, with a
predictor on top, q = W2 PReLU(W1 h + b1) + b2; the target network is a second GCN whose weights
follow those of the online one by a moving average.

    loss   = 2 - mean_i cos(q1_i, t2_i) - mean_i cos(q2_i, t1_i)        no gradient through t
    target = m target + (1 - m) online        1 - m falls from 1 - momentum to 0 along a cosine

There are no negatives. The learning rate rises linearly during the warm-up and then falls to 0
along a cosine. The representation is the online network's code, before the predictor.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn
from torch_geometric.data import Data

from brgcl.baselines.shared.inputs import seeded
from brgcl.config import (
    Count,
    Positive,
    Probability,
    Settings,
    Share,
    ViewSettings,
    Weight,
    Whole,
    setting,
)
from brgcl.contract import Fitted, Hook, Labels, Method
from brgcl.machine import check_width
from brgcl.method.encoder import Encoder
from brgcl.method.inputs import prepare
from brgcl.method.sparse import Matrix
from brgcl.method.views import Diffusion, two_views


@dataclass(frozen=True)
class BGRLConfig(Settings):
    """Settings of BGRL."""

    hidden: Count = setting(512, "Units of the first layer.")
    dim: Count = setting(256, "Dimension of the representations.")
    predictor_hidden: Count = setting(512, "Units of the predictor's hidden layer.")
    drop1: Share = setting(0.4, "Share of edges dropped in view 1.")
    drop2: Share = setting(0.4, "Share of edges dropped in view 2.")
    mask1: Share = setting(0.5, "Share of attribute columns masked in view 1.")
    mask2: Share = setting(0.5, "Share of attribute columns masked in view 2.")
    momentum: Probability = setting(
        0.99, "Share of its own weights that the target keeps in the first epoch."
    )
    lr: Positive = setting(1e-3, "Highest learning rate of AdamW.")
    weight_decay: Weight = setting(1e-5, "Weight decay in AdamW.")
    epochs: Count = setting(300, "Training epochs.")
    warmup_epochs: Whole = setting(30, "Epochs in which the learning rate rises.")


class Network(nn.Module):
    """Two layers of PReLU(batch normalisation(A H W))."""

    def __init__(self, num_features: int, hidden: int, dim: int, generator: Generator) -> None:
        super().__init__()
        self.weights = Encoder(num_features, hidden=hidden, dim=dim, generator=generator).weights
        # the statistics used at the end are all but those of the last view, as the authors set it
        self.norms = nn.ModuleList(nn.BatchNorm1d(n, momentum=0.99) for n in (hidden, dim))
        self.activations = nn.ModuleList(nn.PReLU() for _ in self.norms)

    def forward(
        self, x: Matrix, adjacency: Matrix | Diffusion, columns: Tensor | None = None
    ) -> Tensor:
        """Codes, `(N, D)`; `columns` masks attributes as in `Encoder`."""
        first, second = self.weights
        h = adjacency @ (x @ (first if columns is None else columns[:, None] * first))
        h = self.activations[0](self.norms[0](h))
        h = adjacency @ (h @ second)
        codes: Tensor = self.activations[1](self.norms[1](h))
        return codes


def fit(
    graph: Data, labels: Labels, config: BGRLConfig, generator: Generator, report: Hook = None
) -> Fitted:
    """Train the online network; `labels` are not read."""
    prepared = prepare(graph)
    x, hidden, D, units = prepared.x, config.hidden, config.dim, config.predictor_hidden
    check_width(*x.shape, hidden, D, units, D)
    # the target starts from weights of its own
    online, target = (Network(x.shape[1], hidden, D, generator) for _ in range(2))
    target.requires_grad_(False)
    with seeded(generator):
        predictor = nn.Sequential(nn.Linear(D, units), nn.PReLU(), nn.Linear(units, D))
    weights = [*online.parameters(), *predictor.parameters()]
    optimizer = torch.optim.AdamW(weights, lr=config.lr, weight_decay=config.weight_decay)
    first = ViewSettings("edges", config.drop1, config.mask1)
    second = ViewSettings("edges", config.drop2, config.mask2)
    for epoch in range(config.epochs):
        rate = config.lr * cosine_decay(epoch, config.warmup_epochs, config.epochs)
        optimizer.param_groups[0]["lr"] = rate
        views = two_views(prepared, (first, second), generator)
        with torch.no_grad():
            targets = [target(x, view.adjacency, view.columns) for view in views]
        optimizer.zero_grad(set_to_none=True)
        loss = 0.0
        for view, wanted in zip(views, reversed(targets), strict=True):
            # one view at a time, whose codes are let go before those of the other are made
            part = disagreement(predictor(online(x, view.adjacency, view.columns)), wanted)
            part.backward()  # type: ignore[no-untyped-call]
            loss += part.item()
        optimizer.step()
        follow(target, online, (1 - config.momentum) * cosine_decay(epoch, 0, config.epochs))
        if report is not None:
            report(epoch + 1, config.epochs, f"loss {loss:.3f}")
    online.eval()
    with torch.no_grad():
        return Fitted(online(x, prepared.adjacency.normalized))


def disagreement(predicted: Tensor, wanted: Tensor) -> Tensor:
    """1 - cos of predictions with targets, `(N, D)` each, a mean over nodes in [0, 2]."""
    return 1 - F.cosine_similarity(predicted, wanted, dim=1).mean()


def cosine_decay(step: int, warmup: int, total: int) -> float:
    """Factor that rises linearly to 1 over the warm-up and falls to 0 along a cosine."""
    if step < warmup:
        return step / warmup
    return (1 + math.cos(math.pi * (step - warmup) / max(total - warmup, 1))) / 2


@torch.no_grad()
def follow(target: nn.Module, online: nn.Module, share: float) -> None:
    """Move the target's weights a share of the way to the online network's, in place."""
    for slow, fast in zip(target.parameters(), online.parameters(), strict=True):
        slow.lerp_(fast, share)


METHOD = Method(
    name="bgrl",
    fit=fit,
    Config=BGRLConfig,
    kind="representation",
    citation="Thakoor, Tallec, Azar, Azabou, Dyer, Munos, Velickovic & Valko, Large-Scale "
    "Representation Learning on Graphs via Bootstrapping, ICLR 2022",
    cost="time O(E D + N D²); memory O(E + N D)",
    source="The authors' code for coauthor-cs",
    sources={"warmup_epochs": "A tenth of the epochs, as in the authors' code"},
    ours={
        "drop1": "by validation accuracy on cora and citeseer",
        "drop2": "likewise",
        "mask1": "likewise",
        "mask2": "likewise",
        "lr": "by validation accuracy on cora; the authors have 0.00001 and 10,000 epochs",
        "epochs": "by validation accuracy on cora",
    },
    presets={
        "citeseer": {"hidden": 1024, "dim": 512, "epochs": 50, "warmup_epochs": 5},
        "coauthor-cs": {"drop1": 0.3, "drop2": 0.2, "mask1": 0.3, "mask2": 0.4},
    },
    deviations=(
        "It uses far fewer epochs at a higher learning rate.",
        "Both directions of an edge are dropped together.",
        "There are no biases before batch normalisation, which would remove them.",
        "Attributes are scaled.",
    ),
)
