"""SCE: cross-entropy and its reverse, in which prediction and label change places, on the GCN.

    loss = alpha * CE + beta * RCE
    CE   = -log p_i                          p_i = probability of the given label of node i
    RCE  = -sum_c p_ic log y_ic = -A (1 - p_i)

y is the given label as a one-hot vector and log 0 is set to A < 0. The second term is a multiple
of the absolute error, which wrong labels can move only so far; the first keeps learning fast.
"""

from dataclasses import dataclass
from typing import Annotated

import torch
import torch.nn.functional as F
from annotated_types import Lt
from torch import Tensor
from torch_geometric.data import Data

from brgcl.baselines.shared.gcn_training import GCN_PRESETS, GCNConfig, train_gcn
from brgcl.baselines.shared.inputs import labelled_nodes
from brgcl.config import Count, Weight, require, setting
from brgcl.contract import Fitted, Method, ObservedLabels, Reporter
from brgcl.method.inputs import prepare


@dataclass(frozen=True)
class SCEConfig(GCNConfig):
    """Settings of the symmetric cross-entropy on a GCN."""

    epochs: Count = setting(
        500, "Training epochs; more than the GCN's because the reverse term starts flat."
    )
    alpha: Weight = setting(0.1, "Weight of cross-entropy.")
    beta: Weight = setting(1.0, "Weight of reverse cross-entropy.")
    log_zero: Annotated[float, Lt(0)] = setting(-4.0, "What log 0 is set to, A.")

    def __post_init__(self) -> None:
        """Check every field, and what they need of each other."""
        super().__post_init__()
        require(self, "beta", self.alpha + self.beta > 0, "above 0 where alpha is 0")


def symmetric_cross_entropy(
    logits: Tensor, target: Tensor, alpha: float, beta: float, log_zero: float
) -> Tensor:
    """Mean of alpha CE + beta RCE over nodes.

    Args:
        logits: `(n, C)`.
        target: Given labels, `(n,)`.
        alpha: Weight of cross-entropy.
        beta: Weight of reverse cross-entropy.
        log_zero: A.
    """
    p = logits.softmax(1).gather(1, target[:, None])
    return alpha * F.cross_entropy(logits, target) - beta * log_zero * (1 - p).mean()


def fit(
    graph: Data,
    labels: ObservedLabels | None,
    config: SCEConfig,
    generator: torch.Generator,
    report: Reporter | None = None,
) -> Fitted:
    """Train the GCN by both terms and return its last hidden layer and class probabilities."""
    labels, nodes = labelled_nodes(labels, "sce")
    given = labels.train[nodes]

    def loss(logits: Tensor, _: int) -> Tensor:
        return symmetric_cross_entropy(
            logits[nodes], given, config.alpha, config.beta, config.log_zero
        )

    return train_gcn(prepare(graph), labels, config, generator, loss, report).fitted()


METHOD = Method(
    name="sce",
    fit=fit,
    Config=SCEConfig,
    kind="classifier",
    citation=(
        "Wang et al., Symmetric Cross Entropy for Robust Learning with Noisy Labels, ICCV 2019"
    ),
    cost="time and memory O(E h + N F h)",
    source="The GCN's authors",
    sources={
        "epochs": "The NoisyGL benchmark",
        "alpha": "The paper, as recalled, and the NoisyGL benchmark",
        "beta": "The paper, as recalled, and the NoisyGL benchmark",
        "log_zero": "A; the paper, as recalled",
    },
    presets=GCN_PRESETS,
    deviations=(
        "The network is the GCN of this library instead of an image network.",
        (
            "The NoisyGL benchmark puts logits where the formula has probabilities; here "
            "they are probabilities."
        ),
    ),
)
