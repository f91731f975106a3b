"""GCN: two rounds of normalised neighbour averaging, trained on the labels as they are.

H = ReLU(A dropout(X) W0 + b0), logits = A dropout(H) W1 + b1, cross-entropy on labelled nodes.
"""

from dataclasses import replace

from torch import Generator
from torch_geometric.data import Data

from brgcl.baselines.shared.gcn_training import GCNConfig as GCNConfig
from brgcl.baselines.shared.gcn_training import fit_labels, gcn_method
from brgcl.baselines.shared.inputs import labelled_nodes
from brgcl.contract import Fitted, Hook, Labels
from brgcl.method.inputs import prepare


def fit(
    graph: Data, labels: Labels, config: GCNConfig, generator: Generator, report: Hook = None
) -> Fitted:
    """Train the GCN and return its last hidden layer and class probabilities."""
    labels, nodes = labelled_nodes(labels, "gcn")
    given = labels.train[nodes]
    return fit_labels(prepare(graph), labels, nodes, given, config, generator, report)


METHOD = gcn_method(
    name="gcn",
    fit=fit,
    Config=GCNConfig,
    citation="Kipf & Welling, Semi-Supervised Classification with Graph Convolutional Networks, "
    "ICLR 2017",
    source="The authors",
    sources={"weight_decay": "The authors, who apply it to the first layer only"},
    space={
        "hidden": (16, 64),
        "dropout": (0.3, 0.5, 0.8),
        "lr": (0.005, 0.01, 0.02),
        "weight_decay": (5e-5, 5e-4, 5e-3),
        "epochs": (100, 200, 400),
    },
    deviations=(
        "The L2 penalty covers both layers.",
        "The authors stop when the validation loss rises; here the epoch with the best "
        "validation accuracy is kept, or the last one if there are no validation labels.",
        "The layers have biases.",
    ),
)
WIDE = replace(  # says how much of a lead over the GCN is owed to width
    METHOD,
    name="gcn-wide",
    citation=f"{METHOD.citation}, with more units",
    presets={**METHOD.presets, "default": {"hidden": 256}},
    space={**METHOD.space, "hidden": (128, 256, 512)},
    deviations=("It has 256 hidden units; the authors have 16.", "Everything else is as in `gcn`."),
)
