"""BRGCL with its defaults on a family of generated graphs, beside `mlp` and `smooth`.

The grid was fixed before anything was measured: homophily, degree and number of classes. No
validation label is used. One JSON line per graph, level and method; a rerun skips what is there:

    python benchmarks/generated_family.py --out family.jsonl
"""

import argparse
import itertools
import json
from pathlib import Path

import brgcl
from brgcl.noise import NoiseSpec
from brgcl.noise.graph import Noise

CLASSES, HOMOPHILY, DEGREE = (7, 2, 40), (0.2, 0.5, 0.9), (2, 8, 40)
LEVELS, METHODS, NODES = (0.0, 0.4), ("mlp", "smooth", "brgcl"), 1500


def measure(classes: int, homophily: float, degree: int, level: float, method: str, seeds: int):
    def graph(seed: int):
        return brgcl.make_graph(
            NODES, num_classes=classes, homophily=homophily, avg_degree=degree, seed=seed
        )

    noise = Noise(labels=NoiseSpec("symmetric", level)) if level else None
    found = brgcl.evaluate(graph, method, noise=noise, protocol="no-val", seeds=seeds).summary()
    return {name: found[name] for name in ("accuracy_mean", "accuracy_std", "n", "seconds_mean")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/records/family.jsonl"))
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    done = set()
    if options.out.exists():
        lines = options.out.read_text(encoding="utf-8").splitlines()
        done = {tuple(json.loads(line)["graph"]) for line in lines}
    for what in itertools.product(CLASSES, HOMOPHILY, DEGREE, LEVELS, METHODS):
        if what in done:
            continue
        record = {"graph": what, **measure(*what, options.seeds)}
        with options.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        print(*what, f"{record['accuracy_mean']:.3f}", flush=True)


if __name__ == "__main__":
    main()
