import numpy as np
import pytest
import torch

from brgcl import make_graph
from brgcl.config import BRGCLConfig
from brgcl.errors import InputError
from brgcl.method.attributes import learn_preparation
from brgcl.method.train import begin_with
from brgcl.scale.memory import Plan
from brgcl.scale.part_files import read_parts, stored_name, write_parts
from brgcl.scale.parts import split_graph
from brgcl.scale.train import train_by_parts


@pytest.mark.parametrize("kind", ["l1", "standardize"])
@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_a_graph_comes_back(data, tmp_path, kind, layout):
    given = data.clone()
    if layout == "dense" and given.x.layout != torch.strided:
        given.x = given.x.to_dense()
    elif layout == "sparse" and given.x.layout == torch.strided:
        given.x = given.x.to_sparse_csr()
    graph = split_graph(given, learn_preparation(given.x, kind), 5)
    write_parts(tmp_path / "parts", graph, "this one")
    found = read_parts(tmp_path / "parts")
    assert stored_name(tmp_path / "parts") == "this one"
    for name in ("crow", "col", "starts", "given", "weight"):
        ours, theirs = getattr(found, name), getattr(graph, name)
        assert (ours is None) == (theirs is None)
        assert ours is None or torch.equal(ours, theirs)
    assert found.x.layout == graph.x.layout
    nodes = torch.tensor([0, 17, 5, 299])
    assert torch.equal(found.attributes(nodes).dense, graph.attributes(nodes).dense)


def test_training_on_files_is_training_in_memory(parts, tmp_path):
    write_parts(tmp_path / "parts", parts, "")
    config = BRGCLConfig(epochs=3, warmup_epochs=1, hidden=16, dim=8, num_negatives=40)
    ends = []
    for graph in (parts, read_parts(tmp_path / "parts")):
        state = begin_with(40, config.replace(num_layers=2), torch.Generator().manual_seed(0))
        train_by_parts(state, graph, config, Plan("partitioned", 6, 2, 2, 0, 0, 1e9))
        ends.append(list(state.encoder.parameters()))
    assert all(torch.equal(a, b) for a, b in zip(*ends, strict=True))


def test_a_folder_is_whole_or_not_there(tmp_path, monkeypatch):
    data = make_graph(120, num_classes=3, num_features=20, labels_per_class=5)
    graph = split_graph(data, learn_preparation(data.x), 3)
    folder, save = tmp_path / "shared" / "parts", np.save
    assert stored_name(folder) is None

    def fail(file, array):
        if file.name == "starts.npy":
            raise OSError("No space left on device")
        save(file, array)

    with monkeypatch.context() as patched:
        patched.setattr(np, "save", fail)
        with pytest.raises(OSError, match="No space left"):
            write_parts(folder, graph, "first")
    assert list(folder.parent.iterdir()) == []
    write_parts(folder, graph, "first")
    write_parts(folder, graph, "second")
    assert stored_name(folder) == "second"
    assert list(folder.parent.iterdir()) == [folder]


def test_a_damaged_folder_is_refused(parts, tmp_path):
    write_parts(tmp_path / "parts", parts, "")
    (tmp_path / "parts" / "col.npy").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"is damaged .* remove it to find the parts again"):
        read_parts(tmp_path / "parts")
    (tmp_path / "parts" / "about.json").write_text("[]")
    assert stored_name(tmp_path / "parts") is None
