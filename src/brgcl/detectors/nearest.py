"""Nearest: a label that few of the nearest nodes in representation space share is suspicious.

The votes are the given labels of the ten labelled nodes with the largest cosine (votes.py).
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor
from torch_geometric.data import Data

from brgcl.contract import Fitted, Hook
from brgcl.detectors.contract import Detected, Detector
from brgcl.detectors.representations import representations_of
from brgcl.detectors.votes import judge_by_votes

NEAREST = 10
BLOCK = 1024  # nodes whose cosines are held at once


def detect(
    graph: Data,
    labels: Tensor,
    config: Any,
    generator: Generator,
    fitted: Fitted | None = None,
    report: Hook = None,
) -> Detected:
    """Count labels of the nearest nodes."""
    return judge_by_votes(nearest_votes(representations_of(fitted), labels), labels)


def nearest_votes(z: Tensor, labels: Tensor, k: int = NEAREST) -> Tensor:
    """For each labelled node the number of its k nearest labelled ones with each label, `(L, C)`.

    Args:
        z: Representations, `(N, D)`.
        labels: Given labels, -1 = unlabelled, `(N,)`.
        k: Nodes that vote; all others where there are fewer.
    """
    known = labels >= 0
    rows, given = F.normalize(z[known], dim=1), labels[known]
    k = min(k, len(rows) - 1)
    votes = torch.zeros(len(rows), int(labels.max()) + 1)
    for start in range(0, len(rows), BLOCK):
        nodes = torch.arange(start, min(start + BLOCK, len(rows)))
        cosine = rows[nodes] @ rows.T
        cosine[torch.arange(len(nodes)), nodes] = -torch.inf
        near = given[cosine.topk(k, dim=1).indices]
        votes[nodes] = F.one_hot(near, votes.shape[1]).sum(1).float()
    return votes


DETECTOR = Detector(
    name="nearest",
    detect=detect,
    kind="representation",
    method="brgcl",
    citation="Bahri, Jiang & Gupta, Deep k-NN for Noisy Labels, ICML 2020",
    cost="that of brgcl, then time O(L² D)",
    deviations=(
        "The space is BRGCL's, which is learned without labels.",
        "The shares are smoothed, and a label is wrong where another has more votes.",
    ),
)
