"""What training takes, in bytes, and which mode fits; the constants are counts of what is kept."""

import logging
from dataclasses import dataclass
from typing import Literal

from brgcl.config import BRGCLConfig
from brgcl.machine import memory

log = logging.getLogger("brgcl")

MOST = 4e9  # bytes beyond the graph that are taken unless more is allowed
PART_NODES = 500  # small, so that a batch mixes many parts of the graph
STEP_NODES = 20_000  # nodes between two updates of the weights, at least
HALO = 0.25  # nodes of a ring that is encoded at most, against nodes of the core
LAST_RING = 0.5  # the same for the last ring, of which attributes alone are needed
PARTITIONED_VIEWS = ("edges", "nodes")


@dataclass(frozen=True)
class Size:
    """What memory depends on.

    Attributes:
        num_nodes: N.
        num_entries: Both directions of every edge, 2E.
        num_features: F.
        num_values: Attributes that are stored of all nodes, N F if they are dense.
    """

    num_nodes: int
    num_entries: int
    num_features: int
    num_values: int = 0


@dataclass(frozen=True)
class Plan:
    """How a graph is trained on.

    Attributes:
        mode: "full", "sampled" or "partitioned".
        num_parts: P, after large parts were cut; 1 unless partitioned.
        parts_per_batch: Parts that are mixed in a batch, which is in memory at once.
        batches_per_step: Batches whose gradients are averaged before the weights move.
        needed: Estimate of the memory that a step takes beyond the graph, in bytes.
        needed_whole: The same for the whole graph in each step.
        budget: Memory that it may take, in bytes.
    """

    mode: Literal["full", "sampled", "partitioned"]
    num_parts: int
    parts_per_batch: int
    batches_per_step: int
    needed: float
    needed_whole: float
    budget: float

    @property
    def batches(self) -> int:
        """Batches in an epoch."""
        return -(-self.num_parts // self.parts_per_batch)

    def __str__(self) -> str:
        if self.mode != "partitioned":
            return f"{self.mode}: about {self.needed / 1e9:.1f} GB beyond the graph"
        return (
            f"training on {self.parts_per_batch} of {self.num_parts} parts at a time, about "
            f"{self.needed / 1e9:.1f} GB; the whole graph at once would take about "
            f"{self.needed_whole / 1e9:.1f} of the {self.budget / 1e9:.1f} GB in memory_budget"
        )


def make_plan(size: Size, config: BRGCLConfig, stored_parts: int | None = None) -> Plan:
    """Choose the mode by the memory it takes, unless it is set, and the size of a step.

    Views that need the whole graph, and all pairs of nodes where they are asked for, are never
    partitioned unless the mode says so.

    Args:
        size: Of the graph.
        config: Settings.
        stored_parts: Parts in which the graph is stored, which are taken as they are.
    """
    budget = config.memory_budget * 1e9 if config.memory_budget else min(MOST, memory() or MOST)
    whole = step_bytes(size, config)
    mode = config.mode
    if mode == "auto":
        mode = "sampled" if config.num_negatives is not None else "full"
        views = {config.view1, config.view2} <= set(PARTITIONED_VIEWS)
        gcn = config.encoder == "gcn"  # others are never partitioned
        if whole > budget and mode == "sampled" and views and gcn and size.num_nodes > PART_NODES:
            mode = "partitioned"
    if mode != "partitioned":
        return Plan(mode, 1, 1, 1, whole, whole, budget)
    N = size.num_nodes
    nodes = min(STEP_NODES, max(1, int(budget / step_bytes(size, config, halo=LAST_RING) * N)))
    wanted = config.batches_per_step
    default = max(2, N // PART_NODES, -(-N // nodes))
    asked = config.num_partitions and cut_parts(N, config.num_partitions)
    num_parts = min(N, stored_parts or asked or -(-default // (wanted or 1)) * (wanted or 1))
    per_batch = max(1, min(int(nodes * num_parts / N), num_parts // 2))
    if wanted:  # steps of so many batches each; if parts do not go round, the last has fewer
        even = (n for n in range(per_batch, 0, -1) if -(-num_parts // n) % wanted == 0)
        per_batch = next(even, max(1, min(per_batch, num_parts // wanted)))
    needed = step_bytes(size, config, halo=LAST_RING) * per_batch / num_parts
    batches = -(-num_parts // per_batch)
    per_step = min(batches, wanted) if wanted else -(-batches // max(1, N // STEP_NODES))
    return Plan(mode, num_parts, per_batch, per_step, needed, whole, budget)


def cut_parts(num_nodes: int, num_parts: int) -> int:
    """Number of parts after each was cut into equal ones of about `PART_NODES` nodes."""
    return num_parts * max(1, round(num_nodes / (num_parts * PART_NODES)))


def step_bytes(size: Size, config: BRGCLConfig, halo: float = 0.0) -> float:
    """Memory that a step over all nodes takes, in bytes, each ring of a halo being `halo` of them.

    Of each node twelve rows of D numbers are held (two views, their products and gradients, and
    what the loss makes of them), four of the narrower of attributes and hidden units, and four of
    soft labels; of each entry of the adjacency two views with their indices.
    """
    N, entries = size.num_nodes, size.num_entries + size.num_nodes
    inner = min(size.num_features, config.hidden)
    numbers = 12 * config.dim + 4 * inner * (1 + 2 * halo) + 4 * config.max_prototypes
    copied = 12 * size.num_values * (1 + 2 * halo) if halo else 0  # a batch's own attributes
    return 4 * N * numbers + 80 * entries * (1 + halo) + copied
