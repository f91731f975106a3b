from brgcl.data import check_graph, open_graph
from brgcl.data.convert_ogb import convert_ogb
from brgcl.data.formats import read_ogb_arxiv
from convert_arxiv_size import write_arxiv_like


def test_generated_files_are_converted_in_parts_as_they_are_read_at_once(tmp_path):
    write_arxiv_like(tmp_path / "arxiv", scale=0.004)
    convert_ogb(tmp_path / "graph", tmp_path / "arxiv", memory=1 << 18)
    found, read = open_graph(tmp_path / "graph"), read_ogb_arxiv(tmp_path / "arxiv")
    expected = check_graph(read, announce=False)
    assert found.num_nodes == 677
    for name in ("x", "edge_index", "y", "train_mask", "val_mask", "test_mask"):
        assert bool((found[name] == expected[name]).all()), name
