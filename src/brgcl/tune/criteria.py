"""What a setting is scored by where nobody knows the truth.

    labels     agreement with training labels that were held out, a fifth at a time
    stability  agreement of the partitions of two resampled views of the graph

Neither sees a validation or test label; the second sees no label at all.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from brgcl.config import BRGCLConfig
from brgcl.method.graph import Graph
from brgcl.method.train import AnyEncoder, find_clusters
from brgcl.method.views import common_nodes, two_views
from brgcl.tasks.classify import out_of_fold_probabilities
from brgcl.tasks.metrics import ari
from brgcl.tasks.rules import FIXED_RULE

Criterion = Literal["labels", "stability"]
CRITERIA: tuple[str, ...] = get_args(Criterion)
PAIRS = 5  # pairs of views over which stability is a mean
LARGEST_SHARE = 0.9  # a partition with a larger cluster than this says nothing


@dataclass(frozen=True)
class Score:
    """A mean over values that are compared with those of another setting, one by one."""

    values: tuple[float, ...]  # 0 or 1 for each held-out label, or the ARI of each pair of views

    @property
    def mean(self) -> float:
        """The score itself."""
        return float(np.mean(self.values))

    @property
    def error(self) -> float:
        """Standard error of the score."""
        return _standard_error(np.array(self.values))

    def gain_over(self, other: "Score") -> tuple[float, float]:
        """How much higher this score is, and the standard error of that paired difference.

        Example:
            >>> Score((1.0, 1.0, 0.0)).gain_over(Score((1.0, 1.0, 0.0)))
            (0.0, 0.0)
        """
        difference = np.subtract(self.values, other.values)
        return float(difference.mean()), _standard_error(difference)


def agreement(encoder: AnyEncoder, graph: Graph, labels: Tensor, seed: int) -> Score:
    """Score by held-out labels: each is predicted from the other four fifths, by class centroids.

    Labels are noisy as they are, -1 = none, `(N,)`. The seed of the folds is the same for every
    setting, so that differences are paired.
    """
    h = _encode(encoder, graph.x, graph.adjacency.normalized)
    proba, _ = out_of_fold_probabilities(h.cpu(), labels, rule=FIXED_RULE, seed=seed)
    hits = (proba.argmax(1) == labels)[labels >= 0]
    return Score(tuple(hits.double().tolist()))


def stability(
    encoder: AnyEncoder, graph: Graph, config: BRGCLConfig, seed: int, *, pairs: int = PAIRS
) -> Score:
    """Score by the partitions that DP-means finds in two resampled views of the graph.

    The score of a pair is the adjusted Rand index of the two partitions, and 0 where one of them
    says nothing (see `is_trivial`): a constant partition is always stable and must not win. The
    seed of the views is the same for every setting, so that differences are paired.
    """
    generator = torch.Generator().manual_seed(seed + 1_000_003)  # not the views of the training
    values = []
    for _ in range(pairs):
        views = two_views(graph, config.views, generator)
        both = common_nodes(*views)
        encoded = (_encode(encoder, graph.x, view.adjacency, view.columns) for view in views)
        first, second = (
            find_clusters(h if both is None else h[both], config, None, max_rounds=300).assignment
            for h in encoded
        )
        trivial = is_trivial(first) or is_trivial(second)
        values.append(0.0 if trivial else ari(first, second))
    return Score(tuple(values))


def is_trivial(assignment: Tensor) -> bool:
    """Whether a partition says nothing: one cluster holds nearly all nodes, or most are alone.

    Example:
        >>> is_trivial(torch.zeros(10, dtype=torch.long))
        True
        >>> is_trivial(torch.tensor([0, 0, 0, 1, 1, 1]))
        False
    """
    N = len(assignment)
    if N == 0:
        return True
    counts = torch.bincount(assignment)
    return bool(counts.max() > LARGEST_SHARE * N) or int((counts > 0).sum()) > N / 2


def _encode(encoder: AnyEncoder, *inputs: Any) -> Tensor:
    """Unit-length representations, `(N, D)`."""
    with torch.no_grad():
        return F.normalize(encoder(*inputs), dim=1)


def _standard_error(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 else 0.0
