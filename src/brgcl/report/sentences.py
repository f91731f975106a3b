"""The sentences that a reader sees first: what was found, how sure it is, what to do next."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from brgcl.report.run import Run


@dataclass(frozen=True)
class Headline:
    """A sentence, the number or word that stands above it, and a command that goes with it.

    Attributes:
        warns: Whether it tells of something wrong.
    """

    figure: str
    text: str
    command: str = ""
    warns: bool = False


def headlines(run: Run) -> list[Headline]:
    """Say in three sentences what a run found."""
    if run.suspects is not None and len(run.suspects):
        return _about_labels(run, run.suspects)
    return [*_about_results(run), _next_without_suspects(run)]


def _about_labels(run: Run, judged: pd.DataFrame) -> list[Headline]:
    found = run.findings
    labels, suspects = len(judged), int(judged["is_error"].sum())
    rate, interval = found.get("estimated_error_rate"), found.get("error_interval")
    fdr = found.get("fdr_estimated")
    if suspects:
        verb = "label looks" if suspects == 1 else "labels look"
        text = f"{verb} wrong, out of {labels:,} judged labels."
        first = Headline(f"{suspects:,}", text, warns=True)
    else:
        first = Headline("None", f"of the {labels:,} judged labels is flagged as wrong.")
    sure = []
    if rate is not None:
        between = f" (95 % interval {_range(*interval)})" if interval else ""
        number = f"{rate * labels:,.0f}"
        sure.append(f"of all labels, about {number}, are estimated to be wrong{between}.")
    if suspects == 1 and fdr is not None:
        sure.append(f"One label is flagged; the probability that it is right is {percent(fdr)}.")
    elif suspects and fdr is not None:
        sure.append(
            f"{suspects:,} labels are flagged; about {percent(fdr)} of them are expected to be "
            "right."
        )
    elif rate is not None and rate * labels >= 1:
        sure.append(
            "No single label is suspicious enough to be flagged; the table lists the most "
            "suspicious first."
        )
    figure = "Unknown" if rate is None else f"{percent(rate)}"
    second = Headline(figure, " ".join(sure) or "number of wrong labels.")
    folder = shlex.quote(str(run.path))
    if suspects:
        third = Headline("Next", "review the suspects one by one:", f"brgcl review {folder}")
    else:
        text = "check some labels drawn at random to see how many are wrong:"
        third = Headline("Next", text, f"brgcl review {folder}")
    return [first, second, third]


def _about_results(run: Run) -> list[Headline]:
    m = run.metrics
    told = []
    if _number(m, "accuracy_mean") is not None:
        runs = f", mean of {m['n']} draws" if _number(m, "n") not in (None, 1) else ""
        told.append(
            Headline(
                percent(m["accuracy_mean"]), f"of the test nodes are classified correctly{runs}."
            )
        )
    elif (agreement := _first(m, "cv_agreement_mean", "cv_agreement")) is not None:
        text = "of the given labels are predicted by classifiers that did not see them."
        told.append(Headline(percent(agreement), text))
    number = _first(m, "num_clusters_mean", "num_clusters")
    if number is None and "cluster" in run.nodes:
        number = float(run.nodes["cluster"].dropna().loc[lambda c: c >= 0].nunique())
    if number is not None:
        bound = "≥ " if m.get("capped") or m.get("num_clusters_capped") else ""
        nmi = _first(m, "nmi_mean", "nmi")
        agree = "" if nmi is None else f"; their NMI with the classes is {nmi:.2f}"
        told.append(Headline(f"{bound}{number:g}", f"clusters were found{agree}."))
    share = _first(m, "confident_share_mean", "confident_share")
    if share is None and run.history:
        share = _number(run.history[-1], "confident_share")
    if share is not None and len(told) < 2:
        told.append(Headline(percent(share), "of the nodes are confident in their cluster."))
    elif "confidence" in run.nodes and len(told) < 2:
        mean = run.nodes["confidence"].mean()
        text = "is the mean confidence of the nodes in their clusters (0 to 1)."
        told.append(Headline(f"{mean:.2f}", text))
    if not told:
        told.append(Headline(f"{len(run.nodes):,}", "nodes have a representation."))
    return told[:2]


def _next_without_suspects(run: Run) -> Headline:
    labels = run.nodes.get("label_given")
    if labels is None or labels.notna().sum() == 0:
        return Headline("Next", "nodes.parquet has the results of every node.")
    command = f"brgcl find-errors {_graph_words(run)} --out errors"
    return Headline("Next", "find out which labels are wrong:", command)


def _graph_words(run: Run) -> str:
    """The words of a command line that name the graph of a run."""
    inputs = run.about.get("inputs")
    files = {
        name: str(about["file"])
        for name, about in (inputs.items() if isinstance(inputs, Mapping) else ())
        if name in ("edges", "features", "labels") and isinstance(about, Mapping)
    }
    if files:
        return shlex.join(word for name in files for word in (f"--{name}", files[name]))
    return shlex.quote(run.dataset) if run.dataset else "GRAPH"


def percent(share: float) -> str:
    """Show a share; one that is not 0 does not look like 0.

    Example:
        >>> percent(0.1234), percent(0.0004), percent(0.0)
        ('12.3 %', '<0.1 %', '0.0 %')
    """
    return "<0.1 %" if 0 < share < 0.0005 else f"{100 * share:.1f} %"


def _range(low: float, high: float) -> str:
    return f"{100 * low:.1f} to {100 * high:.1f} %"


def _number(metrics: Mapping[str, Any], name: str) -> float | None:
    value = metrics.get(name)
    return float(value) if isinstance(value, int | float) else None


def _first(metrics: Mapping[str, Any], *names: str) -> float | None:
    return next((v for name in names if (v := _number(metrics, name)) is not None), None)
