"""How well `find_label_errors` finds labels that were made wrong, and knows how many there are.

    python benchmarks/label_errors_quality.py --graphs cora citeseer --levels 10 20 40 \
        --seeds 100 102 --picture docs/img/label-errors-reliability.svg

For each graph, number of labels per class and kind of noise: AUROC and average precision of the
score, precision and recall of `is_error`, the estimated and the real share of wrong labels, and
the expected calibration error of the score (10 bins). At level 0 whatever is found counts as
false, although some labels of the public graphs are wrong themselves. Representations (BRGCL,
one training per seed) are kept in `--cache`. What is in the file `--results` is not measured again,
so a killed run goes on where it was; remove the file once labels are judged in another way.
"""

import argparse
import json
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import torch
from sklearn.metrics import average_precision_score, roc_auc_score
from torch_geometric.data import Data

import brgcl
from brgcl.methods import find_method
from brgcl.noise import flip_labels
from brgcl.noise.graph import generator_for
from brgcl.pictures import PAGE, new_figure, save_picture

BINS = 10


def representations(cache: Path, graph: str, data: Data, seed: int) -> torch.Tensor:
    """Represent all nodes without any label, `(N, D)`, once for each seed."""
    file = cache / f"z-{graph}-{seed}.pt"
    if not file.exists():
        method = find_method("brgcl")
        generator = generator_for(seed, "training")
        z = method.fit(data, None, method.config(graph), generator).representations
        part = file.with_suffix(".part")
        torch.save(z, part)
        part.rename(file)
    return torch.load(file)


def draw_labels(y: torch.Tensor, labelled: str, kind: str, level: float, seed: int) -> Any:
    """Noisy labels of all nodes, or of some of each class."""
    num_classes = int(y.max()) + 1
    generator = torch.Generator().manual_seed(seed)
    seen = y
    if labelled != "all":
        order = torch.randperm(len(y), generator=generator)
        seen = torch.full_like(y, -1)
        for label in range(num_classes):
            seen[order[y[order] == label][: int(labelled)]] = label
    return flip_labels(seen, kind, level, num_classes=num_classes, generator=generator)


def measure(data: Data, z: torch.Tensor, noisy: Any, seed: int) -> dict[str, Any]:
    """Judge the labels of one draw and compare with what was flipped."""
    found = brgcl.judge_labels(z, noisy.labels, graph=without_ids(data), seed=seed)
    frame = found.frame
    frame = frame[frame["score"].notna()]
    wrong = noisy.flipped[torch.tensor(frame["node"].tolist())].numpy()
    score, flagged = frame["score"].to_numpy(), frame["is_error"].to_numpy()
    place = np.minimum((score * BINS).astype(int), BINS - 1)
    bins = [
        [int((place == i).sum()), float(score[place == i].sum()), int((~wrong[place == i]).sum())]
        for i in range(BINS)
    ]
    hits = int((wrong & flagged).sum())
    some = bool(wrong.any())
    return {
        "auroc": float(roc_auc_score(wrong, -score)) if some else None,
        "ap": float(average_precision_score(wrong, -score)) if some else None,
        "precision": hits / int(flagged.sum()) if flagged.any() else None,
        "recall": hits / int(wrong.sum()) if some else None,
        "flagged": int(flagged.sum()),
        "estimated": found.error_rate,
        "interval": found.error_interval,
        "real": float(wrong.mean()),
        "ece": sum(abs(s - r) for _, s, r in bins) / len(score),
        "bins": bins,
    }


def without_ids(data: Data) -> Data:
    """The graph alone, so that nodes are called by their numbers."""
    return Data(x=data.x, edge_index=data.edge_index, num_nodes=data.num_nodes)


def run(options: argparse.Namespace) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    """Measure what is not in the cache, and return all results of each cell."""
    file = options.results
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    done = {tuple(record["run"]): record for record in map(json.loads, lines)}
    cells: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for graph in options.graphs:
        data = brgcl.load_dataset(graph)
        for labelled in options.labelled:
            for level in options.levels:
                for kind in options.kinds if level else options.kinds[:1]:
                    for seed in range(*options.seeds):
                        key = (graph, labelled, kind, level, seed)
                        if key not in done:
                            noisy = draw_labels(data.y, labelled, kind, level / 100, seed)
                            z = representations(options.cache, graph, data, seed)
                            done[key] = {"run": key, **measure(data, z, noisy, seed)}
                            with file.open("a", encoding="utf-8") as out:
                                out.write(json.dumps(done[key]) + "\n")
                        cell = (graph, labelled, f"{kind} {level} %" if level else "none")
                        cells.setdefault(cell, []).append(done[key])
                    show(cell, cells[cell])
    return cells


def show(cell: tuple[str, ...], results: list[dict[str, Any]]) -> None:
    """Print one line of the table: means over the draws, and the error of the estimated rate."""
    texts = []
    for name in ("auroc", "ap", "precision", "recall", "flagged", "estimated", "real", "ece"):
        values = [one[name] for one in results if one[name] is not None]
        digits = 0 if name == "flagged" else 3
        texts.append(f"{mean(values):.{digits}f}" if values else "")
    off = mean(abs(one["estimated"] - one["real"]) for one in results)
    within = mean(one["interval"][0] <= one["real"] <= one["interval"][1] for one in results)
    row = [*cell, str(len(results)), *texts, f"{off:.3f}", f"{within:.2f}"]
    print("| " + " | ".join(row) + " |", flush=True)


def plot(cells: dict[tuple[str, ...], list[dict[str, Any]]], file: Path) -> None:
    """Plot the share of right labels against the score, all noisy draws of a regime together.

    The calibration error is the mean of those of the draws, each on its own.
    """
    regimes = list(dict.fromkeys(cell[:2] for cell in cells))
    columns = min(len(regimes), 2)
    places = [(i // columns, i % columns) for i in range(len(regimes))]
    height = 2.2 * (1 + max(line for line, _ in places))
    figure, axes = new_figure("Share of right labels by score", PAGE, height, places)
    for axis, regime in zip(axes, regimes, strict=True):
        parts = [r for cell, rs in cells.items() if cell[:2] == regime for r in rs if r["real"] > 0]
        total = np.sum([one["bins"] for one in parts], axis=0)
        total = total[total[:, 0] > 0]
        axis.plot([0, 1], [0, 1], color="0.7", linewidth=0.8)
        axis.plot(total[:, 1] / total[:, 0], total[:, 2] / total[:, 0], marker="o", markersize=3)
        few = "all labelled" if regime[1] == "all" else f"{regime[1]} per class"
        error = mean(one["ece"] for one in parts)
        axis.set(title=f"{regime[0]}, {few}", xlabel="score", ylabel="share right")
        axis.text(
            0.97, 0.05, f"calibration error {error:.3f}", ha="right", transform=axis.transAxes
        )
    save_picture(figure, file)


def main() -> None:
    """Print the table and, if asked, plot the reliability."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--graphs", nargs="+", default=["cora"])
    parser.add_argument("--labelled", nargs="+", default=["all", "20"], help="all, or per class")
    parser.add_argument("--kinds", nargs="+", default=["symmetric", "pair"])
    parser.add_argument("--levels", nargs="+", type=int, default=[0, 5, 10, 20, 40], help="in %%")
    parser.add_argument("--seeds", nargs=2, type=int, default=[100, 105], help="first, last + 1")
    parser.add_argument("--cache", type=Path, default=Path("results/cache/label-errors"))
    parser.add_argument("--results", type=Path, default=Path("results/label_errors_quality.jsonl"))
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    options.cache.mkdir(parents=True, exist_ok=True)
    names = "graph labelled noise n auroc ap precision recall flagged estimated real ece off within"
    print("| " + " | ".join(names.split()) + " |")
    print("|" + "---|" * len(names.split()))
    cells = run(options)
    if options.picture:
        plot(cells, options.picture)


if __name__ == "__main__":
    main()
