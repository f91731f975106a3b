"""BRGCL with its defaults on a family of generated graphs, beside `mlp` and `smooth`.

    python benchmarks/generated_family.py run               (resumes; --budget 600 for ten minutes)
    python benchmarks/generated_family.py show              (prints a summary, writes the page)

The grid has the number of classes, homophily, mean degree, and attributes that are sparse (bags of
words) or dense (256 random projections of them). No validation label is used. A line of the records
is one method on one graph, with its accuracy at each level of symmetric label noise; a method
without labels is trained once for all of them.
"""

import argparse
import itertools
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import torch
from torch_geometric.data import Data

from brgcl.atomic_files import write_text
from brgcl.data import make_graph
from brgcl.evaluation.protocol import draw_noisy_graph
from brgcl.evaluation.score import classify_one, fit_one
from brgcl.machine import one_thread, source_commit
from brgcl.methods import METHODS
from brgcl.noise import NoiseSpec
from brgcl.noise.graph import Noise

ROOT = Path(__file__).parent.parent
RECORDS, PAGE = ROOT / "results" / "generated_family.jsonl", ROOT / "docs" / "generated-graphs.md"
CLASSES, HOMOPHILY, DEGREE, ATTRIBUTES = (
    (7, 2, 40),
    (0.2, 0.5, 0.9),
    (2, 10, 50),
    ("sparse", "dense"),
)
LEVELS, COMPARED, NODES, DENSE = (0.0, 0.4), ("mlp", "smooth", "brgcl"), 1500, 256

HEAD = """# Generated graphs

This page shows how BRGCL works on graphs that differ from citation networks. Read it if your
graph has few or many classes, low homophily, or many edges per node.

The graphs are generated and have 1,500 nodes, with 2, 7 and 40 classes, homophily .2 to .9, mean
degree 2 to 50, and attributes that are sparse (bags of words) or dense (256 random projections
of bags of words). BRGCL is compared with `mlp`, which does not see the edges, and with `smooth`,
which averages the attributes over the graph and trains nothing. All three have their default
settings, and no validation label is used. If the edges carry little information about the
classes, the classifier of `smooth` and of BRGCL uses attributes instead of representations
([label noise](label-noise.md#where-neighbours-mislead)). The two methods are then equal.

The tables give test accuracy in per cent under symmetric label noise, as the mean of n draws.
With so few draws, differences of a point or two mean little. The *gap* is the accuracy of BRGCL
minus the better of the two others, in points.

With two classes there are only 40 labels, so the realised noise depends on chance: at 40 % of
noise, 52 to 62 % of the labels of draw 0 are wrong. If most labels are wrong, a method that follows
their structure predicts the other class. Draws in which more than half of the labels are wrong
are therefore left out; n then stands for each noise level.
"""
FOOT = """`python benchmarks/generated_family.py run` makes the records
([generated_family.jsonl](../results/generated_family.jsonl)), and
`python benchmarks/generated_family.py show` writes this page.
"""


class Kind(NamedTuple):
    """One kind of graph of the family."""

    classes: int
    homophily: float
    degree: int
    attributes: str


def grid() -> Iterator[Kind]:
    """All kinds of graphs, those with 7 classes first."""
    for values in itertools.product(CLASSES, ATTRIBUTES, HOMOPHILY, DEGREE):
        classes, attributes, homophily, degree = values
        yield Kind(classes, homophily, degree, attributes)


def generate(kind: Kind, seed: int, nodes: int = NODES) -> Data:
    """Generate a graph of a kind."""
    data = make_graph(
        nodes, num_classes=kind.classes, homophily=kind.homophily, avg_degree=kind.degree, seed=seed
    )
    if kind.attributes == "dense":
        rng = torch.Generator().manual_seed(seed)
        data.x = data.x @ torch.randn(data.x.shape[1], DENSE, generator=rng) / DENSE**0.5
    return data


def measure(data: Data, method: str, seed: int) -> dict[str, Any]:
    """Accuracy of a method at each level of label noise, and processor time."""
    fitted, accuracy, wrong, start = None, {}, {}, time.process_time()
    for level in LEVELS:
        noise = Noise(labels=NoiseSpec("symmetric", level) if level else None)
        noisy = draw_noisy_graph(data, noise=noise, protocol="no-val", seed=seed)
        if fitted is None or METHODS[method].uses_labels:
            fitted = fit_one(noisy, method, METHODS[method].config(), seed)
        accuracy[f"{level:g}"] = classify_one(noisy, fitted, seed=seed).accuracy
        wrong[f"{level:g}"] = noisy.label_noise
    return {"accuracy": accuracy, "noise_realised": wrong, "seconds": time.process_time() - start}


def read(path: Path) -> dict[tuple[Kind, int, str], dict[str, Any]]:
    """Records of methods as they are now, by kind, draw and method."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        record = json.loads(line)
        if record["version"] == METHODS[record["method"]].version:
            found[Kind(*record["kind"]), record["draw"], record["method"]] = record
    return found


def run(path: Path, draws: int, budget: float) -> None:
    """Measure what is not in the file yet, until the seconds of the budget have passed."""
    end = time.time() + budget
    for draw, kind in itertools.product(range(draws), grid()):
        todo = [method for method in COMPARED if (kind, draw, method) not in read(path)]
        data = generate(kind, draw) if todo else None
        for method in todo:
            if time.time() > end:
                return
            with one_thread():
                record = {
                    "kind": kind, "draw": draw, "method": method,
                    "version": METHODS[method].version, "commit": source_commit(),
                    **measure(data, method, draw),
                }  # fmt: skip
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
            print(*kind, draw, method, record["accuracy"], flush=True)


def gaps(records: dict[tuple[Kind, int, str], dict[str, Any]]) -> dict[Kind, dict[str, Any]]:
    """Mean accuracy and gap in points of each kind and level, over the draws that all methods have.

    Draws in which more than half of the labels are wrong are left out.
    """
    found = {}
    for kind in grid():
        draws = sorted({draw for each, draw, _ in records if each == kind})
        whole = [d for d in draws if all((kind, d, method) in records for method in COMPARED)]
        if not whole:
            continue
        here = {}
        for level in (f"{level:g}" for level in LEVELS):
            kept = [d for d in whole if records[kind, d, "brgcl"]["noise_realised"][level] <= 0.5]
            if not kept:
                continue
            score = {
                m: 100 * mean(records[kind, d, m]["accuracy"][level] for d in kept)
                for m in COMPARED
            }
            gap = score["brgcl"] - max(score["mlp"], score["smooth"])
            here[level] = score | {"gap": gap, "n": len(kept)}
        found[kind] = here
    return found


def summary(found: dict[Kind, dict[str, Any]]) -> str:
    """How often BRGCL is more than a point below the better of the others, and by how much."""
    lines = [
        "| Classes | Homophily | Label noise | Graphs "
        "| Mean gap | Worst | More than a point below |",
        "|---|---|---|---|---|---|---|",
    ]
    for classes, homophily, level in itertools.product(CLASSES, HOMOPHILY, LEVELS):
        values = [
            scores[f"{level:g}"]["gap"]
            for kind, scores in found.items()
            if (kind.classes, kind.homophily) == (classes, homophily) and f"{level:g}" in scores
        ]
        if values:
            below = sum(value < -1 for value in values)
            lines.append(
                f"| {classes} | {homophily} | {100 * level:g} % | {len(values)} | "
                f"{mean(values):+.1f} | {min(values):+.1f} | {below} |"
            )
    return "\n".join(lines)


def table(found: dict[Kind, dict[str, Any]]) -> str:
    """One line for each kind of graph."""
    names = (*COMPARED, "gap")
    head = [f"{100 * level:g} %: {name}" for level in LEVELS for name in names]
    lines = [
        f"| Classes | Attributes | Homophily | Degree | n | {' | '.join(head)} |",
        "|---|---|---|---|---|" + "---|" * len(head),
    ]
    for kind, e in found.items():
        levels = [e.get(f"{level:g}") for level in LEVELS]
        scores = [
            "" if here is None else f"{here[name]:{'+' if name == 'gap' else ''}.1f}"
            for here in levels
            for name in names
        ]
        n = ", ".join(dict.fromkeys(str(here["n"]) if here else "0" for here in levels))
        about = f"{kind.classes} | {kind.attributes} | {kind.homophily} | {kind.degree} | {n}"
        lines.append(f"| {about} | {' | '.join(scores)} |")
    return "\n".join(lines)


def page(path: Path) -> str:
    """The page of docs/."""
    found = gaps(read(path))
    done = f"{len(found)} of {len(list(grid()))} kinds of graphs were measured."
    return "\n".join([HEAD, done, "", summary(found), "", table(found), "", FOOT])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["run", "show"])
    parser.add_argument("--records", type=Path, default=RECORDS)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--budget", type=float, default=1e9, help="seconds")
    given = parser.parse_args(arguments)
    if given.command == "run":
        run(given.records, given.draws, given.budget)
    else:
        print(summary(gaps(read(given.records))))
        write_text(PAGE, page(given.records))


if __name__ == "__main__":
    main()
