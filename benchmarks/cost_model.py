"""What training by parts costs: time, memory and traffic as functions of the graph and settings.

    python benchmarks/cost_model.py measure --graphs FOLDER --out results/scale.json   (resumes)
    python benchmarks/cost_model.py show results/scale.json                  (tables in Markdown)

"measure" trains for four epochs on generated graphs of 20,000 nodes that differ in one thing each:
edges, attributes, hidden units, dimensions. With the sizes of `benchmarks/scale.py large` below a
million nodes they determine the constants; a million nodes is what the model is checked on.

Work is counted, and only the price of a unit of it is fitted. With r = 1/4 the first ring of a halo
against its core, p = 2 passes of the encoder, one a view, m negatives and K prototypes, an epoch
with prototypes takes per node, with d neighbours,

    dense     3 p (1 + r) (F h + h D) + 6 m D + 3 K D         multiplications in products
    sparse    p d ((1 + r) F + 2 D)                           multiplications with the adjacency
    entries   p d (1 + r)                                     entries that are drawn and scaled
    nodes     1

Times are processor seconds of one core of the machine that was measured.
"""

import argparse
import dataclasses
import json
import math
import os
import random
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.optimize

from brgcl.atomic_files import write_json
from brgcl.config import BRGCLConfig
from brgcl.machine import processor
from brgcl.method.confidence import ENTRIES
from brgcl.scale.memory import HALO, PART_NODES, Size, make_plan

PASSES, RING, NEGATIVES, PROTOTYPES = 2, HALO, 256, 64
BATCH_NODES = 20_000
SAMPLED = 20_000  # rows that are clustered to the end, see `docs/scale.md`
VARIED = {
    "base": {},
    "degree 5": {"degree": 5},
    "degree 60": {"degree": 60},
    "features 512": {"features": 512},
    "hidden 128": {"hidden": 128},
    "dim 64": {"dim": 64},
}


@dataclass(frozen=True)
class Case:
    """A graph, the width of the encoder, and the machines.

    Attributes:
        nodes: N.
        entries: Both directions of every edge, 2E.
        features: F.
        hidden: Hidden units, h.
        dim: Dimension of representations, D.
        values: Attributes stored per node: F if they are dense.
        ranks: Processes that train together, R.
        batches_per_step: Batches between two updates of the weights.
    """

    nodes: int
    entries: int
    features: int = 128
    hidden: int = 512
    dim: int = 256
    values: int = 16
    ranks: int = 1
    batches_per_step: int = 1

    @property
    def batches(self) -> int:
        """Batches of an epoch."""
        return -(-self.nodes // BATCH_NODES)

    @property
    def weights(self) -> int:
        """Weights and biases of the encoder."""
        return (self.features + 1) * self.hidden + (self.hidden + 1) * self.dim


def epoch_work(case: Case) -> list[float]:
    """Units of work of an epoch: dense, sparse, entries, nodes."""
    N, F, h, D = case.nodes, case.features, case.hidden, case.dim
    degree = case.entries / N
    dense = 3 * PASSES * (1 + RING) * (F * h + h * D) + 6 * NEGATIVES * D + 3 * PROTOTYPES * D
    sparse = PASSES * degree * ((1 + RING) * F + 2 * D)
    return [N * dense, N * sparse, N * PASSES * degree * (1 + RING), N]


def end_work(case: Case) -> list[float]:
    """Units of work after the last epoch: dense, sparse, rows that join, and what is sampled."""
    N, F, h, D = case.nodes, case.features, case.hidden, case.dim
    return [N * (F * h + h * D), case.entries * (F + D), N * D, min(N, SAMPLED)]


def split_work(case: Case) -> float:
    """Units of work to find parts and order the edges by them: entries times levels of parts."""
    return case.entries * math.log2(max(2, case.nodes // PART_NODES))


def graph_bytes(case: Case) -> float:
    """Memory of the graph as `open_graph` reads it, and in the order of the parts.

    Edges are held as pairs of int64, 16 bytes an entry, and again by parts, 4 bytes. Attributes
    are mapped; what was read of them counts as memory of the process.
    """
    per_value = 4 if case.values >= case.features else 12
    return 20 * case.entries + (40 + per_value * case.values) * case.nodes


def end_bytes(case: Case) -> float:
    """Memory after the last epoch: two matrices of N rows and the transition matrix."""
    return 8 * case.nodes * case.dim + 8 * (case.entries + case.nodes)


def memory_work(case: Case) -> list[float]:
    """What memory is made of: libraries, a step, columns that are spread at a time, the rest."""
    config = BRGCLConfig(mode="partitioned", hidden=case.hidden, dim=case.dim)
    values = case.values * case.nodes
    plan = make_plan(Size(case.nodes, case.entries, case.features, values), config)
    spread = 4.0 * min(case.nodes * case.dim, ENTRIES)
    return [1.0, plan.needed, spread, graph_bytes(case) + end_bytes(case)]


def rank_bytes(case: Case) -> float:
    """What every rank keeps of the whole graph: place, degree and label of each node."""
    return 12 * case.nodes


def traffic(case: Case) -> float:
    """Bytes that a rank sends, and as many that it receives, in a step with prototypes."""
    share = (case.ranks - 1) / case.ranks
    step = min(case.nodes, case.batches_per_step * BATCH_NODES)
    sums = 16 * PROTOTYPES * (case.dim + 1)
    labels = 4 * step + 4 * case.batches_per_step * (case.dim + 3)
    return share * (8 * case.weights + sums + labels)


@dataclass(frozen=True)
class Prices:
    """Prices of the units of work, and by how much the times of batches vary."""

    epoch: list[float]
    end: list[float]
    memory: list[float]
    split: float
    split_bytes: float
    spread: float

    def epoch_seconds(self, case: Case) -> float:
        """Processor seconds of an epoch with prototypes."""
        return float(np.dot(self.epoch, epoch_work(case)))

    def end_seconds(self, case: Case) -> float:
        """Processor seconds after the last epoch."""
        return float(np.dot(self.end, end_work(case)))

    def split_seconds(self, case: Case) -> float:
        """Processor seconds to find the parts."""
        return self.split * split_work(case)

    def peak_bytes(self, case: Case) -> float:
        """Peak memory of a process that trains alone."""
        return float(np.dot(self.memory, memory_work(case)))


def fit_prices(cases: list[Case], records: list[dict], splits: list[dict]) -> Prices:
    """Fit prices that are not negative, to the smallest sum of squared relative errors.

    Finding parts gets dearer per entry as a graph outgrows the cache; the highest price counts.
    """

    def solve(work, measured) -> list[float]:
        rows = np.array([work(case) for case in cases])
        scale = rows.max(0)
        target = np.array(measured)
        found, _ = scipy.optimize.nnls(rows / scale / target[:, None], np.ones(len(target)))
        return (found / scale).tolist()

    spreads = [
        statistics.stdev(r["batch_seconds"]) / statistics.mean(r["batch_seconds"])
        for r in records if len(r.get("batch_seconds", ())) > 5
    ]  # fmt: skip
    return Prices(
        epoch=solve(epoch_work, [epoch_of(record) for record in records]),
        end=solve(end_work, [record["after_epochs_seconds"] for record in records]),
        memory=solve(memory_work, [1e6 * record["peak_mb"] for record in records]),
        split=max(r["split_seconds"] / split_work(case_of(r)) for r in splits),
        split_bytes=max(1e6 * r["split_mb"] / r["num_entries"] for r in splits),
        spread=statistics.median(spreads) if spreads else 0.0,
    )


def case_of(split: dict) -> Case:
    """The generated graph of a record of `benchmarks/scale.py large --modes order`."""
    return Case(split["num_entries"] // 20, split["num_entries"])


def epoch_of(record: dict) -> float:
    """Seconds of an epoch with prototypes: the median of the second half of the epochs."""
    each = record["epoch_seconds_each"]
    return statistics.median(each[len(each) // 2 :])


def simulate(
    case: Case, prices: Prices, *, bandwidth: float = 1.25e9, latency: float = 5e-5, seed: int = 0
) -> dict[str, float]:
    """Simulate an epoch of ranks of one core each, step by step.

    Times of batches are log-normal with the spread that was measured. A step ends when the slowest
    rank has done its batches and the messages have gone round: five of them, each as many hops as a
    tree has, at `bandwidth` bytes a second and `latency` seconds a hop.
    """
    rng = random.Random(seed)
    sigma = math.sqrt(math.log(1 + prices.spread**2))
    mean = prices.epoch_seconds(case) / case.batches
    wall, busy, talking = 0.0, 0.0, 0.0
    for first in range(0, case.batches, case.batches_per_step):
        count = min(case.batches_per_step, case.batches - first)
        times = [mean * rng.lognormvariate(-(sigma**2) / 2, sigma) for _ in range(count)]
        slowest = max(sum(times[rank :: case.ranks]) for rank in range(case.ranks))
        hops = math.ceil(math.log2(case.ranks)) if case.ranks > 1 else 0
        message = traffic(case) / bandwidth + 5 * 2 * hops * latency
        wall += slowest + message
        busy += sum(times)
        talking += message
    return {
        "seconds": wall,
        "efficiency": busy / (case.ranks * wall),
        "talking": talking / wall,
        "gigabytes": traffic(case) * -(-case.batches // case.batches_per_step) / 1e9,
    }


def measured(records: dict[str, dict]) -> dict[str, tuple[Case, dict]]:
    """Cases with their records, by name; of one size, the record with the fewest epochs."""
    found: dict[str, tuple[Case, dict]] = {}
    for name, record in sorted(records.items(), key=lambda item: item[0]):
        if "epoch_seconds_each" not in record:
            continue
        size, mode, *_ = name.split(" ")
        if mode == "partitioned":
            entries = record.get("num_entries", 20 * number(size))
            found[size] = (Case(number(size), entries), record)
        elif mode == "cost":
            variant = name.partition(" cost ")[2]
            changes = {k: v for k, v in VARIED[variant].items() if k != "degree"}
            case = dataclasses.replace(Case(number(size), record["num_entries"]), **changes)
            found[f"{size}, {variant}"] = (case, record)
    return found


def number(size: str) -> int:
    """Read a size such as 20k or 1m."""
    return int(float(size[:-1]) * {"k": 1_000, "m": 1_000_000}[size[-1]])


LARGE = {
    "1 million": Case(10**6, 2 * 10**7),
    "papers100M": Case(111_059_956, 2 * 1_615_685_872, values=128),
    "1 billion": Case(10**9, 2 * 10**10, values=128),
}


def plain(value: float) -> str:
    """A number with two digits or more, and no exponent."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def show(records: dict[str, dict], left_out: str) -> str:
    """Tables in Markdown: what was fitted and checked, and what is predicted."""
    known = measured(records)
    used = {name: pair for name, pair in known.items() if name != left_out}
    splits = [record for record in records.values() if "split_mb" in record]
    prices = fit_prices([case for case, _ in used.values()], [r for _, r in used.values()], splits)
    lines = [
        "| Graph | Seconds of an epoch | After the last epoch | Peak memory, MB |",
        "|---|---|---|---|",
    ]
    for name, (case, record) in known.items():
        pairs = (
            (prices.epoch_seconds(case), epoch_of(record)),
            (prices.end_seconds(case), record["after_epochs_seconds"]),
            (prices.peak_bytes(case) / 1e6, record["peak_mb"]),
        )
        cells = " | ".join(f"{guess:,.3g} / {true:,.3g}" if true < 100 else
                           f"{guess:,.0f} / {true:,.0f}" for guess, true in pairs)  # fmt: skip
        lines.append(f"| {name}{', not used' if name == left_out else ''} | {cells} |")
    lines += ["", "Prices of a unit: " + json.dumps(dataclasses.asdict(prices)), ""]
    lines += [
        "| Graph | Finding parts, hours | Its memory, GB | Edges in memory, GB | Files, GB "
        "| The end, hours | Its two matrices, GB |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, case in LARGE.items():
        lines.append(
            f"| {name} | {prices.split_seconds(case) / 3600:.2g} | "
            f"{plain(prices.split_bytes * case.entries / 1e9)} | "
            f"{plain(16 * case.entries / 1e9)} | "
            f"{plain((4 * case.values * case.nodes + 4 * case.entries) / 1e9)} | "
            f"{prices.end_seconds(case) / 3600:.2g} | {plain(8 * case.nodes * case.dim / 1e9)} |"
        )
    lines += [
        "",
        "| Graph | Ranks | Steps of an epoch | An epoch, minutes | Busy | Sending "
        "| Sent by a rank, GB | Kept by a rank, GB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, base in LARGE.items():
        for ranks in (1, 8, 64):
            case = dataclasses.replace(base, ranks=ranks, batches_per_step=ranks)
            found = simulate(case, prices)
            lines.append(
                f"| {name} | {ranks} | {-(-case.batches // ranks):,} | "
                f"{plain(found['seconds'] / 60)} | {found['efficiency']:.2f} | "
                f"{found['talking']:.2f} | {found['gigabytes']:.2g} | "
                f"{rank_bytes(case) / 1e9:.2g} |"
            )
    return "\n".join(lines)


def measure(out: Path, graphs: Path, size: str) -> None:
    """Train on each variant in a process of its own; what is known is kept."""
    for variant in VARIED:
        name = f"{size} cost {variant}"
        records = json.loads(out.read_text()) if out.exists() else {}
        if name in records:
            continue
        command = [sys.executable, "-W", "ignore", __file__, "one", variant, size, str(graphs)]
        found = subprocess.run(command, env=os.environ, capture_output=True, text=True, check=False)
        if found.returncode:
            sys.exit(found.stderr)
        records[name] = json.loads(found.stdout.splitlines()[-1]) | {"processor": processor()}
        write_json(out, records)
        print(name, found.stdout.splitlines()[-1], flush=True)


def one(variant: str, size: str, graphs: Path) -> dict:
    """Train on one variant here."""
    from scale import graph_of_size, train_large

    changes = dict(VARIED[variant])
    shape = {name: changes.pop(name) for name in ("degree", "features") if name in changes}
    return train_large(graph_of_size(size, graphs, **shape), "partitioned", 4, **changes)


def main() -> None:
    """Measure, or show what follows from measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    measures = commands.add_parser("measure")
    measures.add_argument("--out", type=Path, required=True)
    measures.add_argument("--graphs", type=Path, required=True)
    measures.add_argument("--size", default="20k")
    single = commands.add_parser("one")
    single.add_argument("variant")
    single.add_argument("size")
    single.add_argument("graphs", type=Path)
    shows = commands.add_parser("show")
    shows.add_argument("file", type=Path)
    shows.add_argument("--left-out", default="1m")
    given = parser.parse_args()
    if given.command == "measure":
        measure(given.out, given.graphs, given.size)
    elif given.command == "one":
        sys.stdout.write(json.dumps(one(given.variant, given.size, given.graphs)) + "\n")
    else:
        sys.stdout.write(show(json.loads(given.file.read_text()), given.left_out) + "\n")


if __name__ == "__main__":
    main()
