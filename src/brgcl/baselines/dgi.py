"""DGI: a node's code tells whether the node belongs to this graph, given a summary of the graph.

    H = PReLU(A X W + b)        s = sigmoid(mean_i h_i)        score(h) = h' M s + c

Negatives are the codes of the same graph with the rows of X shuffled. The scores of the nodes are
trained towards 1 and those of the negatives towards 0, by binary cross-entropy.

`train_infomax` trains it, one view, until the training loss stops falling.
"""

from torch import Generator
from torch_geometric.data import Data

from brgcl.baselines.shared.infomax import InfomaxConfig, train_infomax
from brgcl.contract import Fitted, Hook, Labels, Method
from brgcl.method.inputs import prepare


def fit(
    graph: Data, labels: Labels, config: InfomaxConfig, generator: Generator, report: Hook = None
) -> Fitted:
    """Train until the loss stops falling; `labels` are not read."""
    prepared = prepare(graph)
    operators = [prepared.adjacency.normalized]
    return Fitted(train_infomax(prepared.x, operators, config, generator, report))


METHOD = Method(
    name="dgi",
    fit=fit,
    Config=InfomaxConfig,
    kind="representation",
    citation="Velickovic, Fedus, Hamilton, Lio, Bengio & Hjelm, Deep Graph Infomax, ICLR 2019",
    cost="time and memory O(E D + N D)",
    source="The authors' code",
    sources={"epochs": "The authors' code; patience ends training long before"},
    presets={"pubmed": {"dim": 256}},
    deviations=("Shuffling X and multiplying by W is computed as shuffling X W.",),
)
