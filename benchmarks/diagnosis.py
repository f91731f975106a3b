"""Measure the finders of wrong edges and wrong attributes against noise that was put in.

    python benchmarks/diagnosis.py run --graphs cora citeseer --draws 0 1 2 3 4
    python benchmarks/diagnosis.py run --graphs pubmed --draws 0 --without-z
    python benchmarks/diagnosis.py show
    python benchmarks/diagnosis.py page

`run` adds to results/diagnosis.json what is not there yet, `show` prints the tables, `page` puts
them into docs/diagnosis.md. Edge noise `add:0.1` adds a tenth as many edges between random nodes.
Attribute noise `rows:0.1` exchanges the rows of a tenth of the nodes; `within` and `cell` corrupt
nearly all cells of a share of the nodes (`within` puts a node's values at random places, `cell`
takes them from another node). Truth serves to score, and for nothing else.
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import scipy.sparse
import torch
from sklearn.metrics import average_precision_score, roc_auc_score
from torch_geometric.data import Data

import brgcl
from brgcl.atomic_files import write_text
from brgcl.noise.attributes import corrupt_attributes
from brgcl.noise.graph import Noise, corrupt_graph, generator_for
from brgcl.noise.spec import NoiseSpec
from brgcl.tasks.pair_features import count_common_neighbours
from brgcl.tasks.smoothed_space import attribute_matrix, row_cosines, undirected_adjacency

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results" / "diagnosis.json"
PAGE = ROOT / "docs" / "diagnosis.md"
BEGIN, END = "<!-- measured -->", "<!-- /measured -->"
EDGES = ("none", "add:0.1", "add:0.2", "add:0.4")
ATTRIBUTES = (
    "none", "rows:0.1", "rows:0.2", "rows:0.4", "within:0.1", "within:0.2", "within:0.4", "cell:0.2"
)  # fmt: skip
CORRUPTED = {"within": 0.99, "cell": 0.9}  # share of the cells of a corrupted node
EDGE_METHODS = {
    "brgcl": "`find_edge_errors(z, graph)`",
    "without z": "`find_edge_errors(None, graph)`",
    "cosine": "cosine of attributes",
    "jaccard": "Jaccard index of attributes",
    "cosine of z": "cosine of BRGCL's z",
    "common neighbours": "common neighbours",
}
ATTRIBUTE_METHODS = {
    "brgcl": "`find_attribute_errors(graph)`",
    "cosine": "cosine of attributes and neighbours' mean",
    "jaccard": "mean Jaccard index with neighbours",
}


def measure_edges(name: str, noise: str, draw: int, with_z: bool) -> dict[str, Any]:
    """One draw of edge noise: how well each method ranks the added edges last."""
    clean = brgcl.load_dataset(name)
    spec = None if noise == "none" else NoiseSpec("add", float(noise.split(":")[1]))
    graph, _, _ = corrupt_graph(clean, Noise(edges=spec), draw)
    N = clean.num_nodes
    i, j = once(graph)
    wrong = ~np.isin(i * N + j, np.multiply(once(clean)[0], N) + once(clean)[1])
    frame = brgcl.find_edge_errors(None, graph, seed=draw)
    place = {node: index for index, node in enumerate(graph.node_ids)}

    def in_order(frame: Any) -> Any:
        keys = [place[a] * N + place[b] for a, b in zip(frame.source, frame.target, strict=True)]
        return frame.iloc[np.argsort(keys)]

    frame = in_order(frame)
    assert np.all(np.diff(i * N + j) > 0)
    record = {"wrong": float(wrong.mean()), **describe(frame, wrong)}
    if noise == "none":
        return record
    x = attribute_matrix(graph.x)
    scores = {
        "without z": frame.score, "cosine": cosines(x, i, j), "jaccard": jaccards(x, i, j),
        "common neighbours": count_common_neighbours(i, j, (i, j), N),
    }  # fmt: skip
    if with_z:
        z = brgcl.BRGCL(seed=draw).fit_transform(graph)
        found = in_order(brgcl.find_edge_errors(z, graph, seed=draw))
        rows = z.numpy()
        record |= describe(found, wrong)
        scores |= {"brgcl": found.score, "cosine of z": row_cosines(rows[i], rows[j])}
    return record | {"methods": ranked(scores, wrong)}


def measure_attributes(name: str, noise: str, draw: int, with_z: bool) -> dict[str, Any]:
    """One draw of attribute noise: how well each method ranks the corrupted nodes last."""
    clean = brgcl.load_dataset(name)
    N, generator = clean.num_nodes, generator_for(draw, "attribute-noise")
    graph = clean.clone()
    if noise != "none":
        kind, level = noise.split(":")[0], float(noise.split(":")[1])
        nodes = None
        if kind != "rows":
            nodes = torch.randperm(N, generator=generator)[: int(level * N)]
            level = CORRUPTED[kind]
        graph.x = corrupt_attributes(clean.x, kind, level, generator=generator, nodes=nodes).x
    before, x = attribute_matrix(clean.x), attribute_matrix(graph.x)
    changed = np.asarray(abs(before - x).sum(1)).ravel() > 0
    place = {node: index for index, node in enumerate(graph.node_ids)}
    frame = brgcl.find_attribute_errors(graph, seed=draw)
    nodes = np.array([place[node] for node in frame.node])
    wrong = changed[nodes]
    record = {"wrong": float(wrong.mean()), **describe(frame, wrong)}
    if noise == "none":
        return record
    i, j = once(graph)
    adjacency = undirected_adjacency(i, j, N)
    degree = np.diff(adjacency.indptr).clip(1)
    both, other = np.concatenate([i, j]), np.concatenate([j, i])
    total = scipy.sparse.vstack([scipy.sparse.csr_array(x), adjacency @ x], format="csr")
    scores = {
        "brgcl": frame.score,
        "cosine": cosines(total, nodes, nodes + N),
        "jaccard": (np.bincount(both, jaccards(x, both, other), minlength=N) / degree)[nodes],
    }
    return record | {"methods": ranked(scores, wrong)}


def once(graph: Data) -> tuple[Any, Any]:
    """The two ends of every undirected edge, `(E,)` each, in ascending order."""
    row, col = graph.edge_index.numpy()
    return row[row < col], col[row < col]


def describe(frame: Any, wrong: Any) -> dict[str, Any]:
    """What a finder says of the whole graph, and how good its flags are."""
    hits = int((frame.is_error.to_numpy() & wrong).sum())
    flagged = int(frame.is_error.sum())
    return {
        "estimated_rate": frame.attrs["estimated_rate"], "interval": frame.attrs["interval"],
        "flagged": flagged / len(frame),
        "precision": hits / flagged if flagged else None,
        "recall": hits / int(wrong.sum()) if wrong.any() else None,
    }  # fmt: skip


def ranked(scores: Mapping[str, Any], wrong: Any) -> dict[str, dict[str, float]]:
    """AUROC and average precision of low scores against what is wrong."""
    return {
        name: {
            "auroc": float(roc_auc_score(wrong, -np.asarray(score))),
            "average_precision": float(average_precision_score(wrong, -np.asarray(score))),
        }
        for name, score in scores.items()
    }


def cosines(x: Any, i: Any, j: Any) -> Any:
    """Cosine of row i and row j of sparse attributes."""
    length = np.sqrt(np.asarray(x.multiply(x).sum(1)).ravel())
    product = np.asarray(x[i].multiply(x[j]).sum(1)).ravel()
    return product / np.maximum(length[i] * length[j], 1e-12)


def jaccards(x: Any, i: Any, j: Any) -> Any:
    """Shared attributes over attributes of either, as Wu et al. (2019) prune edges."""
    has = scipy.sparse.csr_array((np.ones(x.nnz), x.indices, x.indptr), shape=x.shape)
    size, shared = np.diff(has.indptr), np.asarray(has[i].multiply(has[j]).sum(1)).ravel()
    return shared / np.maximum(size[i] + size[j] - shared, 1)


def run(graphs: Sequence[str], draws: Sequence[int], with_z: bool, out: Path) -> None:
    """Measure what is not in the file yet; the file is written after every draw."""
    runs = json.loads(out.read_text())["runs"] if out.is_file() else []
    done = {(run["graph"], run["part"], run["noise"], run["draw"]) for run in runs}
    kinds: list[tuple[str, Sequence[str], Callable[..., dict[str, Any]]]] = [
        ("edges", EDGES, measure_edges),
        ("attributes", ATTRIBUTES, measure_attributes),
    ]
    for draw in draws:
        for graph in graphs:
            for part, noises, measure in kinds:
                for noise in noises:
                    if (graph, part, noise, draw) in done:
                        continue
                    about = {"graph": graph, "part": part, "noise": noise, "draw": draw}
                    runs.append(about | measure(graph, noise, draw, with_z))
                    write_text(out, json.dumps({"runs": runs}, indent=1) + "\n")


def tables(file: Path) -> str:
    """All tables in Markdown: means over draws."""
    runs = json.loads(file.read_text(encoding="utf-8"))["runs"]
    parts = []
    for part, title, methods, noises in (
        ("edges", "Edges", EDGE_METHODS, EDGES),
        ("attributes", "Attributes", ATTRIBUTE_METHODS, ATTRIBUTES),
    ):
        for graph in dict.fromkeys(run["graph"] for run in runs):
            here = [run for run in runs if run["graph"] == graph and run["part"] == part]
            cells = {n: [r for r in here if r["noise"] == n] for n in noises}
            cells = {noise: found for noise, found in cells.items() if found}
            if cells:
                draws = max(map(len, cells.values()))
                parts.append(f"**{title} of {graph}**, n = {draws}")
                parts.append(_table(cells, methods))
    return "\n\n".join([*parts, *_estimates(runs)])


def _estimates(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """How good the estimated shares are, over all graphs, levels and draws: two sentences."""
    sentences = []
    for part in ("edges", "attributes"):
        noisy = [run for run in runs if run["part"] == part and "cell" not in run["noise"]]
        error = mean(abs(run["estimated_rate"] - run["wrong"]) for run in noisy)
        inside = sum(run["interval"][0] <= run["wrong"] <= run["interval"][1] for run in noisy)
        sentences.append(
            f"Estimated share of wrong {part}{', without `cell`' * (part == 'attributes')}: mean "
            f"absolute error {100 * error:.1f} points; the true share is in the interval in "
            f"{inside} of {len(noisy)} runs."
        )
    return sentences


def _table(cells: Mapping[str, list[dict[str, Any]]], methods: Mapping[str, str]) -> str:
    rows = [["", *cells]]
    for method, name in methods.items():
        row = [name]
        for found in cells.values():
            values = [run["methods"][method] for run in found if method in run.get("methods", {})]
            row.append(
                "/".join(
                    _short(mean(v[key] for v in values)) for key in ("auroc", "average_precision")
                )
                if values
                else "-"
            )
        if set(row[1:]) != {"-"}:
            rows.append(row)

    def say(name: str, value: Callable[[dict[str, Any]], float | None]) -> None:
        line = [name]
        for found in cells.values():
            values = [v for v in map(value, found) if v is not None]
            line.append(f"{100 * mean(values):.1f} %" if values else "-")
        rows.append(line)

    say("share of wrong ones", lambda run: run["wrong"])
    say("estimated share", lambda run: run["estimated_rate"])
    say("lower limit", lambda run: run["interval"][0])
    say("upper limit", lambda run: run["interval"][1])
    say("flagged", lambda run: run["flagged"])
    say("precision of flags", lambda run: run["precision"] if run["wrong"] else None)
    say("recall of flags", lambda run: run["recall"])
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def _short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def put_tables(page: str, measured: str) -> str:
    """The page with the tables between its two marks."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{measured}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run")
    runs.add_argument("--graphs", nargs="+", default=["cora", "citeseer"])
    runs.add_argument("--draws", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    runs.add_argument("--without-z", action="store_true")
    runs.add_argument("--out", type=Path, default=RESULTS)
    shows = commands.add_parser("show")
    shows.add_argument("file", type=Path, nargs="?", default=RESULTS)
    commands.add_parser("page")
    options = parser.parse_args()
    if options.command == "run":
        run(options.graphs, options.draws, not options.without_z, options.out)
        print(tables(options.out))
    elif options.command == "show":
        print(tables(options.file))
    else:
        write_text(PAGE, put_tables(PAGE.read_text(encoding="utf-8"), tables(RESULTS)))
