import pytest
import torch
from torch_geometric.data import Data

from brgcl.baselines.kmeans import KMeansConfig, fit
from brgcl.baselines.shared import inputs
from brgcl.errors import InputError

X = torch.tensor([[2.0, 0, 2], [0, 0, 0], [0, 1, 3]])
EDGES = torch.tensor([[0, 1], [1, 0]])


def run(x, edges=EDGES, **settings) -> torch.Tensor:
    graph = Data(x=x, edge_index=edges)
    return fit(graph, None, KMeansConfig(**settings), torch.Generator()).representations


def test_representations_are_attributes_with_rows_of_sum_one():
    expected = torch.tensor([[0.5, 0, 0.5], [0, 0, 0], [0, 0.25, 0.75]])
    assert torch.equal(run(X), expected)
    assert torch.equal(run(X.to_sparse_csr()), expected)


def test_attributes_can_be_taken_as_given_and_are_a_copy():
    found = run(X, attributes="none")
    assert torch.equal(found, X)
    found += 1
    assert X[1].sum() == 0


def test_edges_are_not_looked_at():
    assert torch.equal(run(X), run(X, edges=torch.empty(2, 0, dtype=torch.long)))


def test_what_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr(inputs, "MOST_BYTES", 100)
    with pytest.raises(InputError, match=r"kmeans would need .* use fewer attributes"):
        run(X)
