"""Does every method run on large graphs, and in how much memory?

    python benchmarks/scale.py run --out scale.jsonl        (resumes)
    python benchmarks/scale.py show scale.jsonl             (a table in Markdown)
    python benchmarks/scale.py large --sizes 20k,100k,1m --graphs FOLDER --out scale.json
    python benchmarks/scale.py plot scale.json slopes.svg
    python benchmarks/scale.py ranks --sizes 50k --out scale.json

Each method is trained for two epochs at its usual width, in a process of its own, on pubmed, on
coauthor-cs and on a generated graph of 160,000 nodes with 128 attributes and 90,000 labels. What is
recorded is the peak memory of that process and the processor time, or the sentence with which the
method refuses. Memory does not depend on the number of epochs; nrgnn, whose candidates grow with
its pseudo labels, takes every prediction for one.

"large" trains BRGCL for some epochs on generated graphs with 20 neighbours and 128 attributes per
node, which are kept as folders of arrays. It records the processor and wall seconds of an epoch and
of what follows the last one, the peak memory of the process, and how far the clusters are the
planted classes (NMI), beside K-means on the representations and on raw attributes. The mode
cca-ssg-256 is a plain CCA-SSG over the whole graph with as many hidden units and dimensions; the
mode order times a product with the adjacency in the order given and in that of the parts; the
mode default is `BRGCL().fit(make_graph(num_nodes=...))` with nothing but the epochs set. "plot"
draws time and memory over the number of nodes.

"ranks" trains on such a graph with 1 and 2 ranks of one thread each, several times in turn. It
records the seconds of an epoch on the wall and on the processor of the busiest rank, and by how
much losses and prototypes differ from those of one rank.
"""

import argparse
import dataclasses
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import torch

from brgcl.atomic_files import write_json
from brgcl.data import load_dataset, make_graph
from brgcl.data.catalogue import GRAPH_FILE
from brgcl.data.graph_folder import open_graph, save_graph
from brgcl.errors import InputError
from brgcl.evaluation.protocol import draw_noisy_graph
from brgcl.evaluation.score import fit_one
from brgcl.machine import forget_peak_memory, peak_memory, processor
from brgcl.methods import METHODS
from brgcl.noise.graph import Noise
from scale_picture import draw_slopes

GRAPHS = ("pubmed", "coauthor-cs", "160k")
CLASSES = 20  # planted in the large generated graphs; a price of 0.03 allows 33 clusters at most
SHORT = ("epochs", "pretrain_epochs", "iterations")


def short_config(method: str, graph: str):
    """The usual settings with two epochs."""
    config = METHODS[method].config(graph)
    names = {field.name for field in dataclasses.fields(config)}
    changes = {name: 2 for name in SHORT if name in names}
    if "warmup_epochs" in names:
        changes["warmup_epochs"] = 1
    if "p_u" in names:
        changes["p_u"] = 0.0
    return METHODS[method].config(graph, **changes)


def train(method: str, graph: str) -> dict:
    """Train here, and say what it took."""
    torch.set_num_threads(1)
    if graph == "160k":
        data = make_graph(
            160_000, num_classes=40, num_features=128, labels_per_class=2_250, num_val=5_000
        )
    else:
        data = load_dataset(graph)
    trial = draw_noisy_graph(data, noise=Noise())
    del data
    start = time.process_time()
    try:
        fitted = fit_one(trial, method, short_config(method, graph), 0)
    except InputError as error:
        return {"refused": str(error)}
    assert torch.isfinite(fitted.representations).all()
    return {
        "seconds": time.process_time() - start,
        "peak_mb": peak_memory(),
    }


def run(out: Path, graphs: list[str], methods: list[str]) -> None:
    done = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    known = {(record["method"], record["graph"]) for record in done}
    for graph in graphs:
        for method in methods:
            if (method, graph) in known:
                continue
            command = [sys.executable, "-W", "ignore", __file__, "one", method, graph]
            found = subprocess.run(command, capture_output=True, text=True, check=False)
            lines = found.stdout.splitlines()
            what = json.loads(lines[-1]) if lines and found.returncode == 0 else None
            if what is None:
                what = {"failed": (found.stderr.strip().splitlines() or ["killed"])[-1]}
            record = {"method": method, "graph": graph, **what}
            with out.open("a") as file:
                file.write(json.dumps(record) + "\n")
            print(json.dumps(record), flush=True)


def table(file: Path) -> str:
    """What was measured, as a table in Markdown, and the sentences of those that refuse."""
    records = [json.loads(line) for line in file.read_text().splitlines()]
    at = {(record["method"], record["graph"]): record for record in records}
    lines = ["| Method | " + " | ".join(GRAPHS) + " |", "|---|" + "---|" * len(GRAPHS)]
    measured = {record["method"] for record in records}
    for method in filter(measured.__contains__, METHODS):
        cells = []
        for graph in GRAPHS:
            record = at.get((method, graph), {})
            cells.append(
                f"{record['peak_mb']:,.0f} MB" if "peak_mb" in record
                else "refuses" if "refused" in record
                else "failed" if "failed" in record
                else "not run"
            )  # fmt: skip
        lines.append(f"| `{method}` | {' | '.join(cells)} |")
    said = [
        f"- `{record['method']}` on {record['graph']}: {record['refused']}"
        for record in records
        if "refused" in record
    ]
    return "\n".join([*lines, "", *said] if said else lines)


def graph_of_size(size: str, folder: Path, *, degree: int = 20, features: int = 128) -> Path:
    """A generated graph as a folder of arrays; it is written unless it is there."""
    path = folder / (size if (degree, features) == (20, 128) else f"{size}-{degree}-{features}")
    if not (path / GRAPH_FILE).is_file():
        shape = {"num_classes": CLASSES, "num_features": features, "avg_degree": float(degree)}
        save_graph(make_graph(number(size), **shape), path)
    return path


class Clock:
    """Processor and wall seconds at some moments."""

    def __init__(self) -> None:
        self.times = [(time.process_time(), time.perf_counter())]

    def tick(self, *_: object) -> None:
        """Note the time."""
        self.times.append((time.process_time(), time.perf_counter()))

    def between(self, first: int, last: int) -> tuple[float, float]:
        """Processor and wall seconds between two moments."""
        (cpu, wall), (cpu_end, wall_end) = self.times[first], self.times[last]
        return cpu_end - cpu, wall_end - wall

    def epochs(self, first: int, last: int) -> dict[str, float]:
        """Median seconds of the epochs that end at the moments after `first`, up to `last`."""
        each = [self.between(i, i + 1) for i in range(first, last)]
        return {
            "epoch_seconds": statistics.median(cpu for cpu, _ in each),
            "epoch_wall_seconds": statistics.median(wall for _, wall in each),
        }


def train_large(folder: Path, mode: str, epochs: int, **settings) -> dict:
    """Train BRGCL on a graph folder here, and say what each stage took."""
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.metrics import normalized_mutual_info_score as nmi

    from brgcl import BRGCL
    from brgcl.scale import train as by_parts

    batches, run_batch = [], by_parts.run_batch

    def timed(*arguments, **options):
        start = time.process_time()
        found = run_batch(*arguments, **options)
        batches.append(time.process_time() - start)
        return found

    by_parts.run_batch = timed
    clock = Clock()
    if mode == "default":  # a graph and settings of which nothing but its size is told
        mode, data = "auto", make_graph(num_nodes=number(folder.name))
    else:
        data = open_graph(folder)
    clock.tick()
    model = BRGCL(mode=mode, epochs=epochs, warmup_epochs=epochs // 2, **settings)
    model.fit(data, callback=clock.tick)
    clock.tick()
    peak, last = peak_memory(), len(model.history_) + 1  # moments: 0 start, 1 read, 2 epoch 1, ...
    times = clock.epochs(2, last)
    k_means = MiniBatchKMeans(CLASSES, random_state=0, n_init=3)
    planted = data.y.numpy()
    return {
        "read_seconds": clock.between(0, 1)[0],
        "cpu_seconds": clock.between(1, last + 1)[0],
        "wall_seconds": clock.between(1, last + 1)[1],
        "before_epochs_seconds": clock.between(1, 2)[0] - clock.between(2, 3)[0],
        **times,
        "after_epochs_seconds": clock.between(last, last + 1)[0],
        "after_epochs_wall_seconds": clock.between(last, last + 1)[1],
        "peak_mb": peak,
        "clusters": model.num_clusters_,
        "rule": model.clustering_.rule,
        "explained": model.clustering_.explained,
        "explained_null": model.clustering_.explained_null,
        "numbers": model.clustering_.numbers,
        "nmi": nmi(planted, model.pseudo_labels_.numpy()),
        "nmi_kmeans": nmi(planted, k_means.fit_predict(model.representations_.numpy())),
        "nmi_kmeans_raw": nmi(planted, k_means.fit_predict(data.x.to_dense().numpy())),
        "losses": [epoch.loss for epoch in model.history_],
        "epoch_seconds_each": [clock.between(i, i + 1)[0] for i in range(2, last)],
        "batch_seconds": batches[len(batches) // 2 :],  # with prototypes
        "num_entries": data.edge_index.shape[1],
    }


def train_cca_ssg(folder: Path, epochs: int, dim: int) -> dict:
    """Train CCA-SSG on the whole graph here, with the hidden units of BRGCL."""
    data = open_graph(folder)
    config = METHODS["cca-ssg"].config("", hidden=512, dim=dim, epochs=epochs)
    clock = Clock()
    fit = METHODS["cca-ssg"].fit
    fit(data, None, config, torch.Generator().manual_seed(0), clock.tick)
    return {**clock.epochs(1 if epochs > 1 else 0, epochs), "dim": dim, "peak_mb": peak_memory()}


def time_order(folder: Path, columns: int = 128, repeats: int = 3) -> dict:
    """Time a product with the adjacency in the order given and in that of the parts."""
    from brgcl.method.attributes import Preparation
    from brgcl.scale.memory import PART_NODES
    from brgcl.scale.parts import split_graph

    data = open_graph(folder)
    N = data.x.shape[0]
    given = split_graph(data, Preparation("none"), 1)
    forget_peak_memory()
    before, clock = peak_memory(), Clock()
    ordered = split_graph(data, Preparation("none"), N // PART_NODES)
    clock.tick()
    split_mb = peak_memory() - before
    times = {}
    h = torch.rand(N, columns, generator=torch.Generator().manual_seed(0))
    for name, graph in (("as_given", given), ("by_parts", ordered)) * repeats:
        own = Clock()
        graph.transition @ h
        own.tick()
        times.setdefault(name, []).append(own.between(0, 1)[0])
    return {
        "split_seconds": clock.between(0, 1)[0],
        "split_mb": split_mb,
        "num_entries": data.edge_index.shape[1],
        # the first product makes the operator too
        **{f"{name}_seconds": statistics.median(each[1:]) for name, each in times.items()},
    }


def large(
    out: Path, sizes: list[str], modes: list[str], epochs: int, graphs: Path, *, together: bool
) -> None:
    """Train on each size in each mode, each in a process of its own; what is known is kept.

    The modes of a size run at the same time if `together`, else one after the other.
    """
    for size in sizes:
        known = json.loads(out.read_text()) if out.exists() else {}
        todo = {f"{size} {mode} {epochs}": mode for mode in modes}
        todo = {name: mode for name, mode in todo.items() if name not in known}
        if any(mode != "default" for mode in todo.values()):
            graph_of_size(size, graphs)
        with ThreadPoolExecutor(len(modes) if together else 1) as pool:
            results = pool.map(partial(in_own_process, graphs / size, epochs), todo.values())
            for name, found in zip(todo, results, strict=True):
                if found is None:
                    continue
                known = json.loads(out.read_text()) if out.exists() else {}
                known[name] = found | {"together": together}
                write_json(out, known)
                print(name, json.dumps(known[name]), flush=True)


def in_own_process(folder: Path, epochs: int, mode: str) -> dict | None:
    """Train in a process of its own; None, and a message, if that fails."""
    command = [sys.executable, "-W", "ignore", __file__, "large-one", str(folder), mode]
    done = subprocess.run([*command, str(epochs)], capture_output=True, text=True, check=False)
    if done.returncode:
        print(folder.name, mode, "failed:", done.returncode, done.stderr[-2000:], flush=True)
        return None
    about = {"processor": processor(), "threads": torch.get_num_threads()}
    return json.loads(done.stdout.splitlines()[-1]) | about


def train_rank(num_nodes: int, epochs: int, folder: Path) -> dict | None:
    """Train as one of the ranks that torchrun started; the first says what it took."""
    from brgcl.config import BRGCLConfig
    from brgcl.method.train import begin_with
    from brgcl.scale.placement import plan_for, resolve_depth
    from brgcl.scale.ranks import config_for_ranks, join_ranks, leave_ranks, share_graph
    from brgcl.scale.train import train_by_parts

    torch.set_num_threads(1)
    ranks = join_ranks()
    config = config_for_ranks(BRGCLConfig(epochs=epochs, warmup_epochs=epochs // 2), ranks)
    data = None
    if ranks.rank == 0:
        data = make_graph(num_nodes, num_classes=CLASSES, num_features=128, avg_degree=20.0)
    graph = share_graph(data, config, folder / "parts", ranks)
    plan = plan_for(graph, config)
    config = resolve_depth(graph, plan, config)
    state = begin_with(graph.x.shape[1], config, torch.Generator().manual_seed(0))
    ends = [time.process_time()]
    train_by_parts(
        state, graph, config, plan, processes=ranks,
        after_epoch=lambda _: ends.append(time.process_time()),
    )  # fmt: skip
    each = torch.tensor([after - before for before, after in itertools.pairwise(ends)])
    busiest = torch.stack(ranks.gather([each], each.dtype)).max(0).values
    found = {
        "epoch_seconds": statistics.median(epoch.seconds for epoch in state.history),
        "epoch_cpu_seconds_of_the_busiest_rank": float(busiest.median()),
        "steps_per_epoch": -(-plan.batches // plan.batches_per_step),
        "batches_per_step": plan.batches_per_step,
        "peak_mb": peak_memory(),
        "losses": [epoch.loss for epoch in state.history],
        "prototypes": state.parts["prototypes"].tolist(),
    }
    leave_ranks(ranks)
    return found if ranks.rank == 0 else None


def time_ranks(out: Path, sizes: list[str], numbers: list[int], epochs: int, repeats: int) -> None:
    """Train with each number of ranks in turn, several times; medians are written."""
    known = json.loads(out.read_text()) if out.exists() else {}
    for size in sizes:
        runs: dict[int, list[dict]] = {count: [] for count in numbers}
        for _, count in itertools.product(range(repeats), numbers):
            with tempfile.TemporaryDirectory() as folder:
                launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
                found = subprocess.run(
                    [sys.executable, "-W", "ignore", *launcher, str(count), __file__, "ranks-one",
                     size, str(epochs), folder],
                    env=os.environ | {"OMP_NUM_THREADS": "1"},
                    capture_output=True, text=True, check=False,
                )  # fmt: skip
            if found.returncode:
                sys.exit(found.stderr)
            runs[count].append(json.loads(found.stdout.splitlines()[-1]))
            print(count, {k: v for k, v in runs[count][-1].items() if k != "prototypes"})
        first = runs[numbers[0]][0]
        for count in numbers:
            names = [k for k, v in first.items() if not isinstance(v, list)]
            medians = {k: statistics.median_low(run[k] for run in runs[count]) for k in names}
            apart = {
                key: max(
                    float(np.abs(np.subtract(run[key], first[key])).max()) for run in runs[count]
                )
                for key in ("losses", "prototypes")
            }
            about = {"largest_difference": apart, "repeats": repeats, "processor": processor()}
            known[f"{size} ranks {count} {epochs}"] = medians | about
        write_json(out, known)


def number(size: str) -> int:
    """Read a size such as 20k or 1m."""
    return int(float(size[:-1]) * {"k": 1_000, "m": 1_000_000}[size[-1]])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("one")
    one.add_argument("method")
    one.add_argument("graph")
    runs = commands.add_parser("run")
    runs.add_argument("--out", type=Path, required=True)
    runs.add_argument("--graphs", default=",".join(GRAPHS))
    runs.add_argument("--methods", default=",".join(METHODS))
    shows = commands.add_parser("show")
    shows.add_argument("file", type=Path)
    larges = commands.add_parser("large")
    larges.add_argument("--out", type=Path, required=True)
    larges.add_argument("--sizes", default="20k,100k,1m")
    larges.add_argument("--modes", default="partitioned")
    larges.add_argument("--epochs", type=int, default=10)
    larges.add_argument("--graphs", type=Path, required=True, help="where graphs are kept")
    larges.add_argument("--together", action="store_true", help="all modes of a size at once")
    plots = commands.add_parser("plot")
    plots.add_argument("file", type=Path)
    plots.add_argument("picture", type=Path)
    times = commands.add_parser("ranks")
    times.add_argument("--out", type=Path, required=True)
    times.add_argument("--sizes", default="50k")
    times.add_argument("--numbers", default="1,2")
    times.add_argument("--epochs", type=int, default=4)
    times.add_argument("--repeats", type=int, default=3)
    rank_one = commands.add_parser("ranks-one")
    rank_one.add_argument("size")
    rank_one.add_argument("epochs", type=int)
    rank_one.add_argument("folder", type=Path)
    large_one = commands.add_parser("large-one")
    large_one.add_argument("folder", type=Path)
    large_one.add_argument("mode")
    large_one.add_argument("epochs", type=int)
    options = parser.parse_args()
    if options.command == "one":
        print(json.dumps(train(options.method, options.graph)))
    elif options.command == "large-one":
        if options.mode == "order":
            print(json.dumps(time_order(options.folder)))
        elif options.mode.startswith("cca-ssg"):  # and the dimension of its representations
            dim = int(options.mode.removeprefix("cca-ssg-"))
            print(json.dumps(train_cca_ssg(options.folder, options.epochs, dim)))
        else:
            print(json.dumps(train_large(options.folder, options.mode, options.epochs)))
    elif options.command == "plot":
        draw_slopes(json.loads(options.file.read_text()), options.picture)
    elif options.command == "ranks":
        numbers = [int(count) for count in options.numbers.split(",")]
        time_ranks(options.out, options.sizes.split(","), numbers, options.epochs, options.repeats)
    elif options.command == "ranks-one":
        found = train_rank(number(options.size), options.epochs, options.folder)
        if found is not None:
            print(json.dumps(found))
    elif options.command == "large":
        sizes, modes = options.sizes.split(","), options.modes.split(",")
        large(options.out, sizes, modes, options.epochs, options.graphs, together=options.together)
    elif options.command == "run":
        run(options.out, options.graphs.split(","), options.methods.split(","))
    else:
        print(table(options.file))
