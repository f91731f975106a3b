"""JoCoR: two GCNs learn together from the labels on which they do well and agree.

    l_i = (1 - lam) (CE_1(i) + CE_2(i)) + lam (KL(p_1i || p_2i) + KL(p_2i || p_1i))
    loss = mean of the R(t) n smallest l_i,     R(t) = 1 - forget_rate * min(t / ramp_epochs, 1)

Both networks learn from the same nodes, by one loss that also pulls them towards each other.
"""

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Generator, Tensor
from torch_geometric.data import Data

from brgcl.baselines.shared.inputs import labelled_nodes
from brgcl.baselines.shared.twin_gcns import PeersConfig, peers_method, smallest, train_peers
from brgcl.config import Share, setting
from brgcl.contract import Fitted, Hook, Labels
from brgcl.method.inputs import prepare


@dataclass(frozen=True)
class JoCoRConfig(PeersConfig):
    """Settings of JoCoR."""

    lam: Share = setting(0.1, "Weight of agreement; 1 - lam is that of the labels.")


def joint_losses(first: Tensor, second: Tensor, target: Tensor, lam: float) -> Tensor:
    """The loss l of each node, `(n,)`, from the logits of both networks, `(n, C)` each."""
    log_p, log_q = first.log_softmax(1), second.log_softmax(1)
    labels = sum(F.nll_loss(values, target, reduction="none") for values in (log_p, log_q))
    # KL(p || q) + KL(q || p) = sum_c (p_c - q_c) (log p_c - log q_c)
    divergence = ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum(1)
    return (1 - lam) * labels + lam * divergence


def fit(
    graph: Data, labels: Labels, config: JoCoRConfig, generator: Generator, report: Hook = None
) -> Fitted:
    """Train both networks; returns both hidden layers and their mean probabilities."""

    def loss(first: Tensor, second: Tensor, given: Tensor, share: float) -> Tensor:
        losses = joint_losses(first, second, given, config.lam)
        return losses[smallest(losses, share)].mean()

    labels, nodes = labelled_nodes(labels, "jocor")
    return train_peers(prepare(graph), labels, nodes, config, generator, loss, report).fitted()


METHOD = peers_method(
    name="jocor",
    fit=fit,
    Config=JoCoRConfig,
    citation="Wei et al., Combating Noisy Labels by Agreement: A Joint Training Method with "
    "Co-Regularization, CVPR 2020",
    sources={
        "lr": "The GCN's authors; 0.001 in JoCoR's code",
        "lam": "The authors' code, and the NoisyGL benchmark",
    },
    deviations=(
        "The networks are GCNs instead of image networks, and all labelled nodes are one batch.",
        "The prediction is the mean of the two probabilities; the authors measure each network "
        "alone, and the NoisyGL benchmark the first. The representation is the concatenation "
        "of both hidden layers.",
    ),
)
