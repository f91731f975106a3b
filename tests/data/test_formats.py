import gzip
import logging
import pickle
from pathlib import Path

import pytest
import torch

from brgcl.data.formats import read_coauthor, read_ogb_arxiv, read_planetoid
from brgcl.errors import InputError


class Malicious:
    def __reduce__(self):
        return (Path.touch, (Path("touched"),))


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps(Malicious()),
        b"cos\nsystem\n(S'touch touched'\ntR.",
        b"cnumpy\nload\n(S'touched'\ntR.",
        b"cnumpy.core.multiarray\n_reconstruct\n(c__builtin__\nlist\n(I0\ntS'b'\ntR.",
        b"c__builtin__\neval\n(S'1'\ntR.",
        b"\x80\x02broken",
    ],
)
def test_pickle_that_names_anything_else_is_refused(
    write_planetoid, tmp_path, monkeypatch, content
):
    monkeypatch.chdir(tmp_path)
    write_planetoid(tmp_path / "tiny")
    (tmp_path / "tiny" / "ind.tiny.x").write_bytes(content)
    with pytest.raises(InputError, match=r"ind.tiny.x: refused, a Planetoid file holds arrays"):
        read_planetoid(tmp_path / "tiny", "tiny")
    assert not (tmp_path / "touched").exists()


def test_coauthor_counts_become_binary_and_the_split_is_seeded(write_coauthor, tmp_path):
    file = tmp_path / "graph.npz"
    write_coauthor(file)
    data = read_coauthor(file, seed=1)
    assert data.x.to_dense()[:2].tolist() == [[0, 1], [1, 0]]
    assert data.class_names == ["u", "v"]
    for mask, size in (("train_mask", 20), ("val_mask", 30), ("test_mask", 10)):
        assert torch.bincount(data.y[data[mask]]).tolist() == [size, size]
    assert torch.equal(data.train_mask, read_coauthor(file, seed=1).train_mask)
    assert not torch.equal(data.train_mask, read_coauthor(file, seed=2).train_mask)


def test_broken_coauthor_file_is_refused(tmp_path):
    (tmp_path / "graph.npz").write_bytes(b"PK broken")
    with pytest.raises(InputError, match=r"graph.npz: cannot be read as a co-author graph"):
        read_coauthor(tmp_path / "graph.npz")


def test_arxiv_layout(write_arxiv, tmp_path, caplog):
    caplog.set_level(logging.INFO, "brgcl")
    write_arxiv(tmp_path)
    data = read_ogb_arxiv(tmp_path)
    assert data.x.tolist() == [[0.5, -1], [1, 2], [3, 4], [5, 6]]
    assert data.edge_index.T.tolist() == [[0, 1], [1, 0], [3, 2]]
    assert data.y.tolist() == [1, 0, 2, 0]
    assert data.train_mask.tolist() == [True, False, False, True]
    assert data.val_mask.tolist() == [False, True, False, False]
    assert data.test_mask.tolist() == [False, False, True, False]
    assert data.class_names == ["arxiv cs na", "arxiv cs mm", "arxiv cs lo"]
    said = [record.getMessage() for record in caplog.records]
    assert said == ["ogbn-arxiv: 3 directed citations are read as undirected edges"]


def test_broken_arxiv_files_are_named(write_arxiv, tmp_path):
    write_arxiv(tmp_path)
    path = tmp_path / "split/time/test.csv.gz"
    path.write_bytes(gzip.compress(b"9\n"))
    with pytest.raises(InputError, match=r"test.csv.gz: lists a node outside 0..3"):
        read_ogb_arxiv(tmp_path)
    path.write_bytes(b"plain")
    with pytest.raises(InputError, match=r"test.csv.gz: not a complete table of numbers"):
        read_ogb_arxiv(tmp_path)
    path.unlink()
    with pytest.raises(InputError, match=r"test.csv.gz: no such file"):
        read_ogb_arxiv(tmp_path)
