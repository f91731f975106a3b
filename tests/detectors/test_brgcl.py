import pytest
import torch
from torch_geometric.data import Data

from brgcl.contract import Fitted
from brgcl.data import check_graph, make_graph
from brgcl.detectors.registry import DETECTORS
from brgcl.tasks.label_errors import judge_labels

pytestmark = pytest.mark.usefixtures("folds_once")


def test_rows_come_in_the_order_of_nodes_whatever_they_are_called():
    graph = check_graph(make_graph(80, num_classes=3, num_features=30))
    generator = torch.Generator().manual_seed(0)
    z = torch.nn.functional.one_hot(graph.y, 3) + 0.3 * torch.randn(80, 3, generator=generator)
    labels = graph.y.clone()
    labels[5], labels[10] = (labels[5] + 1) % 3, -1
    named = graph.clone()
    named.node_ids = [f"n{79 - i}" for i in range(80)]
    named.class_names = ["c", "b", "a"]
    found, plain = (
        DETECTORS["brgcl"].run(each, labels, fitted=Fitted(z)) for each in (named, graph)
    )
    assert found.nodes.tolist() == [i for i in range(80) if i != 10]
    assert torch.equal(found.score, plain.score)
    place = found.nodes.tolist().index(5)
    assert int(found.score.argmin()) == place
    assert int(found.suggested[place]) == int(graph.y[5])


def test_scores_are_those_of_judge_labels():
    graph = check_graph(make_graph(60, num_classes=2, num_features=30))
    z = torch.nn.functional.one_hot(graph.y, 2) + 0.1
    detector = DETECTORS["smooth"]
    found = detector.run(graph, graph.y, fitted=Fitted(z), seed=4)
    plain = Data(x=graph.x, edge_index=graph.edge_index, num_nodes=60)
    from brgcl.noise.graph import generator_for

    seed = int(torch.randint(2**31 - 1, (), generator=generator_for(4, "detection")))
    judged = judge_labels(z, graph.y, graph=plain, seed=seed)
    scores = dict(zip(judged.frame["node"], judged.frame["score"], strict=True))
    assert [scores[node] for node in range(60)] == found.score.tolist()
    assert found.error_rate == judged.error_rate
