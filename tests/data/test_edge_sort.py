import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from brgcl.data.edge_sort import BYTES_PER_ENTRY, EdgeSorter
from brgcl.data.edges import canonical_edges
from brgcl.data.graph_writer import GraphWriter


def sort(folder, num_nodes, ends, weights, *, entries, parts):
    """Sort edges that come in parts; returns them as `canonical_edges` does, and their number."""
    memory = entries * BYTES_PER_ENTRY
    sorter = EdgeSorter(folder, num_nodes, weighted=weights is not None, memory=memory)
    for part in np.array_split(np.arange(ends.shape[1]), parts):
        sorter.add(ends[:, part], None if weights is None else weights[part])
    num_edges = sorter.write(GraphWriter(folder))
    indptr, indices = (np.load(folder / f"{name}.npy") for name in ("indptr", "indices"))
    row = np.repeat(np.arange(num_nodes), np.diff(indptr))
    stored = folder / "weights.npy"
    value = np.load(stored) if stored.exists() else None
    assert not list(folder.glob("*.tmp"))
    return np.stack([row, indices]), value, num_edges, sorter.degree


@given(
    seed=st.integers(0, 2**32 - 1),
    num_nodes=st.integers(1, 12),
    num_edges=st.integers(0, 60),
    weighted=st.booleans(),
    entries=st.integers(1, 50),
    parts=st.integers(1, 4),
)
@settings(max_examples=60, deadline=None)
def test_sorted_edges_are_canonical_whatever_the_memory(
    tmp_path_factory, seed, num_nodes, num_edges, weighted, entries, parts
):
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, num_nodes, (2, num_edges))
    weights = (rng.integers(1, 9, num_edges) / 4).astype(np.float32) if weighted else None
    expected, value = canonical_edges(
        torch.from_numpy(ends), None if weights is None else torch.from_numpy(weights), num_nodes
    )
    folder = tmp_path_factory.mktemp("edges")
    found, own, number, degree = sort(
        folder, num_nodes, ends, weights, entries=entries, parts=parts
    )
    assert found.tolist() == expected.tolist()
    assert number == expected.shape[1] // 2
    assert (own is None) == (value is None)
    if own is not None:
        assert own.tolist() == value.tolist()
    assert degree.tolist() == np.bincount(ends.ravel(), minlength=num_nodes).tolist()


@pytest.mark.parametrize("num_nodes", [5, 2**20])
def test_one_node_may_have_more_entries_than_fit(tmp_path, num_nodes):
    ends = np.array([[0] * 4, [1, 2, 3, 4]])
    found, *_ = sort(tmp_path, num_nodes, ends, None, entries=2, parts=1)
    assert found.tolist() == [[0, 0, 0, 0, 1, 2, 3, 4], [1, 2, 3, 4, 0, 0, 0, 0]]
