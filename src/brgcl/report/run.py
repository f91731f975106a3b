"""The report of one run."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from brgcl.contract import Fitted
from brgcl.report.figures import draw_history, draw_map
from brgcl.report.report import Report, Table


def run_report(
    title: str, metrics: Mapping[str, Any], fitted: Fitted, groups: tuple[str, Tensor] | None
) -> Report:
    """Put the report of a run together.

    Args:
        title: Its heading.
        metrics: What the command prints.
        fitted: What the method learned.
        groups: What colours the map, and its value for each node, `(N,)`; None draws no map.
    """
    rows = [[name, f"{v:.4f}" if isinstance(v, float) else str(v)] for name, v in metrics.items()]
    pictures = []
    if groups is not None:
        pictures.append(draw_map(fitted.representations, fitted.confidence, groups[1], groups[0]))
    if fitted.model is not None:
        pictures.append(draw_history(fitted.model.history_))
    return Report(
        title=title,
        summary=[],
        tables=[Table("Results", ["name", "value"], rows)],
        pictures=pictures,
        settings={} if fitted.model is None else fitted.model.config.to_dict(),
    )
