"""Who may see which labels: draws of noise, observed labels, and the truth kept apart.

Protocols:
    clean-val   training labels are noisy, validation labels are true (the paper's)
    noisy-val   validation labels carry the same noise (NoisyGL's)
    no-val      there are no validation labels at all (what users have)

Noise is drawn from the seed alone, so every method meets the same draws.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

from brgcl.contract import ObservedLabels
from brgcl.errors import unknown_name
from brgcl.evaluation.names import LABELLED, PROTOCOLS, RIGHT, SCORED_ON
from brgcl.noise.graph import Noise, corrupt_graph, generator_for
from brgcl.noise.labels import flip_labels
from brgcl.noise.spec import NoiseSpec


@dataclass(frozen=True)
class GroundTruth:
    """What only metrics may see."""

    y: Tensor  # (N,), true classes, -1 = unknown
    test: Tensor  # (N,), mask of the nodes on which a method is scored


@dataclass(frozen=True)
class NoisyGraph:
    """One draw: a graph as a method may see it and, apart, the truth."""

    graph: Data  # attributes and edges as observed; it carries no labels
    labels: ObservedLabels
    truth: GroundTruth
    label_noise: float  # realised rate of wrong training labels
    attribute_noise: float  # realised rate of corrupted attribute values
    edge_noise: float  # realised rate of corrupted edges


def draw_noisy_graph(
    data: Data,
    *,
    noise: Noise,
    protocol: str = "clean-val",
    seed: int = 0,
    scored_on: str = "test",
    labelled: str = "train",
) -> NoisyGraph:
    """Corrupt a graph and say which labels a method may see.

    A graph with a split is scored on its test nodes, or, while something is being chosen, on its
    validation nodes; their labels then serve no other purpose, and test nodes are not touched. A
    user's graph has no split: all its labels are for training, there is no truth to score with,
    and the protocol does not matter.

    Args:
        data: A checked graph with `y` and, where it is to be scored, masks.
        noise: What to corrupt.
        protocol: A name from `PROTOCOLS`.
        seed: Seed of all draws.
        scored_on: Nodes that are scored, a name from `SCORED_ON`.
        labelled: "train", or "all" nodes with a known class: then all of their labels are noisy
            ones for training, and the split does not matter. "right" is an oracle: of the training
            labels it leaves out the wrong ones.
    """
    if protocol not in PROTOCOLS:
        raise unknown_name("protocol", protocol, PROTOCOLS)
    if scored_on not in SCORED_ON:
        raise unknown_name("scored_on", scored_on, SCORED_ON)
    if labelled not in (*LABELLED, RIGHT):
        raise unknown_name("labelled", labelled, LABELLED)
    graph, attribute_rate, edge_rate = corrupt_graph(data, noise, seed)
    y, has_split = data.y, data.get("train_mask") is not None
    nothing = torch.zeros_like(y, dtype=torch.bool)
    learn, choose, test = y >= 0, nothing, nothing
    if has_split and labelled != "all":
        learn, choose, test = data.train_mask, data.val_mask, data.test_mask
    if scored_on == "validation":
        choose, test = nothing, choose
    if protocol == "no-val":
        choose = nothing
    flipped = learn | choose if protocol == "noisy-val" else learn
    observed = _flip(data, noise.labels, flipped, seed)
    wrong = (observed != y)[learn]
    if labelled == RIGHT:
        learn = learn & (observed == y)
    return NoisyGraph(
        graph=graph,
        labels=ObservedLabels(
            train=torch.where(learn, observed, -1),
            validation=torch.where(choose, observed, -1) if bool(choose.any()) else None,
            num_classes=_num_classes(y),
        ),
        truth=GroundTruth(y if has_split else torch.full_like(y, -1), test),
        label_noise=float(wrong.float().mean()) if wrong.numel() else 0.0,
        attribute_noise=attribute_rate,
        edge_noise=edge_rate,
    )


def _flip(data: Data, noise: NoiseSpec | None, nodes: Tensor, seed: int) -> Tensor:
    """Labels of all nodes, with noise on those of some nodes, `(N,)`."""
    y: Tensor = data.y
    if noise is None or not bool(nodes.any()):
        return y
    flipped = flip_labels(
        torch.where(nodes, y, -1),
        noise.kind,
        noise.level,
        num_classes=_num_classes(y),
        generator=generator_for(seed, "label-noise"),
        edge_index=data.edge_index,
        x=data.x,
        reference=y,
    )
    return torch.where(nodes, flipped.labels, y)


def _num_classes(y: Tensor) -> int:
    return max(int(y.max()) + 1, 1)
