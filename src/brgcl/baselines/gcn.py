"""GCN: two rounds of normalised neighbour averaging, trained on the labels as they are.

H = ReLU(A dropout(X) W0 + b0), logits = A dropout(H) W1 + b1, cross-entropy on labelled nodes.
"""

import torch
from torch_geometric.data import Data

from brgcl.baselines.shared.gcn_training import GCN_PRESETS, fit_labels
from brgcl.baselines.shared.gcn_training import GCNConfig as GCNConfig
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
    labels, nodes = labelled_nodes(labels, "gcn")
    given = labels.train[nodes]
    return fit_labels(prepare(graph), labels, nodes, given, config, generator, report)


METHOD = Method(
    name="gcn",
    fit=fit,
    Config=GCNConfig,
    kind="classifier",
    citation=(
        "Kipf & Welling, Semi-Supervised Classification with Graph Convolutional "
        "Networks, ICLR 2017"
    ),
    cost="time and memory O(E h + N F h)",
    source="The authors",
    sources={
        "weight_decay": "The authors, who apply it to the first layer only",
    },
    presets=GCN_PRESETS,
    deviations=(
        "The L2 penalty covers both layers.",
        (
            "The authors stop when the validation loss has risen; here the epoch with the "
            "best validation accuracy is kept, or the last one where there are no "
            "validation labels."
        ),
        "The layers have biases.",
    ),
)
