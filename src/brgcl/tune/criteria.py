"""What a setting is scored by where nobody knows the truth.

    labels     agreement with training labels that were held out, a fifth at a time
    stability  agreement of the partitions of two resampled views of the graph

Neither sees a validation or test label; the second sees no label at all.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from brgcl.config import BRGCLConfig
from brgcl.method.encoder import Encoder
from brgcl.method.graph import Graph
from brgcl.method.train import find_clusters
from brgcl.method.views import View, common_nodes, two_views
from brgcl.tasks.classify import out_of_fold_probabilities
from brgcl.tasks.metrics import ari
from brgcl.tasks.rules import FIXED_RULE

Criterion = Literal["labels", "stability"]
CRITERIA: tuple[str, ...] = get_args(Criterion)
PAIRS = 5  # pairs of views over which stability is a mean
LARGEST_SHARE = 0.9  # a partition with a larger cluster than this says nothing


@dataclass(frozen=True)
class Score:
    """A mean of parts that can be set against those of another setting, one by one.

    Attributes:
        parts: 0 or 1 for each held-out label, or the adjusted Rand index of each pair of views.
    """

    parts: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The score itself."""
        return float(np.mean(self.parts))

    @property
    def error(self) -> float:
        """Standard error of the score."""
        return _standard_error(np.array(self.parts))

    def gain_over(self, other: "Score") -> tuple[float, float]:
        """How much higher this score is, and the standard error of that paired difference.

        Example:
            >>> Score((1.0, 1.0, 0.0)).gain_over(Score((1.0, 1.0, 0.0)))
            (0.0, 0.0)
        """
        difference = np.subtract(self.parts, other.parts)
        return float(difference.mean()), _standard_error(difference)


def agreement(encoder: Encoder, graph: Graph, labels: Tensor, seed: int) -> Score:
    """Score by held-out labels: each is predicted from the other four fifths, by class centroids.

    Args:
        encoder: A trained encoder.
        graph: The graph.
        labels: Training labels, as noisy as they are, -1 = none, `(N,)`.
        seed: Seed of the folds; the same for every setting, so that differences are paired.
    """
    h = _encode(encoder, graph)
    proba, _ = out_of_fold_probabilities(h.cpu(), labels, rule=FIXED_RULE, seed=seed)
    hits = (proba.argmax(1) == labels)[labels >= 0]
    return Score(tuple(hits.double().tolist()))


def stability(
    encoder: Encoder, graph: Graph, config: BRGCLConfig, seed: int, *, pairs: int = PAIRS
) -> Score:
    """Score by the partitions that DP-means finds in two resampled views of the graph.

    The score of a pair is the adjusted Rand index of the two partitions, and 0 where one of them
    says nothing (see `is_trivial`): a constant partition is always stable and must not win.

    Args:
        encoder: A trained encoder.
        graph: The graph.
        config: Settings of the views and of the clustering.
        seed: Seed of the views; the same for every setting, so that differences are paired.
        pairs: Number of pairs of views.
    """
    generator = torch.Generator().manual_seed(seed + 1_000_003)  # not the views of the training
    parts = []
    for _ in range(pairs):
        views = two_views(graph, config.views, generator)
        both = common_nodes(*views)
        first, second = (_partition(encoder, graph, view, config, both) for view in views)
        trivial = is_trivial(first) or is_trivial(second)
        parts.append(0.0 if trivial else ari(first, second))
    return Score(tuple(parts))


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


def _partition(
    encoder: Encoder, graph: Graph, view: View, config: BRGCLConfig, nodes: Tensor | None
) -> Tensor:
    h = _encode(encoder, graph, view)
    h = h if nodes is None else h[nodes]
    return find_clusters(h, config, None, max_rounds=300).assignment


def _encode(encoder: Encoder, graph: Graph, view: View | None = None) -> Tensor:
    """Unit-length representations of the graph, or of a view of it, `(N, D)`."""
    with torch.no_grad():
        if view is None:
            h = encoder(graph.x, graph.adjacency.normalized)
        else:
            h = encoder(graph.x, view.adjacency, view.columns)
    return F.normalize(h, dim=1)


def _standard_error(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 else 0.0
