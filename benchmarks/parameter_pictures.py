"""What four settings and the price of a cluster do: maps and figures for docs/choosing-settings.md.

    python benchmarks/parameter_pictures.py           trains, draws, writes everything (minutes)
    python benchmarks/parameter_pictures.py --pages   only the tables of the page, from the results

Every value is trained on the same generated graphs with the noise of the demonstration: 30 % of the
labels wrong, 20 % of the attribute cells from other nodes, 10 % more edges. All other settings keep
their defaults. Accuracy is that on test nodes, without validation labels. The maps are of the first
graph, in the colours of the planted classes.
"""

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from sklearn.metrics import normalized_mutual_info_score
from torch import Tensor

import brgcl
from brgcl.atomic_files import write_json, write_text
from brgcl.evaluation.protocol import NoisyGraph, draw_noisy_graph
from brgcl.pictures import PAGE, look, new_figure, save_picture
from brgcl.report.demo import DEMO_NOISE
from brgcl.report.figures import place_nodes

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results" / "parameter_pictures.json"
GUIDE = ROOT / "docs" / "choosing-settings.md"
PICTURES = ROOT / "docs" / "img" / "parameters"
NODES, DRAWS = 1_200, 3
COLOURS = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#8a8f98"]
DEFAULT: dict[str, Any] = {}
# Setting -> what stands above each picture -> the settings that differ from the defaults.
VALUES: dict[str, dict[str, dict[str, Any]]] = {
    "tau": {"0.1": {"tau": 0.1}, "0.2": {"tau": 0.2}, "0.4": DEFAULT, "1.0": {"tau": 1.0}},
    "views": {
        "0": {"drop1": 0.0, "drop2": 0.0, "mask1": 0.0, "mask2": 0.0},
        "0.1": {"drop1": 0.1, "drop2": 0.1, "mask1": 0.1, "mask2": 0.1},
        "0.2 to 0.4": DEFAULT,
        "0.7": {"drop1": 0.7, "drop2": 0.7, "mask1": 0.7, "mask2": 0.7},
    },
    "epochs": {
        str(n): {"epochs": n, "warmup_epochs": n // 2} if n != 100 else DEFAULT
        for n in (5, 25, 100, 300)
    },
    "num_layers": {
        "1": {"num_layers": 1},
        "2": DEFAULT,
        "3": {"num_layers": 3},
        "5": {"num_layers": 5},
    },
}
PRICES = (0.1, 0.03, 0.01, 0.002)


def draw(seed: int) -> NoisyGraph:
    """A generated graph with noise."""
    graph = brgcl.make_graph(NODES, seed=seed)
    return draw_noisy_graph(graph, noise=DEMO_NOISE, protocol="no-val", seed=seed)


def measure(settings: Mapping[str, Any]) -> tuple[dict[str, Any], brgcl.BRGCL]:
    """Train on every draw; give what was measured, and the model of the first draw."""
    accuracy, ranks, seconds, models = [], [], [], []
    for seed in range(DRAWS):
        noisy = draw(seed)
        start = time.process_time()
        model = brgcl.BRGCL(seed=seed, **settings).fit(noisy.graph)
        seconds.append(round(time.process_time() - start, 2))
        z, graph = model.representations_, noisy.graph
        classifier = brgcl.NodeClassifier(seed=seed).fit(z, noisy.labels.train, graph=graph)
        right = classifier.predict(z) == noisy.truth.y
        accuracy.append(round(float(right[noisy.truth.test].float().mean()), 4))
        ranks.append(round(model.history_[-1].effective_rank or 0.0, 1))
        models.append(model)
    return {"accuracy": accuracy, "rank": ranks, "seconds": seconds}, models[0]


def run() -> None:
    """Train every value and every price; write pictures and results."""
    known: dict[str, tuple[dict[str, Any], brgcl.BRGCL]] = {}
    results: dict[str, Any] = {"nodes": NODES, "draws": DRAWS, "noise": str(DEMO_NOISE)}
    truth = draw(0).truth.y
    for name, values in VALUES.items():
        maps = []
        results[name] = {}
        for value, settings in values.items():
            key = json.dumps(settings)
            if key not in known:
                known[key] = measure(settings)
            figures, model = known[key]
            results[name][value] = {"settings": settings, **figures}
            title = f"{value}: accuracy {mean(figures['accuracy']):.2f}"
            maps.append((title, model.representations_, truth))
            print(name, title, flush=True)
        save_picture(plot(maps), PICTURES / f"{name}.svg")
    z, graph = known["{}"][1].representations_, draw(0).graph
    maps, results["price"] = [], {}
    for price in PRICES:
        found = brgcl.cluster(z, graph=graph, price=price)
        agreement = normalized_mutual_info_score(truth, found.assignment)
        results["price"][str(price)] = {
            "clusters": found.num_clusters,
            "nmi": round(float(agreement), 3),
        }
        maps.append((f"{price}: {found.num_clusters} clusters", z, found.assignment))
    save_picture(plot(maps), PICTURES / "price.svg")
    write_json(RESULTS, results)


def plot(maps: Sequence[tuple[str, Tensor, Tensor]]) -> Any:
    """Maps side by side: a title, representations, and what colours them."""
    with look():
        places = [(0, column) for column in range(len(maps))]
        figure, axes = new_figure("", PAGE, 2.0, places)
        for axis, (title, z, groups) in zip(axes, maps, strict=True):
            _, points = place_nodes(z)
            colours = [COLOURS[int(group) % len(COLOURS)] for group in groups]
            axis.scatter(*points.T, s=2.5, c=colours, linewidths=0, rasterized=True)
            axis.set_title(title)
            axis.set_aspect("equal", "datalim")
            axis.axis("off")
    return figure


def table(name: str, results: Mapping[str, Any]) -> str:
    """What was measured for one setting, as a table of the page."""
    found = results[name]
    if name == "price":
        rows = [f"| {v} | {r['clusters']} | {r['nmi']:.2f} |" for v, r in found.items()]
        return "\n".join(["| Price | Clusters | NMI with the classes |", "|---|---|---|", *rows])
    usual = mean(next(r for r in results["tau"].values() if not r["settings"])["seconds"])
    rows = [
        f"| {value} | {mean(r['accuracy']):.3f} ± {stdev(r['accuracy']):.3f} | "
        f"{mean(r['rank']):.0f} | {mean(r['seconds']) / usual:.1f} |"
        for value, r in found.items()
    ]
    head = "| Value | Accuracy | Effective rank | Time of training, default = 1 |"
    return "\n".join([head, "|---|---|---|---|", *rows])


def put_tables(page: str, results: Mapping[str, Any]) -> str:
    """The page with each table between its two marks."""
    for name in (*VALUES, "price"):
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, rest = page.split(begin)
        page = f"{before}{begin}\n\n{table(name, results)}\n\n{end}{rest.split(end)[1]}"
    return page


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measure and draw what settings do.")
    parser.add_argument("--pages", action="store_true", help="only write the tables of the page")
    if not parser.parse_args().pages:
        run()
    measured = json.loads(RESULTS.read_text(encoding="utf-8"))
    write_text(GUIDE, put_tables(GUIDE.read_text(encoding="utf-8"), measured))
