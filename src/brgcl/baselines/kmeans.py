"""K-means: the attributes themselves as representations; the graph is not looked at.

Z = X, rows scaled to sum 1. Clustering then is K-means on attributes, as in the oldest row of
every table of node clustering, and classification is a classifier on attributes alone.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Generator
from torch_geometric.data import Data

from brgcl.baselines.shared.inputs import check_memory
from brgcl.config import Scaling, Settings, setting
from brgcl.contract import Fitted, Hook, Labels, Method
from brgcl.method.inputs import scale


@dataclass(frozen=True)
class KMeansConfig(Settings):
    """Settings of K-means on attributes."""

    attributes: Literal["auto"] | Scaling = setting(
        "auto",
        "Scaling of attributes; auto = rows to sum 1 if none is negative, else standardize.",
    )


def fit(
    graph: Data, labels: Labels, config: KMeansConfig, generator: Generator, report: Hook = None
) -> Fitted:
    """Return the scaled attributes, dense; nothing is learned and `labels` are not read."""
    N, F = graph.x.shape
    # the representations, their rows at unit length, and the copy that K-means works on
    check_memory("kmeans", 3 * 4.0 * N * F, "use fewer attributes, or s2gc-features")
    x = scale(graph.x, config.attributes).data
    if report is not None:
        report(1, 1, "attributes")
    return Fitted(x.to_dense() if x.layout == torch.sparse_csr else x.clone())


METHOD = Method(
    name="kmeans",
    fit=fit,
    Config=KMeansConfig,
    kind="representation",
    citation="Lloyd, Least Squares Quantization in PCM, IEEE Transactions on Information Theory, "
    "1982",
    cost="time and memory O(N F)",
    source="Ours",
    ours={
        "attributes": "as in `brgcl`: rows to sum 1, or columns standardised where a value is "
        "negative",
    },
    deviations=(
        "Clustering scales every row to unit length before K-means, for this method as for all "
        "others.",
        "Rows of 0 and 1 and the same rows scaled to sum 1 are therefore the same input.",
    ),
)
