"""Neighbours: a label that few neighbours share is suspicious.

The votes are the given labels of the neighbours, each counted once, loops left out (votes.py).
"""

from typing import Any

import torch
from torch import Generator, Tensor
from torch_geometric.data import Data

from brgcl.contract import Fitted, Hook
from brgcl.detectors.contract import Detected, Detector
from brgcl.detectors.votes import judge_by_votes


def detect(
    graph: Data,
    labels: Tensor,
    config: Any,
    generator: Generator,
    fitted: Fitted | None = None,
    report: Hook = None,
) -> Detected:
    """Count labels of neighbours; nothing is trained."""
    return judge_by_votes(neighbour_votes(graph.edge_index, labels), labels)


def neighbour_votes(edge_index: Tensor, labels: Tensor) -> Tensor:
    """For each labelled node the number of its neighbours with each label, `(L, C)`.

    Args:
        edge_index: Edges in both directions, `(2, E)`.
        labels: Given labels, -1 = unlabelled, `(N,)`.
    """
    N, C = len(labels), int(labels.max()) + 1
    source, target = edge_index
    both = (labels[source] >= 0) & (labels[target] >= 0) & (source != target)
    pairs = torch.unique(source[both] * N + target[both])
    node, label = pairs // N, labels[pairs % N]
    counts = torch.bincount(node * C + label, minlength=N * C).view(N, C)
    return counts[labels >= 0].float()


DETECTOR = Detector(
    name="neighbours",
    detect=detect,
    kind="labels",
    citation="Wilson, Asymptotic Properties of Nearest Neighbor Rules Using Edited Data, IEEE "
    "Transactions on Systems, Man, and Cybernetics, 1972, with edges for distances",
    cost="time O(E)",
    deviations=("The shares are smoothed, so that labels can be ranked.",),
)
