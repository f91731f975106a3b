"""Random GCN: an encoder with its initial weights, untrained; the floor for methods that train.

Z = A ReLU(A X W0) W1 with Glorot weights and A = D^-1/2 (A + I) D^-1/2. What it scores is owed to
the averaging over neighbours and to the width; a trained encoder has to do better.
"""

from dataclasses import dataclass

import torch
from torch import Generator
from torch_geometric.data import Data

from brgcl.baselines.shared.inputs import check_memory
from brgcl.config import Count, Settings, setting
from brgcl.contract import Fitted, Hook, Labels, Method
from brgcl.method.encoder import Encoder
from brgcl.method.inputs import prepare


@dataclass(frozen=True)
class RandomGCNConfig(Settings):
    """Settings of the untrained encoder, those of brgcl's encoder."""

    hidden: Count = setting(512, "Units of every layer but the last.")
    dim: Count = setting(256, "Dimension of the representations.")
    num_layers: Count = setting(2, "Graph convolutions.")


def fit(
    graph: Data, labels: Labels, config: RandomGCNConfig, generator: Generator, report: Hook = None
) -> Fitted:
    """Run the encoder once; nothing is learned and `labels` are not read."""
    N, F = graph.x.shape
    check_memory("random-gcn", 3 * 4.0 * N * config.hidden, "make it narrower (hidden)")
    prepared = prepare(graph)
    encoder = Encoder(F, generator=generator, **config.to_dict())
    with torch.no_grad():
        z = encoder(prepared.x, prepared.adjacency.normalized)
    if report is not None:
        report(1, 1, "no training")
    return Fitted(z)


METHOD = Method(
    name="random-gcn",
    fit=fit,
    Config=RandomGCNConfig,
    kind="representation",
    citation="Kipf & Welling, Semi-Supervised Classification with Graph Convolutional Networks, "
    "ICLR 2017, untrained as in its appendix",
    cost="time O(E D + N D²), once; memory O(E + N D)",
    source="Ours, as in `brgcl`",
    deviations=("It uses ReLU instead of tanh, and more units.",),
)
