import collections
import gzip
import hashlib
import logging
import pickle
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
import torch

from brgcl.data import DATASETS, available, dataset_status, load_dataset, make_graph
from brgcl.data.catalogue import Dataset, File
from brgcl.data.formats import PLANETOID_PARTS, read_coauthor, read_ogb_arxiv, read_planetoid
from brgcl.errors import DataNotFound, InputError
from brgcl.method.sparse import is_sparse


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Three empty data folders: the argument, the variable, the cache."""
    found = {name: tmp_path / name for name in ("root", "variable", "cache")}
    monkeypatch.setenv("BRGCL_DATA", str(found["variable"]))
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name: str(found["cache"]))
    return found


def write_planetoid(folder: Path, name: str = "tiny") -> tuple[File, ...]:
    """Seven nodes: 0, 1 train; 2, 3 are known; 6, 4 test; 5 is in no file but in the graph."""
    folder.mkdir(parents=True)
    allx = scipy.sparse.csr_matrix(np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]], "f4"))
    ally = np.array([[1, 0], [0, 1], [1, 0], [0, 1]])
    graph = {0: [1, 1], 1: [0], 2: [2, 3], 3: [2], 4: [6], 5: [0], 6: [4]}
    parts = {
        "x": allx[:2],
        "y": ally[:2],
        "allx": allx,
        "ally": ally,
        "tx": scipy.sparse.csr_matrix(np.array([[0, 5, 0], [7, 0, 0]], "f4")),
        "ty": np.array([[1, 0], [0, 1]]),
        "graph": collections.defaultdict(list, graph),
    }
    files = []
    for part in PLANETOID_PARTS:
        path = folder / f"ind.{name}.{part}"
        content = b"6\n4\n" if part == "test.index" else pickle.dumps(parts[part], protocol=4)
        path.write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        files.append(File(path.name, f"http://127.0.0.1:1/{path.name}", digest))
    return tuple(files)


@pytest.fixture
def tiny(places, tmp_path, monkeypatch) -> Dataset:
    files = write_planetoid(tmp_path / "made")
    entry = replace(
        DATASETS["cora"],
        folder="tiny",
        files=files,
        num_nodes=7,
        num_edges=4,
        num_features=3,
        num_classes=2,
        class_names=("u", "v"),
    )
    monkeypatch.setitem(DATASETS, "tiny", entry)
    return entry


def test_planetoid_layout_is_put_in_order(tiny, places):
    write_planetoid(places["root"] / "tiny")
    data = load_dataset("tiny", places["root"])
    assert is_sparse(data.x)
    assert data.x.to_dense().tolist() == [
        [1, 0, 0],
        [0, 1, 0],
        [0, 0, 1],
        [1, 1, 0],
        [7, 0, 0],
        [0, 0, 0],
        [0, 5, 0],
    ]
    assert data.y.tolist() == [0, 1, 0, 1, 1, -1, 0]
    assert data.edge_index.T.tolist() == [
        [0, 1],
        [0, 5],
        [1, 0],
        [2, 3],
        [3, 2],
        [4, 6],
        [5, 0],
        [6, 4],
    ]
    assert data.train_mask.nonzero().flatten().tolist() == [0, 1]
    assert data.test_mask.nonzero().flatten().tolist() == [4, 6]
    assert data.class_names == ["u", "v"]
    assert data.name == "tiny"


@pytest.mark.parametrize("where", ["root", "variable", "cache"])
def test_every_place_is_searched(tiny, places, where):
    assert not available("tiny", places["root"])
    write_planetoid(places[where] / "tiny")
    assert available("tiny", places["root"])
    assert load_dataset("tiny", places["root"]).num_nodes == 7
    status = {entry.name: entry for entry in dataset_status(places["root"])}["tiny"]
    assert status.path == places[where] / "tiny"
    assert (status.num_nodes, status.num_edges, status.num_classes) == (7, 4, 2)


def test_what_is_nowhere_is_one_line_with_the_remedy(tiny, places):
    with pytest.raises(DataNotFound) as caught:
        load_dataset("tiny", places["root"])
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("tiny: ind.tiny.x is not in ")
    for place in places.values():
        assert str(place / "tiny") in message
    assert "set BRGCL_DATA=<folder>" in message
    assert not places["root"].exists()
    assert not places["variable"].exists()


def test_missing_files_are_downloaded_into_the_cache_only(tiny, places, tmp_path, monkeypatch):
    monkeypatch.setitem(
        DATASETS,
        "tiny",
        replace(
            tiny,
            files=tuple(
                replace(file, url=(tmp_path / "made" / file.name).as_uri()) for file in tiny.files
            ),
        ),
    )
    monkeypatch.setattr("brgcl.data.download._fetch", copy_from_disk)
    assert load_dataset("tiny").num_nodes == 7
    assert len(list((places["cache"] / "tiny").iterdir())) == 8
    assert not places["variable"].exists()


def copy_from_disk(url: str, part: Path) -> None:
    part.write_bytes(Path(url.removeprefix("file://")).read_bytes())


def test_changed_file_is_refused(tiny, places):
    write_planetoid(places["root"] / "tiny")
    path = places["root"] / "tiny" / "ind.tiny.test.index"
    path.write_text("4\n6\n")
    with pytest.raises(
        InputError, match=r"ind.tiny.test.index: checksum .* remove the file and get"
    ):
        load_dataset("tiny", places["root"])


def test_wrong_sizes_are_refused(tiny, places, monkeypatch):
    write_planetoid(places["root"] / "tiny")
    monkeypatch.setitem(DATASETS, "tiny", replace(tiny, num_edges=5))
    with pytest.raises(InputError, match="4 edges instead of the 5 of tiny"):
        load_dataset("tiny", places["root"])


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
def test_pickle_that_names_anything_else_is_refused(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    write_planetoid(tmp_path / "tiny")
    (tmp_path / "tiny" / "ind.tiny.x").write_bytes(content)
    with pytest.raises(InputError, match=r"ind.tiny.x: refused, a Planetoid file holds arrays"):
        read_planetoid(tmp_path / "tiny", "tiny")
    assert not (tmp_path / "touched").exists()


def write_coauthor(file: Path) -> None:
    adj = scipy.sparse.csr_array(np.triu(np.ones((120, 120)), 1))
    attr = scipy.sparse.csr_array(np.tile([[0, 3.0], [1.0, 0]], (60, 1)))
    parts = {
        f"{name}_{part}": getattr(matrix, part)
        for name, matrix in (("adj", adj), ("attr", attr))
        for part in ("data", "indices", "indptr", "shape")
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    np.savez(file, labels=np.arange(120) % 2, class_names=np.array(["u", "v"]), **parts)


def test_coauthor_counts_become_binary_and_the_split_is_seeded(tmp_path):
    file = tmp_path / "graph.npz"
    write_coauthor(file)
    data = read_coauthor(file, seed=1)
    assert data.x.to_dense()[:2].tolist() == [[0, 1], [1, 0]]
    assert data.class_names == ["u", "v"]
    for mask, size in (("train_mask", 20), ("val_mask", 30), ("test_mask", 10)):
        assert torch.bincount(data.y[data[mask]]).tolist() == [size, size]
    assert torch.equal(data.train_mask, read_coauthor(file, seed=1).train_mask)
    assert not torch.equal(data.train_mask, read_coauthor(file, seed=2).train_mask)


def test_coauthor_of_unknown_checksum_is_judged_by_its_sizes(places, monkeypatch, caplog):
    caplog.set_level(logging.INFO, "brgcl")
    write_coauthor(places["root"] / "coauthor_cs" / "ms_academic_cs.npz")
    with pytest.raises(InputError, match="120 non-zero attributes instead of 1092079"):
        load_dataset("coauthor-cs", places["root"])
    monkeypatch.setattr("brgcl.data.datasets.COAUTHOR_NONZEROS", 120)
    with pytest.raises(InputError, match="120 nodes instead of the 18333 of coauthor-cs"):
        load_dataset("coauthor-cs", places["root"])
    entry = replace(
        DATASETS["coauthor-cs"], num_nodes=120, num_edges=7140, num_features=2, num_classes=2
    )
    monkeypatch.setitem(DATASETS, "coauthor-cs", entry)
    assert load_dataset("coauthor-cs", places["root"]).num_nodes == 120
    assert "checksum unknown, judged by its sizes" in caplog.text


def test_broken_coauthor_file_is_refused(tmp_path):
    (tmp_path / "graph.npz").write_bytes(b"PK broken")
    with pytest.raises(InputError, match=r"graph.npz: cannot be read as a co-author graph"):
        read_coauthor(tmp_path / "graph.npz")


ARXIV = {
    "raw/edge.csv.gz": "0,1\n1,0\n3,2\n",
    "raw/node-feat.csv.gz": "0.5,-1\n1,2\n3,4\n5,6\n",
    "raw/node-label.csv.gz": "1\n0\n2\n0\n",
    "raw/num-node-list.csv.gz": "4\n",
    "split/time/train.csv.gz": "0\n3\n",
    "split/time/valid.csv.gz": "1\n",
    "split/time/test.csv.gz": "2\n",
    "mapping/labelidx2arxivcategeory.csv.gz": "label idx,arxiv category\n0,arxiv cs na\n"
    "1,arxiv cs mm\n2,arxiv cs lo\n",
}


def write_arxiv(folder: Path) -> None:
    for name, text in ARXIV.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()))


def test_arxiv_layout(tmp_path, caplog):
    caplog.set_level(logging.INFO, "brgcl")
    write_arxiv(tmp_path)
    data = read_ogb_arxiv(tmp_path)
    assert data.x.tolist() == [[0.5, -1], [1, 2], [3, 4], [5, 6]]
    assert data.edge_index.T.tolist() == [[0, 1], [1, 0], [2, 3], [3, 2]]
    assert data.y.tolist() == [1, 0, 2, 0]
    assert data.train_mask.tolist() == [True, False, False, True]
    assert data.val_mask.tolist() == [False, True, False, False]
    assert data.test_mask.tolist() == [False, False, True, False]
    assert data.class_names == ["arxiv cs na", "arxiv cs mm", "arxiv cs lo"]
    said = [record.getMessage() for record in caplog.records]
    assert said == ["ogbn-arxiv: 3 directed citations are read as undirected edges"]


def test_arxiv_is_unpacked_into_the_cache(places, tmp_path, monkeypatch):
    write_arxiv(tmp_path / "arxiv")
    with zipfile.ZipFile(tmp_path / "arxiv.zip", "w") as archive:
        for name in ARXIV:
            archive.write(tmp_path / "arxiv" / name, f"arxiv/{name}")
        archive.writestr("arxiv/../../mapping/label", "outside")
    entry = replace(
        DATASETS["ogbn-arxiv"],
        archive=(tmp_path / "arxiv.zip").as_uri(),
        num_nodes=4,
        num_features=2,
        num_classes=3,
    )
    monkeypatch.setitem(DATASETS, "ogbn-arxiv", entry)
    monkeypatch.setattr("brgcl.data.download._fetch", copy_from_disk)
    assert load_dataset("ogbn-arxiv").num_nodes == 4
    found = {str(p.relative_to(places["cache"])) for p in places["cache"].rglob("*") if p.is_file()}
    assert found == {f"arxiv/{name}" for name in ARXIV}


def test_broken_arxiv_files_are_named(tmp_path):
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


def test_demo_is_the_generated_graph():
    demo = load_dataset("demo", seed=5)
    assert demo.name == "demo"
    assert torch.equal(demo.edge_index, make_graph(seed=5).edge_index)
    entry = DATASETS["demo"]
    assert demo.x.shape == (entry.num_nodes, entry.num_features)
    assert available("demo")


def test_unknown_name_suggests_the_nearest():
    for call in (load_dataset, available):
        with pytest.raises(InputError, match="unknown data set 'coro'; did you mean 'cora'"):
            call("coro")
