"""Small loss: labels that a network learns late, or never, are suspicious.

A GCN is trained on all given labels. With the loss l_i(t) of label i in epoch t of T,

    mean loss l_i = 1/T sum_t l_i(t),        score = exp(-l_i).

Two normal distributions are fitted to the mean losses; a label is wrong where the one with the
larger mean is the more probable.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor
from torch_geometric.data import Data

from brgcl.baselines.shared.gcn_training import train_gcn
from brgcl.contract import Fitted, Hook, ObservedLabels
from brgcl.detectors.contract import Detected, Detector
from brgcl.method.inputs import prepare


def detect(
    graph: Data,
    labels: Tensor,
    config: Any,
    generator: Generator,
    fitted: Fitted | None = None,
    report: Hook = None,
) -> Detected:
    """Train a GCN, and average the losses and the probabilities of all epochs."""
    nodes = (labels >= 0).nonzero().squeeze(1)
    given, C = labels[nodes], int(labels.max()) + 1
    losses, proba = torch.zeros(len(nodes)), torch.zeros(len(nodes), C)

    def loss(logits: Tensor, _: int) -> Tensor:
        each = F.cross_entropy(logits[nodes], given, reduction="none")
        losses.add_(each.detach() / config.epochs)
        proba.add_(logits[nodes].detach().softmax(1) / config.epochs)
        return each.mean()

    train_gcn(prepare(graph), ObservedLabels(labels, None, C), config, generator, loss, report)
    is_error = larger_of_two(losses)
    return Detected(nodes, torch.exp(-losses), proba.argmax(1), is_error)


def larger_of_two(losses: Tensor) -> Tensor:
    """Mask of the losses `(L,)` that belong to the larger of two normal distributions."""
    from sklearn.mixture import GaussianMixture

    values = losses.double().numpy()[:, None]
    if len(values) < 2 or float(values.std()) == 0:
        return torch.zeros_like(losses, dtype=torch.bool)
    start = [[float(values.min())], [float(values.max())]]
    mixture = GaussianMixture(2, means_init=start, random_state=0).fit(values)
    return torch.from_numpy(mixture.predict(values) == int(mixture.means_.argmax()))


DETECTOR = Detector(
    name="small-loss",
    detect=detect,
    kind="classifier",
    method="gcn",
    settings={"hidden": 64},
    citation="Huang et al., O2U-Net: A Simple Noisy Label Detection Approach for Deep Neural "
    "Networks, ICCV 2019; the mixture is that of Li et al., DivideMix, ICLR 2020",
    cost="that of gcn",
    is_probability=False,
    deviations=(
        "The learning rate is constant, where O2U-Net lets it rise and fall in cycles.",
        "The network is a GCN with 64 hidden units, and all epochs count.",
    ),
)
