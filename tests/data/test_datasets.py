import logging
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import brgcl
from brgcl.data import DATASETS, available, dataset_status, load_dataset, make_graph
from brgcl.data.catalogue import Dataset
from brgcl.errors import DataNotFound, InputError
from brgcl.method.sparse import is_sparse


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Three empty data folders: the argument, the variable, the cache."""
    found = {name: tmp_path / name for name in ("root", "variable", "cache")}
    monkeypatch.setenv("BRGCL_DATA", str(found["variable"]))
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name: str(found["cache"]))
    return found


@pytest.fixture
def tiny(write_planetoid, places, tmp_path, monkeypatch) -> Dataset:
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


def test_planetoid_layout_is_put_in_order(write_planetoid, tiny, places):
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
def test_every_place_is_searched(write_planetoid, tiny, places, where):
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


def test_changed_file_is_refused(write_planetoid, tiny, places):
    write_planetoid(places["root"] / "tiny")
    path = places["root"] / "tiny" / "ind.tiny.test.index"
    path.write_text("4\n6\n")
    with pytest.raises(
        InputError, match=r"ind.tiny.test.index: checksum .* remove the file and get"
    ):
        load_dataset("tiny", places["root"])


def test_wrong_sizes_are_refused(write_planetoid, tiny, places, monkeypatch):
    write_planetoid(places["root"] / "tiny")
    monkeypatch.setitem(DATASETS, "tiny", replace(tiny, num_edges=5))
    with pytest.raises(InputError, match="4 edges instead of the 5 of tiny"):
        load_dataset("tiny", places["root"])


def test_coauthor_of_unknown_checksum_is_judged_by_its_sizes(
    write_coauthor, places, monkeypatch, caplog
):
    caplog.set_level(logging.INFO, "brgcl")
    write_coauthor(places["root"] / "coauthor_cs" / "ms_academic_cs.npz")
    with pytest.raises(InputError, match="120 nodes instead of the 18333 of coauthor-cs"):
        load_dataset("coauthor-cs", places["root"])
    entry = replace(
        DATASETS["coauthor-cs"], num_nodes=120, num_edges=7140, num_features=2, num_classes=2
    )
    monkeypatch.setitem(DATASETS, "coauthor-cs", entry)
    with pytest.raises(InputError, match="120 non-zero attributes instead of the 1092079"):
        load_dataset("coauthor-cs", places["root"])
    monkeypatch.setitem(DATASETS, "coauthor-cs", replace(entry, num_nonzeros=120))
    assert load_dataset("coauthor-cs", places["root"]).num_nodes == 120
    assert "unknown checksum, its sizes are checked instead" in caplog.text


def test_arxiv_is_unpacked_into_the_cache(write_arxiv, places, tmp_path, monkeypatch):
    names = write_arxiv(tmp_path / "arxiv")
    with zipfile.ZipFile(tmp_path / "arxiv.zip", "w") as archive:
        for name in names:
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
    assert found == {f"arxiv/{name}" for name in names}


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


@pytest.mark.parametrize("call", [load_dataset, available])
@pytest.mark.parametrize("name", [None, 3, Path("cora"), ["cora"]])
def test_name_that_is_no_text_is_refused(call, name):
    """Defect 29: `load_dataset(None)` raised a TypeError from difflib."""
    with pytest.raises(InputError, match=r"a data set is given by name, got .*; known: cora, "):
        call(name)


@pytest.mark.parametrize("name", ["e.csv", "mine/edges.parquet", "links.tsv.gz"])
def test_name_of_a_file_points_to_the_reader_of_files(name):
    """Defect 46: a file given as a data set got a list of data sets and no hint."""
    with pytest.raises(InputError, match=r"to read a graph from files use read_graph\(edges"):
        load_dataset(name)


def test_list_of_data_sets_needs_no_torch():
    code = (
        "import sys, importlib.util, types\n"
        "root = types.ModuleType('brgcl')\n"  # the package without its own __init__
        f"root.__path__ = [{str(Path(brgcl.__file__).parent)!r}]\n"
        "sys.modules['brgcl'] = root\n"
        "from brgcl.data import DATASETS, dataset_status\n"
        "from brgcl.noise import LABEL_NOISE, parse_noise\n"
        "assert 'cora' in DATASETS and dataset_status()\n"
        "heavy = {'torch', 'torch_geometric', 'numpy', 'scipy', 'pandas', 'pyarrow'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
