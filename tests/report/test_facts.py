import numpy as np
import pandas as pd

from brgcl.report.facts import cluster_facts, degree_ranges, graph_facts
from brgcl.report.run import Run


def a_run(tmp_path, edges=None, **columns):
    return Run(tmp_path, pd.DataFrame(columns), {}, None if edges is None else np.array(edges))


def test_a_small_graph_is_counted(tmp_path):
    labels = ["a", "a", "b", None, "b"]
    run = a_run(tmp_path, [[0, 1], [1, 2], [2, 3]], node_id=range(5), label_given=labels)
    facts = graph_facts(run)
    assert facts["num_nodes"] == 5
    assert facts["num_labelled"] == 4
    assert facts["num_edges"] == 3
    assert facts["mean_degree"] == 6 / 5
    assert facts["max_degree"] == 2
    assert facts["isolated"] == 1
    assert facts["homophily"] == 1 / 2  # of two edges between labelled nodes


def test_every_node_is_in_one_range_of_degrees():
    degrees = np.random.default_rng(0).integers(0, 300, 1000)
    ranges = degree_ranges(degrees)
    assert sum(entry["count"] for entry in ranges) == 1000
    tops = [int(entry["name"].removeprefix("≤ ")) for entry in ranges]
    for low, top, entry in zip([-1, *tops], tops, ranges, strict=False):
        assert entry["count"] == ((degrees > low) & (degrees <= top)).sum()


def test_purity_counts_labelled_members_only(tmp_path):
    run = a_run(
        tmp_path, node_id=range(6), cluster=[0, 0, 0, 1, -1, 0],
        label_given=["a", "a", "b", None, "a", None],
    )  # fmt: skip
    assert cluster_facts(run) == [
        {"cluster": 0, "size": 4, "purity": 2 / 3, "commonest": "a"},
        {"cluster": 1, "size": 1, "purity": None, "commonest": None},
    ]


def test_a_run_without_labels_edges_or_clusters_has_few_facts(tmp_path):
    run = a_run(tmp_path, node_id=[1, 2])
    assert graph_facts(run) == {"num_nodes": 2}
    assert cluster_facts(run) == []
