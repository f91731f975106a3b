"""Wide GCN: the GCN with 256 hidden units instead of 16, all else alike.

H = ReLU(A dropout(X) W0 + b0), logits = A dropout(H) W1 + b1, cross-entropy on labelled nodes. It
says how much of a lead over the GCN is owed to width.
"""

import torch
from torch_geometric.data import Data

from brgcl.baselines.shared.gcn_training import GCN_PRESETS, GCNConfig, fit_labels
from brgcl.baselines.shared.inputs import labelled_nodes
from brgcl.contract import Fitted, Method, ObservedLabels, Reporter
from brgcl.method.inputs import prepare


def fit(
    graph: Data,
    labels: ObservedLabels | None,
    config: GCNConfig,
    generator: torch.Generator,
    report: Reporter | None = None,
) -> Fitted:
    """Train the GCN and return its last hidden layer and class probabilities."""
    labels, nodes = labelled_nodes(labels, "gcn-wide")
    given = labels.train[nodes]
    return fit_labels(prepare(graph), labels, nodes, given, config, generator, report)


METHOD = Method(
    name="gcn-wide",
    fit=fit,
    Config=GCNConfig,
    kind="classifier",
    citation=(
        "Kipf & Welling, Semi-Supervised Classification with Graph Convolutional "
        "Networks, ICLR 2017, with more units"
    ),
    cost="time and memory O(E h + N F h)",
    source="The authors",
    sources={
        "weight_decay": "The authors, who apply it to the first layer only",
    },
    presets={"default": {"hidden": 256}, **GCN_PRESETS},
    deviations=("256 hidden units, where the authors have 16.", "Otherwise as `gcn`."),
)
