"""How many graph convolutions the encoder has, found from the graph alone.

A layer averages over one more step of neighbours. It pays where nodes several steps away still tell
what a node is like, as in a citation graph with few edges per node, and blurs where they do not.
Which it is, attributes can say: those of some nodes are hidden and predicted from the others, once
from one step away and once from up to four.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from brgcl.config import BRGCLConfig
from brgcl.method.confidence import propagate_from
from brgcl.method.sparse import Matrix

DEEPEST = 2  # layers of "auto" at most
HIDDEN = 0.2  # share of the nodes whose attributes are predicted
COLUMNS = 64  # random projections that stand for the attributes where they are more
TELEPORT, FAR = 0.05, 4  # of the wider surroundings; how many steps they reach


def with_depth(
    config: BRGCLConfig, x: Matrix, transition: Matrix, num_nodes: int | None = None
) -> BRGCLConfig:
    """Resolve the setting `num_layers="auto"`: two layers, or one.

    It is one where attributes outnumber nodes, so that a linear map alone can perhaps tell all
    nodes apart, and where neighbours predict attributes better than wider surroundings do. Both
    are empirical: see "Encoder" in docs/method.md for what they rest on.

    Args:
        config: Settings; a number of layers that is set stays.
        x: Scaled attributes, `(n, F)`.
        transition: Row-stochastic adjacency with self-loops, `(n, n)`.
        num_nodes: N, where these are of a part of the graph.
    """
    if config.num_layers != "auto" or config.encoder == "own":
        return config
    one = x.shape[1] > (num_nodes or x.shape[0]) or neighbours_predict_best(x, transition)
    return config.replace(num_layers=1 if one else DEEPEST)


def neighbours_predict_best(x: Matrix, transition: Matrix) -> bool:
    """Whether nodes one step away predict attributes clearly better than wider surroundings do.

    Clearly is by two standard errors of the mean `lead_of_neighbours`.
    """
    lead = lead_of_neighbours(x, transition)
    return len(lead) > 1 and bool(lead.mean() > 2 * lead.std() / len(lead) ** 0.5)


def lead_of_neighbours(x: Matrix, transition: Matrix) -> Tensor:
    """How much better a node's neighbours predict its attributes than wider surroundings do.

    It is the cosine of its centred attributes with the mean of the neighbours, less that with nodes
    up to four steps away, for a fifth of the nodes, always the same ones, `(L,)`.

    Args:
        x: Scaled attributes, `(N, F)`.
        transition: Row-stochastic adjacency with self-loops, `(N, N)`.
    """
    generator = torch.Generator().manual_seed(0)
    rows = projected(x, generator)
    rows = rows - rows.mean(0)
    hidden = (torch.rand(len(rows), generator=generator) < HIDDEN).to(rows.device)
    known = rows.masked_fill(hidden[:, None], 0)
    wide = propagate_from(known, transition, TELEPORT, FAR + 1)
    near = F.cosine_similarity((transition @ known)[hidden], rows[hidden])
    return (near - F.cosine_similarity(wide[hidden], rows[hidden])).double()


def projected(x: Matrix, generator: torch.Generator) -> Tensor:
    """Attributes, or random projections of them that keep their cosines, `(N, <= COLUMNS)`."""
    if x.shape[1] <= COLUMNS:
        return x.dense
    directions = torch.randn(x.shape[1], COLUMNS, generator=generator)
    return x @ directions.to(x.data)
