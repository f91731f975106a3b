import gzip

import pytest

from brgcl.data import check_graph, open_graph
from brgcl.data.convert_ogb import convert_ogb
from brgcl.data.formats import read_ogb_arxiv
from brgcl.errors import InputError

TINY = 16 * 4


@pytest.mark.parametrize("given", [".", "raw"])
def test_the_converted_graph_is_that_of_the_reader(write_arxiv, tmp_path, given):
    write_arxiv(tmp_path / "arxiv")
    convert_ogb(tmp_path / "graph", tmp_path / "arxiv" / given, memory=TINY)
    expected = check_graph(read_ogb_arxiv(tmp_path / "arxiv"))
    found = open_graph(tmp_path / "graph")
    assert found.name == "arxiv"
    assert found.class_names == expected.class_names
    for name in ("x", "edge_index", "y", "train_mask", "val_mask", "test_mask", "node_ids"):
        assert found[name].tolist() == expected[name].tolist(), name
    assert found.num_nodes == 4


def test_a_split_and_names_are_not_needed(write_arxiv, tmp_path):
    for name in write_arxiv(tmp_path / "arxiv"):
        if not name.startswith("raw"):
            (tmp_path / "arxiv" / name).unlink()
    convert_ogb(tmp_path / "graph", tmp_path / "arxiv")
    found = open_graph(tmp_path / "graph")
    assert "train_mask" not in found
    assert found.class_names == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("raw/edge.csv.gz", "0,1\n1,4\n", r"edge.csv.gz line 2: node 4 is outside 0..3"),
        ("raw/edge.csv.gz", "0,1\n1,x\n", r"edge.csv.gz line 2, column 'column 2': 'x' is not a"),
        ("raw/edge.csv.gz", "0,1\n1,\n", r"edge.csv.gz line 2, column 'column 2': the number is"),
        ("raw/node-feat.csv.gz", "1,2\n3,4\n", r"has 2 rows for 4 nodes"),
        ("raw/node-feat.csv.gz", "1,2\n3,4\n5,6\n7,nan\n", r"line 4, column 'column 2'"),
        ("raw/node-label.csv.gz", "1\n0\n", r"needs a class from 0 on"),
        ("raw/node-label.csv.gz", "1\n0\n-2\n1\n", r"needs a class from 0 on"),
        ("split/time/valid.csv.gz", "9\n", r"lists a node outside 0..3"),
    ],
)
def test_a_wrong_table_is_refused(write_arxiv, tmp_path, name, text, message):
    write_arxiv(tmp_path / "arxiv")
    (tmp_path / "arxiv" / name).write_bytes(gzip.compress(text.encode()))
    with pytest.raises(InputError, match=message):
        convert_ogb(tmp_path / "graph", tmp_path / "arxiv")
    assert not (tmp_path / "graph").exists()


def test_another_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"has no raw/edge.csv.gz"):
        convert_ogb(tmp_path / "graph", tmp_path)
