"""Whole or by parts: the graph that a plan asks for, its representations, and its name."""

import dataclasses

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Data

from brgcl.config import BRGCLConfig
from brgcl.data.fingerprint import fingerprint
from brgcl.method.attributes import Preparation
from brgcl.method.depth import with_depth
from brgcl.method.encoder import Encoder
from brgcl.method.graph import Graph
from brgcl.method.inputs import check_device, prepare
from brgcl.method.sparse import Matrix, is_sparse, take_rows
from brgcl.method.train import AnyEncoder
from brgcl.scale.inference import encode_by_blocks
from brgcl.scale.memory import Plan, Size, make_plan
from brgcl.scale.parts import PartGraph, split_graph

NAMED_ROWS = 1000  # rows of attributes that tell a stored graph from others


def plan_for(graph: Data | PartGraph, config: BRGCLConfig) -> Plan:
    """Plan the training on a checked graph; one that is stored by parts is trained by parts."""
    stored_parts = None
    if isinstance(graph, PartGraph):
        config, stored_parts = config.replace(mode="partitioned"), graph.num_parts
    entries = graph.col.numel() if isinstance(graph, PartGraph) else graph.edge_index.shape[1]
    values = (graph.x.values() if is_sparse(graph.x) else graph.x).numel()
    size = Size(int(graph.x.shape[0]), entries, int(graph.x.shape[1]), values)
    return make_plan(size, config, stored_parts)


def place_graph(
    graph: Data | PartGraph, preparation: Preparation, plan: Plan, config: BRGCLConfig
) -> Graph | PartGraph:
    """Make what training starts from: the whole graph on its device, or its parts in memory.

    Args:
        graph: A checked graph, or one stored by parts, which is taken as it is.
        preparation: How attributes are scaled.
        plan: Whether to find parts, and how many.
        config: Settings.
    """
    check_device(config.device)
    if isinstance(graph, PartGraph):
        return dataclasses.replace(graph, preparation=preparation)
    if plan.mode == "partitioned":
        return split_graph(graph, preparation, plan.num_parts, seed=config.seed)
    return prepare(graph, preparation, config.device)


def resolve_depth(graph: Graph | PartGraph, plan: Plan, config: BRGCLConfig) -> BRGCLConfig:
    """Resolve `num_layers="auto"`; of a graph by parts as many are looked at as a batch has."""
    if isinstance(graph, Graph):
        return with_depth(config, graph.x, graph.adjacency.transition)
    if config.num_layers != "auto":
        return config
    return with_depth(config, *graph.beginning(plan.parts_per_batch), graph.num_nodes)


def encode_graph(encoder: AnyEncoder, graph: Graph | PartGraph, plan: Plan) -> Tensor:
    """Representations of unit length, `(N, D)`, in the order of the graph's own nodes."""
    if isinstance(graph, PartGraph):
        assert isinstance(encoder, Encoder)  # settings with another one are refused
        return encode_by_blocks(encoder, graph, memory=plan.budget)
    with torch.no_grad():
        return F.normalize(encoder(graph.x, graph.adjacency.normalized), dim=1)


def transition_of(graph: Graph | PartGraph) -> Matrix:
    """Row-stochastic adjacency with self-loops, `(N, N)`."""
    return graph.transition if isinstance(graph, PartGraph) else graph.adjacency.transition


def training_name(graph: Data | PartGraph, config: BRGCLConfig) -> str:
    """Digest of a graph and settings; of a graph stored by parts, some rows of x are read."""
    if not isinstance(graph, PartGraph):
        return fingerprint(graph, None, config.identity())
    rows = torch.arange(0, graph.num_nodes, max(1, graph.num_nodes // NAMED_ROWS))
    index = torch.stack([graph.crow[rows], graph.crow[rows + 1]])
    known = Data(x=take_rows(graph.x, rows), edge_index=index)
    return fingerprint(known, graph.starts, config.identity())
