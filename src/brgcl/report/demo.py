"""The demonstration: generated graphs with known noise, BRGCL against a GCN.

The noise is fixed: 30 % of the training labels wrong (symmetric), 20 % of the attribute values
taken from other nodes, 10 % spurious edges.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

import torch

from brgcl.config import BRGCLConfig
from brgcl.evaluation.evaluate import Evaluation, Progress, Run, evaluate
from brgcl.evaluation.score import Classified
from brgcl.noise.graph import Noise
from brgcl.noise.spec import NoiseSpec
from brgcl.tasks.label_errors import find_label_errors
from brgcl.tasks.metrics import nmi

if TYPE_CHECKING:
    import pandas as pd

DEMO_NOISE = Noise(
    labels=NoiseSpec("symmetric", 0.3),
    attributes=NoiseSpec("cell", 0.2),
    edges=NoiseSpec("add", 0.1),
)


@dataclass(frozen=True)
class Demo:
    """BRGCL and a GCN on the same generated graphs; no validation labels are used.

    Attributes:
        ours: The runs of BRGCL.
        rows: What came out for each graph: accuracy of a GCN trained on the noisy labels and of a
            classifier on BRGCL's representations; clusters that BRGCL found and their NMI with the
            classes; labels that are wrong and that were suspected, with precision and recall.
        suspects: The training labels of the first graph, the most suspicious first.
    """

    ours: Evaluation
    rows: Sequence[Mapping[str, float]]
    suspects: "pd.DataFrame"

    @property
    def capped(self) -> bool:
        """Whether a number of clusters stopped at its cap, so that it is a lower bound."""
        return any(run.fitted.clustering.capped for run in self.ours.runs if run.fitted.clustering)

    def summary(self) -> dict[str, Any]:
        """Means over the generated graphs, by the names that `--json` prints."""
        values = {name: [row[name] for row in self.rows] for name in self.rows[0]}
        total: dict[str, Any] = {"n": len(self.rows)}
        total |= {f"{name}_mean": mean(column) for name, column in values.items()}
        for name in ("brgcl_accuracy", "gcn_accuracy"):
            total[f"{name}_std"] = stdev(values[name]) if len(self.rows) > 1 else None
        total["difference_mean"] = total["brgcl_accuracy_mean"] - total["gcn_accuracy_mean"]
        total["num_clusters_capped"] = self.capped
        return total | {"noise_realised": self.ours.summary()["noise_realised"]}

    def comparison(self) -> dict[str, Any]:
        """The table of both methods, one row per graph and their mean, as text."""
        means = {name.removesuffix("_mean"): value for name, value in self.summary().items()}
        named = [(str(run.seed), row) for run, row in zip(self.ours.runs, self.rows, strict=True)]
        rows = [_cells(name, row, self.capped) for name, row in [*named, ("mean", means)]]
        return {"title": TITLE, "columns": COLUMNS, "rows": rows, "note": NOTE}

    def sentence(self) -> str:
        """Say which method is better."""
        total = self.summary()
        return (
            f"Over {len(self.rows)} graphs, the mean accuracy of BRGCL is {_mean(total, 'brgcl')}; "
            f"that of a GCN trained on the same noisy labels is {_mean(total, 'gcn')}."
        )


TITLE = "BRGCL and a GCN on the same noisy labels"
COLUMNS = ("seed", "GCN", "BRGCL", "points", "K", "NMI", "wrong", "found", "prec", "rec")
NOTE = (
    "Accuracy on test nodes, and the difference in points. K: number of clusters, found without "
    "labels; NMI: their agreement with the classes. wrong: wrong training labels; found: labels "
    "flagged as wrong, with their precision and recall."
)


def run_demo(
    seeds: Sequence[int], config: BRGCLConfig | None = None, progress: Progress | None = None
) -> Demo:
    """Generate graphs, make them noisy, run both methods and look for wrong labels."""
    ours, gcn = (
        evaluate(
            "demo", method, config=settings, noise=DEMO_NOISE, protocol="no-val", seeds=seeds,
            progress=progress,
        )
        for method, settings in (("brgcl", config), ("gcn", None))
    )  # fmt: skip
    judged = [_judge(run) for run in ours.runs]
    rows = [_row(*each) for each in zip(ours.runs, gcn.runs, judged, strict=True)]
    return Demo(ours, rows, judged[0])


def _judge(run: Run) -> "pd.DataFrame":
    z, given, confidence = run.fitted.representations, run.noisy.labels.train, run.fitted.confidence
    return find_label_errors(z, given, graph=run.noisy.graph, confidence=confidence, seed=run.seed)


def _row(ours: Run, gcn: Run, errors: "pd.DataFrame") -> dict[str, float]:
    given, truth = ours.noisy.labels.train, ours.noisy.truth.y
    clusters = ours.fitted.clustering
    assert clusters is not None
    nodes = torch.tensor(errors["node"].tolist())
    wrong = given[nodes] != truth[nodes]
    suspected = torch.tensor(errors["is_error"].tolist())
    num_wrong, num_suspected = int(wrong.sum()), int(suspected.sum())
    hits = int((wrong & suspected).sum())
    return {
        "gcn_accuracy": _accuracy(gcn),
        "brgcl_accuracy": _accuracy(ours),
        "num_clusters": clusters.num_clusters,
        "nmi": nmi(clusters.assignment, truth),
        "wrong": num_wrong,
        "suspected": num_suspected,
        "precision": hits / max(1, num_suspected),
        "recall": hits / max(1, num_wrong),
    }


def _accuracy(run: Run) -> float:
    assert isinstance(run.outcome, Classified)
    assert run.outcome.accuracy is not None  # a generated graph has a truth
    return run.outcome.accuracy


def _cells(name: str, row: Mapping[str, Any], capped: bool) -> list[str]:
    gain = row["brgcl_accuracy"] - row["gcn_accuracy"]
    return [
        name, f"{row['gcn_accuracy']:.3f}", f"{row['brgcl_accuracy']:.3f}", f"{100 * gain:+.1f}",
        f"{'≥ ' if capped else ''}{row['num_clusters']:g}", f"{row['nmi']:.3f}",
        f"{row['wrong']:g}", f"{row['suspected']:g}", f"{row['precision']:.2f}",
        f"{row['recall']:.2f}",
    ]  # fmt: skip


def _mean(total: Mapping[str, Any], name: str) -> str:
    spread = total[f"{name}_accuracy_std"]
    return f"{total[f'{name}_accuracy_mean']:.3f}" + ("" if spread is None else f" ± {spread:.3f}")
