import pytest
import torch
from torch_geometric.data import Data

from brgcl.baselines import s2gc
from brgcl.baselines.s2gc import S2GCConfig, diffuse, fit, smoothed_rows
from brgcl.baselines.shared import inputs
from brgcl.contract import ObservedLabels
from brgcl.errors import InputError
from brgcl.method.inputs import prepare

# A path 0-1-2-3 with a triangle 3-4-5 at its end; 6 is alone.
ENDS = torch.tensor([[0, 1, 2, 3, 3, 4], [1, 2, 3, 4, 5, 5]])
EDGES = torch.cat([ENDS, ENDS.flip(0)], dim=1)
EDGES = EDGES[:, (EDGES[0] * 7 + EDGES[1]).argsort()]
X = torch.tensor(
    [[2.0, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 1], [0, 3, 0], [1, 1, 1], [0, 0, 0]],
)
GRAPH = Data(x=X, edge_index=EDGES)
LABELS = [0, 0, -1, -1, 1, 1, -1]


def seeded(seed=0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def observed(train, validation=None) -> ObservedLabels:
    given = None if validation is None else torch.tensor(validation)
    return ObservedLabels(torch.tensor(train), given, 2)


def dense_operator(steps, alpha, weight=None):
    """M with powers of a dense matrix."""
    A = torch.eye(7)
    A[EDGES[0], EDGES[1]] = 1 if weight is None else weight
    scale = A.sum(1).rsqrt()
    A = scale[:, None] * A * scale
    powers = [torch.linalg.matrix_power(A, k) for k in range(1, steps + 1)]
    return alpha * torch.eye(7) + (1 - alpha) / steps * torch.stack(powers).sum(0)


def rows_to_one(x):
    total = x.sum(1, keepdim=True)
    return x / torch.where(total > 0, total, 1)


@pytest.mark.parametrize(("steps", "alpha"), [(1, 0.0), (3, 0.05), (16, 0.4), (2, 1.0)])
def test_diffusion_equals_the_sum_of_powers(steps, alpha):
    dense = torch.randn(7, 4, generator=seeded())
    before = dense.clone()
    found = diffuse(prepare(GRAPH).adjacency.normalized, dense, steps, alpha)
    assert torch.allclose(found, dense_operator(steps, alpha) @ dense, atol=1e-6)
    assert torch.equal(dense, before)


@pytest.mark.parametrize("block", [1, 2, 256])
@pytest.mark.parametrize("sparse", [True, False], ids=["sparse", "dense"])
@pytest.mark.parametrize("nodes", [[4], [0, 5], [0, 2, 5, 6], list(range(7))])
def test_rows_are_the_same_whichever_side_is_diffused(nodes, sparse, block, monkeypatch):
    monkeypatch.setattr(s2gc, "BLOCK", block)
    x = torch.cat([X, torch.zeros(7, 40)], dim=1) if sparse else X
    graph = prepare(Data(x=x, edge_index=EDGES))
    assert (graph.x.data.layout == torch.sparse_csr) == sparse
    found = smoothed_rows(graph, torch.tensor(nodes), 4, 0.1)
    assert torch.allclose(found, (dense_operator(4, 0.1) @ rows_to_one(x))[nodes], atol=1e-6)


@pytest.mark.parametrize("nodes", [[0, 5], [0, 2, 5, 6]])
def test_edge_weights_count(nodes):
    weight = (EDGES[0] + EDGES[1]).float()
    graph = prepare(Data(x=X, edge_index=EDGES, edge_weight=weight))
    wanted = (dense_operator(3, 0.1, weight) @ rows_to_one(X))[nodes]
    assert torch.allclose(smoothed_rows(graph, torch.tensor(nodes), 3, 0.1), wanted, atol=1e-6)


def dense_training(config, train, seed=0):
    """Logits of all nodes after each epoch of a regression on the dense H."""
    H = dense_operator(config.steps, config.alpha) @ rows_to_one(X)
    draw = seeded(seed)
    bound = 3**-0.5
    W = torch.empty(3, 2).uniform_(-bound, bound, generator=draw).requires_grad_()
    b = torch.empty(2).uniform_(-bound, bound, generator=draw).requires_grad_()
    optimizer = torch.optim.Adam([W, b], lr=config.lr, weight_decay=config.weight_decay)
    train = torch.tensor(train)
    known = train >= 0
    epochs = []
    for _ in range(config.epochs):
        shares = (H @ W + b).softmax(1)[known, train[known]]
        optimizer.zero_grad()
        (-shares.log().mean()).backward()
        optimizer.step()
        epochs.append((H @ W + b).detach())
    return epochs


def test_without_validation_labels_the_last_epoch_is_taken():
    config = S2GCConfig(steps=3, epochs=12, weight_decay=1e-3)
    fitted = fit(GRAPH, observed(LABELS), config, seeded())
    logits = dense_training(config, LABELS)[-1]
    assert torch.allclose(fitted.representations, logits, atol=1e-5)
    assert torch.allclose(fitted.probabilities, logits.softmax(1), atol=1e-5)


def test_validation_labels_pick_the_first_best_epoch():
    config = S2GCConfig(steps=3, epochs=12)
    wanted = [-1, -1, 0, 1, -1, -1, -1]
    found = set()
    for seed in range(6):
        reference = dense_training(config, LABELS, seed)
        scores = [int((logits.argmax(1) == torch.tensor(wanted)).sum()) for logits in reference]
        best = scores.index(max(scores))
        fitted = fit(GRAPH, observed(LABELS, wanted), config, seeded(seed))
        assert torch.allclose(fitted.representations, reference[best], atol=1e-5)
        found.add(best)
    assert len(found) > 1


def test_with_all_weight_on_itself_a_node_does_not_see_its_neighbours():
    config = S2GCConfig(alpha=1.0, epochs=5)
    one, two = (
        fit(Data(x=X, edge_index=edges), observed(LABELS), config, seeded()).representations
        for edges in (EDGES, EDGES[:, :0])
    )
    assert torch.allclose(one, two, atol=1e-6)


def test_what_does_not_fit_into_memory_is_refused(monkeypatch):
    monkeypatch.setattr(inputs, "MOST_BYTES", 10.0)
    with pytest.raises(InputError, match=r"s2gc would need about .* fewer labelled nodes"):
        fit(GRAPH, observed(LABELS), S2GCConfig(), seeded())
