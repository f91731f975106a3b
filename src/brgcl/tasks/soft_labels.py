"""Observed labels spread over the graph: the targets of the perceptron."""

import torch
from torch import Tensor

from brgcl.method.confidence import propagate_from
from brgcl.method.sparse import Matrix
from brgcl.tasks.rules import SoftLabels


def soft_targets(
    labels: Tensor,
    num_classes: int,
    transition: Matrix | None,
    mode: SoftLabels,
    alpha: float,
    steps: int,
) -> Tensor:
    """Spread observed labels over the graph, as the paper's appendix does.

    Y⁽⁰⁾ is one-hot on labelled nodes and zero elsewhere, and is propagated like pseudo labels.

    Args:
        labels: Labels, -1 = unlabelled, `(N,)`.
        num_classes: C.
        transition: Row-stochastic adjacency, or None to keep labels as given.
        mode: What to make of the propagated rows.
        alpha: Teleport probability.
        steps: T, of which the first is the start.

    Returns:
        Targets, `(N, C)`; every row that is reached by a label sums to 1.
    """
    known = (labels >= 0).nonzero().squeeze(1)
    one_hot = torch.zeros(len(labels), num_classes, device=labels.device)
    one_hot[known, labels[known]] = 1
    if transition is None or mode == "hard":
        return one_hot
    spread = propagate_from(one_hot, transition, alpha, steps)
    if mode == "softmax":
        return spread.softmax(1)
    return spread / spread.sum(1, keepdim=True).clamp_min(1e-12)
