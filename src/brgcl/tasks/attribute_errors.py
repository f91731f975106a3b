"""Find nodes whose attributes contradict their neighbourhood.

The nodes are dealt into five folds. The attributes of a fold are hidden, the others are smoothed
over the edges, and each hidden row is compared with what its neighbourhood lets one expect. So are
two kinds of chance: the row of another node of the fold (attributes that belong elsewhere), and the
node's own values at random places (garbage). `brgcl.tasks.mixture` turns the comparison into the
probability that the attributes are right.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from brgcl.config import check_seed
from brgcl.data.graphs import check_graph
from brgcl.tasks.mixture import (
    FEWEST,
    Share,
    TooFew,
    check_fdr,
    estimate_share,
    flag,
    log_ratios,
    probability_right,
    summary,
)
from brgcl.tasks.smoothed_space import (
    attribute_matrix,
    learn_weighting,
    normalized_adjacency,
    row_cosines,
    smoothed_directions,
    undirected_adjacency,
    unit_rows,
)

if TYPE_CHECKING:
    import pandas as pd
    from torch_geometric.data import Data

Array = NDArray[Any]
FOLDS = 5
STEPS = (1, 2, 4)  # of smoothing, after which a node is compared with its neighbourhood
KINDS = ("another node's", "random values")  # what wrong attributes look like
FEATURES = len(STEPS) + 4


def find_attribute_errors(graph: "Data", *, fdr: float = 0.1, seed: int = 0) -> "pd.DataFrame":
    """List the nodes, the most suspicious attributes first, and flag those that are probably wrong.

    Nodes without neighbours or without attributes are not judged and not listed. The cost is
    linear in the edges and the nonzero attributes.

    Args:
        graph: The graph, with attributes.
        fdr: Accepted share of right nodes among the flagged ones.
        seed: Seed of the folds and of the random attributes.

    Returns:
        One row per judged node: `node` (its id), `score` (probability that its attributes are
        right), `is_error`, `looks_like` (what they look like if wrong), `similarity` to its
        neighbours (mean cosine of the weighted attributes), `num_neighbours`, and `evidence`, a
        sentence. `attrs` has `judged`, `num_judged`, `num_suspects`, `estimated_rate` and its
        `interval` (see docs/diagnosis.md), `fdr_target` and `fdr_estimated`. If attributes are
        unrelated to edges, `judged` is False, all scores are NaN and nothing is flagged.

    Raises:
        InputError: There are fewer than 50 nodes to judge.
    """
    import pandas as pd

    graph = check_graph(graph, announce=False)
    check_fdr(fdr)
    rng = np.random.default_rng(check_seed(seed))
    x = attribute_matrix(graph.x)
    row, col = graph.edge_index.cpu().numpy()
    source, target = row[row < col], col[row < col]
    degree = np.bincount(row, minlength=x.shape[0])
    judged = (degree > 0) & (np.asarray(abs(x).sum(1)).ravel() > 0)
    if judged.sum() < FEWEST:
        raise TooFew(
            f"only {judged.sum()} nodes have neighbours and attributes; at least {FEWEST} are "
            "needed to judge attributes"
        )
    given, swapped, shuffled = hidden_features(x, source, target, judged, rng)
    at_given, at_swapped, at_shuffled = log_ratios(given, swapped, shuffled, rng=rng)
    shares = (
        estimate_share(at_given[:, 0], at_swapped[:, 0]),
        estimate_share(at_given[:, 1], at_shuffled[:, 1]),
    )
    total = _sum(*shares)
    if not total.judged:  # then attributes do not depend on neighbours
        shares = total, total
    score = probability_right(at_given, *shares)
    parts = at_given + np.log([max(share.rate, 1e-12) for share in shares])
    nodes = np.flatnonzero(judged)
    frame = pd.DataFrame(
        {
            "node": [graph.node_ids[i] for i in nodes.tolist()],
            "score": score,
            "is_error": flag(score, fdr),
            "looks_like": [KINDS[k] for k in parts.argmax(1).tolist()],
            "similarity": given[:, -2],
            "num_neighbours": degree[nodes],
        }
    )
    frame["evidence"] = _sentences(frame, np.sort(swapped[:, -2]), shares[0])
    frame = frame.iloc[np.lexsort((-parts.max(1), score))].reset_index(drop=True)
    frame.attrs.update(summary(total, frame, fdr))
    return frame


def hidden_features(
    x: Any, source: Array, target: Array, judged: Array, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """Compare attributes with the neighbourhood, from which the whole fold is hidden.

    Args:
        x: Attributes, as `attribute_matrix` gives them.
        source: One end of each edge, `(E,)`.
        target: The other.
        judged: Mask of the nodes to judge, `(N,)`.
        rng: Deals the folds, swaps and shuffles.

    Returns:
        Features `(M, D)` of the judged nodes with their own attributes, with those of another node
        of the fold, and with their own values at random places.
    """
    N = x.shape[0]
    smoothing = normalized_adjacency(source, target, N)
    adjacency = undirected_adjacency(source, target, N)
    nodes = np.flatnonzero(judged)
    fold = np.empty(N, dtype=np.int64)
    fold[nodes] = rng.permutation(len(nodes)) % FOLDS
    fold[~judged] = -1  # always seen
    garbage = shuffle_rows(x, rng)
    found = np.empty((3, N, FEATURES))
    for hidden in range(FOLDS):
        here, seen = np.flatnonzero(fold == hidden), fold != hidden
        weighting = learn_weighting(x[np.flatnonzero(seen)])
        weighted = weighting.apply(x)
        visible = scipy.sparse.diags_array(seen.astype(np.float32)) @ weighted
        directions = smoothed_directions(visible, smoothing, rng)
        centre = (weighted @ directions)[seen].mean(0)
        own = unit_rows(weighted @ directions - centre)
        smooth = [own * seen[:, None]]
        for _ in range(max(STEPS)):
            smooth.append(smoothing @ smooth[-1])
        near = adjacency[here]
        rows = weighted[here], weighted[np.roll(here, 1)], weighting.apply(garbage[here])
        for kind, row in enumerate(rows):
            in_space = row @ directions
            told = unit_rows(in_space - centre)
            block = [row_cosines(told, smooth[step][here]) for step in STEPS]
            block += _alike(told, own, near)
            block.append(_alike(row, weighted, near)[1])  # in all attributes
            block.append(np.sqrt((in_space * in_space).sum(1)))  # how much of them is usual
            found[kind, here] = np.stack(block, axis=1)
    return found[0, nodes], found[1, nodes], found[2, nodes]


def shuffle_rows(x: Any, rng: np.random.Generator) -> Any:
    """Put the values of every row at random places; the rows stay as sparse or dense as they are.

    In a sparse matrix two values may meet in one place, where they add up.
    """
    if not scipy.sparse.issparse(x):
        return rng.permuted(x, axis=1)
    column = rng.integers(x.shape[1], size=x.nnz)
    shuffled = scipy.sparse.csr_array((x.data.copy(), column, x.indptr.copy()), shape=x.shape)
    shuffled.sum_duplicates()
    return shuffled


def _alike(rows: Any, others: Any, near: Any) -> list[Array]:
    """Greatest and mean product of each row with its neighbours' rows, twice `(M,)`."""
    i = np.repeat(np.arange(rows.shape[0]), np.diff(near.indptr))
    product = np.empty(len(i))
    for part in np.array_split(np.arange(len(i)), len(i) // 2**18 + 1):
        a, b = rows[i[part]], others[near.indices[part]]
        both = a.multiply(b) if scipy.sparse.issparse(a) else a * b
        product[part] = np.asarray(both.sum(1)).ravel()
    greatest = np.full(rows.shape[0], -np.inf)
    np.maximum.at(greatest, i, product)
    mean = np.bincount(i, product, minlength=rows.shape[0]) / np.diff(near.indptr)
    return [greatest, mean]


def _sum(swapped: Share, shuffled: Share) -> Share:
    """Share of both kinds together; errors of the two estimates add up as if independent."""
    if not (swapped.judged and shuffled.judged):
        return swapped
    rate = swapped.rate + shuffled.rate
    below = np.hypot(swapped.rate - swapped.low, shuffled.rate - shuffled.low)
    above = np.hypot(swapped.high - swapped.rate, shuffled.high - shuffled.rate)
    return Share(min(rate, 1.0), max(float(rate - below), 0.0), min(float(rate + above), 1.0))


def _sentences(frame: "pd.DataFrame", chance: Array, share: Share) -> list[str]:
    if not share.judged:
        return ["Not judged: attributes do not depend on neighbours here."] * len(frame)
    beaten = np.searchsorted(chance, frame["similarity"].to_numpy(), side="left") / len(chance)
    sentences = []
    for percent, count, kind, wrong in zip(
        beaten, frame["num_neighbours"], frame["looks_like"], frame["is_error"], strict=True
    ):
        whose = "neighbour" if count == 1 else f"{count} neighbours"
        text = f"More alike its {whose} than {percent:.0%} of other nodes would be"
        sentences.append(f"{text}; looks like {kind}." if wrong else f"{text}.")
    return sentences
