"""Named public graphs -> `Data`: where their files are looked for, fetched from and checked."""

import logging
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from brgcl.data.catalogue import DATASETS, Dataset
from brgcl.data.download import download, file_sha256
from brgcl.errors import DataNotFound, InputError, unknown_name

if TYPE_CHECKING:
    from torch_geometric.data import Data

log = logging.getLogger("brgcl")


@dataclass(frozen=True)
class DatasetStatus:
    """One line of the list of data sets.

    Attributes:
        name: The name `load_dataset` takes.
        num_edges: Undirected edges; None when it depends on the seed.
        path: Folder of its files; None if they are not on disk, or none are needed.
        available: Whether it loads without a download.
    """

    name: str
    num_nodes: int
    num_edges: int | None
    num_features: int
    num_classes: int
    path: Path | None
    available: bool
    citation: str


def load_dataset(name: str, root: str | Path | None = None, *, seed: int = 0) -> "Data":
    """Load a public graph by name, with raw attributes.

    Files are searched as `<folder>/<data set>/<file>` in `root`, `$BRGCL_DATA` and the user's
    cache, in this order. If they are in none of these folders, they are downloaded into the cache.

    Args:
        name: cora, citeseer, pubmed, coauthor-cs, ogbn-arxiv or demo.
        root: Folder to search first.
        seed: Seed of the generated graph (demo) or of the split (coauthor-cs); others ignore it.

    Returns:
        The checked graph with its split; see `check_graph`.

    Raises:
        InputError: The name is unknown, or a file is invalid.
        DataNotFound: The files are in none of the folders and cannot be downloaded.

    Example:
        >>> load_dataset("demo").num_nodes
        2000
    """
    from brgcl.data.formats import READERS  # torch, which listing data sets does without
    from brgcl.data.graphs import check_graph

    dataset = _known(name)
    folder = _find(dataset, root) or _download(name, dataset, root)
    _check_sums(dataset, folder)
    data = READERS[dataset.format](folder, seed)
    if dataset.class_names:
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
    return _find(_known(name), root) is not None


def dataset_status(root: str | Path | None = None) -> list[DatasetStatus]:
    """List every data set with its sizes and where its files are (see `load_dataset`)."""
    known = ("num_nodes", "num_edges", "num_features", "num_classes", "citation")
    return [
        DatasetStatus(
            name=name,
            path=_find(dataset, root) if dataset.files else None,
            available=available(name, root),
            **{field: getattr(dataset, field) for field in known},
        )
        for name, dataset in DATASETS.items()
    ]


def _known(name: str) -> Dataset:
    if not isinstance(name, str):
        raise InputError(
            f"a data set is given by name, got {type(name).__name__}; known: {', '.join(DATASETS)}"
        )
    if name in DATASETS:
        return DATASETS[name]
    if Path(name).suffix in (".csv", ".tsv", ".txt", ".gz", ".parquet", ".edgelist"):
        raise InputError(
            f"unknown data set '{name}'; to read a graph from files use read_graph(edges, ...)"
        )
    raise unknown_name("data set", name, DATASETS)


def _folders(dataset: Dataset, root: str | Path | None) -> list[Path]:
    """Where the files may be, in the order of the search; the cache is last."""
    given = [root, os.environ.get("BRGCL_DATA"), platformdirs.user_cache_dir("brgcl")]
    return [Path(place) / dataset.folder for place in given if place]


def _find(dataset: Dataset, root: str | Path | None) -> Path | None:
    for folder in _folders(dataset, root):
        if all((folder / file.name).is_file() for file in dataset.files):
            return folder
    return None


def _download(name: str, dataset: Dataset, root: str | Path | None) -> Path:
    """Fetch into the cache what is missing there."""
    folder = _folders(dataset, root)[-1]
    log.info("%s is not on disk: downloading into %s", name, folder)
    missing = [file for file in dataset.files if not (folder / file.name).is_file()]
    for file in missing:
        try:
            if dataset.archive is not None:
                _unpack(dataset.archive, dataset, folder)
                break
            sha256 = file.sha256 if dataset.num_nonzeros is None else None
            download(file.url, folder / file.name, sha256=sha256)
        except (DataNotFound, OSError, zipfile.BadZipFile) as error:
            looked = ", ".join(map(str, _folders(dataset, root)))
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
                part = folder / f"{name}.part"
                part.parent.mkdir(parents=True, exist_ok=True)
                part.write_bytes(archive.read(member))  # the zip's own checksum is verified here
                part.replace(folder / name)
                wanted.discard(name)
    packed.unlink()
    if wanted:
        raise DataNotFound(f"{url} holds no {min(wanted)}")


def _check_sums(dataset: Dataset, folder: Path) -> None:
    for file in dataset.files:
        path = folder / file.name
        if file.sha256 is None or (digest := file_sha256(path)) == file.sha256:
            continue
        if dataset.num_nonzeros is None:
            raise InputError(
                f"{path}: checksum {digest[:12]}... is not the published one "
                f"({file.sha256[:12]}...); remove the file and get it from {file.url}"
            )
        log.info("%s: unknown checksum, its sizes are checked instead", path)


def _check_sizes(name: str, dataset: Dataset, data: "Data", folder: Path) -> None:
    sizes = {
        "nodes": (data.num_nodes, dataset.num_nodes),
        "attributes": (data.x.shape[1], dataset.num_features),
        "classes": (int(data.y.max()) + 1, dataset.num_classes),
    }
    if dataset.num_edges is not None and not dataset.directed:
        sizes["edges"] = (data.edge_index.shape[1] // 2, dataset.num_edges)
    if dataset.num_nonzeros is not None:
        sizes["non-zero attributes"] = (data.x.values().numel(), dataset.num_nonzeros)
    for what, (got, expected) in sizes.items():
        if got != expected:
            raise InputError(
                f"{folder}: {got} {what} instead of the {expected} of {name}; "
                f"remove the files and get them from {dataset.files[0].url}"
            )
