"""Co-teaching: two GCNs hand each other the labels that they find easy.

In epoch t each network ranks the labelled nodes by its own cross-entropy; the share R(t) with the
smallest loss is what the *other* network learns from, so that neither confirms its own mistakes:

    S_1, S_2 = the R(t) n nodes of smallest CE_1, CE_2
    loss = mean_{i in S_2} CE_1(i) + mean_{i in S_1} CE_2(i)
    R(t) = 1 - forget_rate * min(t / ramp_epochs, 1)
"""

import torch.nn.functional as F
from torch import Generator, Tensor
from torch_geometric.data import Data

from brgcl.baselines.shared.inputs import labelled_nodes
from brgcl.baselines.shared.twin_gcns import PeersConfig as PeersConfig
from brgcl.baselines.shared.twin_gcns import peers_method, smallest, train_peers
from brgcl.contract import Fitted, Hook, Labels
from brgcl.method.inputs import prepare


def exchanged_loss(first: Tensor, second: Tensor, target: Tensor, share: float) -> Tensor:
    """Cross-entropy of each network on the share of nodes that is easiest for the other.

    Args:
        first: Logits of one network, `(n, C)`.
        second: Logits of the other, `(n, C)`.
        target: Given labels, `(n,)`.
        share: R(t), the share of the nodes that is kept.
    """
    losses = [F.cross_entropy(logits, target, reduction="none") for logits in (first, second)]
    easy = [smallest(values, share) for values in losses]
    return losses[0][easy[1]].mean() + losses[1][easy[0]].mean()


def fit(
    graph: Data, labels: Labels, config: PeersConfig, generator: Generator, report: Hook = None
) -> Fitted:
    """Train both networks; returns both hidden layers and their mean probabilities."""
    labels, nodes = labelled_nodes(labels, "co-teaching")
    return train_peers(
        prepare(graph), labels, nodes, config, generator, exchanged_loss, report
    ).fitted()


METHOD = peers_method(
    name="co-teaching",
    fit=fit,
    Config=PeersConfig,
    citation="Han et al., Co-teaching: Robust Training of Deep Neural Networks with Extremely "
    "Noisy Labels, NeurIPS 2018",
    sources={"lr": "The GCN's authors; 0.001 in Co-teaching's code"},
    deviations=(
        "The networks are GCNs instead of image networks, and all labelled nodes are one batch.",
        "The prediction is the mean of the two probabilities (the authors measure each network "
        "alone), and the representation is the concatenation of both hidden layers.",
        "The released code divides a mean loss by its count again, and starts the ramp an "
        "epoch earlier.",
        "This is the original method: what some graph benchmarks call Co-teaching is Co-teaching+ "
        "(Yu et al. 2019), which learns only where the networks disagree.",
    ),
)
