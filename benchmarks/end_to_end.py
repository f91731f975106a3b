"""Seconds from a graph to predicted classes, beside other methods, and those of the classifier.

    python benchmarks/end_to_end.py run --graphs cora citeseer     (resumes what was cut short)
    python benchmarks/end_to_end.py show                           (prints the tables as Markdown)

Every method is trained once on the same draw, symmetric noise of 40 % and no validation labels, one
after the other on one thread. Compare the processor times of one graph with each other. The
classifier is the default of representation methods, fitted to 20 labels a class ("train") and to
labels of all nodes ("all").
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from brgcl.data import load_dataset
from brgcl.evaluation.protocol import NoisyGraph, draw_noisy_graph
from brgcl.evaluation.score import classify_one, fit_one
from brgcl.machine import one_thread, processor, source_commit
from brgcl.methods import find_method
from brgcl.noise import NoiseSpec
from brgcl.noise.graph import Noise

RECORDS = Path(__file__).parent.parent / "results" / "end_to_end.jsonl"
GRAPHS = ("cora", "citeseer", "pubmed", "coauthor-cs")
COMPARED = ("smooth", "gcn", "cca-ssg", "brgcl")
NOISE = Noise(labels=NoiseSpec("symmetric", 0.4))


def draw(dataset: str, labelled: str) -> NoisyGraph:
    """The draw that every method meets."""
    data = load_dataset(dataset, seed=0)
    return draw_noisy_graph(data, noise=NOISE, protocol="no-val", labelled=labelled)


def measure(dataset: str, method: str) -> dict[str, Any]:
    """Train and classify; seconds by what they were spent on."""
    entry, noisy = find_method(method), draw(dataset, "train")
    start = time.process_time()
    fitted = fit_one(noisy, method, entry.config(dataset), 0)
    seconds = {"training": time.process_time() - start}
    if not entry.uses_labels:
        for labelled in ("train", "all"):
            seen = draw(dataset, labelled)
            start = time.process_time()
            classify_one(seen, fitted)
            seconds[f"classifier, {labelled}"] = time.process_time() - start
    return {
        "graph": dataset, "method": method, "seconds": seconds, "commit": source_commit(),
        "processor": processor(),
    }  # fmt: skip


def read(file: Path) -> list[dict[str, Any]]:
    """All lines that were written so far."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def tables(lines: list[dict[str, Any]]) -> Iterator[str]:
    """Markdown: one row per graph and method, and how many GCNs that is worth."""
    yield "| Graph | Method | Training | Classifier | Classifier, all nodes labelled | To GCN |"
    yield "|---|---|---|---|---|---|"
    for line in lines:
        seconds = line["seconds"]
        total = seconds["training"] + seconds.get("classifier, train", 0.0)
        other = [o for o in lines if (o["graph"], o["method"]) == (line["graph"], "gcn")]
        ratio = f"{total / other[-1]['seconds']['training']:.1f} x" if other else ""
        parts = [seconds.get(name) for name in ("training", "classifier, train", "classifier, all")]
        texts = ["" if part is None else f"{part:.1f} s" for part in parts]
        yield f"| {line['graph']} | `{line['method']}` | {' | '.join(texts)} | {ratio} |"


def main() -> None:
    """Measure what is missing, or print what is there."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["run", "show"])
    parser.add_argument("--graphs", nargs="+", default=GRAPHS)
    parser.add_argument("--records", type=Path, default=RECORDS)
    given = parser.parse_args()
    known = read(given.records)
    if given.what == "show":
        print("\n".join(tables(known)))
        return
    done = {(line["graph"], line["method"]) for line in known}
    with one_thread():
        for dataset in given.graphs:
            for method in COMPARED:
                if (dataset, method) not in done:
                    line = json.dumps(measure(dataset, method))
                    with given.records.open("a") as file:
                        file.write(line + "\n")
                    print(line, flush=True)


if __name__ == "__main__":
    main()
