"""MLP: a perceptron of two layers on the attributes; the graph is not looked at.

H = ReLU(dropout(X) W0 + b0), logits = dropout(H) W1 + b1, cross-entropy on labelled nodes. This is
the GCN on a graph without edges, A = I, and says what edges are worth.
"""

from dataclasses import dataclass

from torch import Generator
from torch_geometric.data import Data

from brgcl.baselines.shared.gcn_training import GCN_PRESETS, GCNConfig, fit_labels
from brgcl.baselines.shared.inputs import labelled_nodes
from brgcl.config import Count, setting
from brgcl.contract import Fitted, Hook, Labels, Method
from brgcl.method.graph import Graph, adjacency_from_edges
from brgcl.method.inputs import scale


@dataclass(frozen=True)
class MLPConfig(GCNConfig):
    """Settings of the perceptron, those of a GCN but for its width."""

    hidden: Count = setting(64, "Units of the hidden layer.")


def fit(
    graph: Data, labels: Labels, config: MLPConfig, generator: Generator, report: Hook = None
) -> Fitted:
    """Train the perceptron and return its hidden layer and class probabilities."""
    labels, nodes = labelled_nodes(labels, "mlp")
    x = scale(graph.x)
    nothing = graph.edge_index.new_empty(2, 0)
    alone = Graph(x, adjacency_from_edges(nothing, x.shape[0]))
    return fit_labels(alone, labels, nodes, labels.train[nodes], config, generator, report)


METHOD = Method(
    name="mlp",
    fit=fit,
    Config=MLPConfig,
    kind="classifier",
    citation=(
        "Rumelhart, Hinton & Williams, Learning Representations by Back-propagating Errors, "
        "Nature, 1986"
    ),
    cost="time and memory O(N F h)",
    source="As in `gcn`",
    ours={
        "hidden": "no better than 16 on cora and citeseer, but room for many classes",
    },
    presets=GCN_PRESETS,
    space={
        "hidden": (16, 64, 256),
        "dropout": (0.3, 0.5, 0.8),
        "lr": (0.005, 0.01, 0.02),
        "weight_decay": (5e-5, 5e-4, 5e-3),
        "epochs": (100, 200, 400),
    },
    deviations=("No edges are read.",),
)
