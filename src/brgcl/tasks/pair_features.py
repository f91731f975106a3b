"""What is known of a pair of nodes, from a graph without the edge between them.

The edges are dealt into ten folds. Those of a fold are judged in the smoothed space
(`brgcl.tasks.smoothed_space`) of the graph that has the other nine.
"""

import itertools
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from brgcl.tasks.mixture import FEWEST, TooFew
from brgcl.tasks.smoothed_space import (
    learn_weighting,
    normalized_adjacency,
    row_cosines,
    smoothed_directions,
    undirected_adjacency,
    unit_rows,
)

Array = NDArray[Any]
FOLDS = 10
PAIRS_PER_EDGE = 2
MOST_PAIRS = 200_000
STEPS = (0, 1, 2, 4)  # of smoothing, after which the two ends are compared
ATTRIBUTE_FEATURES = 1 + len(STEPS) + 2  # features that are there without representations
CHUNK = 2**18  # pairs whose rows are held at a time
RIDGE = 10.0  # penalty of the regression of representations on attributes


def random_pairs(
    source: Array, target: Array, num_nodes: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Pairs of random nodes without an edge, two per edge and at most 200,000."""
    count = min(PAIRS_PER_EDGE * len(source), MOST_PAIRS)
    known = np.sort(source * num_nodes + target)
    a, b = np.sort(rng.integers(num_nodes, size=(2, 4 * count)), axis=0)
    free = (a != b) & ~_among(a * num_nodes + b, known)
    a, b = a[free][:count], b[free][:count]
    if len(a) < min(count, FEWEST):
        raise TooFew(
            "almost every pair of nodes has an edge; there are no pairs to compare edges with"
        )
    return a, b


def left_out_features(
    x: Any,
    source: Array,
    target: Array,
    pairs: tuple[Array, Array],
    hint: Array | None,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Features of edges and of pairs, from a graph that lacks the edges of their fold.

    Args:
        x: Attributes, as `attribute_matrix` gives them.
        source: One end of each edge, `(E,)`.
        target: The other.
        pairs: Pairs to be judged in the same way, `(P,)` and `(P,)`.
        hint: Representations `(N, D)` or None.
        rng: Deals the folds.

    Returns:
        Features of the edges `(E, D')` and of the pairs `(P, D')`; the first `ATTRIBUTE_FEATURES`
        owe nothing to the representations.
    """
    N, E = x.shape[0], len(source)
    left, right = np.concatenate([source, pairs[0]]), np.concatenate([target, pairs[1]])
    fold = np.concatenate([rng.permutation(E) % FOLDS, rng.permutation(len(pairs[0])) % FOLDS])
    weighted = learn_weighting(x).apply(x)
    node_fold = rng.permutation(N) % 5
    width = ATTRIBUTE_FEATURES if hint is None else 2 * ATTRIBUTE_FEATURES - 1
    features = np.empty((len(left), width))
    for held_out in range(FOLDS):
        kept = fold[:E] != held_out
        smoothing = normalized_adjacency(source[kept], target[kept], N)
        own = weighted @ smoothed_directions(weighted, smoothing, rng)
        own = unit_rows(own - own.mean(0))
        judged = np.flatnonzero(fold == held_out)
        i, j = left[judged], right[judged]
        edges = source[kept], target[kept]
        features[judged, 0] = np.log1p(count_common_neighbours(i, j, edges, N))
        features[judged, 1:ATTRIBUTE_FEATURES] = _compare(own, smoothing, i, j)
        if hint is not None:
            told = unit_rows(_predict(own, hint, node_fold))
            features[judged, ATTRIBUTE_FEATURES:] = _compare(told, smoothing, i, j)
    return features[:E], features[E:]


def _compare(own: Array, smoothing: Any, i: Array, j: Array) -> Array:
    """Cosines of two ends after each number of steps, and of each end with the other's smooth."""
    smooth = [own]
    for _ in range(max(STEPS)):
        smooth.append(smoothing @ smooth[-1])
    found = np.empty((len(i), len(STEPS) + 2))
    for part in np.array_split(np.arange(len(i)), len(i) // CHUNK + 1):
        a, b = i[part], j[part]
        for column, step in enumerate(STEPS):
            found[part, column] = row_cosines(smooth[step][a], smooth[step][b])
        crossed = row_cosines(own[a], smooth[2][b]), row_cosines(own[b], smooth[2][a])
        found[part, -2], found[part, -1] = np.minimum(*crossed), np.maximum(*crossed)
    return found


def _predict(own: Array, hint: Array, node_fold: Array) -> Array:
    """What the attributes alone say of each representation: ridge regression, out of fold."""
    hint = hint - hint.mean(0)
    told = np.empty_like(hint)
    for fold in np.unique(node_fold):
        here = node_fold == fold
        gram = own[~here].T @ own[~here] + RIDGE * np.eye(own.shape[1], dtype=own.dtype)
        told[here] = own[here] @ np.linalg.solve(gram, own[~here].T @ hint[~here])
    return told


def count_common_neighbours(
    i: Array, j: Array, edges: tuple[Array, Array], num_nodes: int
) -> Array:
    """Number of common neighbours of each pair, `(M,)`.

    The neighbours of the end with fewer of them are looked up among the edges of the other.
    """
    adjacency = undirected_adjacency(*edges, num_nodes)
    start, neighbour = adjacency.indptr.astype(np.int64), adjacency.indices.astype(np.int64)
    degree = np.diff(start)
    key = np.repeat(np.arange(num_nodes), degree) * num_nodes + neighbour  # ascends
    swap = degree[i] > degree[j]
    few, other = np.where(swap, j, i), np.where(swap, i, j)
    ends = np.cumsum(degree[few])
    found = np.zeros(len(i), dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    cuts = [0, *np.searchsorted(ends, np.arange(CHUNK, total, CHUNK)), len(i)]
    for begin, end in itertools.pairwise(cuts):
        width = degree[few[begin:end]]
        pair = np.repeat(np.arange(begin, end), width)
        place = np.arange(width.sum()) - np.repeat(np.cumsum(width) - width, width)
        third = neighbour[start[few[pair]] + place]
        hit = _among(other[pair] * num_nodes + third, key)
        found += np.bincount(pair[hit], minlength=len(i))
    return found


def pair_facts(
    x: Any, i: Array, j: Array, edges: tuple[Array, Array], rng: np.random.Generator
) -> dict[str, Array]:
    """What a person can check of each pair, which may be an edge or not.

    Args:
        x: Attributes, as `attribute_matrix` gives them.
        i: One end of each pair, `(M,)`.
        j: The other.
        edges: The graph, each edge once.
        rng: For the directions of the smoothed space.

    Returns:
        `attribute_cosine` of the weighted attributes, `others_cosine` of `leave_one_out_means` in
        the smoothed space (NaN where an end has no other neighbour) and `common_neighbours`.
    """
    N = x.shape[0]
    weighted = learn_weighting(x).apply(x)
    own = weighted @ smoothed_directions(weighted, normalized_adjacency(*edges, N), rng)
    own = unit_rows(own - own.mean(0))
    alike, others = np.empty(len(i)), np.empty(len(i))
    for part in np.array_split(np.arange(len(i)), len(i) // CHUNK + 1):
        a, b = weighted[i[part]], weighted[j[part]]
        product = a.multiply(b) if scipy.sparse.issparse(a) else a * b
        alike[part] = np.asarray(product.sum(1)).ravel()
        others[part] = row_cosines(*leave_one_out_means(own, i[part], j[part], edges))
    common = count_common_neighbours(i, j, edges, N)
    return {"attribute_cosine": alike, "others_cosine": others, "common_neighbours": common}


def leave_one_out_means(
    own: Array, i: Array, j: Array, edges: tuple[Array, Array]
) -> tuple[Array, Array]:
    """Mean over the neighbours of each end of a pair other than the other end, twice `(M, D)`.

    In closed form: the sum over all neighbours minus the other end, if that is one of them. NaN
    where there is no other neighbour.
    """
    N = len(own)
    adjacency = undirected_adjacency(*edges, N)
    total, degree = adjacency @ own, np.diff(adjacency.indptr)
    is_edge = _among(_keys(i, j, N), np.sort(_keys(*edges, N)))

    def mean(end: Array, other: Array) -> Array:
        count = (degree[end] - is_edge)[:, None]
        left = total[end] - own[other] * is_edge[:, None]
        nothing = np.full_like(left, np.nan)
        return np.asarray(np.divide(left, count, out=nothing, where=count > 0))

    return mean(i, j), mean(j, i)


def _keys(source: Array, target: Array, num_nodes: int) -> Array:
    keys: Array = np.minimum(source, target) * num_nodes + np.maximum(source, target)
    return keys


def _among(keys: Array, ascending: Array) -> Array:
    place = np.searchsorted(ascending, keys)
    inside = place < len(ascending)
    inside[inside] = ascending[place[inside]] == keys[inside]
    return inside
