"""Ours: the posterior of the true class, given representation, neighbours and label.

`judge_labels` on representations that were learned without labels: those of BRGCL, or smoothed
attributes, which is the floor.
"""

from dataclasses import replace
from typing import Any

import torch
from torch import Generator, Tensor
from torch_geometric.data import Data

from brgcl.contract import Fitted, Hook
from brgcl.detectors.contract import Detected, Detector
from brgcl.detectors.representations import representations_of
from brgcl.tasks.label_errors import judge_labels


def detect(
    graph: Data,
    labels: Tensor,
    config: Any,
    generator: Generator,
    fitted: Fitted | None = None,
    report: Hook = None,
) -> Detected:
    """Judge the labels on top of representations."""
    nameless = Data(x=graph.x, edge_index=graph.edge_index, num_nodes=graph.num_nodes)
    if "edge_weight" in graph:
        nameless.edge_weight = graph.edge_weight
    seed = int(torch.randint(2**31 - 1, (), generator=generator))
    judged = judge_labels(
        representations_of(fitted), labels, graph=nameless, seed=seed, report=report
    )
    frame = judged.frame.sort_values("node")
    return Detected(
        nodes=torch.tensor(frame["node"].to_numpy(dtype="int64")),
        score=torch.tensor(frame["score"].to_numpy(dtype="float64")),
        suggested=torch.tensor(frame["suggested"].to_numpy(dtype="int64")),
        is_error=torch.tensor(frame["is_error"].to_numpy(dtype=bool)),
        error_rate=judged.error_rate,
    )


DETECTOR = Detector(
    name="brgcl",
    detect=detect,
    kind="representation",
    method="brgcl",
    citation="Ours, see [label-noise.md](label-noise.md)",
    cost="that of brgcl, then time O(N D C) for each fold",
    revision=1,
)
SMOOTH = replace(
    DETECTOR,
    name="smooth",
    method="smooth",
    cost="that of smooth, then time O(N D C) for each fold",
)
