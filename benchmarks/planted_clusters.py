"""How many clusters are found where a known number of groups was planted, and where none was.

python benchmarks/planted_clusters.py run      (trains and writes the results)
python benchmarks/planted_clusters.py show     (prints the table of docs/method.md)
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

import brgcl
from brgcl.atomic_files import write_text
from brgcl.evaluation.protocol import draw_noisy_graph
from brgcl.machine import one_thread, source_commit
from brgcl.report.demo import DEMO_NOISE
from brgcl.tasks.metrics import nmi

RESULTS = Path(__file__).parent.parent / "results" / "planted_clusters.json"
SEEDS = range(3)
GRAPHS = ("3 groups", "7 groups", "demo, with its noise", "15 groups", "40 groups", "no groups")


def make(name: str, seed: int) -> Data:
    """Generate a graph; without groups, words and edges do not depend on the class."""
    if name == "demo, with its noise":
        data = brgcl.load_dataset("demo", seed=seed)
        noisy = draw_noisy_graph(data, noise=DEMO_NOISE, protocol="no-val", seed=seed)
        noisy.graph.y = data.y
        return noisy.graph
    if name == "no groups":
        return brgcl.make_graph(2000, homophily=1 / 7, topic_strength=0.0, seed=seed)
    classes = int(name.split()[0])
    return brgcl.make_graph(max(2000, 100 * classes), num_classes=classes, seed=seed)


def measure(name: str, seed: int, **settings: Any) -> dict[str, Any]:
    """Train without labels, and say how many clusters there are and how far they are the groups."""
    data = make(name, seed)
    y, data.y = data.y, None
    with one_thread():
        found = brgcl.BRGCL(seed=seed, **settings).fit(data).clustering_
    return {
        "graph": name, "seed": seed, "nodes": data.num_nodes, "num_clusters": found.num_clusters,
        "null": found.num_clusters_null, "rule": found.rule,
        "nmi": None if name == "no groups" else nmi(y, found.assignment),
        "commit": source_commit(),
    }  # fmt: skip


def table(results: Sequence[dict[str, Any]]) -> str:
    """One line for each kind of graph."""
    lines = [
        "| Generated graph | Clusters, in three draws | Permuted columns | NMI with the groups |",
        "|---|---|---|---|",
    ]
    for name in dict.fromkeys(one["graph"] for one in results):
        here = [one for one in results if one["graph"] == name]
        texts = [
            ", ".join(str(one["num_clusters"]) for one in here),
            ", ".join(str(one["null"]) for one in here),
            ", ".join("" if one["nmi"] is None else f"{one['nmi']:.2f}" for one in here).strip(
                ", "
            ),
        ]
        lines.append(f"| {name} | {' | '.join(texts)} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("command", choices=["run", "show"])
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    if given.command == "run":
        found = [measure(name, seed) for name in GRAPHS for seed in SEEDS]
        write_text(given.results, json.dumps(found, indent=1) + "\n")
    print(table(json.loads(given.results.read_text(encoding="utf-8"))))


if __name__ == "__main__":
    main()
