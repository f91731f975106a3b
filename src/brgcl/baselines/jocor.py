"""JoCoR: two GCNs learn together from the labels on which they do well and agree.

    l_i = (1 - lam) (CE_1(i) + CE_2(i)) + lam (KL(p_1i || p_2i) + KL(p_2i || p_1i))
    loss = mean of the R(t) n smallest l_i,     R(t) = 1 - forget_rate * min(t / ramp_epochs, 1)

Both networks learn from the same nodes, by one loss that also pulls them towards each other.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Data

from brgcl.baselines.shared.gcn_training import GCN_PRESETS
from brgcl.baselines.shared.inputs import labelled_nodes
from brgcl.baselines.shared.twin_gcns import PeersConfig, kept_share, smallest, train_peers
from brgcl.config import Share, setting
from brgcl.contract import Fitted, Method, ObservedLabels, Reporter
from brgcl.method.inputs import prepare


@dataclass(frozen=True)
class JoCoRConfig(PeersConfig):
    """Settings of JoCoR."""

    lam: Share = setting(0.1, "Weight of agreement; 1 - lam is that of the labels.")


def joint_losses(first: Tensor, second: Tensor, target: Tensor, lam: float) -> Tensor:
    """The loss l of each node, `(n,)`.

    Args:
        first: Logits of one network, `(n, C)`.
        second: Logits of the other, `(n, C)`.
        target: Given labels, `(n,)`.
        lam: Weight of agreement.
    """
    log_p, log_q = first.log_softmax(1), second.log_softmax(1)
    labels = sum(F.nll_loss(values, target, reduction="none") for values in (log_p, log_q))
    # KL(p || q) + KL(q || p) = sum_c (p_c - q_c) (log p_c - log q_c)
    divergence = ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum(1)
    return (1 - lam) * labels + lam * divergence


def fit(
    graph: Data,
    labels: ObservedLabels | None,
    config: JoCoRConfig,
    generator: torch.Generator,
    report: Reporter | None = None,
) -> Fitted:
    """Train both networks; returns both hidden layers and their mean probabilities."""
    labels, nodes = labelled_nodes(labels, "jocor")
    given = labels.train[nodes]

    def loss(first: Tensor, second: Tensor, epoch: int) -> Tensor:
        losses = joint_losses(first[nodes], second[nodes], given, config.lam)
        return losses[smallest(losses, kept_share(epoch, config))].mean()

    return train_peers(prepare(graph), labels, config, generator, loss, report).fitted()


METHOD = Method(
    name="jocor",
    fit=fit,
    Config=JoCoRConfig,
    kind="classifier",
    citation=(
        "Wei et al., Combating Noisy Labels by Agreement: A Joint Training Method with "
        "Co-Regularization, CVPR 2020"
    ),
    cost="time and memory O(E h + N F h), twice",
    source="The GCN's authors",
    sources={
        "lr": "The GCN's authors; 0.001 in JoCoR's code",
        "epochs": "The authors' code, and the GCN's",
        "forget_rate": "The authors: the true noise rate; 0.2 is that of the NoisyGL benchmark",
        "lam": "The authors' code, and the NoisyGL benchmark",
    },
    ours={
        "ramp_epochs": "by validation accuracy, below; 10 in the authors' code",
    },
    presets=GCN_PRESETS,
    deviations=(
        "GCNs instead of image networks, and one batch of all labelled nodes.",
        (
            "The mean of the two probabilities predicts, where the authors measure each "
            "network alone and the NoisyGL benchmark the first; the representation is "
            "both hidden layers side by side."
        ),
    ),
    oracle="the noise rate (forget_rate)",
)
