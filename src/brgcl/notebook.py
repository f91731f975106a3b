"""Models and results as tables of HTML, which notebooks show; all text is escaped."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

ROWS = 8  # rows of a frame that are shown


def html_table(
    rows: Iterable[Sequence[Any]], *, title: str = "", header: Sequence[Any] = ()
) -> str:
    """Write a table; every cell is text and never markup.

    Args:
        rows: Cells, row by row. A fraction is rounded to three digits.
        title: A sentence above the table.
        header: Names of the columns; none for rows of a name and a value.

    Example:
        >>> html_table([("accuracy", 0.81234), ("class", "<b>")])
        '<table><tr><td>accuracy</td><td>0.812</td></tr><tr><td>class</td><td>&lt;b&gt;</td></tr></table>'
    """
    head = "".join(f"<th>{escape(_text(name))}</th>" for name in header)
    lines = [f"<tr>{head}</tr>"] if head else []
    for row in rows:
        lines.append("<tr>" + "".join(f"<td>{escape(_text(cell))}</td>" for cell in row) + "</tr>")
    above = f"<p>{escape(title)}</p>" if title else ""
    return f"{above}<table>{''.join(lines)}</table>" if lines else above


def model_html(model: Any) -> str:
    """A `BRGCL`: the settings that differ from the defaults and, once fitted, what it found."""
    rows: list[tuple[str, Any]] = []
    if hasattr(model, "encoder_"):
        epochs = model.history_
        rows = [
            ("nodes", f"{len(model.representations_):,}"),
            ("dimensions", model.representations_.shape[1]),
            ("clusters", model.num_clusters_),
            ("prototypes", model.num_prototypes_),
            ("confident nodes", f"{float(model.confident_.float().mean()):.0%}"),
            ("epochs", len(epochs)),
            ("effective rank", epochs[-1].effective_rank if epochs else None),
        ]
    return html_table(rows, title=f"{model!r}, {'fitted' if rows else 'not fitted'}")


def evaluation_html(evaluation: Any) -> str:
    """An `Evaluation`: its summary, a name and a value in each row."""
    summary = evaluation.summary()
    title = f"{summary.pop('method')} on {summary.pop('dataset')}, {evaluation.protocol}"
    return html_table(((k, v) for k, v in summary.items() if v is not None), title=title)


def label_errors_html(errors: Any) -> str:
    """`LabelErrors`: what was found in two sentences, and the most suspicious labels."""
    frame = errors.frame
    called = int(frame["is_error"].sum())
    low, high = errors.error_interval
    title = f"{called:,} of {len(frame):,} labels look wrong. "
    title += (
        f"An estimated {errors.error_rate:.1%} of all labels are wrong ({low:.1%} to {high:.1%})."
    )
    columns = ["node", "given", "suggested", "score", "evidence"]
    return html_table(frame[columns].head(ROWS).to_numpy(object), title=title, header=columns)


def _text(cell: Any) -> str:
    if isinstance(cell, float):
        return f"{cell:.3g}"
    return ", ".join(map(_text, cell)) if isinstance(cell, list | tuple) else str(cell)
