"""SCE: cross-entropy and its reverse, in which prediction and label change places, on the GCN.

    loss = alpha * CE + beta * RCE
    CE   = -log p_i                          p_i = probability of the given label of node i
    RCE  = -sum_c p_ic log y_ic = -A (1 - p_i)

y is the given label as a one-hot vector and log 0 is set to A < 0. The second term is a multiple
of the absolute error, which wrong labels can move only so far; the first keeps learning fast.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import torch.nn.functional as F
from annotated_types import Lt
from torch import Generator, Tensor
from torch_geometric.data import Data

from brgcl.baselines.shared.gcn_training import GCNConfig, fit_labels, gcn_method
from brgcl.baselines.shared.inputs import labelled_nodes
from brgcl.config import Count, Weight, require, setting
from brgcl.contract import Fitted, Hook, Labels
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
        require(self, "beta", self.alpha + self.beta > 0, "above 0 if alpha is 0")


def symmetric_cross_entropy(
    logits: Tensor, target: Tensor, alpha: float, beta: float, log_zero: float
) -> Tensor:
    """Mean of alpha CE + beta RCE, from logits `(n, C)` and given labels `(n,)`."""
    p = logits.softmax(1).gather(1, target[:, None])
    return alpha * F.cross_entropy(logits, target) - beta * log_zero * (1 - p).mean()


def fit(
    graph: Data, labels: Labels, config: SCEConfig, generator: Generator, report: Hook = None
) -> Fitted:
    """Train the GCN by both terms and return its last hidden layer and class probabilities."""
    labels, nodes = labelled_nodes(labels, "sce")
    given = labels.train[nodes]
    loss = partial(
        symmetric_cross_entropy, alpha=config.alpha, beta=config.beta, log_zero=config.log_zero
    )
    return fit_labels(prepare(graph), labels, nodes, given, config, generator, report, loss)


METHOD = gcn_method(
    name="sce",
    fit=fit,
    Config=SCEConfig,
    citation="Wang et al., Symmetric Cross Entropy for Robust Learning with Noisy Labels, ICCV "
    "2019",
    sources={
        "epochs": "The NoisyGL benchmark",
        "alpha": "The paper, as recalled, and the NoisyGL benchmark",
        "beta": "The paper, as recalled, and the NoisyGL benchmark",
        "log_zero": "A; the paper, as recalled",
    },
    deviations=(
        "The network is the GCN of this library instead of an image network.",
        "The NoisyGL benchmark uses logits in place of the probabilities of the formula; here "
        "they are probabilities.",
    ),
)
