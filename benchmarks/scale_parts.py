"""Does accuracy pay for scale? BRGCL by parts against BRGCL on the whole graph.

    python benchmarks/scale_parts.py run --out parts.jsonl --graphs pubmed --seeds 5    (resumes)
    python benchmarks/scale_parts.py show parts.jsonl               (a table in Markdown)

For each draw the settings of the graph are trained on the whole graph ("sampled") and by 10 and 50
parts, one step of the weights per epoch or more as `brgcl.scale.memory` plans it. Training reads no
labels, so each training is scored twice with the classifier that is chosen by default: with clean
training labels and with 40 % symmetric noise. The table gives accuracies on test nodes and, paired
by draw, the difference to the whole graph with its standard error.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import torch

from brgcl.baselines.brgcl import METHOD
from brgcl.data import load_dataset
from brgcl.evaluation.protocol import draw_noisy_graph
from brgcl.evaluation.score import classify_one, fit_one
from brgcl.machine import peak_memory, processor
from brgcl.noise.graph import Noise
from brgcl.noise.spec import NoiseSpec

PARTS = (None, 10, 50)  # None: the whole graph
LEVELS = (0.0, 0.4)


def train_and_score(graph: str, parts: int | None, seed: int) -> dict:
    """Train once, and score with and without noise in the labels."""
    data = load_dataset(graph)
    how = {"mode": "sampled"} if parts is None else {"mode": "partitioned", "num_partitions": parts}
    draws = [
        draw_noisy_graph(
            data, noise=Noise(labels=NoiseSpec("symmetric", level) if level else None), seed=seed
        )
        for level in LEVELS
    ]
    start = time.process_time()
    fitted = fit_one(draws[0], "brgcl", METHOD.config(graph, **how), seed)
    seconds = time.process_time() - start
    found = {str(level): classify_one(draw, fitted, seed=seed).accuracy
             for level, draw in zip(LEVELS, draws, strict=True)}  # fmt: skip
    return {
        "graph": graph, "parts": parts, "seed": seed, "accuracy": found,
        "training_seconds": seconds, "peak_mb": peak_memory(), "processor": processor(),
    }  # fmt: skip


def known(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def table(records: list[dict]) -> str:
    """Means over draws, and differences that are paired by draw, in points."""
    lines = [
        "| Graph | Labels | Parts | Draws | Accuracy | Against the whole graph |",
        "|---|---|---|---|---|---|",
    ]
    at = {(r["graph"], r["parts"], r["seed"]): r["accuracy"] for r in records}
    for graph in dict.fromkeys(record["graph"] for record in records):
        for level in map(str, LEVELS):
            for parts in PARTS:
                seeds = sorted(s for g, p, s in at if (g, p) == (graph, parts))
                seeds = [seed for seed in seeds if (graph, None, seed) in at]
                if not seeds:
                    continue
                own = [100 * at[graph, parts, seed][level] for seed in seeds]
                apart = [
                    a - 100 * at[graph, None, s][level] for a, s in zip(own, seeds, strict=True)
                ]
                said = "" if parts is None else f"{statistics.mean(apart):+.2f}"
                if parts is not None and len(apart) > 1:
                    said += f" ± {statistics.stdev(apart) / len(apart) ** 0.5:.2f}"
                labels = "clean" if level == "0.0" else f"{float(level):.0%} symmetric noise"
                lines.append(
                    f"| {graph} | {labels} | {parts or 'whole'} | {len(seeds)} | "
                    f"{statistics.mean(own):.1f} | {said} |"
                )
    return "\n".join(lines)


def main() -> None:
    """Run what is not there yet, draw by draw, or show the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run")
    runs.add_argument("--out", type=Path, required=True)
    runs.add_argument("--graphs", default="pubmed,coauthor-cs")
    runs.add_argument("--seeds", type=int, default=5)
    shows = commands.add_parser("show")
    shows.add_argument("file", type=Path)
    given = parser.parse_args()
    if given.command == "show":
        sys.stdout.write(table(known(given.file)) + "\n")
        return
    torch.set_num_threads(1)
    for graph in given.graphs.split(","):
        for seed in range(given.seeds):
            for parts in PARTS:
                done = {(r["graph"], r["parts"], r["seed"]) for r in known(given.out)}
                if (graph, parts, seed) in done:
                    continue
                record = train_and_score(graph, parts, seed)
                with given.out.open("a") as file:
                    file.write(json.dumps(record) + "\n")
                print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
