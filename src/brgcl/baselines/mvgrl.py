"""MVGRL: a node's code in one view fits the summary of the graph in the other view.

The views are the adjacency A and its diffusion S = alpha (I - (1 - alpha) A)^-1, personalised
PageRank, each with an encoder of its own:

    H1 = PReLU(A X W1 + b1)      H2 = PReLU(S X W2 + b2)      s_v = sigmoid(mean_i h_v,i)
    scores  h2' M s1 + c  and  h1' M s2 + c

Scores of the nodes are trained towards 1, those of the same graph with the rows of X shuffled
towards 0, by binary cross-entropy. The representation is H1 + H2. `train_infomax` trains it, with
two views, until the training loss stops falling.

S is never built: S (X W) takes `steps` rounds of Z <- (1 - alpha) A Z + alpha X W. With a `cutoff`
it is built once, a tile of columns at a time, and kept sparse: entries below the cutoff become 0,
then each column is divided by its largest entry.
"""

from dataclasses import dataclass

import scipy.sparse
import torch
from torch import Generator
from torch_geometric.data import Data

from brgcl.baselines.shared.infomax import InfomaxConfig, train_infomax
from brgcl.config import Count, Fraction, Share, setting
from brgcl.contract import Fitted, Hook, Labels, Method
from brgcl.method.inputs import prepare
from brgcl.method.sparse import Matrix, csr_from_scipy
from brgcl.method.views import Diffusion

COLUMNS_PER_TILE = 256


@dataclass(frozen=True)
class MVGRLConfig(InfomaxConfig):
    """Settings of MVGRL."""

    alpha: Fraction = setting(0.2, "Teleport probability of the diffusion.")
    steps: Count = setting(20, "Rounds of the diffusion.")
    cutoff: Share = setting(
        0.0,
        "Entries of the diffusion below it become 0 and columns are rescaled; 0 changes nothing.",
    )
    epochs: Count = setting(3000, "Most training epochs.")


def fit(
    graph: Data, labels: Labels, config: MVGRLConfig, generator: Generator, report: Hook = None
) -> Fitted:
    """Train until the loss stops falling; `labels` are not read."""
    prepared = prepare(graph)
    adjacency = prepared.adjacency.normalized
    diffusion = Diffusion(adjacency, config.alpha, config.steps)
    operators = [adjacency, cut(diffusion, config.cutoff) if config.cutoff else diffusion]
    return Fitted(train_infomax(prepared.x, operators, config, generator, report))


def cut(diffusion: Diffusion, cutoff: float) -> Matrix:
    """S without entries below the cutoff, each column divided by its largest entry, `(N, N)`.

    Time O(steps · E · N), memory O(N · COLUMNS_PER_TILE) and what is kept.
    """
    N = diffusion.adjacency.shape[0]
    tiles = []
    for start in range(0, N, COLUMNS_PER_TILE):
        columns = torch.arange(start, min(start + COLUMNS_PER_TILE, N))
        ones = torch.zeros(N, len(columns))
        ones[columns, columns - start] = 1
        tile = diffusion @ ones
        tile[tile < cutoff] = 0
        largest = tile.amax(0)
        tile /= largest.where(largest > 0, 1)
        tiles.append(scipy.sparse.csr_array(tile.numpy()))
    return Matrix(csr_from_scipy(scipy.sparse.hstack(tiles)))


METHOD = Method(
    name="mvgrl",
    fit=fit,
    Config=MVGRLConfig,
    kind="representation",
    citation="Hassani & Khasahmadi, Contrastive Multi-View Representation Learning on Graphs, ICML "
    "2020",
    cost="time O(K E D) with K rounds of diffusion, or O(K E N) once for a cut; memory O(E + N D)",
    source="The authors' code",
    sources={
        "cutoff": "The authors' code: S is cut on citeseer alone",
        "epochs": "The authors' code; patience ends training before",
    },
    ours={
        "steps": "rounds of the power iteration that stands for the inverse; what is cut off "
        "weighs 0.8^20 = 1 %",
    },
    presets={"citeseer": {"cutoff": 0.01}},
    reduced={"pubmed": {"epochs": 300}, "coauthor-cs": {"epochs": 300}},
    space={
        "alpha": (0.1, 0.2, 0.3),
        "dim": (256, 512),
        "lr": (5e-4, 1e-3, 2e-3),
        "patience": (20, 40),
    },
    deviations=(
        "S is never stored: products with it take 20 rounds over the edges. If it is "
        "thresholded, it is computed once, in tiles of columns, and stored sparse.",
        "The authors invert a dense matrix.",
        "A step sees the whole graph; the authors use four crops of 2,000 consecutive nodes, "
        "which depends on the order of the nodes.",
        "Attributes are scaled on every data set.",
    ),
)
