"""The demonstration: a generated graph with known noise, BRGCL against a GCN.

The noise is fixed: 30 % of the training labels wrong (symmetric), 20 % of the attribute cells
taken from other nodes, 10 % spurious edges.
"""

from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

import torch
from torch_geometric.data import Data

from brgcl.baselines.gcn import GCNConfig
from brgcl.config import BRGCLConfig
from brgcl.contract import Fitted, Reporter
from brgcl.data import load_dataset
from brgcl.evaluate.protocol import NoisyGraph, draw_noisy_graph
from brgcl.evaluate.score import Classified, classify_one, fit_one
from brgcl.model import BRGCL
from brgcl.noise import NoiseSpec
from brgcl.noise.graph import Noise
from brgcl.report.report import Report, Table, draw_history, draw_map
from brgcl.tasks.label_errors import find_label_errors
from brgcl.tasks.metrics import nmi

DEMO_NOISE = Noise(
    labels=NoiseSpec("symmetric", 0.3),
    attributes=NoiseSpec("cell", 0.2),
    edges=NoiseSpec("add", 0.1),
)


@dataclass(frozen=True)
class DemoRow:
    """What came out for one generated graph.

    Attributes:
        seed: Seed of the graph, its noise and the training.
        data: The graph as it was before noise.
        noisy: The graph as observed, and the truth.
        fitted: What BRGCL learned.
        ours: BRGCL, with a classifier on its representations.
        gcn: A GCN trained on the same noisy labels.
        num_clusters: Prototypes that BRGCL found.
        capped: Whether their number stopped at the cap.
        nmi: Agreement of these clusters with the classes.
        wrong: Wrong labels that were there.
        suspected: Labels that were called wrong.
        precision: Share of suspected labels that are wrong.
        recall: Share of wrong labels that were suspected.
    """

    seed: int
    data: Data
    noisy: NoisyGraph
    fitted: Fitted
    ours: Classified
    gcn: Classified
    num_clusters: int
    capped: bool
    nmi: float
    wrong: int
    suspected: int
    precision: float
    recall: float


def run_demo(
    seed: int,
    *,
    config: BRGCLConfig | None = None,
    report: Reporter | None = None,
) -> DemoRow:
    """Generate a graph, make it noisy, run both methods and look for wrong labels.

    No validation labels are used: this is what a user with only noisy labels gets.

    Args:
        seed: Seed of everything.
        config: Settings of BRGCL.
        report: Called as training goes on.
    """
    data = load_dataset("demo", seed=seed)
    noisy = draw_noisy_graph(data, noise=DEMO_NOISE, protocol="no-val", seed=seed)
    config = config or BRGCLConfig()
    fitted = fit_one(noisy, "brgcl", config, seed, report)
    ours = classify_one(noisy, fitted, seed=seed)
    gcn = classify_one(noisy, fit_one(noisy, "gcn", GCNConfig(), seed, report), seed=seed)
    model: BRGCL = fitted.model
    given = noisy.labels.train
    errors = find_label_errors(fitted.representations, given, graph=noisy.graph, seed=seed)
    nodes = torch.tensor(errors["node"].tolist())
    truly = given[nodes] != noisy.truth.y[nodes]
    called = torch.tensor(errors["is_error"].tolist())
    found = int((truly & called).sum())
    return DemoRow(
        seed=seed,
        data=data,
        noisy=noisy,
        fitted=fitted,
        ours=ours,
        gcn=gcn,
        num_clusters=model.num_prototypes_,
        capped=model.num_prototypes_capped_,
        nmi=nmi(model.pseudo_labels_, noisy.truth.y),
        wrong=int(truly.sum()),
        suspected=int(called.sum()),
        precision=found / max(1, int(called.sum())),
        recall=found / max(1, int(truly.sum())),
    )


def summarize_demo(rows: list[DemoRow]) -> dict[str, Any]:
    """Means over the generated graphs, for `--json`."""
    ours = [row.ours.accuracy or 0.0 for row in rows]
    gcn = [row.gcn.accuracy or 0.0 for row in rows]
    spread = len(rows) > 1
    return {
        "n": len(rows),
        "brgcl_accuracy_mean": mean(ours),
        "brgcl_accuracy_std": stdev(ours) if spread else None,
        "gcn_accuracy_mean": mean(gcn),
        "gcn_accuracy_std": stdev(gcn) if spread else None,
        "difference_mean": mean(ours) - mean(gcn),
        "num_clusters_mean": mean(row.num_clusters for row in rows),
        "num_clusters_capped": any(row.capped for row in rows),
        "nmi_mean": mean(row.nmi for row in rows),
        "wrong_mean": mean(row.wrong for row in rows),
        "suspected_mean": mean(row.suspected for row in rows),
        "precision_mean": mean(row.precision for row in rows),
        "recall_mean": mean(row.recall for row in rows),
        "noise_realised": mean(row.noisy.label_noise for row in rows),
    }


COLUMNS = ("seed", "GCN", "BRGCL", "points", "K", "NMI", "wrong", "found", "prec", "rec")


def demo_report(rows: list[DemoRow]) -> Report:
    """Put the demonstration's table and pictures together."""
    total = summarize_demo(rows)
    cells = [
        _cells(str(r.seed), r.gcn.accuracy or 0, r.ours.accuracy or 0, r.num_clusters, r.nmi,
               r.wrong, r.suspected, r.precision, r.recall, capped=r.capped)
        for r in rows
    ]  # fmt: skip
    names = ("gcn_accuracy", "brgcl_accuracy", "num_clusters", "nmi", "wrong", "suspected",
             "precision", "recall")  # fmt: skip
    figures = [total[f"{name}_mean"] for name in names]
    cells.append(_cells("mean", *figures, capped=total["num_clusters_capped"]))
    spread = {
        name: ""
        if total[f"{name}_accuracy_std"] is None
        else f" ± {total[f'{name}_accuracy_std']:.3f}"
        for name in ("brgcl", "gcn")
    }
    first = rows[0]
    model: BRGCL = first.fitted.model
    return Report(
        title="brgcl demonstration",
        summary=[
            "Generated citation-like graphs: 2,000 nodes, 7 classes, 20 labels a class. "
            f"Noise: {DEMO_NOISE}. No validation labels were used.",
            f"Over {len(rows)} graphs BRGCL classifies {total['brgcl_accuracy_mean']:.3f}"
            f"{spread['brgcl']} of the test nodes right, a GCN trained on the same noisy labels "
            f"{total['gcn_accuracy_mean']:.3f}{spread['gcn']}.",
        ],
        tables=[
            Table(
                "BRGCL and a GCN on the same noisy labels",
                COLUMNS,
                cells,
                "Accuracy on test nodes and the difference in points; K clusters found without "
                "labels and their NMI with the classes; training labels that were wrong, that were "
                "called wrong, and the precision and recall of that.",
            )
        ],
        pictures=[
            draw_map(model.representations_, model.confidence_, first.noisy.truth.y, "true class"),
            draw_history(model.history_),
        ],
        settings=model.config.to_dict(),
    )


def _cells(
    name: str,
    gcn: float,
    ours: float,
    clusters: float,
    nmi: float,
    wrong: float,
    suspected: float,
    precision: float,
    recall: float,
    *,
    capped: bool,
) -> list[str]:
    return [
        name, f"{gcn:.3f}", f"{ours:.3f}", f"{100 * (ours - gcn):+.1f}",
        f"{'≥ ' if capped else ''}{clusters:g}",
        f"{nmi:.3f}", f"{wrong:g}", f"{suspected:g}", f"{precision:.2f}", f"{recall:.2f}",
    ]  # fmt: skip
