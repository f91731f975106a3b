"""Find edges that contradict what is known of their ends.

A network that smooths over edges pulls the ends of every edge together, so its representations make
a wrong edge look right. Here an edge is judged on a graph without it: the edges are dealt into ten
folds, and those of a fold are judged by attributes that were smoothed over the other nine. Pairs of
random nodes are judged in the same way, and `brgcl.tasks.mixture` turns the comparison into the
probability that an edge is right.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from brgcl.config import check_seed
from brgcl.data.graphs import check_graph
from brgcl.errors import InputError
from brgcl.tasks.checks import check_representations, class_name, encode_classes
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
from brgcl.tasks.pair_features import (
    ATTRIBUTE_FEATURES,
    left_out_features,
    pair_facts,
    random_pairs,
)
from brgcl.tasks.smoothed_space import attribute_matrix

if TYPE_CHECKING:
    import pandas as pd
    from torch_geometric.data import Data

Array = NDArray[Any]


def find_edge_errors(
    z: Any, graph: "Data", *, labels: Any = None, fdr: float = 0.1, seed: int = 0
) -> "pd.DataFrame":
    """List all edges, the most suspicious first, and flag those that are probably wrong.

    Direction, duplicates, loops and weights of edges are ignored. Labels are not used to judge
    edges, so wrong labels are not mistaken for wrong edges. The cost is linear in the edges (times
    the arboricity of the graph, for common neighbours).

    Args:
        z: Representations `(N, D)`, which show which attributes matter; None uses attributes only.
        graph: The graph, with attributes.
        labels: Labels `(N,)`, integers or names, -1 = unlabelled, to show beside each edge.
        fdr: Accepted share of right edges among the flagged ones.
        seed: Seed of folds and random pairs.

    Returns:
        One row per undirected edge: `source` and `target` (ids), `score` (probability that the edge
        is right), `is_error`, `attribute_cosine` (weighted attributes of the two ends),
        `others_cosine` (means over their other neighbours in the smoothed space, NaN without),
        `common_neighbours`, `source_label` and `target_label` if there are labels, and `evidence`,
        a sentence. `attrs` has `judged`, `num_judged`, `num_suspects`, `estimated_rate` and its
        `interval` (see docs/diagnosis.md), `fdr_target` and `fdr_estimated`. If attributes carry no
        information about edges, `judged` is False, all scores are NaN and nothing is flagged.

    Raises:
        InputError: There are fewer than 50 edges, or hardly any pair of nodes without an edge.
    """
    import pandas as pd

    graph = check_graph(graph, announce=False)
    N = int(graph.num_nodes or 0)
    hint = None if z is None else check_representations(z).cpu().numpy()
    if hint is not None and len(hint) != N:
        raise InputError(f"the graph has {N} nodes but z has {len(hint)} rows")
    check_fdr(fdr)
    names = None if labels is None else _label_names(labels, graph)
    rng = np.random.default_rng(check_seed(seed))
    row, col = graph.edge_index.cpu().numpy()
    source, target = row[row < col], col[row < col]
    if len(source) < FEWEST:
        raise TooFew(
            f"the graph has {len(source)} edges; at least {FEWEST} are needed to tell right edges "
            "from random pairs"
        )
    pairs = random_pairs(source, target, N, rng)
    x = attribute_matrix(graph.x)
    of_edges, of_pairs = left_out_features(x, source, target, pairs, hint, rng)
    # representations have seen the edges, a little of which is left: they rank, but do not count
    unseen = slice(0, ATTRIBUTE_FEATURES)
    at_edges, at_pairs = log_ratios(of_edges[:, unseen], of_pairs[:, unseen], rng=rng)
    share = estimate_share(at_edges[:, 0], at_pairs[:, 0])
    if hint is not None:
        at_edges, _ = log_ratios(of_edges, of_pairs, rng=rng)
    score = probability_right(at_edges, share)

    ends = np.concatenate([source, pairs[0]]), np.concatenate([target, pairs[1]])
    facts = pair_facts(x, *ends, (source, target), rng)
    columns = {name: values[: len(source)] for name, values in facts.items()}
    chance = {name: values[len(source) :] for name, values in facts.items()}
    ids = graph.node_ids
    frame = pd.DataFrame(
        {
            "source": [ids[i] for i in source.tolist()],
            "target": [ids[i] for i in target.tolist()],
            "score": score,
            "is_error": flag(score, fdr),
            **columns,
        }
    )
    for name, end in (("source_label", source), ("target_label", target)):
        if names is not None:
            frame[name] = [names[node] for node in end.tolist()]
    frame["evidence"] = _sentences(columns, chance, share)
    order = np.lexsort((-at_edges[:, 0], score))  # ties, and NaN, by the ratio
    frame = frame.iloc[order].reset_index(drop=True)
    frame.attrs.update(summary(share, frame, fdr))
    return frame


def _label_names(labels: Any, graph: "Data") -> list[str | int | None]:
    """Name of the label of each node, `(N,)`; None = unlabelled."""
    classes, codes = encode_classes(labels, int(graph.num_nodes or 0))
    names = [*(class_name(label, graph) for label in classes.tolist()), None]  # the last is for -1
    return [names[code] for code in codes.tolist()]


def _sentences(facts: dict[str, Array], chance: dict[str, Array], share: Share) -> list[str]:
    """One sentence per edge, in percentiles of random pairs."""
    if not share.judged:
        return ["Not judged: attributes do not tell edges from random pairs here."] * len(
            facts["attribute_cosine"]
        )

    def beaten(name: str) -> Array:
        known = np.sort(chance[name][~np.isnan(chance[name])])
        return np.searchsorted(known, facts[name], side="left") / max(len(known), 1)

    own, others = beaten("attribute_cosine"), beaten("others_cosine")
    sentences = []
    for a, b, cosine, common in zip(
        own, others, facts["others_cosine"], facts["common_neighbours"], strict=True
    ):
        neighbours = (
            "one end has no other neighbour"
            if np.isnan(cosine)
            else f"their other neighbours are more alike than {b:.0%} of random pairs'"
        )
        shared = {0: "no common neighbour", 1: "one common neighbour"}.get(
            int(common), f"{common} common neighbours"
        )
        sentences.append(
            f"The ends are more alike than {a:.0%} of random pairs, {neighbours}, {shared}."
        )
    return sentences
