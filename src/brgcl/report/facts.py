"""Facts about the graph and the clusters of a run, counted from its files."""

from typing import Any

import numpy as np
import pandas as pd

from brgcl.report.run import Run


def graph_facts(run: Run) -> dict[str, Any]:
    """Count nodes, edges and degrees, and measure how often neighbours share their label.

    Returns:
        `num_nodes`, `num_labelled`; with edges also `num_edges`, `mean_degree`, `max_degree`,
        `isolated`, `degrees` (how many nodes have each range of degrees) and `homophily`: the
        share of edges between labelled nodes whose given labels agree, None without such edges.
    """
    N, labels = len(run.nodes), run.nodes.get("label_given")
    facts: dict[str, Any] = {"num_nodes": N}
    if labels is not None:
        facts["num_labelled"] = int(labels.notna().sum())
    if run.edges is None:
        return facts
    degrees = np.bincount(run.edges.ravel(), minlength=N)
    facts |= {
        "num_edges": len(run.edges),
        "mean_degree": float(degrees.mean()) if N else 0.0,
        "max_degree": int(degrees.max(initial=0)),
        "isolated": int((degrees == 0).sum()),
        "degrees": degree_ranges(degrees),
        "homophily": None,
    }
    if labels is not None:
        codes = pd.factorize(labels)[0]
        ends = codes[run.edges]
        known = (ends >= 0).all(axis=1)
        if known.any():
            facts["homophily"] = float((ends[known, 0] == ends[known, 1]).mean())
    return facts


def degree_ranges(degrees: np.ndarray) -> list[dict[str, Any]]:
    """Count nodes by degree, in ranges that double: 0, 1, 2, up to 4, up to 8, and so on.

    Example:
        >>> degree_ranges(np.array([0, 1, 1, 3]))[1:]
        [{'name': '1', 'count': 2}, {'name': '2', 'count': 0}, {'name': '≤ 4', 'count': 1}]
    """
    last = [0, 1, 2]  # the largest degree of each range
    while last[-1] < degrees.max(initial=0):
        last.append(2 * last[-1])
    counts = np.bincount(np.searchsorted(last, degrees), minlength=len(last))
    names = [str(top) if top < 3 else f"≤ {top}" for top in last]
    return [{"name": n, "count": int(c)} for n, c in zip(names, counts, strict=True)]


def cluster_facts(run: Run) -> list[dict[str, Any]]:
    """Size, purity and commonest label of each cluster, the largest first.

    Purity is the share of its labelled nodes whose given label is the commonest one; None where
    no node of the cluster is labelled.
    """
    if "cluster" not in run.nodes:
        return []
    frame = run.nodes[run.nodes["cluster"].fillna(-1) >= 0]
    facts = []
    for cluster, members in frame.groupby("cluster", sort=True):
        given = members["label_given"].dropna() if "label_given" in members else pd.Series()
        counts = given.value_counts()
        facts.append(
            {
                "cluster": int(str(cluster)),
                "size": len(members),
                "purity": float(counts.iloc[0] / len(given)) if len(given) else None,
                "commonest": str(counts.index[0]) if len(given) else None,
            }
        )
    return sorted(facts, key=lambda fact: -fact["size"])
