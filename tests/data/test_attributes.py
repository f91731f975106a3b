import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from brgcl.data import check_graph, from_scipy, read_graph
from brgcl.data.attributes import structural_attributes
from brgcl.method.sparse import csr_tensor, is_sparse

PATH = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])  # 0 - 1 - 2


def graph(**fields: object) -> Data:
    return Data(**{"x": torch.eye(3), "edge_index": PATH, **fields})


@pytest.mark.parametrize("layout", ["coo", "csc", "csr"])
def test_sparse_attributes_become_sorted_csr(layout):
    dense = torch.tensor([[0.0, 2.0], [0.0, 0.0], [3.0, 1.0]], dtype=torch.float64)
    x = getattr(dense, f"to_sparse_{layout}")()
    checked = check_graph(graph(x=x))
    assert is_sparse(checked.x)
    assert checked.x.dtype == torch.float32
    assert torch.equal(checked.x.to_dense(), dense.float())


@pytest.mark.filterwarnings("ignore:Sparse BS. tensor support is in beta")
@pytest.mark.parametrize("layout", ["bsr", "bsc"])
def test_blocked_sparse_attributes_are_read(layout):
    """Defect 24: BSR tensors raised an error of torch."""
    dense = torch.arange(16.0).reshape(4, 4)
    data = graph(x=getattr(dense, f"to_sparse_{layout}")((2, 2)))
    assert torch.equal(check_graph(data).x.to_dense(), dense)


@pytest.mark.parametrize("kind", [">f8", ">i4", np.longdouble, np.float16, np.uint16, bool])
def test_any_kind_of_number_is_read(write, tmp_path, kind):
    """Defect 24: big-endian and longdouble `.npy` files raised an error of torch."""
    matrix = np.array([[0, 1], [1, 0], [1, 1]])
    np.save(tmp_path / "x.npy", matrix.astype(kind))
    data = read_graph(write("e.csv", "0,1\n1,2\n"), tmp_path / "x.npy")
    assert data.x.tolist() == matrix.tolist()
    assert from_scipy(np.ones((3, 3), dtype=kind), matrix.astype(kind)).x.dtype == torch.float32


def test_unsorted_csr_is_sorted_and_the_input_kept():
    col = torch.tensor([1, 0, 0])
    x = csr_tensor(torch.tensor([0, 2, 2, 3]), col, torch.tensor([2.0, 1.0, 3.0]), (3, 2))
    checked = check_graph(graph(x=x))
    assert checked.x.col_indices().tolist() == [0, 1, 0]
    assert checked.x.values().tolist() == [1.0, 2.0, 3.0]
    assert x.col_indices().tolist() == [1, 0, 0]


def test_structural_attributes_are_said(write, said):
    """Defect 36: that a graph without attributes gets structural ones was logged at INFO."""
    read_graph(write("e.csv", "source,target\na,b\n"))
    assert said() == ["no attributes given: each of the 2 nodes gets its own column"]


def test_many_nodes_without_attributes_are_described_by_degree(monkeypatch):
    monkeypatch.setattr("brgcl.data.attributes.MAX_IDENTITY", 2)
    x = structural_attributes(torch.tensor([[0, 0, 0], [1, 2, 3]]), 5)
    assert x.to_dense().tolist() == [[0, 0, 1], [0, 1, 0], [0, 1, 0], [0, 1, 0], [1, 0, 0]]
