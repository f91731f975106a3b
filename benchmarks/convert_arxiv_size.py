"""Time and memory of `brgcl convert` on files of the size and layout of ogbn-arxiv.

    python benchmarks/convert_arxiv_size.py FOLDER [--memory 64MB ...] [--scale 1.0]

The files are generated (169,343 nodes, 1.17 million directed edges, 128 attributes, 40 classes) and
kept in FOLDER/arxiv. Each conversion runs in a process of its own, whose peak resident memory is
printed beside that of a process that only imports what a conversion imports.
"""

import argparse
import gzip
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

NODES, EDGES, ATTRIBUTES, CLASSES = 169_343, 1_166_243, 128, 40
IMPORTS = "import brgcl.data.convert_ogb, brgcl.data.graph_folder"


def write_arxiv_like(folder: Path, scale: float = 1.0, seed: int = 0) -> None:
    """Write the tables of a generated graph whose neighbours often share a class."""
    rng = np.random.default_rng(seed)
    num_nodes, num_edges = int(NODES * scale), int(EDGES * scale)
    y = rng.integers(0, CLASSES, num_nodes)
    members = np.argsort(y, kind="stable")
    starts = np.searchsorted(y[members], np.arange(CLASSES + 1))
    source = rng.integers(0, num_nodes, num_edges)
    own = rng.integers(starts[y[source]], starts[y[source] + 1])
    anyone = rng.integers(0, num_nodes, num_edges)
    target = np.where(rng.random(num_edges) < 0.65, members[own], anyone)
    centers = rng.normal(size=(CLASSES, ATTRIBUTES))
    x = (0.1 * (centers[y] + 2 * rng.normal(size=(num_nodes, ATTRIBUTES)))).round(6)
    year = rng.integers(0, 10, num_nodes)
    tables: dict[str, Any] = {
        "raw/edge": np.stack([source, target], axis=1),
        "raw/node-feat": x,
        "raw/node-label": y,
        "raw/num-node-list": np.array([num_nodes]),
        "raw/num-edge-list": np.array([num_edges]),
        "split/time/train": np.flatnonzero(year < 6),
        "split/time/valid": np.flatnonzero((year == 6) | (year == 7)),
        "split/time/test": np.flatnonzero(year > 7),
    }
    for name, table in tables.items():
        path = folder / f"{name}.csv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(path, "wt", compresslevel=1) as file:
            pd.DataFrame(table).to_csv(file, header=False, index=False)


def run(*command: str) -> tuple[str, float, float]:
    """Run a process; returns its output, its seconds and its peak resident memory in MB."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        printed = process.stdout.read()
        _, status, used = resource_of(process.pid)
        process.returncode = status
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    return printed, time.perf_counter() - start, used.ru_maxrss / 1024


def resource_of(pid: int) -> tuple[int, int, resource.struct_rusage]:
    """Wait for a process and return what it used."""
    return os.wait4(pid, 0)


def main() -> None:
    """Write the files if they are not there, and convert them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--memory", nargs="+", default=["64MB", "1GB"])
    parser.add_argument("--scale", type=float, default=1.0)
    given = parser.parse_args()
    files = given.folder / "arxiv"
    if not (files / "split/time/test.csv.gz").is_file():
        write_arxiv_like(files, given.scale)
    _, seconds, peak = run(sys.executable, "-c", IMPORTS)
    results = [{"run": "imports only", "seconds": round(seconds, 1), "peak_mb": round(peak)}]
    for memory in given.memory:
        out = given.folder / f"graph-{memory}"
        command = (sys.executable, "-m", "brgcl", "convert", str(files), "--out", str(out))
        printed, seconds, peak = run(*command, "--memory", memory, "--overwrite", "--json")
        about = json.loads(printed)
        results.append(
            {"run": f"--memory {memory}", "seconds": round(seconds, 1), "peak_mb": round(peak)}
            | {name: about[name] for name in ("num_nodes", "num_edges", "megabytes")}
        )
    sys.stdout.write(pd.DataFrame(results).to_string(index=False) + "\n")


if __name__ == "__main__":
    main()
