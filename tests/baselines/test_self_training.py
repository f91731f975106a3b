import torch
from torch_geometric.data import Data

from brgcl.baselines import gcn, self_training
from brgcl.baselines.self_training import SelfTrainingConfig, fit, quotas, surest_nodes
from brgcl.contract import ObservedLabels
from brgcl.data import make_graph
from brgcl.method.inputs import prepare


def ring(num_nodes):
    place = torch.arange(num_nodes)
    edges = torch.cat(
        [torch.stack([place, place.roll(-1)]), torch.stack([place.roll(-1), place])], 1
    )
    edges = edges[:, (edges[0] * num_nodes + edges[1]).argsort()]
    return prepare(Data(x=torch.eye(num_nodes), edge_index=edges)).adjacency


def test_quotas_by_hand():
    """A ring of 20 has degree 2, so eta = 20/4 = 5, and 3 eta = 15 is shared out by class size."""
    labels = torch.tensor([0, 0, 2, 0])
    assert quotas(labels, 3, ring(20), 3.0).tolist() == [11, 0, 3]  # 11.25, 0, 3.75
    assert quotas(labels, 3, ring(20), 0.0).tolist() == [0, 0, 0]


def test_without_edges_the_degree_counts_as_one():
    lonely = prepare(Data(x=torch.eye(8), edge_index=torch.empty(2, 0, dtype=torch.long)))
    assert quotas(torch.tensor([0, 1]), 2, lonely.adjacency, 1.0).tolist() == [4, 4]


P = torch.tensor(
    [[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.3, 0.7], [0.05, 0.95], [0.7, 0.3], [0.45, 0.55]]
)


def test_nodes_are_ranked_within_their_predicted_class():
    free = torch.ones(7, dtype=torch.bool)
    nodes, classes = surest_nodes(P, free, torch.tensor([3, 1]))
    assert nodes.tolist() == [0, 2, 5, 4]
    assert classes.tolist() == [0, 0, 0, 1]


def test_labelled_nodes_are_never_relabelled_and_a_class_gives_what_it_has():
    free = torch.tensor([False, True, True, True, False, True, True])
    nodes, classes = surest_nodes(P, free, torch.tensor([1, 9]))
    assert nodes.tolist() == [2, 3, 6]
    assert classes.tolist() == [0, 1, 1]


DATA = make_graph(60, num_classes=3, num_features=20)
GRAPH = Data(x=DATA.x, edge_index=DATA.edge_index)
LABELS = ObservedLabels(
    torch.where(DATA.train_mask, DATA.y, -1), torch.where(DATA.val_mask, DATA.y, -1), 3
)


def test_without_added_labels_it_is_a_gcn_trained_twice():
    draw = torch.Generator().manual_seed(0)
    config = SelfTrainingConfig(hidden=4, epochs=5, factor=0.0)
    fitted = fit(GRAPH, LABELS, config, draw)
    draw = torch.Generator().manual_seed(0)
    plain = gcn.GCNConfig(hidden=4, epochs=5)
    _, second = (gcn.fit(GRAPH, LABELS, plain, draw) for _ in range(2))
    assert torch.equal(fitted.probabilities, second.probabilities)


def test_the_first_network_labels_for_the_second(monkeypatch):
    seen = []
    original = self_training.surest_nodes

    def spy(probabilities, free, quota):
        seen.append((probabilities, free, quota))
        return original(probabilities, free, quota)

    monkeypatch.setattr(self_training, "surest_nodes", spy)
    said = []
    config = SelfTrainingConfig(hidden=4, epochs=5)
    draw = torch.Generator().manual_seed(0)
    fitted = fit(GRAPH, LABELS, config, draw, lambda *state: said.append(state[:2]))
    [(probabilities, free, quota)] = seen  # one round
    first = gcn.fit(
        GRAPH, LABELS, gcn.GCNConfig(hidden=4, epochs=5), torch.Generator().manual_seed(0)
    )
    assert torch.equal(probabilities, first.probabilities)
    assert torch.equal(free, LABELS.train < 0)
    assert int(quota.sum()) > 0
    assert not torch.equal(fitted.probabilities, first.probabilities)
    assert said == [(done, 10) for done in range(1, 11)]
