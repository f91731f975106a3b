import json
import os
import sys

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from brgcl import BRGCL
from brgcl.data import check_graph, make_graph, open_graph, read_graph, save_graph
from brgcl.data.graph_folder import map_array
from brgcl.errors import InputError
from brgcl.machine import memory
from brgcl.method.sparse import is_sparse


@pytest.fixture
def graph():
    return make_graph(60, num_classes=3, num_features=12, labels_per_class=5, num_val=6)


def arrays(data):
    """All that is in a graph, as plain values."""
    fields = {name: value for name, value in data.to_dict().items() if name != "x"}
    fields["x"] = data.x.to_dense()
    fields["layout"] = str(data.x.layout)
    return {n: v.tolist() if hasattr(v, "tolist") else v for n, v in fields.items()}


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("named", [False, True])
def test_a_graph_comes_back_as_it_was_saved(graph, tmp_path, dense, weighted, named):
    graph.x = graph.x.to_dense() if dense else graph.x
    if weighted:
        low, high = graph.edge_index.min(0).values, graph.edge_index.max(0).values
        graph.edge_weight = 1.0 + (low * 7 + high) % 5
    if named:
        graph.node_ids = [f"n{i}" for i in range(60)]
        graph.feature_names = [f"word {i}" for i in range(graph.num_features)]
    graph = check_graph(graph)
    save_graph(graph, tmp_path / "graph")
    found = open_graph(tmp_path / "graph")
    assert arrays(found) == arrays(graph)
    assert is_sparse(found.x) != dense
    assert found.get("feature_names") == graph.get("feature_names")
    assert arrays(check_graph(found)) == arrays(graph)


def test_what_is_written_to_attributes_stays_in_memory(tmp_path):
    save_graph(Data(x=torch.ones(3, 2), edge_index=torch.tensor([[0], [1]])), tmp_path / "graph")
    open_graph(tmp_path / "graph").x.zero_()
    assert bool((open_graph(tmp_path / "graph").x == 1).all())


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a mapping may be a copy")
def test_attributes_stay_on_the_disk(tmp_path):
    x = torch.randn(30, 4)
    save_graph(Data(x=x, edge_index=torch.tensor([[0, 1], [1, 2]])), tmp_path / "graph")
    data = check_graph(open_graph(tmp_path / "graph"))
    with (tmp_path / "graph/x.npy").open("r+b") as file:  # the file is what the tensor reads
        file.seek(-4, os.SEEK_END)
        file.write(np.float32(7).tobytes())
    assert float(data.x[-1, -1]) == 7


@pytest.mark.skipif(sys.platform != "linux", reason="needs files with holes")
def test_an_array_larger_than_the_memory_is_mapped(tmp_path):
    rows = 2 * memory() // 4096
    made = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.float32, (rows, 1024))
    made[-1, -1] = 7  # the only page of the file that takes room
    del made
    x = map_array(tmp_path / "x.npy")
    assert x.shape == (rows, 1024)
    assert (float(x[0, 0]), float(x[-1, -1])) == (0, 7)


def test_a_model_trains_on_a_folder_as_on_the_graph(graph, tmp_path):
    graph.x = graph.x.to_dense()
    save_graph(graph, tmp_path / "graph")
    settings = {"epochs": 2, "hidden": 8, "dim": 4, "warmup_epochs": 1}
    one, other = (BRGCL(**settings).fit(data) for data in (graph, open_graph(tmp_path / "graph")))
    assert torch.equal(one.representations_, other.representations_)


def test_every_kind_of_damage_is_refused(graph, tmp_path):
    save_graph(graph, tmp_path / "graph")
    about = tmp_path / "graph/graph.json"
    text = about.read_text()
    for broken in ("{", "[]", json.dumps(json.loads(text) | {"complete": False})):
        about.write_text(broken)
        with pytest.raises(InputError, match="convert the graph again"):
            open_graph(tmp_path / "graph")
    about.write_text(text)
    with (tmp_path / "graph/indices.npy").open("ab") as file:
        file.write(b"more")
    with pytest.raises(InputError, match=r"indices.npy' has \d+ bytes instead of"):
        open_graph(tmp_path / "graph")
    (tmp_path / "graph/indices.npy").unlink()
    with pytest.raises(InputError, match="convert the graph again"):
        open_graph(tmp_path / "graph")
    with pytest.raises(InputError, match=r"is not a folder; brgcl convert makes"):
        open_graph(tmp_path / "none")
    with pytest.raises(InputError, match=r"has no graph.json"):
        open_graph(tmp_path)


def test_read_graph_points_to_open_graph(graph, tmp_path):
    save_graph(graph, tmp_path / "graph")
    with pytest.raises(InputError, match="open it with open_graph"):
        read_graph(tmp_path / "graph")
