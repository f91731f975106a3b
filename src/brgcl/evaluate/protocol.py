"""Who may see which labels: draws of noise, observed labels, and the truth kept apart.

Protocols:
    clean-val   training labels are noisy, validation labels are true (the paper's)
    noisy-val   validation labels carry the same noise (NoisyGL's)
    no-val      there are no validation labels at all (what users have)

Noise is drawn from the seed alone, so every method meets the same draws.
"""

import hashlib
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

from brgcl.contract import ObservedLabels
from brgcl.errors import unknown_name
from brgcl.noise import NoiseSpec, corrupt_attributes, corrupt_edges, flip_labels

PROTOCOLS = ("clean-val", "noisy-val", "no-val")
SPLITS = ("test", "validation")


@dataclass(frozen=True)
class GroundTruth:
    """What only metrics may see.

    Attributes:
        y: True classes, -1 = unknown, `(N,)`.
        test: Mask of the nodes on which a method is scored, `(N,)`.
    """

    y: Tensor
    test: Tensor


@dataclass(frozen=True)
class Trial:
    """One noisy graph.

    Attributes:
        graph: Attributes and edges as observed; it carries no labels.
        labels: The labels that a method may see.
        truth: The labels that only metrics may see.
        label_noise: Realised share of wrong training labels.
        attribute_noise: Realised share of corrupted attribute cells.
        edge_noise: Realised share of corrupted edges.
    """

    graph: Data
    labels: ObservedLabels
    truth: GroundTruth
    label_noise: float
    attribute_noise: float
    edge_noise: float


@dataclass(frozen=True)
class Noise:
    """The three kinds of noise of a trial; None leaves that part as it is."""

    labels: NoiseSpec | None = None
    attributes: NoiseSpec | None = None
    edges: NoiseSpec | None = None

    def __str__(self) -> str:
        parts = [("labels", self.labels), ("attributes", self.attributes), ("edges", self.edges)]
        return ", ".join(f"{what} {spec}" for what, spec in parts if spec is not None) or "none"


def generator_for(seed: int, purpose: str) -> torch.Generator:
    """Make an independent stream of random numbers for one purpose.

    The streams of two purposes, or of two seeds, have nothing to do with each other, so that
    adding one kind of noise does not change the draw of another.
    """
    # torch seeds its generator with the low 32 bits alone, so these have to hold both
    digest = hashlib.sha256(f"{purpose}/{seed}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:4], "little"))


def draw_trial(
    data: Data,
    *,
    noise: Noise,
    protocol: str = "clean-val",
    seed: int = 0,
    split: str = "test",
) -> Trial:
    """Draw one trial.

    A graph with a split is scored on its test nodes, or, while something is being chosen, on its
    validation nodes; their labels then serve no other purpose, and test nodes are not touched. A
    user's graph has no split: all its labels are for training, there is no truth to score with,
    and the protocol does not matter.

    Args:
        data: A checked graph with `y` and, where it is to be scored, masks.
        noise: What to corrupt.
        protocol: A name from `PROTOCOLS`.
        seed: Seed of all draws.
        split: Nodes that are scored, a name from `SPLITS`.
    """
    if protocol not in PROTOCOLS:
        raise unknown_name("protocol", protocol, PROTOCOLS)
    if split not in SPLITS:
        raise unknown_name("split", split, SPLITS)
    graph, attribute_rate, edge_rate = corrupt_graph(data, noise, seed)
    y, has_split = data.y, data.get("train_mask") is not None
    nothing = torch.zeros_like(y, dtype=torch.bool)
    learn, choose, test = (
        (data.train_mask, data.val_mask, data.test_mask)
        if has_split
        else (y >= 0, nothing, nothing)
    )
    if split == "validation":
        choose, test = nothing, choose
    if protocol == "no-val":
        choose = nothing
    noisy_part = learn | choose if protocol == "noisy-val" else learn
    observed = torch.where(learn | choose, y, -1)
    num_classes = max(int(y.max()) + 1, 1)
    if noise.labels is not None and bool(noisy_part.any()):
        flipped = flip_labels(
            torch.where(noisy_part, y, -1),
            noise.labels.kind,
            noise.labels.level,
            num_classes=num_classes,
            generator=generator_for(seed, "label-noise"),
            edge_index=data.edge_index,
            x=data.x,
            reference=y,
        )
        observed = torch.where(noisy_part, flipped.labels, observed)
    wrong = (observed != y)[learn]
    return Trial(
        graph=graph,
        labels=ObservedLabels(
            train=torch.where(learn, observed, -1),
            validation=torch.where(choose, observed, -1) if bool(choose.any()) else None,
            num_classes=num_classes,
        ),
        truth=GroundTruth(y if has_split else torch.full_like(y, -1), test),
        label_noise=float(wrong.float().mean()) if wrong.numel() else 0.0,
        attribute_noise=attribute_rate,
        edge_noise=edge_rate,
    )


def corrupt_graph(data: Data, noise: Noise, seed: int) -> tuple[Data, float, float]:
    """Apply attribute and edge noise; the result carries names, but no labels and no masks.

    Returns:
        The observed graph and the realised rates of attribute and edge noise.
    """
    x, edge_index, edge_weight = data.x, data.edge_index, data.get("edge_weight")
    attribute_rate = edge_rate = 0.0
    if noise.attributes is not None:
        scope = None
        if noise.attributes.scope == "train":
            scope = data.train_mask if data.get("train_mask") is not None else data.y >= 0
        corrupted = corrupt_attributes(
            x,
            noise.attributes.kind,
            noise.attributes.level,
            generator=generator_for(seed, "attribute-noise"),
            nodes=scope,
        )
        x, attribute_rate = corrupted.x, corrupted.realised
    if noise.edges is not None:
        changed = corrupt_edges(
            edge_index,
            noise.edges.kind,
            noise.edges.level,
            num_nodes=data.num_nodes,
            generator=generator_for(seed, "edge-noise"),
            edge_weight=edge_weight,
        )
        edge_index, edge_weight, edge_rate = (
            changed.edge_index,
            changed.edge_weight,
            changed.realised,
        )
    observed = Data(x=x, edge_index=edge_index, num_nodes=data.num_nodes)
    for name in ("node_ids", "class_names"):
        if name in data:
            observed[name] = data[name]
    if edge_weight is not None:
        observed.edge_weight = edge_weight
    return observed, attribute_rate, edge_rate
