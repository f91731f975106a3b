"""What the label-noise model is worth: accuracy on validation nodes, from the floor to the ceiling.

    python benchmarks/label_noise_ladder.py --graphs cora citeseer:1 --draws 100 110

No test label is used at all, and validation labels only score, but for the rule "chosen".
Representations and results are cached in `--cache`; a killed run goes on where it was. A graph is a
data set, if need be with the depth of its encoder (`citeseer:1`), or a generated one, `h0.2-d8-c7`
(homophily, mean degree, classes). Rules: centroid; logistic1 and logistic10, logistic regression on
the labels as given with C = 1 and 10; bayes; ceiling, which is bayes on the right labels alone (an
oracle); auto, the default without validation labels; and chosen, the default where half of the
validation labels choose and the other half is scored, and the other way round.
"""

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev

import torch
import torch.nn.functional as F
from torch_geometric.data import Data

import brgcl
from brgcl.baselines import cca_ssg
from brgcl.baselines.s2gc import diffuse
from brgcl.baselines.s2gc_features import reduce
from brgcl.evaluation.protocol import NoisyGraph, draw_noisy_graph
from brgcl.method.attributes import learn_preparation
from brgcl.method.graph import adjacency_from_edges
from brgcl.method.sparse import is_sparse
from brgcl.noise.graph import Noise, generator_for
from brgcl.noise.spec import NoiseSpec
from brgcl.tasks.bayes_rule import fit_bayes, fit_logistic

CELLS = {
    "clean": None,
    "s20": NoiseSpec("symmetric", 0.2),
    "s40": NoiseSpec("symmetric", 0.4),
    "s60": NoiseSpec("symmetric", 0.6),
    "p20": NoiseSpec("pair", 0.2),
    "p40": NoiseSpec("pair", 0.4),
}
RULES = ("centroid", "logistic1", "logistic10", "bayes", "ceiling", "auto", "chosen")


def load(name: str, seed: int) -> Data:
    """Load a data set, or generate the graph that a name like `h0.2-d8-c7` describes."""
    name = name.split(":")[0]
    found = re.fullmatch(r"h([\d.]+)-d([\d.]+)-c(\d+)", name)
    if not found:
        return brgcl.load_dataset(name)
    homophily, degree, classes = float(found[1]), float(found[2]), int(found[3])
    return brgcl.make_graph(
        2000, num_classes=classes, homophily=homophily, avg_degree=degree, seed=seed
    )


def represent(data: Data, method: str, num_layers: int, seed: int) -> torch.Tensor:
    """Represent all nodes without any label, `(N, D)`."""
    if method == "brgcl":
        return brgcl.BRGCL(seed=seed, num_layers=num_layers).fit_transform(data)
    if method == "cca-ssg":
        generator = generator_for(seed, "training")
        config = cca_ssg.CCASSGConfig(num_layers=num_layers)
        return cca_ssg.fit(data, None, config, generator).representations
    x = learn_preparation(data.x, None).apply(data.x).data
    x = x.to_dense() if is_sparse(x) else x
    adjacency = adjacency_from_edges(data.edge_index, data.num_nodes).normalized
    torch.manual_seed(seed)
    return reduce(diffuse(adjacency, x, steps=16, alpha=0.05), 64)


def cached_representations(cache: Path, name: str, method: str, seed: int) -> torch.Tensor:
    """Read the centred unit rows of a graph, after computing them if they are not in the cache."""
    file = cache / "z" / f"{name}-{method}-{seed}.pt"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        depth = int(name.split(":")[1]) if ":" in name else 2
        z = represent(load(name, seed), method, depth, seed)
        part = file.with_suffix(".part")
        torch.save(z.half(), part)
        part.rename(file)
    z = F.normalize(torch.load(file).float(), dim=1)
    return F.normalize(z - z.mean(0), dim=1)


def classify(rule: str, z: torch.Tensor, noisy: NoisyGraph) -> torch.Tensor:
    """Class probabilities, or scores, of all nodes by one rule, `(N, C)`."""
    labels, C = noisy.labels.train, noisy.labels.num_classes
    if rule == "auto":
        return brgcl.NodeClassifier().fit(z, labels, graph=noisy.graph).predict_proba(z)
    if rule == "chosen":
        return chosen_by_the_other_half(z, noisy)
    if rule == "ceiling":
        labels = torch.where(labels == noisy.truth.y, labels, -1)
    if rule in ("bayes", "ceiling"):
        return fit_bayes(z, labels, noisy.graph).predict_proba(z, noisy.graph)
    nodes = (labels >= 0).nonzero().squeeze(1)
    one_hot = F.one_hot(labels[nodes], C).float()
    if rule == "centroid":
        return z @ F.normalize(one_hot.T @ z[nodes], dim=1).T
    return fit_logistic(z[nodes], one_hot, float(rule.removeprefix("logistic")))(z)


def chosen_by_the_other_half(z: torch.Tensor, noisy: NoisyGraph) -> torch.Tensor:
    """Probabilities of the scored nodes by the classifier that the other half of them chooses."""
    scored = noisy.truth.test.nonzero().squeeze(1)
    scored = scored[torch.randperm(len(scored), generator=torch.Generator().manual_seed(0))]
    p = z.new_zeros(len(z), noisy.labels.num_classes)
    for i in (0, 1):
        validation = torch.full_like(noisy.truth.y, -1)
        validation[scored[i::2]] = noisy.truth.y[scored[i::2]]
        classifier = brgcl.NodeClassifier()
        classifier.fit(z, noisy.labels.train, graph=noisy.graph, validation=validation)
        p[scored[1 - i :: 2]] = classifier.predict_proba(z)[scored[1 - i :: 2]]
    return p


def measure(
    cache: Path, name: str, method: str, draws: range, trainings: int, rules: Sequence[str]
) -> None:
    """Append one line for each draw, cell and rule that is not in the cache yet."""
    file = cache / "accuracy.jsonl"
    lines = file.read_text().splitlines() if file.exists() else []
    done = {tuple(json.loads(line)["run"]) for line in lines}
    with file.open("a") as out:
        for draw in draws:
            seed = 100 + draw % trainings
            z, data = cached_representations(cache, name, method, seed), load(name, seed)
            for cell, spec in CELLS.items():
                noise = Noise(labels=spec)
                noisy = draw_noisy_graph(
                    data, noise=noise, protocol="no-val", seed=draw, scored_on="validation"
                )
                scored = noisy.truth.test
                for rule in rules:
                    run = (name, method, trainings, draw, cell, rule)
                    if run in done:
                        continue
                    right = classify(rule, z, noisy).argmax(1) == noisy.truth.y
                    score = 100 * float(right[scored].double().mean())
                    out.write(json.dumps({"run": run, "accuracy": score}) + "\n")
                    out.flush()


def show(
    cache: Path, name: str, method: str, draws: range, trainings: int, rules: Sequence[str]
) -> None:
    """Print mean (standard deviation) of each cell over the draws, and the mean of noisy cells."""
    found = {}
    for line in (cache / "accuracy.jsonl").read_text().splitlines():
        record = json.loads(line)
        found[tuple(record["run"])] = record["accuracy"]
    print(f"\n{name}, {method}, n = {len(draws)}, {trainings} trainings")
    print(f"{'rule':10s} " + " ".join(f"{cell:>11s}" for cell in CELLS) + "   noisy mean")
    for rule in rules:
        cells = [
            [found[name, method, trainings, draw, cell, rule] for draw in draws] for cell in CELLS
        ]
        texts = [f"{mean(c):5.1f} ({stdev(c):4.1f})" for c in cells]
        noisy = mean(mean(c) for c in cells[1:])
        print(f"{rule:10s} " + " ".join(texts) + f"   {noisy:5.1f}", flush=True)


def main() -> None:
    """Measure and print one table for each graph and method."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--graphs", nargs="+", default=["cora", "citeseer:1"])
    parser.add_argument("--methods", nargs="+", default=["smooth", "cca-ssg", "brgcl"])
    parser.add_argument("--draws", nargs=2, type=int, default=[100, 110], help="first, last + 1")
    parser.add_argument("--trainings", type=int, default=5, help="different seeds of training")
    parser.add_argument("--rules", nargs="+", default=RULES, choices=RULES)
    parser.add_argument("--cache", type=Path, default=Path("results/label-noise"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    draws = range(*options.draws)
    options.cache.mkdir(parents=True, exist_ok=True)
    for name in options.graphs:
        for method in options.methods:
            measure(options.cache, name, method, draws, options.trainings, options.rules)
            show(options.cache, name, method, draws, options.trainings, options.rules)


if __name__ == "__main__":
    main()
