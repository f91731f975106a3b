"""Say in words which noise a graph has, and how much: in labels, edges and attributes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from brgcl.config import check_seed
from brgcl.data.graphs import check_graph
from brgcl.errors import InputError
from brgcl.tasks.attribute_errors import find_attribute_errors
from brgcl.tasks.checks import encode_classes
from brgcl.tasks.edge_errors import find_edge_errors
from brgcl.tasks.mixture import TooFew
from brgcl.tasks.smoothed_space import attribute_matrix, smoothed_representations

if TYPE_CHECKING:
    import pandas as pd
    from torch_geometric.data import Data

    from brgcl.tasks.out_of_fold import Report

NEGLIGIBLE = 0.005  # an interval that reaches down to this is no sign of noise
NOISE = {"labels": "wrong labels", "edges": "spurious edges", "attributes": "wrong attributes"}
WRONG = {
    "labels": "labels look wrong",
    "edges": "edges look no better than links between random nodes",
    "attributes": "nodes have attributes that contradict their neighbours",
}
CANNOT_JUDGE = {
    "edges": "Edges cannot be judged: nodes with an edge are no more alike than others.",
    "attributes": "Attributes cannot be judged: they do not depend on neighbours.",
}


@dataclass(frozen=True)
class Finding:
    """The result for one kind of noise.

    Attributes:
        kind: "labels", "edges" or "attributes".
        sentence: The verdict in words.
        noisy: Whether there is a sign of noise; None if it could not be judged.
        rate: Estimated share of wrong ones, or None.
        interval: Interval of the rate, or None.
        num_judged: Number of judged ones.
        num_suspects: Number of flagged ones.
    """

    kind: str
    sentence: str
    noisy: bool | None = None
    rate: float | None = None
    interval: tuple[float, float] | None = None
    num_judged: int = 0
    num_suspects: int = 0


@dataclass(frozen=True)
class Diagnosis:
    """The verdict on a graph.

    Attributes:
        findings: One per kind of noise; labels only if there were any.
        edges: What `find_edge_errors` returned, or None.
        attributes: What `find_attribute_errors` returned, or None.
    """

    findings: tuple[Finding, ...]
    edges: "pd.DataFrame | None" = None
    attributes: "pd.DataFrame | None" = None

    @property
    def sentences(self) -> list[str]:
        """The verdict in words, one sentence per kind of noise."""
        return [finding.sentence for finding in self.findings]

    def to_dict(self) -> dict[str, Any]:
        """The verdict, ready for JSON: `sentences`, and the numbers under each kind of noise."""
        numbers = {
            finding.kind: {
                "noisy": finding.noisy,
                "estimated_rate": finding.rate,
                "interval": None if finding.interval is None else list(finding.interval),
                "num_judged": finding.num_judged,
                "num_suspects": finding.num_suspects,
            }
            for finding in self.findings
        }
        return {"sentences": self.sentences, **numbers}


def diagnose(
    graph: "Data",
    z: Any = None,
    labels: Any = None,
    *,
    fdr: float = 0.1,
    seed: int = 0,
    report: "Report | None" = None,
) -> Diagnosis:
    """Estimate how many labels, edges and attributes of a graph are wrong.

    Args:
        graph: The graph, with attributes.
        z: Representations `(N, D)`. Without them, labels and edges are judged by smoothed
            attributes only.
        labels: Labels to judge, integers or names, -1 = unlabelled, `(N,)`; None judges no labels.
        fdr: Accepted share of false alarms among the flagged ones.
        seed: Random seed.
        report: Progress callback, called with the number of kinds of noise done, their total, and
            the next kind.

    Example:
        >>> import brgcl
        >>> graph = brgcl.make_graph(300, num_classes=3, avg_degree=6.0, homophily=0.9)
        >>> brgcl.diagnose(graph).to_dict()["edges"]["num_judged"] == graph.num_edges // 2
        True
    """
    graph = check_graph(graph, announce=False)
    findings, edges, attributes = [], None, None
    tell = report or (lambda done, total, words: None)
    total = 2 if labels is None else 3
    if labels is not None:
        tell(0, total, "labels")
        findings.append(_diagnose_labels(graph, z, labels, fdr, seed))
    tell(total - 2, total, "edges")
    try:
        edges = find_edge_errors(z, graph, labels=labels, fdr=fdr, seed=seed)
        findings.append(_finding("edges", edges.attrs))
    except TooFew as error:
        findings.append(Finding("edges", f"Edges were not judged: {error}."))
    tell(total - 1, total, "attributes")
    try:
        attributes = find_attribute_errors(graph, fdr=fdr, seed=seed)
        findings.append(_finding("attributes", attributes.attrs))
    except TooFew as error:
        findings.append(Finding("attributes", f"Attributes were not judged: {error}."))
    tell(total, total, "")
    return Diagnosis(tuple(findings), edges, attributes)


def _diagnose_labels(graph: "Data", z: Any, labels: Any, fdr: float, seed: int) -> Finding:
    _, codes = encode_classes(labels, int(graph.num_nodes or 0))
    from brgcl.tasks.label_errors import judge_labels

    if z is None:
        row, col = graph.edge_index.cpu().numpy()
        x, once = attribute_matrix(graph.x), row < col
        z = smoothed_representations(x, row[once], col[once], check_seed(seed))
    try:
        found = judge_labels(z, labels, graph=graph, fdr=fdr, seed=seed).to_dict()
    except InputError as error:  # the labels are well formed, so there is too little of them
        return Finding("labels", f"Labels were not judged: {error}.")
    summary = {
        "judged": True,
        "num_judged": int((codes >= 0).sum()),
        "num_suspects": found["num_suspects"],
        "estimated_rate": found["estimated_error_rate"],
        "interval": found["error_interval"],
    }
    return _finding("labels", summary)


def _finding(kind: str, summary: Mapping[Any, Any]) -> Finding:
    """Turn the numbers of one kind of noise into a verdict."""
    judged, suspects = summary["num_judged"], summary["num_suspects"]
    if not summary["judged"]:
        return Finding(kind, CANNOT_JUDGE[kind], num_judged=judged)
    low, high = summary["interval"]
    noisy = low > NEGLIGIBLE
    if noisy:
        count = (
            f"{suspects:,} of {judged:,} are flagged"
            if suspects
            else "none is certain enough to flag"
        )
        about = f"About {_percent(summary['estimated_rate'])} of the {WRONG[kind]}"
        sentence = f"{about} ({_percent(low)} to {_percent(high)}); {count}."
    else:
        sentence = f"No sign of {NOISE[kind]} (at most {_percent(high)} of {judged:,})."
    return Finding(kind, sentence, noisy, summary["estimated_rate"], (low, high), judged, suspects)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share < 0.0995 else f"{100 * share:.0f} %"
