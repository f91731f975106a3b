import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from brgcl.data import make_graph, open_graph, save_graph
from brgcl.data.graph_writer import GraphWriter, writing_graph
from brgcl.errors import InputError


@pytest.fixture
def graph():
    return make_graph(60, num_classes=3, num_features=12, labels_per_class=5, num_val=6)


@pytest.mark.parametrize("width", [None, 3])
def test_a_growing_array_is_an_array(tmp_path, width):
    shape = (25,) if width is None else (25, width)
    whole = np.random.default_rng(0).integers(0, 9, shape)
    with GraphWriter(tmp_path).growing("a", np.int32, width) as array:
        for block in np.array_split(whole, 4):
            array.append(block)
    found = np.load(tmp_path / "a.npy")
    assert found.dtype == np.int32
    assert np.array_equal(found, whole)


def test_what_is_there_is_replaced_only_if_it_is_a_graph_and_that_is_wanted(graph, tmp_path):
    out = tmp_path / "graph"
    save_graph(graph, out)
    with pytest.raises(InputError, match="holds a graph already"):
        save_graph(graph, out)
    small = make_graph(20, num_classes=2, num_features=5, labels_per_class=2, num_val=2)
    save_graph(small, out, overwrite=True)
    assert open_graph(out).num_nodes == 20
    (out / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"notes.txt' is no part of the graph"):
        save_graph(graph, out, overwrite=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other/notes.txt").write_text("mine")
    with pytest.raises(InputError, match="not empty and holds no graph"):
        save_graph(graph, tmp_path / "other", overwrite=True)
    with pytest.raises(InputError, match="is a file"):
        save_graph(graph, tmp_path / "other/notes.txt", overwrite=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["graph", "other"]


def test_an_error_leaves_the_old_graph_and_nothing_else(graph, tmp_path):
    save_graph(graph, tmp_path / "graph")
    with (
        pytest.raises(ValueError, match="Object arrays"),
        writing_graph(tmp_path / "graph", overwrite=True) as writer,
    ):
        writer.save("y", np.array([None]))
    assert [p.name for p in tmp_path.iterdir()] == ["graph"]
    assert open_graph(tmp_path / "graph").num_nodes == 60


@pytest.mark.parametrize("again", [False, True])
def test_a_graph_comes_back_if_the_new_one_does_not(graph, tmp_path, monkeypatch, again):
    out = tmp_path / "graph"
    save_graph(graph, out)
    if again:  # the command before was killed between two renames
        out.rename(tmp_path / ".graph.old")
        with pytest.raises(InputError, match="holds a graph already"):
            save_graph(graph, out)
    else:
        rename = Path.rename

        def full(path, target):
            if path.name.endswith(".partial"):
                raise OSError(28, "No space left on device")
            return rename(path, target)

        monkeypatch.setattr(Path, "rename", full)
        with pytest.raises(OSError, match="No space"):
            save_graph(graph, out, overwrite=True)
    assert [p.name for p in tmp_path.iterdir()] == ["graph"]
    assert open_graph(out).num_nodes == 60


def test_only_one_command_writes_a_folder(graph, tmp_path):
    with (
        writing_graph(tmp_path / "graph", overwrite=False),
        pytest.raises(InputError, match="another command is writing"),
    ):
        save_graph(graph, tmp_path / "graph")


KILLED = """
import sys
from pathlib import Path
from brgcl.data.graph_writer import writing_graph
import numpy as np
with writing_graph(Path(sys.argv[1]), overwrite=False) as writer:
    writer.save("y", np.zeros(9))
    print("now", flush=True)
    input()
"""


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_a_killed_command_leaves_nothing_that_opens_and_does_not_hinder_the_next(graph, tmp_path):
    out = tmp_path / "graph"
    command = [sys.executable, "-c", KILLED, str(out)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout.readline() == "now\n"
        process.send_signal(signal.SIGKILL)
    with pytest.raises(InputError, match="is not a folder"):
        open_graph(out)
    for folder in tmp_path.iterdir():
        with pytest.raises(InputError):
            open_graph(folder)
    save_graph(graph, out)
    assert open_graph(out).num_nodes == 60
