"""The tables of a graph of the Open Graph Benchmark -> a graph folder, part by part."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from brgcl.data.convert import MEMORY, PARTS, Progress, no_progress
from brgcl.data.edge_sort import EdgeSorter
from brgcl.data.graph_writer import GraphWriter, writing_graph
from brgcl.data.graphs import MASKS
from brgcl.data.ids import checked_class_names
from brgcl.data.matrix_stream import AttributeWriter
from brgcl.data.table_stream import open_stream
from brgcl.errors import InputError

SPLIT = dict(zip(MASKS, ("train", "valid", "test"), strict=True))


def find_ogb(folder: Path) -> Path | None:
    """The folder with `raw/` of a graph in OGB's layout: the one given or the one above it."""
    for path in (folder, folder.absolute().parent):
        if (path / "raw/edge.csv.gz").is_file():
            return path
    return None


def convert_ogb(
    out: str | Path,
    folder: str | Path,
    *,
    memory: int = MEMORY,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> None:
    """Convert a graph in the layout of ogbn-arxiv, with its split; edges are made undirected.

    The folder holds `raw/` with `edge`, `node-feat`, `node-label` and `num-node-list`, and perhaps
    `split/<kind>/` with `train`, `valid` and `test`, and `mapping/labelidx2*` with the names of the
    classes; all of them end in `.csv.gz`.

    Args:
        out: The folder to make.
        folder: The folder with `raw/`.
        memory: Bytes that may be used beside one number per node.
        overwrite: Whether a graph folder that is there may be replaced.
        progress: As in `convert_files`.
    """
    root = find_ogb(Path(folder))
    if root is None:
        raise InputError(f"'{folder}' has no raw/edge.csv.gz; give the folder of an OGB graph")
    show, size = progress or no_progress, max(1, memory // PARTS)
    N = int(_column(root / "raw/num-node-list.csv.gz", size)[0])
    with writing_graph(Path(out), overwrite=overwrite) as writer:
        sorter = EdgeSorter(writer.path, N, weighted=False, memory=memory // 2)
        stream = open_stream(root / "raw/edge.csv.gz", size)
        with show("reading edges") as report:
            for part in stream.parts(stream.head, [], report):
                ends = part.integers(part.columns[:2])
                _check_nodes(part, ends, N)
                sorter.add(ends.T, None)
        with show("sorting edges") as report:
            num_edges = sorter.write(writer, report)
        with show("reading attributes") as report:
            num_features = _write_attributes(writer, root / "raw/node-feat.csv.gz", size, N, report)
        y = _column(root / "raw/node-label.csv.gz", size)
        if len(y) != N or int(y.min()) < -1:
            raise InputError(
                f"{root}/raw/node-label.csv.gz: needs a class from 0 on, or -1, for each of the "
                f"{N} nodes"
            )
        writer.save("y", y)
        _write_split(writer, root, size, N)
        writer.save_ids(np.arange(N))
        names = checked_class_names(_class_names(root), torch.from_numpy(y))
        writer.about |= {
            "name": root.resolve().name, "num_nodes": N, "num_edges": num_edges,
            "num_features": num_features, "class_names": names,
        }  # fmt: skip


def _column(path: Path, part_bytes: int) -> NDArray[np.int64]:
    """The whole numbers in the first column of a table without a header."""
    stream = open_stream(path, part_bytes)
    parts = stream.parts(stream.head, [])
    return np.concatenate([part.integers(part.columns[:1])[:, 0] for part in parts])


def _check_nodes(part: Any, nodes: NDArray[np.int64], num_nodes: int) -> None:
    outside = np.argwhere((nodes < 0) | (nodes >= num_nodes))
    if len(outside):
        row, column = outside[0].tolist()
        raise InputError(
            f"{part.place(row)}: node {nodes[row, column]} is outside 0..{num_nodes - 1}; "
            "download it again"
        )


def _write_attributes(
    writer: GraphWriter, path: Path, part_bytes: int, num_nodes: int, report: Any
) -> int:
    stream, rows = open_stream(path, part_bytes), 0
    with AttributeWriter(writer, str(path), choose=False) as attributes:
        for part in stream.parts(stream.head, [], report):
            block = part.numbers(part.columns)
            attributes.append(block)
            rows += len(block)
    if rows != num_nodes:
        raise InputError(f"{path}: has {rows} rows for {num_nodes} nodes; download it again")
    return attributes.width


def _write_split(writer: GraphWriter, root: Path, part_bytes: int, num_nodes: int) -> None:
    kinds = sorted(path.parent for path in root.glob("split/*/train.csv.gz"))
    if len(kinds) > 1:
        names = ", ".join(path.name for path in kinds)
        raise InputError(f"'{root}/split' has several splits ({names}); keep one")
    for mask, name in SPLIT.items() if kinds else ():
        path = kinds[0] / f"{name}.csv.gz"
        nodes, chosen = _column(path, part_bytes), np.zeros(num_nodes, dtype=bool)
        if int(nodes.min()) < 0 or int(nodes.max()) >= num_nodes:
            raise InputError(f"{path}: lists a node outside 0..{num_nodes - 1}; download it again")
        chosen[nodes] = True
        writer.save(mask, chosen)


def _class_names(root: Path) -> list[str] | None:
    """Names of the classes, if there is a table of them."""
    found = sorted(root.glob("mapping/labelidx2*.csv.gz"))
    if not found:
        return None
    with gzip.open(found[0], "rb") as file:
        return [str(name) for name in pd.read_csv(file).iloc[:, 1]]
