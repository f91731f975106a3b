"""MVGRL: a node's code in one view fits the summary of the graph in the other view.

The views are the adjacency A and its diffusion S = alpha (I - (1 - alpha) A)^-1, personalised
PageRank, each with an encoder of its own:

    H1 = PReLU(A X W1 + b1)      H2 = PReLU(S X W2 + b2)      s_v = sigmoid(mean_i h_v,i)
    scores  h2' M s1 + c  and  h1' M s2 + c

Scores of the nodes are trained towards 1, those of the same graph with the rows of X shuffled
towards 0, by binary cross-entropy. The representation is H1 + H2. `train_infomax` trains it, with
two views, until the training loss stops falling.

S is never built: S (X W) takes `steps` rounds of Z <- (1 - alpha) A Z + alpha X W.

Hassani & Khasahmadi, Contrastive Multi-View Representation Learning on Graphs, ICML 2020.
Differences: S is a truncated power series instead of a dense inverse, and is neither thresholded
nor rescaled on citeseer; a step sees the whole graph instead of four crops of 2,000 consecutive
nodes; attributes are scaled on every data set.
"""

from dataclasses import dataclass

import torch
from torch_geometric.data import Data

from brgcl.baselines.contract import Fitted, ObservedLabels, Reporter
from brgcl.baselines.infomax import train_infomax
from brgcl.baselines.inputs import prepare
from brgcl.config import check_types, require
from brgcl.method.views import Diffusion


@dataclass(frozen=True)
class MVGRLConfig:
    """Settings of MVGRL."""

    dim: int = 512
    """Dimension of the representations."""
    alpha: float = 0.2
    """Teleport probability of the diffusion."""
    steps: int = 20
    """Rounds of the diffusion."""
    lr: float = 1e-3
    """Learning rate of Adam."""
    epochs: int = 3000
    """Most training epochs."""
    patience: int = 20
    """Stop when the training loss has not fallen for so many epochs."""

    def __post_init__(self) -> None:
        """Check every field."""
        check_types(self)
        for name in ("dim", "steps", "epochs", "patience"):
            require(self, name, getattr(self, name) >= 1, "at least 1")
        require(self, "alpha", 0 < self.alpha <= 1, "in (0, 1]")
        require(self, "lr", self.lr > 0, "above 0")


def fit(
    graph: Data,
    labels: ObservedLabels | None,
    config: MVGRLConfig,
    generator: torch.Generator,
    report: Reporter | None = None,
) -> Fitted:
    """Train until the loss stops falling; `labels` are not read."""
    prepared = prepare(graph)
    adjacency = prepared.adjacency.normalized
    codes = train_infomax(
        prepared.x,
        [adjacency, Diffusion(adjacency, config.alpha, config.steps)],
        dim=config.dim,
        lr=config.lr,
        epochs=config.epochs,
        patience=config.patience,
        generator=generator,
        report=report,
    )
    return Fitted(codes)
