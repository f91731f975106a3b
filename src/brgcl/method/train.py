"""Algorithm 1 of the paper: training the encoder without labels."""

import copy
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from brgcl.config import BRGCLConfig
from brgcl.errors import InputError
from brgcl.method.centering import effective_rank
from brgcl.method.confidence import confident_nodes, own_confidence, threshold
from brgcl.method.depth import with_depth
from brgcl.method.dpmeans import Clustering, dp_means, farthest_first, k_means
from brgcl.method.encoder import Encoder
from brgcl.method.graph import Graph
from brgcl.method.message_passing import GatEncoder, GinEncoder, SageEncoder
from brgcl.method.node_loss import (
    check_all_pairs,
    decorrelation_loss,
    node_loss,
    sample_negatives,
    unit_rows,
)
from brgcl.method.own_module import OwnEncoder
from brgcl.method.prototypes import prototype_loss, robust_prototypes
from brgcl.method.sparse import Matrix
from brgcl.method.views import View, common_nodes, two_views

AnyEncoder = Encoder | OwnEncoder
ENCODERS = {"gcn": Encoder, "sage": SageEncoder, "gat": GatEncoder, "gin": GinEncoder}
MANY_ROWS = 20_000  # rows that are clustered to the end after training


@dataclass(frozen=True)
class Epoch:
    """What one epoch did; `history_` is a list of these.

    Attributes:
        epoch: Its number, from 1.
        loss: The whole loss.
        node_loss: The node contrast.
        proto_loss: The contrast to prototypes; like the next two None during the warm-up.
        num_prototypes: Number of prototypes of the contrast.
        confident_share: Share of nodes that make them up.
        gamma: Threshold of confidence.
        seconds: Time taken.
        effective_rank: Directions that the rows of view 1 use; None in old files.

    Example:
        >>> str(Epoch(1, 7.5, 7.5, None, None, None, 0.99, 0.1, 30.2))
        'loss 7.500  rank 30'
    """

    epoch: int
    loss: float
    node_loss: float
    proto_loss: float | None
    num_prototypes: int | None
    confident_share: float | None
    gamma: float
    seconds: float
    effective_rank: float | None = None

    def __str__(self) -> str:
        text = f"loss {self.loss:.3f}"
        if self.effective_rank is not None:
            text += f"  rank {self.effective_rank:.0f}"
        if self.num_prototypes is not None and self.confident_share is not None:
            text += f"  K {self.num_prototypes}  confident {self.confident_share:.0%}"
        return text


@dataclass(frozen=True)
class Prototypes:
    """Clusters of the nodes, who is confident in them, and the robust prototypes.

    Attributes:
        clusters: The partition.
        confidence: Confidence of each node in its pseudo label, `(N,)`.
        confident: Mask of confident nodes, `(N,)`.
        prototypes: Means of confident nodes, `(K, D)`.
    """

    clusters: Clustering
    confidence: Tensor
    confident: Tensor
    prototypes: Tensor


@dataclass
class TrainingState:
    """Where a training stands: it can be taken up again after any epoch.

    Attributes:
        encoder: What is trained.
        optimizer: Its optimiser.
        generator: Source of all further randomness.
        centers: Cluster centres of the last epoch, `(K, D)`; None before prototypes join.
        history: What each epoch did.
        parts: What a training by parts keeps between two steps (`scale/train.py`), by name.
    """

    encoder: AnyEncoder
    optimizer: torch.optim.Adam
    generator: torch.Generator
    centers: Tensor | None = None
    history: list[Epoch] = field(default_factory=list)
    parts: dict[str, Tensor] = field(default_factory=dict)

    def copy(self) -> "TrainingState":
        """Return a training that goes on from here without changing this one."""
        encoder, optimizer = copy.deepcopy((self.encoder, self.optimizer))
        centers = None if self.centers is None else self.centers.clone()
        generator = torch.Generator(self.generator.device)
        generator.set_state(self.generator.get_state())
        parts = {name: value.clone() for name, value in self.parts.items()}
        return TrainingState(encoder, optimizer, generator, centers, list(self.history), parts)


def train(
    graph: Graph,
    config: BRGCLConfig,
    generator: torch.Generator,
    callback: Callable[[Epoch], None] | None = None,
) -> tuple[AnyEncoder, list[Epoch]]:
    """Train the encoder (Algorithm 1) from random weights to the end.

    Args:
        graph: The graph; it carries no labels.
        config: Settings.
        generator: Source of randomness.
        callback: Called after each epoch.
    """
    training = begin_training(graph, config, generator)
    continue_training(training, graph, config, callback)
    return training.encoder, training.history


def begin_training(graph: Graph, config: BRGCLConfig, generator: torch.Generator) -> TrainingState:
    """Make random weights and their optimiser."""
    x = graph.x.data
    config = with_depth(config, graph.x, graph.adjacency.transition)
    return begin_with(x.shape[1], config, generator, device=x.device, dtype=x.dtype)


def begin_with(
    num_features: int,
    config: BRGCLConfig,
    generator: torch.Generator,
    *,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
    module: nn.Module | None = None,
) -> TrainingState:
    """Make an encoder for so many attributes, and its optimiser; see `make_encoder`."""
    encoder = make_encoder(num_features, config, generator, module)
    encoder.to(device=device, dtype=dtype)
    optimizer = torch.optim.Adam(
        encoder.parameters(), lr=config.lr, weight_decay=config.weight_decay
    )
    return TrainingState(encoder, optimizer, generator)


def continue_training(
    training: TrainingState,
    graph: Graph,
    config: BRGCLConfig,
    callback: Callable[[Epoch], None] | None = None,
    until: int | None = None,
) -> None:
    """Go on with a training (Algorithm 1), in place.

    Args:
        training: Where it stands.
        graph: The graph; it carries no labels.
        config: Settings.
        callback: Called after each epoch.
        until: Last epoch to do; None for all of them.

    Raises:
        InputError: The loss or a weight is no longer finite; the callback is not called then.
    """
    encoder, optimizer, generator = training.encoder, training.optimizer, training.generator
    proto_weight = resolve_proto_weight(config, graph.x.shape[0])
    tau = temperature(config, graph)
    for t in range(len(training.history) + 1, (until or config.epochs) + 1):
        if is_stale(training.history, config, proto_weight):
            return
        start = time.perf_counter()
        gamma = threshold(t, config.epochs, config.gamma0)
        optimizer.zero_grad(set_to_none=True)
        views = two_views(graph, config.views, generator)
        h1, h2 = encode_views(encoder, graph, views)
        rank = effective_rank(h1)
        node = contrast_nodes(h1, h2, tau, config, generator)
        # each term of the loss goes backward by itself, before the next one takes its memory
        add_gradient(config.node_weight * node)
        del h1, h2
        proto, found = None, None
        if t > config.warmup_epochs and proto_weight > 0:
            h = unit_rows(encoder(graph.x, graph.adjacency.normalized))  # (N, D)
            found = find_prototypes(
                h.detach(), graph.adjacency.transition, gamma, config, training.centers,
                max_rounds=config.cluster_rounds,
            )  # fmt: skip
            training.centers = found.clusters.centers
            proto = prototype_loss(h, found.clusters.assignment, found.prototypes, config.proto_tau)
            add_gradient(proto_weight * proto)
        loss = representation_loss(node, proto, config.node_weight, proto_weight)
        optimizer.step()
        if not (
            loss.isfinite() and all(weight.sum().isfinite() for weight in encoder.parameters())
        ):
            raise diverged(f"in epoch {t}", config)
        training.history.append(
            Epoch(
                epoch=t,
                loss=loss.item(),
                node_loss=node.item(),
                proto_loss=None if proto is None else proto.item(),
                num_prototypes=None if found is None else found.clusters.num_clusters,
                confident_share=None if found is None else found.confident.float().mean().item(),
                gamma=gamma,
                seconds=time.perf_counter() - start,
                effective_rank=rank,
            )
        )
        if callback is not None:
            callback(training.history[-1])


def diverged(when: str, config: BRGCLConfig) -> InputError:
    """Build the error for a training whose numbers are no longer finite.

    Example:
        >>> str(diverged("in epoch 2", BRGCLConfig(lr=10)))
        'training diverged in epoch 2: its numbers are no longer finite; lower lr, now 10'
    """
    return InputError(
        f"training diverged {when}: its numbers are no longer finite; lower lr, now {config.lr:g}"
    )


def is_stale(history: Sequence[Epoch], config: BRGCLConfig, proto_weight: float) -> bool:
    """Whether patience is at its end: so many epochs have passed since the loss was lowest.

    They are counted from where prototypes have joined; before, it is another loss.
    """
    losses = [e.loss for e in history if proto_weight == 0 or e.proto_loss is not None]
    if config.patience is None or not losses:
        return False
    return len(losses) - 1 - losses.index(min(losses)) >= config.patience


def make_encoder(
    num_features: int,
    config: BRGCLConfig,
    generator: torch.Generator,
    module: nn.Module | None = None,
) -> AnyEncoder:
    """Make an encoder with random weights.

    Args:
        num_features: F.
        config: Settings; of the number of layers, too (see `with_depth`).
        generator: Source of the weights.
        module: The user's encoder, for the setting "own"; it comes with its weights.
    """
    if config.encoder == "own":
        if module is None:
            raise InputError("encoder='own' stands for a module; give it: BRGCL(encoder=module)")
        return OwnEncoder(module, num_features, config.seed)
    assert config.num_layers != "auto", "with_depth comes first"
    return ENCODERS[config.encoder](
        num_features,
        hidden=config.hidden,
        dim=config.dim,
        num_layers=config.num_layers,
        activation=config.activation,
        generator=generator,
    )


def contrast_views(
    encoder: AnyEncoder,
    graph: Graph,
    views: tuple[View, View],
    config: BRGCLConfig,
    generator: torch.Generator,
) -> Tensor:
    """Encode the two views and contrast the nodes that survive in both."""
    h1, h2 = encode_views(encoder, graph, views)
    return contrast_nodes(h1, h2, temperature(config, graph), config, generator)


def encode_views(
    encoder: AnyEncoder, graph: Graph, views: tuple[View, View]
) -> tuple[Tensor, Tensor]:
    """Encode the two views; rows are the nodes that survive in both, `(n, D)` each."""
    h1, h2 = (encoder(graph.x, view.adjacency, view.columns) for view in views)
    nodes = common_nodes(*views)
    return (h1, h2) if nodes is None else (h1[nodes], h2[nodes])


def contrast_nodes(
    h1: Tensor, h2: Tensor, tau: float, config: BRGCLConfig, generator: torch.Generator
) -> Tensor:
    """Contrast the nodes of two views with each other."""
    if h1.shape[0] < 2:
        nothing: Tensor = 0 * (h1.sum() + h2.sum())  # nobody is left to contrast with
        return nothing
    if config.node_objective == "decorrelation":
        return decorrelation_loss(h1, h2, weight=config.decorrelation_weight)
    return node_loss(
        unit_rows(h1),
        unit_rows(h2),
        objective=config.node_objective,
        tau=tau,
        positive_twice=config.positive_twice,
        negatives=sample_negatives(h1.shape[0], num_negatives(config, h1.shape[0]), generator),
        tile_bytes=config.tile_mb << 20,
        unit=True,
    )


def find_prototypes(
    h: Tensor,
    transition: Matrix,
    gamma: float,
    config: BRGCLConfig,
    centers: Tensor | None,
    *,
    max_rounds: int,
) -> Prototypes:
    """Find pseudo labels, confident nodes and robust prototypes (Algorithm 1, lines 7 to 11).

    Args:
        h: Unit-length representations, `(N, D)`.
        transition: Row-stochastic adjacency, `(N, N)`.
        gamma: Threshold on the cross-entropy.
        config: Settings.
        centers: Centres to start from, or None for a cold start.
        max_rounds: Limit on the rounds of clustering.
    """
    clusters = find_clusters(h, config, centers, max_rounds=max_rounds)
    own = neighbourhood_confidence(clusters, transition, config)
    confident = confident_nodes(own, gamma)
    trusted = confident if config.prototypes == "confident" else torch.ones_like(confident)
    prototypes = robust_prototypes(h, clusters.assignment, trusted, clusters.num_clusters)
    if config.normalize_prototypes:
        prototypes = F.normalize(prototypes, dim=1)
    return Prototypes(clusters, own, confident, prototypes)


def last_prototypes(h: Tensor, transition: Matrix, gamma: float, config: BRGCLConfig) -> Prototypes:
    """Find the prototypes of a finished training from a cold start, in time linear in nodes.

    Of more than `MANY_ROWS` rows, evenly spaced ones are clustered to the end; then all rows join
    their clusters in one round.

    Args:
        h: Unit-length representations, `(N, D)`.
        transition: Row-stochastic adjacency, `(N, N)`.
        gamma: Threshold on the cross-entropy.
        config: Settings.
    """
    step = -(-len(h) // MANY_ROWS)
    if step <= 1:
        return find_prototypes(h, transition, gamma, config, None, max_rounds=300)
    sample = find_clusters(h[::step].contiguous(), config, None, max_rounds=300)
    found = find_prototypes(h, transition, gamma, config, sample.centers, max_rounds=1)
    return replace(found, clusters=replace(found.clusters, capped=sample.capped))


def neighbourhood_confidence(
    clusters: Clustering, transition: Matrix, config: BRGCLConfig
) -> Tensor:
    """Confidence of each node in its cluster: how far its neighbourhood agrees, `(N,)`."""
    label = clusters.assignment.to(transition.data.device)
    return own_confidence(
        label, clusters.num_clusters, transition, config.alpha, config.propagation_steps
    )


def find_clusters(
    h: Tensor, config: BRGCLConfig, centers: Tensor | None, *, max_rounds: int
) -> Clustering:
    """Find pseudo labels by DP-means or, for comparison, by K-means."""
    if config.clustering == "dp-means" or (centers is None and config.num_prototypes is None):
        if config.clustering == "kmeans":
            max_rounds = 300  # its number is never corrected later, so it is found to the end
        found = dp_means(
            h, config.xi, centers=centers, max_clusters=config.max_prototypes, max_rounds=max_rounds
        )
        if config.clustering == "dp-means":
            return found
        centers = found.centers
    elif centers is None:
        assert config.num_prototypes is not None
        centers = farthest_first(h, min(config.num_prototypes, h.shape[0]))
    return k_means(h, centers, max_rounds=max_rounds)


def representation_loss(
    node: Tensor, proto: Tensor | None, node_weight: float, proto_weight: float
) -> Tensor:
    """Sum the node contrast and the contrast to prototypes, Eq. (8)."""
    loss = node_weight * node
    return loss if proto is None else loss + proto_weight * proto


def add_gradient(term: Tensor) -> None:
    """Add the gradient of one term of the loss to the parameters' gradients."""
    term.backward()  # type: ignore[no-untyped-call]


def resolve_proto_weight(config: BRGCLConfig, num_nodes: int) -> float:
    """Resolve the setting "1/N": the balance of the paper's sum over nodes and mean over nodes."""
    return 1 / num_nodes if config.proto_weight == "1/N" else config.proto_weight


def temperature(config: BRGCLConfig, graph: Graph) -> float:
    """Temperature of the node contrast: lower where nodes have many neighbours.

    On generated graphs of degree 20 and 40 a lower temperature gave better classes and clusters.
    The form follows the guess that an average over d neighbours differs between nodes 1 / sqrt(d)
    times as much as they do. The effective rank hardly changes (6 to 8 at degree 40).
    """
    return temperature_at(config, 2 * graph.adjacency.num_edges / graph.adjacency.num_nodes)


def temperature_at(config: BRGCLConfig, degree: float) -> float:
    """Temperature of the node contrast where nodes have `degree` neighbours on average."""
    if config.tau_degree is None or degree <= config.tau_degree:
        return config.tau
    return config.tau * math.sqrt(config.tau_degree / degree)


def num_negatives(config: BRGCLConfig, num_nodes: int) -> int | None:
    """Resolve the setting "auto": all nodes while that is quick, a sample beyond.

    Raises:
        InputError: All nodes are asked for where there are too many.
    """
    if config.num_negatives is None or config.mode == "full":
        check_all_pairs(num_nodes)
        return None
    if config.num_negatives == "auto":
        return None if num_nodes <= 1000 and config.mode == "auto" else 256
    return config.num_negatives
