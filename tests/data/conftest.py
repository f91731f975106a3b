"""Files of the public graphs in their published formats, a few nodes each, and a user's tables."""

import collections
import gzip
import hashlib
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from brgcl.data.catalogue import PLANETOID_PARTS, File


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """A function that writes a file, packed if it ends in `.gz`."""

    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        content = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """A function that lists what the library said so far, as a user sees it: warnings and up."""

    def said() -> list[str]:
        return [r.getMessage() for r in caplog.records if r.name == "brgcl" and r.levelno >= 30]

    return said


@pytest.fixture
def write_planetoid() -> Callable[[Path], tuple[File, ...]]:
    return planetoid_files


@pytest.fixture
def write_coauthor() -> Callable[[Path], None]:
    return coauthor_file


@pytest.fixture
def write_arxiv() -> Callable[[Path], list[str]]:
    return arxiv_files


def planetoid_files(folder: Path, name: str = "tiny") -> tuple[File, ...]:
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


def coauthor_file(file: Path) -> None:
    adj = scipy.sparse.csr_array(np.triu(np.ones((120, 120)), 1))
    attr = scipy.sparse.csr_array(np.tile([[0, 3.0], [1.0, 0]], (60, 1)))
    parts = {
        f"{name}_{part}": getattr(matrix, part)
        for name, matrix in (("adj", adj), ("attr", attr))
        for part in ("data", "indices", "indptr", "shape")
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    np.savez(file, labels=np.arange(120) % 2, class_names=np.array(["u", "v"]), **parts)


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


def arxiv_files(folder: Path) -> list[str]:
    for name, text in ARXIV.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()))
    return list(ARXIV)
