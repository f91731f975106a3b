"""Noise on a whole graph: up to three kinds at once, each with random numbers of its own."""

import hashlib
from dataclasses import dataclass

import torch
from torch_geometric.data import Data

from brgcl.noise.attributes import corrupt_attributes
from brgcl.noise.edges import corrupt_edges
from brgcl.noise.spec import NoiseSpec


@dataclass(frozen=True)
class Noise:
    """The noise of a draw, one for each part of a graph; None leaves that part as it is."""

    labels: NoiseSpec | None = None
    attributes: NoiseSpec | None = None
    edges: NoiseSpec | None = None

    def __str__(self) -> str:
        parts = (f"{what} {spec}" for what, spec in vars(self).items() if spec is not None)
        return ", ".join(parts) or "none"


def generator_for(seed: int, purpose: str) -> torch.Generator:
    """Make an independent stream of random numbers for one purpose.

    The streams of two purposes, or of two seeds, have nothing to do with each other, so that
    adding one kind of noise does not change the draw of another.
    """
    # torch seeds its generator with the low 32 bits alone, so these have to hold both
    digest = hashlib.sha256(f"{purpose}/{seed}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:4], "little"))


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
        spec, generator = noise.attributes, generator_for(seed, "attribute-noise")
        noisy = corrupt_attributes(x, spec.kind, spec.level, generator=generator, nodes=scope)
        x, attribute_rate = noisy.x, noisy.realised
    if noise.edges is not None:
        edges = corrupt_edges(
            edge_index,
            noise.edges.kind,
            noise.edges.level,
            num_nodes=data.num_nodes,
            generator=generator_for(seed, "edge-noise"),
            edge_weight=edge_weight,
        )
        edge_index, edge_weight, edge_rate = edges.edge_index, edges.edge_weight, edges.realised
    observed = Data(x=x, edge_index=edge_index, num_nodes=data.num_nodes)
    for name in ("node_ids", "class_names", "feature_names"):
        if name in data:
            observed[name] = data[name]
    if edge_weight is not None:
        observed.edge_weight = edge_weight
    return observed, attribute_rate, edge_rate
