"""What correcting labels is worth: test accuracy of a plain GCN on corrected labels.

    python benchmarks/correct_labels.py           writes results/correct-labels.json (resumes, also
                                                  where the file lacks a ranking of a draw), and
                                                  from it docs/correcting-labels.md and its picture
    python benchmarks/correct_labels.py --plot    page and picture alone, from the file

Labelled are all nodes but the public test nodes ("most"), or the public training nodes, 20 per
class ("few"). Their labels have noise; test nodes are clean and only scored. A detector ranks the
labels. They are corrected in two ways:

    suggestion   labels that the detector takes to be wrong get the class that it suggests
    review       a person looks at the first 5, 10 or 20 % of the ranking, and gives the true class
                 95 times in a hundred, else any other

A GCN is then trained on the result, three times from first weights that are always the same; its
accuracy is the mean. The answer that the person would
give for a node is drawn once, so that all detectors meet the same person.
"""

import argparse
import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from brgcl.atomic_files import write_text
from brgcl.contract import ObservedLabels
from brgcl.data import load_dataset
from brgcl.detectors.contract import Detected
from brgcl.detectors.registry import find_detector
from brgcl.machine import library_versions, one_thread
from brgcl.methods import find_method
from brgcl.noise.graph import Noise, corrupt_graph, generator_for
from brgcl.noise.labels import flip_labels
from brgcl.pictures import PAGE, check_picture, look, new_figure, save_picture
from brgcl.tasks.metrics import accuracy

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results" / "correct-labels.json"
PICTURE = ROOT / "docs" / "img" / "correct-labels.svg"
PAGE_FILE = ROOT / "docs" / "correcting-labels.md"
DATASETS = ("cora", "citeseer")
NOISES = (("symmetric", 0.2), ("pair", 0.2))
RANKINGS = ("brgcl", "graph-cleaner", "confident-gcn", "random")
LABELLED = ("most", "few")
TRAININGS = 3
BUDGETS = (0.05, 0.1, 0.2)
REVIEWER = 0.95  # share of a person's answers that are right
COLORS = {"brgcl": "#D55E00", "graph-cleaner": "#0072B2", "confident-gcn": "#009E73",
          "random": "#8C8C8C"}  # fmt: skip

HEAD = """# What correcting labels is worth

This page shows how much a classifier gains if you correct wrong labels, and how many labels you
have to check. In each draw, some labels are made wrong, a detector ranks all labels, labels are
corrected, and a plain GCN is trained on the result.

- *Suggestions taken*: each flagged label is replaced by the class that the detector suggests.
- *Labels looked at*: a simulated person checks the first labels of a ranking and gives the true
  class 95 times in a hundred.
- *most labelled*: all nodes except the public test nodes have a label. *few labelled*: the
  public training nodes have one, 20 per class.

[Detectors](detectors.md) describes the rankings; `random` takes the labels in random order.

![Test accuracy over the share of labels looked at](img/correct-labels.svg)

If most nodes are labelled, a GCN averages out symmetric noise by itself, and the gain from
corrections is not larger than the spread. If few nodes are labelled, or one class is mistaken
for another, correcting labels helps. Taking all suggestions is then worth about as much as
looking at the first fifth of the ranking.

The tables give the test accuracy of the GCN in per cent, as mean ± standard deviation over draws
of noise (number of draws). Each draw is the mean of three trainings.
"""
FOOT = """`python benchmarks/correct_labels.py` makes the measurements
([correct-labels.json](../results/correct-labels.json)) and writes this page.
"""


def new_draw(dataset: str, labelled: str, noise: str, level: float, seed: int) -> dict[str, Any]:
    """A draw of which nothing is known yet."""
    return {
        "dataset": dataset, "labelled": labelled, "noise": noise, "level": level, "seed": seed,
        "rankings": {},
    }  # fmt: skip


def measure(draw: dict[str, Any]) -> dict[str, Any]:
    """A draw with what it lacked: accuracies by ranking and way of correcting.

    Args:
        draw: Which one, and what is known of it: `dataset`, `labelled`, `noise`, `level`, `seed`
            and `rankings`.
    """
    dataset, labelled, seed = draw["dataset"], draw["labelled"], draw["seed"]
    data = load_dataset(dataset, seed=seed)
    graph, _, _ = corrupt_graph(data, Noise(), seed)  # no noise: the graph without its labels
    truth, test = data.y, data.test_mask
    pool = torch.where(~test if labelled == "most" else data.train_mask, truth, -1)
    C = int(truth.max()) + 1
    generator = generator_for(seed, "label-noise")
    given = flip_labels(
        pool, draw["noise"], draw["level"], num_classes=C, generator=generator
    ).labels
    answers = review(truth, C, generator_for(seed, "review"))

    def score(labels: Tensor) -> float:
        return gcn_accuracy(graph, labels, truth, test, dataset, seed)

    rankings = dict(draw["rankings"])
    for name in missing(draw):
        found = rank(name, graph, given, dataset, seed)
        order = found.nodes[found.score.argsort(stable=True)]
        looked = {}
        for share in BUDGETS:
            first = order[: round(share * len(order))]
            looked[f"{share:g}"] = score(given.index_copy(0, first, answers[first]))
        rankings[name] = {"review": looked, "suggestion": None}
        if name != "random":
            mended = given.index_copy(0, found.nodes, apply_suggestions(found, given))
            rankings[name] |= {
                "suggestion": score(mended),
                "flagged": float(found.is_error.double().mean()),
                "wrong_after": wrong_share(mended, pool),
            }
    known = draw | {"rankings": rankings}
    if "uncorrected" in draw:
        return known
    return known | {
        "wrong_before": wrong_share(given, pool),
        "uncorrected": score(given),
        "all_right": score(pool),
    }


def missing(draw: dict[str, Any]) -> list[str]:
    """Rankings that a draw lacks."""
    return [name for name in RANKINGS if name not in draw["rankings"]]


def rank(name: str, graph: Data, given: Tensor, dataset: str, seed: int) -> Detected:
    """Let a detector rank the labels, or rank them at random."""
    if name == "random":
        nodes = (given >= 0).nonzero().squeeze(1)
        score = torch.rand(len(nodes), generator=generator_for(seed, "random-order"))
        return Detected(nodes, score, given[nodes], torch.zeros_like(nodes, dtype=torch.bool))
    detector = find_detector(name)
    return detector.run(graph, given, seed=seed, config=detector.config(dataset))


def apply_suggestions(found: Detected, given: Tensor) -> Tensor:
    """Labels of the judged nodes `(L,)`, the suggested one where a label is taken to be wrong."""
    return torch.where(found.is_error, found.suggested, given[found.nodes])


def review(truth: Tensor, num_classes: int, generator: torch.Generator) -> Tensor:
    """The class that a person would give each node, right 95 times in a hundred, `(N,)`."""
    wrong = torch.rand(len(truth), generator=generator) >= REVIEWER
    step = torch.randint(1, num_classes, (len(truth),), generator=generator)
    return torch.where(wrong, (truth + step) % num_classes, truth)


def wrong_share(labels: Tensor, pool: Tensor) -> float:
    """Share of the labels that are wrong."""
    return float((labels != pool)[pool >= 0].double().mean())


def gcn_accuracy(
    graph: Data, labels: Tensor, truth: Tensor, test: Tensor, dataset: str, seed: int
) -> float:
    """Mean test accuracy of GCNs that are trained on labels, -1 = none; the last epoch counts."""
    method = find_method("gcn")
    observed = ObservedLabels(labels, None, int(truth.max()) + 1)
    config, generator, right = method.config(dataset), generator_for(seed, "training"), []
    for _ in range(TRAININGS):
        fitted = method.fit(graph, observed, config, generator)
        assert fitted.probabilities is not None
        right.append(accuracy(fitted.probabilities.argmax(1)[test], truth[test]))
    return mean(right)


def read_draws(path: Path) -> list[dict[str, Any]]:
    """Draws that were measured before; none without a file."""
    if not path.exists():
        return []
    draws: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["draws"]
    return draws


def place(entry: dict[str, Any]) -> tuple[str, str, str, float]:
    """Which column of the table a draw or a cell belongs to."""
    return entry["dataset"], entry["labelled"], entry["noise"], entry["level"]


def heading(column: tuple[str, str, str, float]) -> str:
    """A column in words."""
    dataset, labelled, noise, level = column
    return f"{dataset}, {labelled} labelled, {noise} {100 * level:g} %"


def summarise(draws: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean and standard deviation over draws: one entry for each cell of the table."""
    values: dict[Any, list[float]] = {}
    for draw in draws:
        found = {
            ("none", "uncorrected"): draw["uncorrected"],
            ("none", "all right"): draw["all_right"],
        }
        for name, of in draw["rankings"].items():
            if of["suggestion"] is not None:
                found[name, "suggestion"] = of["suggestion"]
            found |= {(name, f"review {share}"): right for share, right in of["review"].items()}
        for row, right in found.items():
            values.setdefault((*place(draw), *row), []).append(right)
    names = ("dataset", "labelled", "noise", "level", "ranking", "way")
    return [
        {
            **dict(zip(names, where, strict=True)), "n": len(right), "mean": mean(right),
            "std": stdev(right) if len(right) > 1 else None,
        }
        for where, right in values.items()
    ]  # fmt: skip


def page(cells: Sequence[dict[str, Any]]) -> str:
    """The page of the documentation: a table for suggestions, and one for reviews, in per cent."""
    rankings = [name for name in RANKINGS if any(c["ranking"] == name for c in cells)]
    suggested = [(name, "suggestion") for name in rankings if name != "random"]
    reviewed = [(name, f"review {share:g}") for share in BUDGETS for name in rankings]
    some = {(c["ranking"], c["way"]) for c in cells}
    tables = []
    for title, ways in (("Suggestions taken", suggested), ("Labels looked at", reviewed)):
        rows = [("none", "uncorrected"), *(way for way in ways if way in some)]
        tables.append(f"## {title}\n\n{markdown(cells, [*rows, ('none', 'all right')])}")
    return f"{HEAD}\n{''.join(f'{table}{chr(10)}' for table in tables)}{FOOT}"


def markdown(cells: Sequence[dict[str, Any]], rows: Sequence[tuple[str, str]]) -> str:
    """A table of some rankings and ways of correcting, a column for each kind of labels."""
    columns = list(dict.fromkeys(map(place, cells)))
    table = {(c["ranking"], c["way"], place(c)): c for c in cells}
    lines = [f"| labels | {' | '.join(map(heading, columns))} |", "|---" * (1 + len(columns)) + "|"]
    for ranking, way in rows:
        shown = []
        for column in columns:
            c = table[ranking, way, column]
            spread = "" if c["std"] is None else f" ± {100 * c['std']:.1f}"
            shown.append(f"{100 * c['mean']:.1f}{spread} ({c['n']})")
        words = f"first {_looked_at(way):g} % reviewed" if way.startswith("review") else way
        name = words if ranking == "none" else f"{words}, {ranking}"
        lines.append(f"| {name} | {' | '.join(shown)} |")
    return "\n".join(lines) + "\n"


def _looked_at(way: str) -> float:
    """Per cent of the labels that a person has looked at."""
    return 100 * float(way.removeprefix("review "))


def plot(cells: Sequence[dict[str, Any]]) -> Any:
    """Accuracy over the share of labels that were looked at, a panel for each column."""
    columns = list(dict.fromkeys(map(place, cells)))
    places = [(i // 2, i % 2) for i in range(len(columns))]
    with look():
        height = 2.1 * (places[-1][0] + 1) + 0.7
        figure, axes = new_figure("Labels looked at, and what a GCN learns", PAGE, height, places)
        for column, ax in zip(columns, axes, strict=True):
            here = [c for c in cells if place(c) == column]
            value = {(c["ranking"], c["way"]): 100 * c["mean"] for c in here}
            ax.axhline(value["none", "all right"], color="black", linewidth=0.8, linestyle="--")
            for name, color in COLORS.items():
                ways = [w for r, w in value if r == name and w.startswith("review")]
                x = [0.0, *map(_looked_at, ways)]
                y = [value["none", "uncorrected"], *(value[name, way] for way in ways)]
                ax.plot(x, y, color=color, marker="o", markersize=3.5, label=name)
                if (name, "suggestion") in value:
                    ax.plot([0], [value[name, "suggestion"]], color=color, marker="*",
                            markersize=9, linestyle="", clip_on=False, zorder=5)  # fmt: skip
            ax.set_title(heading(column))
            ax.set(xlabel="labels looked at, %", ylabel="test accuracy, %")
        handles, names = axes[0].get_legend_handles_labels()
        figure.legend(
            handles, names, loc="outside lower center", ncols=4, frameon=False,
            title="star: suggestions taken, nothing looked at; dashed: all labels right",
        )  # fmt: skip
    return figure


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Correct labels, and train a GCN on them.")
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--seeds", type=int, default=5, help="draws of noise")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--picture", type=Path, default=PICTURE)
    parser.add_argument("--page", type=Path, default=PAGE_FILE)
    parser.add_argument("--plot", action="store_true", help="picture and page alone, from --out")
    given = parser.parse_args(arguments)
    check_picture(given.picture)
    draws = read_draws(given.out)
    if not given.plot:
        known = {(*place(draw), draw["seed"]): draw for draw in draws}
        wanted = product(given.datasets.split(","), LABELLED, NOISES, range(given.seeds))
        with one_thread():
            for dataset, labelled, (noise, level), seed in wanted:
                key = (dataset, labelled, noise, level, seed)
                draw = known.get(key) or new_draw(*key)
                if not missing(draw):
                    continue
                known[key] = measure(draw)
                draws = list(known.values())
                result = {"draws": draws, "versions": library_versions()}
                write_text(given.out, json.dumps(result, indent=1) + "\n")
                print(f"{heading(place(draw))}, seed {seed}", flush=True)
    cells = summarise(draws)
    save_picture(plot(cells), given.picture)
    write_text(given.page, page(cells))
    print(given.page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
