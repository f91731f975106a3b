"""Does a sample of negatives cost accuracy? Paired runs with all nodes and with a sample.

    python benchmarks/sampled.py run --dataset cora --out sampled.jsonl     (resumes)
    python benchmarks/sampled.py show sampled.jsonl

The same seed gives the same graph, weights and noise to both. Each is trained once per seed; the
classifier is chosen by clean validation labels and scored on the test nodes.
"""

import argparse
import itertools
import json
from pathlib import Path
from statistics import mean, stdev

import torch

from brgcl import BRGCL, NodeClassifier, load_dataset
from brgcl.benchmark.protocol import Noise, draw_trial
from brgcl.noise import NoiseSpec
from brgcl.tasks.metrics import accuracy

NOISE = (None, NoiseSpec("symmetric", 0.2), NoiseSpec("symmetric", 0.4))


def run(dataset: str, seeds: int, epochs: int, out: Path) -> None:
    """Train and score what is not in the file yet."""
    torch.set_num_threads(1)
    done = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    known = {(r["dataset"], r["epochs"], r["negatives"], r["seed"]) for r in done}
    for seed, m in itertools.product(range(seeds), (256, None)):
        if (dataset, epochs, m, seed) in known:
            continue
        data = load_dataset(dataset, seed=seed)
        settings = {"epochs": epochs, "warmup_epochs": epochs // 2, "num_negatives": m}
        z = BRGCL(seed=seed, **settings).fit(data).representations_
        scores = {}
        for noise in NOISE:
            trial = draw_trial(data, noise=Noise(labels=noise), protocol="clean-val", seed=seed)
            classifier = NodeClassifier(seed=seed).fit(
                z, trial.labels.train, graph=trial.graph, validation=trial.labels.validation
            )
            test = trial.truth.test
            scores[str(noise or "clean")] = accuracy(
                classifier.predict(z)[test], trial.truth.y[test]
            )
        record = {
            "dataset": dataset, "epochs": epochs, "negatives": m, "seed": seed, "test": scores
        }  # fmt: skip
        with out.open("a") as file:
            file.write(json.dumps(record) + "\n")
        print(json.dumps(record), flush=True)


def show(file: Path) -> None:
    """Print means and the paired differences, sampled minus exact, in points."""
    records = [json.loads(line) for line in file.read_text().splitlines()]
    for dataset, epochs in sorted({(r["dataset"], r["epochs"]) for r in records}):
        mine = {
            (r["negatives"], r["seed"]): r["test"]
            for r in records
            if (r["dataset"], r["epochs"]) == (dataset, epochs)
        }
        seeds = sorted(seed for m, seed in mine if m is None and (256, seed) in mine)
        for cell in next(iter(mine.values())):
            exact, sampled = ([mine[m, s][cell] for s in seeds] for m in (None, 256))
            gaps = [100 * (b - a) for a, b in zip(exact, sampled, strict=True)]
            spread = f" ± {stdev(gaps):.2f}" if len(gaps) > 1 else ""
            print(f"{dataset:9s} {epochs} epochs  {cell:14s} all {mean(exact):.4f}  "
                  f"sample {mean(sampled):.4f}  difference {mean(gaps):+.2f}{spread} points  "
                  f"n={len(gaps)}")  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run")
    runs.add_argument("--dataset", default="cora")
    runs.add_argument("--seeds", type=int, default=5)
    runs.add_argument("--epochs", type=int, default=100)
    runs.add_argument("--out", type=Path, default=Path("sampled.jsonl"))
    shows = commands.add_parser("show")
    shows.add_argument("file", type=Path)
    given = parser.parse_args()
    if given.command == "run":
        run(given.dataset, given.seeds, given.epochs, given.out)
    else:
        show(given.file)
