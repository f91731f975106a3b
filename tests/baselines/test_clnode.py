import math

import pytest
import torch
from torch_geometric.data import Data

from brgcl.baselines import clnode
from brgcl.baselines.clnode import (
    CLNodeConfig,
    fit,
    global_difficulty,
    learned_share,
    local_difficulty,
)
from brgcl.contract import ObservedLabels
from brgcl.data import make_graph
from brgcl.method.inputs import prepare

# A star around 0 with leaves 1, 2, 3; 4 is alone.
ENDS = torch.tensor([[0, 0, 0], [1, 2, 3]])
EDGES = torch.cat([ENDS, ENDS.flip(0)], dim=1)
CLASSES = torch.tensor([0, 0, 1, 2, 1])


def seeded(seed=0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def entropy(*shares):
    return -sum(share * math.log(share) for share in shares)


def test_local_difficulty_is_the_entropy_of_the_classes_around():
    graph = prepare(Data(x=torch.eye(5), edge_index=EDGES))
    found = local_difficulty(CLASSES, graph.adjacency.transition, 3)
    wanted = [entropy(0.5, 0.25, 0.25), 0, entropy(0.5, 0.5), entropy(0.5, 0.5), 0]
    assert found.tolist() == pytest.approx(wanted, abs=1e-6)


def test_local_difficulty_counts_neighbours_by_weight():
    weight = torch.tensor([1.0, 2, 4, 1, 2, 4])  # of 0-1, 0-2, 0-3, both ways
    graph = prepare(Data(x=torch.eye(5), edge_index=EDGES, edge_weight=weight))
    found = local_difficulty(CLASSES, graph.adjacency.transition, 3)
    assert found[0].item() == pytest.approx(entropy(2 / 8, 2 / 8, 4 / 8), abs=1e-6)
    assert found[2].item() == pytest.approx(entropy(1 / 3, 2 / 3), abs=1e-6)


def slow_global_difficulty(codes, classes, nodes):
    """As the module's head says it, node by node."""
    z = codes / codes.norm(dim=1, keepdim=True)
    found = sorted(set(classes.tolist()))
    centre = {c: z[classes == c].sum(0) / z[classes == c].sum(0).norm() for c in found}
    m = {}
    for u in nodes.tolist():
        total = sum(float(z[u] @ centre[c]) for c in found)
        m[u] = len(found) * float(z[u] @ centre[int(classes[u])]) / total
    result = []
    for u in nodes.tolist():
        same = [m[v] for v in nodes.tolist() if classes[v] == classes[u]]
        r = m[u] / (sum(same) / len(same))
        result.append(1 / (1 if r > 0.95 else r))
    return result


def test_global_difficulty_equals_a_slow_version():
    draw = seeded()
    codes = (2 * torch.randn(40, 4, generator=draw)).softmax(1)
    classes = torch.randint(0, 3, (40,), generator=draw)  # nobody is of the fourth class
    nodes = torch.arange(0, 40, 3)
    found = global_difficulty(codes, classes, nodes, 4)
    assert found.tolist() == pytest.approx(slow_global_difficulty(codes, classes, nodes), rel=1e-4)
    assert found.min() == 1
    assert found.max() > 1.2


def test_a_node_that_looks_like_another_class_is_hard():
    codes = torch.tensor([[0.9, 0.1]] * 4 + [[0.1, 0.9]] * 4)
    classes = torch.tensor([0, 0, 0, 1, 1, 1, 1, 1])  # node 3 is given the wrong class
    found = global_difficulty(codes, classes, torch.arange(8), 2)
    assert found.argmax() == 3
    assert found[[0, 1, 2, 4, 5, 6, 7]].tolist() == [1] * 7


def test_the_share_of_labels_grows_geometrically_to_all():
    config = CLNodeConfig(start_share=0.25, full_after=4)
    found = [learned_share(epoch, config) for epoch in range(1, 8)]
    assert found == pytest.approx([0.25, 0.25**0.75, 0.5, 0.25**0.25, 1, 1, 1])
    assert learned_share(1, CLNodeConfig(start_share=1.0)) == 1


def test_the_easiest_labels_come_first(monkeypatch):
    data = make_graph(60, num_classes=3, num_features=20)
    graph = Data(x=data.x, edge_index=data.edge_index)
    labels = ObservedLabels(torch.where(data.train_mask, data.y, -1), None, 3)
    nodes = data.train_mask.nonzero().squeeze(1)
    hardness = torch.zeros(60)
    hardness[nodes] = torch.arange(len(nodes)).flip(0).float()  # the last node is the easiest
    monkeypatch.setattr(clnode, "local_difficulty", lambda *_: hardness.clone())
    monkeypatch.setattr(clnode, "global_difficulty", lambda *_: torch.zeros(len(nodes)))
    seen, said = [], []
    original = clnode.F.cross_entropy

    def spy(logits, target):
        seen.append(target.tolist())
        return original(logits, target)

    monkeypatch.setattr(clnode.F, "cross_entropy", spy)
    config = CLNodeConfig(hidden=4, epochs=3, start_share=0.5, full_after=2)
    fit(graph, labels, config, seeded(), lambda *state: said.append(state[:2]))
    n, easy = len(nodes), data.y[nodes.flip(0)].tolist()
    assert seen[:3] == [data.y[nodes].tolist()] * 3
    assert seen[3:] == [easy[: n // 2], easy[: int(0.5**0.5 * n)], easy]
    assert said == [(done, 6) for done in range(1, 7)]
