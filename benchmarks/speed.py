"""How fast an epoch is: against its bare kernels, against GRACE and against dense similarities.

    python benchmarks/speed.py --cases cora,20k            (a table; --json for all figures)
    python benchmarks/speed.py --mode sampled --plot speed.svg

All figures of a case are taken in one run, and the medians compared: seconds alone mean little on a
machine that does other things too. Epochs and bare kernels take turns. With one thread
(OMP_NUM_THREADS=1) seconds are those of the processor, so that other jobs count less. GRACE runs in
a process of its own that asks nothing of the machine, as its users would run it; the rest in this
one.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch_geometric.data import Data

from brgcl.config import BRGCLConfig
from brgcl.data import available, load_dataset, make_graph
from brgcl.errors import InputError, unknown_name
from brgcl.machine import keep_freed_memory, processor
from brgcl.machine import peak_memory as own_peak
from brgcl.method.centering import effective_rank
from brgcl.method.graph import Graph
from brgcl.method.inputs import prepare
from brgcl.method.node_loss import node_loss, unit_rows
from brgcl.method.prototypes import prototype_loss
from brgcl.method.train import (
    TrainingState,
    add_gradient,
    begin_training,
    continue_training,
    contrast_views,
    find_prototypes,
    resolve_proto_weight,
    train,
)
from brgcl.method.views import two_views
from brgcl.pictures import check_picture
from kernels import CLOCK, epoch_kernels, median_seconds, sizes_of, time_kernels
from reference import GraceEpoch, dense_node_loss
from speed_table import detail_lines, plot, slopes, table

PUBLIC = ("cora", "citeseer", "pubmed", "coauthor-cs")
GENERATED = {"20k": 20_000, "40k": 40_000, "80k": 80_000, "160k": 160_000, "320k": 320_000}
EXACT_UP_TO = 20_000  # nodes; beyond, an exact epoch takes minutes
ROUNDS = 3  # of epochs and bare kernels in turn
MEMORY_FOR_REFERENCES = 14e9  # bytes; a dense reference that needs more is skipped


def measure(case: str, mode: str, objective: str = "exp", *, repeats: int = 5) -> dict[str, Any]:
    """Measure one case.

    Args:
        case: A public graph or a size from `GENERATED`.
        mode: "exact" or "sampled".
        objective: "exp" or "abs".
        repeats: Epochs and calls of which the median is taken, in each round.

    Returns:
        The figures; one that was not taken is None, with the reason under `reasons`.
    """
    keep_freed_memory()
    graph, config = _prepared(case, mode, objective)
    sizes = sizes_of(graph, config)
    generator = torch.Generator().manual_seed(0)
    views = two_views(graph, config.views, generator)
    settle = 3  # epochs before the first that counts
    config = config.replace(epochs=settle + ROUNDS * repeats)
    training = begin_training(graph, config, generator)
    continue_training(training, graph, config, until=settle)
    epochs: list[float] = []
    each: list[dict[str, float]] = []
    for _ in range(ROUNDS):  # both in turn, so that a busy machine delays them alike
        epochs.append(epoch_seconds(training, graph, config, repeats))
        each.append(time_kernels(graph, views, sizes, repeats=repeats))
    epoch = median(epochs)
    kernels = {name: median(found[name] for found in each) for name in each[0]}
    total = sum(kernels.values())
    result: dict[str, Any] = {
        "case": case,
        "mode": mode,
        "objective": objective,
        "generated": case in GENERATED,
        "num_nodes": sizes.N,
        "seconds_per_epoch": epoch,
        "kernel_seconds": total,
        "ratio_to_kernels": epoch / total,
        "stages": stage_seconds(graph, config, repeats=repeats),
        "kernels": [
            {"name": k.name, "shape": k.shape, "count": k.count, "seconds": kernels[k.name]}
            for k in epoch_kernels(sizes)
        ],
        "reasons": {},
    }
    result |= _references(case, graph, config, epoch, result["reasons"], repeats)
    result["peak_mb"] = peak_memory(case, mode, objective)
    return result


def epoch_seconds(
    training: TrainingState, graph: Graph, config: BRGCLConfig, repeats: int
) -> float:
    """Go on with a training for some epochs; the median."""
    taken = []
    for _ in range(repeats):
        start = CLOCK()
        continue_training(training, graph, config, until=len(training.history) + 1)
        taken.append(CLOCK() - start)
    return median(taken)


def stage_seconds(graph: Graph, config: BRGCLConfig, *, repeats: int) -> dict[str, float]:
    """Break an epoch after the warm-up down by stage; medians."""
    generator = torch.Generator().manual_seed(0)
    training = begin_training(graph, config, generator)
    encoder, optimizer = training.encoder, training.optimizer
    proto_weight = resolve_proto_weight(config, graph.x.shape[0])
    taken: dict[str, list[float]] = {}

    @contextmanager
    def stage(name: str) -> Iterator[None]:
        start = CLOCK()
        yield
        taken.setdefault(name, []).append(CLOCK() - start)

    centers = None
    for _ in range(repeats + 1):
        optimizer.zero_grad(set_to_none=True)
        with stage("views"):
            views = two_views(graph, config.views, generator)
        with stage("encode views and node loss"):
            node = contrast_views(encoder, graph, views, config, generator)
        with stage("backward of the views"):
            add_gradient(config.node_weight * node)
        with stage("encode graph"):
            h = unit_rows(encoder(graph.x, graph.adjacency.normalized))
        with stage("effective rank"):  # an epoch takes it of a view
            effective_rank(h)
        with stage("cluster, propagate, prototypes"):
            found = find_prototypes(
                h.detach(),
                graph.adjacency.transition,
                0.9,
                config,
                centers,
                max_rounds=config.cluster_rounds,
            )
            centers = found.clusters.centers
        with stage("prototype loss"):
            proto = prototype_loss(h, found.clusters.assignment, found.prototypes, config.proto_tau)
        with stage("backward of the graph"):
            add_gradient(proto_weight * proto)
        with stage("step"):
            optimizer.step()
    return {name: sorted(times[1:])[repeats // 2] for name, times in taken.items()}


def peak_memory(case: str, mode: str, objective: str) -> float | None:
    """Peak resident memory of a fresh process that trains three epochs, in megabytes."""
    return _in_fresh_process("train_and_tell", case, mode, objective)


def empty_memory() -> float | None:
    """Peak resident memory of a fresh process that imports the library, in megabytes."""
    return _in_fresh_process("tell_peak")


def train_and_tell() -> None:
    """Train three epochs and write the peak memory to stdout; runs in a process of its own."""
    keep_freed_memory()
    graph, config = _prepared(*sys.argv[1:4])
    train(graph, config.replace(epochs=3), torch.Generator().manual_seed(0))
    tell_peak()


def tell_peak() -> None:
    """Write the peak memory so far to stdout."""
    sys.stdout.write(str(own_peak() or ""))


def grace_and_tell() -> None:
    """Write the seconds of an epoch of GRACE to stdout; runs in a process of its own."""
    case, objective, repeats = sys.argv[1:4]
    graph, config = _prepared(case, "exact", objective)
    generator = torch.Generator().manual_seed(0)
    epoch = GraceEpoch(graph, config)
    sys.stdout.write(
        str(median_seconds(lambda: epoch(two_views(graph, config.views, generator)), int(repeats)))
    )


def _in_fresh_process(function: str, *arguments: str, usual: bool = False) -> float | None:
    """Call a function of this module in a new process and read the number that it writes.

    Args:
        function: Its name.
        arguments: What it finds in `sys.argv`.
        usual: Whether torch is loaded before the library can ask anything of the machine.
    """
    folder = str(Path(__file__).parent)
    program = (
        f"import sys; sys.path.insert(0, {folder!r}); from speed import {function}; {function}()"
    )
    if usual:  # the variables that the library sets are read when torch allocates first
        program = f"import torch; torch.ones(1_000_000); {program}"
    asked = {"OMP_WAIT_POLICY", "THP_MEM_ALLOC_ENABLE"} if usual else set()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={name: value for name, value in os.environ.items() if name not in asked},
    )
    return float(done.stdout) if done.returncode == 0 and done.stdout else None


def machine() -> dict[str, Any]:
    """Describe the machine on which figures were taken."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "clock": "processor" if CLOCK is time.process_time else "wall",
        "torch": str(torch.__version__),
        "python": platform.python_version(),
    }


def cases_here() -> list[tuple[str, str]]:
    """List the cases and modes that can be run: public graphs on disk, and generated ones."""
    names = [name for name in PUBLIC if available(name)]
    cases = [(name, mode) for name in names for mode in ("exact", "sampled")]
    for name, nodes in GENERATED.items():
        cases += [(name, "exact")] if nodes <= EXACT_UP_TO else []
        cases.append((name, "sampled"))
    return cases


def check_case(name: str) -> None:
    """Raise an error that suggests a name unless there is such a case."""
    if name not in PUBLIC and name not in GENERATED:
        raise unknown_name("case", name, [*PUBLIC, *GENERATED])


def _prepared(case: str, mode: str, objective: str) -> tuple[Graph, BRGCLConfig]:
    if mode not in ("exact", "sampled"):
        raise InputError(f"mode must be exact or sampled, got {mode!r}")
    config = BRGCLConfig(
        node_objective=objective,  # type: ignore[arg-type]
        num_negatives=None if mode == "exact" else 256,
        warmup_epochs=0,
    )
    return prepare(_graph(case)), config


def _graph(case: str) -> Data:
    check_case(case)
    if case in GENERATED:
        return make_graph(GENERATED[case], avg_degree=20, num_features=128)
    return load_dataset(case)


def _references(
    case: str,
    graph: Graph,
    config: BRGCLConfig,
    epoch: float,
    reasons: dict[str, str],
    repeats: int,
) -> dict[str, float | None]:
    """Time an epoch of GRACE and our loss on dense similarities, where they fit."""
    N, F_ = graph.x.shape
    found: dict[str, float | None] = dict.fromkeys(
        ("grace_seconds", "speedup_over_grace", "dense_seconds", "speedup_over_dense", "dense_gap")
    )
    needed = {"grace": 4.0 * (8 * N * N + 3 * N * F_), "dense": 4.0 * 5 * N * N}
    generator = torch.Generator().manual_seed(0)
    once = repeats if N < 10_000 else 1
    for name, size in needed.items():
        if size > MEMORY_FOR_REFERENCES:
            reasons[name] = f"needs about {size / 1e9:.0f} GB"
    if "grace" not in reasons:
        seconds = _in_fresh_process(
            "grace_and_tell", case, config.node_objective, str(once), usual=True
        )
        if seconds is None:
            reasons["grace"] = "its process failed, probably for want of memory"
        else:
            found |= {"grace_seconds": seconds, "speedup_over_grace": seconds / epoch}
    if "dense" not in reasons:
        h = [torch.randn(N, config.dim, generator=generator).requires_grad_() for _ in range(2)]
        objective = "abs" if config.node_objective == "abs" else "exp"

        values: dict[str, float] = {}

        def once_dense() -> None:
            loss = dense_node_loss(*h, objective=objective, tau=config.tau)
            loss.backward()  # type: ignore[no-untyped-call]
            values["dense"] = loss.item()

        def once_tiled() -> None:
            loss = node_loss(*h, objective=objective, tau=config.tau)  # type: ignore[arg-type]
            loss.backward()  # type: ignore[no-untyped-call]
            values["tiled"] = loss.item()

        taken, ours = median_seconds(once_dense, once), median_seconds(once_tiled, once)
        found |= {
            "dense_seconds": taken,
            "speedup_over_dense": taken / ours,
            "dense_gap": abs(values["dense"] - values["tiled"]),
        }
    return found


def chosen_cases(names: str | None, mode: str | None) -> list[tuple[str, str]]:
    """The cases and modes that are asked for and can be run here."""
    chosen = names.split(",") if names else None
    for name in chosen or []:
        check_case(name)
    wanted = [
        (name, kind)
        for name, kind in cases_here()
        if (chosen is None or name in chosen) and mode in (None, kind)
    ]
    if not wanted:
        raise InputError(
            "none of these cases can be run here; brgcl datasets shows what is on disk"
        )
    return wanted


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the cases that are asked for and print what was found."""
    parser = argparse.ArgumentParser(description="Time an epoch against its bare kernels.")
    parser.add_argument("--cases", help="some cases only, by name, separated by commas")
    parser.add_argument("--mode", choices=("exact", "sampled"), help="default: both")
    parser.add_argument("--objective", choices=("exp", "abs"), default="exp")
    parser.add_argument("--repeats", type=int, default=5, help="epochs to take medians of")
    parser.add_argument("--plot", type=Path, help="plot time and memory: .svg, .png or .pdf")
    parser.add_argument("--json", action="store_true", help="print all figures as JSON")
    given = parser.parse_args(arguments)
    try:
        wanted = chosen_cases(given.cases, given.mode)
        if given.plot is not None:
            check_picture(given.plot)
    except InputError as error:
        parser.error(str(error))
    cases = []
    for number, (name, mode) in enumerate(wanted, start=1):
        print(f"{number} of {len(wanted)}: {name}, {mode}, {given.objective}", file=sys.stderr)
        cases.append(measure(name, mode, given.objective, repeats=max(1, given.repeats)))
    empty_mb = empty_memory()
    growth = slopes(cases, empty_mb)
    if given.plot is not None:
        plot(cases, empty_mb, given.plot)
    if given.json:
        figures = {"cases": cases, "slopes": growth, "empty_mb": empty_mb, "machine": machine()}
        print(json.dumps(figures, indent=2))
        return
    print(table(f"Speed, {given.objective}", cases))
    for part, slope in growth.items():
        if slope is not None:
            print(f"Log-log slope of {part} over nodes, sampled: {slope:.3f}")
    for case in cases:
        print("\n".join(detail_lines(case)))


if __name__ == "__main__":
    main()
