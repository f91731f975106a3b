"""Named public graphs -> `Data`: where their files are looked for, fetched from and checked."""

import logging
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs
from torch_geometric.data import Data

from brgcl.data.catalogue import DATASETS, Dataset
from brgcl.data.download import download, file_sha256
from brgcl.data.formats import read_coauthor, read_ogb_arxiv, read_planetoid
from brgcl.data.graphs import check_graph
from brgcl.data.synthetic import make_graph
from brgcl.errors import DataNotFound, InputError, unknown_name

log = logging.getLogger("brgcl")


@dataclass(frozen=True)
class DatasetStatus:
    """One line of the list of data sets.

    Attributes:
        name: The name `load_dataset` takes.
        num_nodes: `N`.
        num_edges: Undirected edges; None when it depends on the seed.
        num_features: `F`.
        num_classes: `C`.
        path: Where its files were found; None when they were not, or none are needed.
        available: Whether it loads without a download.
        citation: Whom to cite.
    """

    name: str
    num_nodes: int
    num_edges: int | None
    num_features: int
    num_classes: int
    path: Path | None
    available: bool
    citation: str


COAUTHOR_NONZEROS = 1_092_079


def load_dataset(name: str, root: str | Path | None = None, *, seed: int = 0) -> Data:
    """Load a public graph by name, with raw attributes.

    Files are looked for as `<folder>/<data set>/<file>`, with `root`, `$BRGCL_DATA` and the user's
    cache as folder, in this order; only then are they downloaded, into the cache and nowhere else.

    Args:
        name: cora, citeseer, pubmed, coauthor-cs, ogbn-arxiv or demo.
        root: A folder to look into first.
        seed: Seed of the generated graph (demo) or of the split (coauthor-cs); others ignore it.

    Returns:
        The checked graph with its split; see `check_graph`.

    Raises:
        InputError: The name is unknown, or a file is not what it should be.
        DataNotFound: The files are nowhere and cannot be downloaded.

    Example:
        >>> load_dataset("demo").num_nodes
        2000
    """
    dataset = _known(name)
    if name == "demo":
        data = make_graph(seed=seed)
        data.name = name
        return data
    folder = _find(dataset, root) or _download(name, dataset, root)
    if name == "ogbn-arxiv":
        data = read_ogb_arxiv(folder)
    elif name == "coauthor-cs":
        data = check_graph(_read_checked_coauthor(dataset, folder, seed), announce=False)
    else:
        _check_sums(dataset, folder)
        data = read_planetoid(folder, name)
        data.class_names = list(dataset.class_names)
        data = check_graph(data, announce=False)
    data.name = name
    _check_sizes(name, dataset, data, folder)
    return data


def available(name: str, root: str | Path | None = None) -> bool:
    """Whether a data set loads without a download.

    Example:
        >>> available("demo")
        True
    """
    dataset = _known(name)
    return not dataset.files or _find(dataset, root) is not None


def dataset_status(root: str | Path | None = None) -> list[DatasetStatus]:
    """List every data set with its sizes and where its files are.

    Args:
        root: A folder to look into first, as in `load_dataset`.
    """
    return [
        DatasetStatus(
            name=name,
            num_nodes=dataset.num_nodes,
            num_edges=dataset.num_edges,
            num_features=dataset.num_features,
            num_classes=dataset.num_classes,
            path=_find(dataset, root) if dataset.files else None,
            available=available(name, root),
            citation=dataset.citation,
        )
        for name, dataset in DATASETS.items()
    ]


def _known(name: str) -> Dataset:
    if name not in DATASETS:
        raise unknown_name("data set", name, DATASETS)
    return DATASETS[name]


def _cache() -> Path:
    return Path(platformdirs.user_cache_dir("brgcl"))


def _places(root: str | Path | None) -> list[Path]:
    """Data folders in the order in which they are searched; the cache is the last."""
    given = [root, os.environ.get("BRGCL_DATA")]
    return [*(Path(folder) for folder in given if folder), _cache()]


def _find(dataset: Dataset, root: str | Path | None) -> Path | None:
    for place in _places(root):
        folder = place / dataset.folder
        if all((folder / file.name).is_file() for file in dataset.files):
            return folder
    return None


def _download(name: str, dataset: Dataset, root: str | Path | None) -> Path:
    """Fetch into the cache what is missing there."""
    folder = _cache() / dataset.folder
    log.info("%s is not on disk: downloading into %s", name, folder)
    missing = [file for file in dataset.files if not (folder / file.name).is_file()]
    for file in missing:
        try:
            if dataset.archive is not None:
                _unpack(dataset.archive, dataset, folder)
                break
            accepted = () if name == "coauthor-cs" or not file.sha256 else (file.sha256,)
            download(file.url, folder / file.name, sha256=accepted)
        except (DataNotFound, OSError, zipfile.BadZipFile) as error:
            looked = ", ".join(str(place / dataset.folder) for place in _places(root))
            raise DataNotFound(
                f"{name}: {file.name} is not in {looked}, and {error}; put the files of {file.url} "
                f"into <folder>/{dataset.folder}/ and set BRGCL_DATA=<folder>"
            ) from error
    return folder


def _unpack(url: str, dataset: Dataset, folder: Path) -> None:
    """Download an archive and take the data set's files, and the optional mapping, out of it."""
    packed = folder.with_suffix(".zip")
    download(url, packed)
    wanted = {file.name for file in dataset.files}
    with zipfile.ZipFile(packed) as archive:
        for member in archive.namelist():
            name = member.partition("/")[2]
            if name in wanted or (name.startswith("mapping/label") and ".." not in name):
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                part = target.with_name(target.name + ".part")
                part.write_bytes(archive.read(member))  # the zip's own checksum is verified here
                part.replace(target)
                wanted.discard(name)
    packed.unlink()
    if wanted:
        raise DataNotFound(f"{url} holds no {min(wanted)}")


def _check_sums(dataset: Dataset, folder: Path) -> None:
    for file in dataset.files:
        path = folder / file.name
        digest = file_sha256(path)
        if file.sha256 is not None and digest != file.sha256:
            raise InputError(
                f"{path}: checksum {digest[:12]}... is not the published one "
                f"({file.sha256[:12]}...); remove the file and get it from {file.url}"
            )


def _read_checked_coauthor(dataset: Dataset, folder: Path, seed: int) -> Data:
    (file,) = dataset.files
    path = folder / file.name
    data = read_coauthor(path, seed=seed)
    if file_sha256(path) != file.sha256:
        log.info("%s: checksum unknown, judged by its sizes", path)
        if data.x.values().numel() != COAUTHOR_NONZEROS:
            raise InputError(
                f"{path}: {data.x.values().numel()} non-zero attributes instead of "
                f"{COAUTHOR_NONZEROS}; remove the file and get it from {file.url}"
            )
    return data


def _check_sizes(name: str, dataset: Dataset, data: Data, folder: Path) -> None:
    found: dict[str, tuple[Any, Any]] = {
        "nodes": (data.num_nodes, dataset.num_nodes),
        "attributes": (data.x.shape[1], dataset.num_features),
        "classes": (int(data.y.max()) + 1, dataset.num_classes),
    }
    if name != "ogbn-arxiv":  # published as directed citations, some of them both ways
        found["edges"] = (data.edge_index.shape[1] // 2, dataset.num_edges)
    for what, (got, expected) in found.items():
        if got != expected:
            raise InputError(
                f"{folder}: {got} {what} instead of the {expected} of {name}; "
                f"remove the files and get them from {dataset.files[0].url}"
            )
