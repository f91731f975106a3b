"""Accuracy against training time for many settings, by validation nodes.

    python benchmarks/frontier.py run --out frontier.jsonl     (resumes what was cut short)
    python benchmarks/frontier.py plot frontier.jsonl docs/img/frontier.svg

Each setting is trained once per seed without labels. Then, for each level of label noise, the
classifier is fitted and chosen by the noisy training labels alone and scored on the validation
nodes. No test label is read. Time is that of the process on one thread, in CPU seconds.
"""

import argparse
import itertools
import json
import time
from pathlib import Path
from statistics import mean

import torch

from brgcl import BRGCL, NodeClassifier, load_dataset
from brgcl.evaluation.protocol import draw_noisy_graph
from brgcl.noise import NoiseSpec
from brgcl.noise.graph import Noise

NOISE = (None, NoiseSpec("symmetric", 0.2), NoiseSpec("symmetric", 0.4), NoiseSpec("pair", 0.4))
WIDTHS = {"hidden": 512, "dim": 256}


def grid() -> list[dict]:
    """Epochs and learning rates at the default width; widths; negatives."""
    epochs = [
        {"epochs": epochs, "warmup_epochs": epochs // 2, "lr": lr, **WIDTHS, "num_negatives": 256}
        for epochs, lr in itertools.product((25, 50, 100, 200), (1e-3, 3e-3))
    ]
    usual = next(s for s in epochs if s["epochs"] == 100 and s["lr"] == 1e-3)
    quick = next(s for s in epochs if s["epochs"] == 50 and s["lr"] == 3e-3)
    widths = [
        {**base, "hidden": hidden, "dim": hidden // 2}
        for base, hidden in itertools.product((usual, quick), (128, 256, 1024))
    ]
    negatives = [{**usual, "num_negatives": m} for m in (64, 1024, None)]
    return [*epochs, *widths, *negatives]


def run(dataset: str, seeds: int, out: Path) -> None:
    """Train and score every setting and seed that is not in the file yet."""
    torch.set_num_threads(1)
    done = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    known = {(json.dumps(r["settings"]), r["seed"]) for r in done if r["dataset"] == dataset}
    for seed, settings in itertools.product(range(seeds), grid()):
        if (json.dumps(settings), seed) in known:
            continue
        data = load_dataset(dataset, seed=seed)
        start = time.process_time()
        model = BRGCL(seed=seed, **settings).fit(data)
        seconds = time.process_time() - start
        scores = {}
        for noise in NOISE:
            trial = draw_noisy_graph(data, noise=Noise(labels=noise), protocol="no-val", seed=seed)
            classifier = NodeClassifier(seed=seed)
            classifier.fit(model.representations_, trial.labels.train, graph=trial.graph)
            predicted = classifier.predict(model.representations_)
            right = (predicted == data.y)[data.val_mask].float().mean()
            scores[str(noise or "clean")] = float(right)
        record = {
            "dataset": dataset,
            "settings": settings,
            "seed": seed,
            "seconds": seconds,
            "validation": scores,
        }
        with out.open("a") as file:
            file.write(json.dumps(record) + "\n")
        print(json.dumps(record), flush=True)


def points(file: Path) -> list[dict]:
    """Mean accuracy and time of each setting, over seeds and levels of noise; fastest first."""
    records = [json.loads(line) for line in file.read_text().splitlines()]
    found = []
    for key in sorted({json.dumps(r["settings"]) for r in records}):
        mine = [r for r in records if json.dumps(r["settings"]) == key]
        found.append(
            {
                "settings": json.loads(key),
                "n": len(mine),
                "seconds": mean(r["seconds"] for r in mine),
                "accuracy": mean(mean(r["validation"].values()) for r in mine),
                "cells": {
                    cell: mean(r["validation"][cell] for r in mine)
                    for cell in mine[0]["validation"]
                },
            }
        )
    return sorted(found, key=lambda point: point["seconds"])


def frontier(found: list[dict]) -> list[dict]:
    """The points that no faster one beats."""
    best, kept = 0.0, []
    for point in found:
        if point["accuracy"] > best:
            best = point["accuracy"]
            kept.append(point)
    return kept


def name(settings: dict) -> str:
    m = "all" if settings["num_negatives"] is None else settings["num_negatives"]
    width = f"{settings['hidden']}-{settings['dim']}"
    return f"{width}, {settings['epochs']} ep, {settings['lr']:g}, m={m}"


def plot(file: Path, picture: Path) -> None:
    """Draw all settings and the frontier, and print the table."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    found = points(file)
    best = frontier(found)
    for point in found:
        star = "*" if point in best else " "
        cells = "  ".join(f"{cell} {value:.3f}" for cell, value in point["cells"].items())
        print(f"{star} {point['seconds']:7.1f} s  {point['accuracy']:.4f}  n={point['n']}  "
              f"{name(point['settings']):32s} {cells}")  # fmt: skip
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    axes.scatter([p["seconds"] for p in found], [100 * p["accuracy"] for p in found], color="0.6")
    axes.plot(
        [p["seconds"] for p in best], [100 * p["accuracy"] for p in best], "o-", color="tab:blue"
    )
    for p in found:
        axes.annotate(
            name(p["settings"]), (p["seconds"], 100 * p["accuracy"]), fontsize=6,
            xytext=(4, 3 if p in best else -7), textcoords="offset points",
            color="tab:blue" if p in best else "0.4",
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlim(right=110)
    axes.set_xticks([2, 5, 10, 20, 50, 100], ["2", "5", "10", "20", "50", "100"])
    axes.minorticks_off()
    axes.set_xlabel("CPU seconds of a whole training, one thread")
    axes.set_ylabel("accuracy on validation nodes, %")
    axes.set_title("Cora: mean over clean, symmetric 20 % and 40 %, pair 40 % label noise")
    axes.grid(alpha=0.3)
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run")
    runs.add_argument("--dataset", default="cora")
    runs.add_argument("--seeds", type=int, default=3)
    runs.add_argument("--out", type=Path, default=Path("frontier.jsonl"))
    plots = commands.add_parser("plot")
    plots.add_argument("file", type=Path)
    plots.add_argument("picture", type=Path)
    given = parser.parse_args()
    if given.command == "run":
        run(given.dataset, given.seeds, given.out)
    else:
        plot(given.file, given.picture)
