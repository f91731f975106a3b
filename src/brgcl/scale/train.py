"""Algorithm 1 by parts: each step sees some parts of the graph, mixed at random, and their halo.

An epoch goes through the parts in a random order, so every node is in the core of one batch. What
is random in a batch depends on the seed, the epoch and the number of the batch alone: a training
can be taken up after any step, and processes that share the batches of a step agree.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from brgcl.config import BRGCLConfig, ViewSettings
from brgcl.errors import InputError
from brgcl.method.centering import effective_rank
from brgcl.method.confidence import threshold
from brgcl.method.encoder import Encoder
from brgcl.method.node_loss import unit_rows
from brgcl.method.prototypes import prototype_loss
from brgcl.method.sparse import Matrix
from brgcl.method.train import (
    AnyEncoder,
    Epoch,
    TrainingState,
    add_gradient,
    contrast_nodes,
    diverged,
    is_stale,
    resolve_proto_weight,
    temperature_at,
)
from brgcl.scale.clusters import RunningClusters
from brgcl.scale.halo import Halo, HaloFinder
from brgcl.scale.memory import HALO, LAST_RING, PARTITIONED_VIEWS, Plan
from brgcl.scale.parts import PartGraph

NAMES = ("nodes", "node_loss", "proto_loss", "rank", "seconds")  # what an epoch adds up


class Processes:
    """How processes that train together add up what each found; here there is one.

    Attributes:
        rank: Number of this process.
        size: Number of processes.
    """

    rank, size = 0, 1

    def add(self, tensors: list[Tensor]) -> None:
        """Replace tensors by their sums over processes, in place."""

    def gather(self, vectors: list[Tensor], dtype: torch.dtype) -> list[Tensor]:
        """The vectors of all processes, in the order of the batches that they belong to."""
        return vectors

    def agree(self, place: list[int]) -> None:
        """Check that all processes stand at the same place of a training."""

    def from_first(self, tensor: Tensor | None) -> Tensor:
        """The tensor of process 0, which alone has one."""
        assert tensor is not None
        return tensor


@dataclass
class BatchResult:
    """What a batch adds to its step."""

    num_nodes: int
    node_loss: float
    proto_loss: float
    rank: float
    sums: list[Tensor] = field(default_factory=list)
    proposal: Tensor | None = None
    labels: Tensor | None = None


def train_by_parts(
    training: TrainingState,
    graph: PartGraph,
    config: BRGCLConfig,
    plan: Plan,
    *,
    after_epoch: Callable[[Epoch], None] | None = None,
    after_step: Callable[[], None] | None = None,
    until: int | None = None,
    processes: Processes | None = None,
) -> None:
    """Go on with a training by parts, in place, from wherever it stands.

    Args:
        training: Where it stands; `training.parts` holds what is between two steps.
        graph: The graph.
        config: Settings.
        plan: Parts of a batch, and batches of a step.
        after_epoch: Called after each epoch.
        after_step: Called after each step, when `training` can be written.
        until: Last epoch to do; None for all of them.
        processes: The processes that train together; they share the batches of a step.

    Raises:
        InputError: A view needs the whole graph, or the loss is no longer finite.
    """
    for view in config.views:
        if view.kind not in PARTITIONED_VIEWS and view.drop > 0:
            raise InputError(
                f"a view of kind '{view.kind}' needs the whole graph; set mode='sampled', or "
                "view1 and view2 to 'edges' or 'nodes'"
            )
    assert isinstance(training.encoder, Encoder)  # settings with another one are refused
    processes = processes or Processes()
    proto_weight = resolve_proto_weight(config, graph.num_nodes)
    finder = HaloFinder(graph, len(training.encoder.weights), HALO, LAST_RING)
    clusters = RunningClusters(graph.num_nodes, config.dim)
    done, totals = 0, dict.fromkeys(NAMES, 0.0)
    if training.parts:
        clusters.load(training.parts)
        done = int(training.parts["done"])
        totals = dict(zip(NAMES, training.parts["totals"].tolist(), strict=True))
    processes.agree([len(training.history), done])
    while len(training.history) < (until or config.epochs):
        if done == 0 and is_stale(training.history, config, proto_weight):
            return
        t = len(training.history) + 1
        gamma = threshold(t, config.epochs, config.gamma0)
        joined = t > config.warmup_epochs and proto_weight > 0
        batches = draw_batches(graph.num_parts, plan.batches, config.seed, t)
        for first in range(done, len(batches), plan.batches_per_step):
            start = time.perf_counter()
            numbers = range(first, min(first + plan.batches_per_step, len(batches)))
            mine = numbers[processes.rank :: processes.size]
            training.optimizer.zero_grad(set_to_none=True)
            if joined and clusters.num_clusters == 0:
                seed = mixed_seed(config.seed, t, first)
                core = part_nodes(graph, batches[first])
                begin_clusters(training, graph, finder, core, seed, clusters, config, processes)
            found = []
            for number in mine:
                generator = torch.Generator().manual_seed(mixed_seed(config.seed, t, number))
                halo = finder.find(part_nodes(graph, batches[number]), generator)
                found.append(
                    run_batch(
                        training, graph, halo, clusters if joined else None, config,
                        gamma=gamma, proto_weight=proto_weight, generator=generator,
                        share=1 / len(numbers),
                    )
                )  # fmt: skip
            cores = [part_nodes(graph, batches[number]) for number in numbers] if joined else []
            _finish_step(
                training, found, cores, clusters if joined else None, config, processes, totals
            )
            totals["seconds"] += time.perf_counter() - start
            done = numbers.stop
            if done == len(batches):
                break
            training.parts = _state(clusters, done, totals)
            if after_step is not None:
                after_step()
        share = None
        if joined:
            share = clusters.close(config)
        training.history.append(_epoch(t, gamma, totals, clusters, share, config, proto_weight))
        done, totals = 0, dict.fromkeys(NAMES, 0.0)
        training.parts = _state(clusters, done, totals)
        training.centers = clusters.centers.clone() if joined else None
        if after_epoch is not None:
            after_epoch(training.history[-1])


def run_batch(
    training: TrainingState,
    graph: PartGraph,
    halo: Halo,
    clusters: RunningClusters | None,
    config: BRGCLConfig,
    *,
    gamma: float,
    proto_weight: float,
    generator: torch.Generator,
    share: float,
) -> BatchResult:
    """Add the gradient of both losses on one batch, times its share of the step.

    Clusters and the contrast to prototypes take the sum of a node's rows in the two views, which a
    step encodes anyway, so that a third pass over the graph as it is can be spared.
    """
    encoder, n = training.encoder, halo.sizes[0]
    device = next(encoder.parameters()).device
    x = graph.attributes(halo.nodes).to(device)
    result = BatchResult(n, 0.0, 0.0, 0.0)
    views = [draw_view(halo, view, x.shape[1], generator, device) for view in config.views]
    h1, h2 = (encoder(x, operators, columns) for operators, columns, _ in views)
    loss = torch.zeros((), device=device)
    if clusters is not None:
        h = unit_rows(h1 + h2)
        prototypes = clusters.prototypes.to(device)
        label, result.sums, result.proposal = clusters.step_sums(
            h.detach().cpu(), halo, gamma, config
        )
        result.labels = label.int()
        proto = prototype_loss(h, label.to(device), prototypes, config.proto_tau)
        loss = proto_weight * proto
        del h
        result.proto_loss = proto.item()
    alive = views[0][2] & views[1][2]
    del views
    if not bool(alive.all()):
        h1, h2 = h1[alive], h2[alive]
    result.rank = effective_rank(h1)
    node = contrast_nodes(h1, h2, temperature_at(config, graph.mean_degree), config, generator)
    result.node_loss = node.item()
    add_gradient(share * (loss + config.node_weight * node))
    return result


def clean_rows(encoder: AnyEncoder, x: Matrix, halo: Halo) -> Tensor:
    """Unit rows of the core in the graph as it is, `(n, D)`, without a gradient."""
    with torch.no_grad():
        operators = [operator.to(x.data.device) for operator in halo.operators()]
        return unit_rows(encoder(x, operators)).cpu()


def begin_clusters(
    training: TrainingState,
    graph: PartGraph,
    finder: HaloFinder,
    core: Tensor,
    seed: int,
    clusters: RunningClusters,
    config: BRGCLConfig,
    processes: Processes,
) -> None:
    """Find the first centres on the first batch of the step in which prototypes join."""
    h = None
    if processes.rank == 0:
        device = next(training.encoder.parameters()).device
        halo = finder.find(core, torch.Generator().manual_seed(seed))
        h = clean_rows(training.encoder, graph.attributes(halo.nodes).to(device), halo)
    clusters.begin(processes.from_first(h), config)


def draw_view(
    halo: Halo,
    settings: ViewSettings,
    num_features: int,
    generator: torch.Generator,
    device: torch.device | str = "cpu",
) -> tuple[list[Matrix], Tensor | None, Tensor]:
    """Draw one view of a halo: an operator per layer, attributes seen, and nodes that survive.

    Args:
        halo: The nodes and their rings.
        settings: What is dropped, and the share of columns masked.
        num_features: F.
        generator: Source of randomness.
        device: Where to put the view.

    Returns:
        The operators; the mask over attributes, `(F,)`, or None; the mask over the core, `(n,)`.
    """
    columns = None
    if settings.mask > 0:
        columns = (torch.rand(num_features, generator=generator) >= settings.mask).float()
    salt = int(torch.randint(-(2**62), 2**62, (), generator=generator))
    alive = torch.ones(halo.sizes[0], dtype=torch.bool)
    if settings.kind == "nodes" and settings.drop > 0:
        nodes = halo.kept_nodes(settings.drop, salt)
        keep: Tensor | None = (nodes[halo.row] & nodes[halo.col]) | (halo.row == halo.col)
        alive = nodes[: halo.sizes[0]]
    else:
        keep = halo.kept_edges(settings.drop, salt)
    operators = [operator.to(device) for operator in halo.operators(keep, settings.drop)]
    return operators, None if columns is None else columns.to(device), alive.to(device)


def draw_batches(num_parts: int, num_batches: int, seed: int, epoch: int) -> list[Tensor]:
    """Parts of each batch of an epoch, in a random order that depends on seed and epoch alone."""
    generator = torch.Generator().manual_seed(mixed_seed(seed, epoch, -1))
    order = torch.randperm(num_parts, generator=generator)
    return list(torch.tensor_split(order, num_batches))


def part_nodes(graph: PartGraph, parts: Tensor) -> Tensor:
    """Nodes of some parts, part by part in the order of the graph."""
    return torch.cat(
        [
            torch.arange(int(graph.starts[part]), int(graph.starts[part + 1]))
            for part in parts.sort().values.tolist()
        ]
    )


def mixed_seed(seed: int, epoch: int, batch: int) -> int:
    """One seed for a batch, different for every seed, epoch and batch that occurs."""
    return ((seed * 1_000_003 + epoch) * 1_000_003 + batch + 1) % 2**63


def _finish_step(
    training: TrainingState,
    found: list[BatchResult],
    cores: list[Tensor],
    clusters: RunningClusters | None,
    config: BRGCLConfig,
    processes: Processes,
    totals: dict[str, float],
) -> None:
    """Add up over processes, move the weights, and let clusters take what was found.

    `cores` are the nodes of all batches of the step; of some processes `found` may be empty.
    """
    weights = list(training.encoder.parameters())
    if not found:
        for weight in weights:
            weight.grad = torch.zeros_like(weight)
    processes.add([weight.grad for weight in weights if weight.grad is not None])
    training.optimizer.step()
    if clusters is not None:
        sums = [torch.zeros_like(total) for total in clusters.totals]
        for batch in found:
            for total, part in zip(sums, batch.sums, strict=True):
                total += part
        processes.add(sums)
        labels = processes.gather([b.labels for b in found if b.labels is not None], torch.int32)
        for nodes, label in zip(cores, labels, strict=True):
            clusters.labels[nodes] = label
        rows = [b.proposal for b in found if b.proposal is not None]
        proposals = processes.gather(rows, clusters.centers.dtype)
        clusters.add(sums, proposals, config)
    sizes = [batch.num_nodes for batch in found]
    adds = torch.tensor(
        [
            sum(sizes),
            sum(b.node_loss * n for b, n in zip(found, sizes, strict=True)),
            sum(b.proto_loss * n for b, n in zip(found, sizes, strict=True)),
            sum(b.rank * n for b, n in zip(found, sizes, strict=True)),
        ],
        dtype=torch.float64,
    )
    processes.add([adds])
    for name, value in zip(NAMES, adds.tolist(), strict=False):
        totals[name] += value
    if not all(bool(weight.sum().isfinite()) for weight in weights):
        raise diverged(f"in epoch {len(training.history) + 1}", config)


def _state(clusters: RunningClusters, done: int, totals: dict[str, float]) -> dict[str, Tensor]:
    numbers = torch.tensor([totals[name] for name in NAMES], dtype=torch.float64)
    return clusters.state() | {"done": torch.tensor(done), "totals": numbers}


def _epoch(
    t: int,
    gamma: float,
    totals: dict[str, float],
    clusters: RunningClusters,
    share: float | None,
    config: BRGCLConfig,
    proto_weight: float,
) -> Epoch:
    node, proto, rank = (
        totals[name] / totals["nodes"] for name in ("node_loss", "proto_loss", "rank")
    )
    loss = config.node_weight * node + (0.0 if share is None else proto_weight * proto)
    return Epoch(
        epoch=t,
        loss=loss,
        node_loss=node,
        proto_loss=None if share is None else proto,
        num_prototypes=None if share is None else clusters.num_clusters,
        confident_share=share,
        gamma=gamma,
        seconds=totals["seconds"],
        effective_rank=rank,
    )
