"""Tables as text for a terminal, Markdown, LaTeX, HTML or CSV."""

from collections.abc import Callable, Sequence
from html import escape
from itertools import zip_longest

import pandas as pd

from brgcl.benchmark.show.layout import Layout, Line
from brgcl.benchmark.show.statistics import Cell

FORMATS = ("text", "md", "latex", "html", "csv", "draws")
CSV_COLUMNS = [
    "dataset", "method", "noise", "level", "metric", "n", "mean", "std", "published_mean",
    "published_std", "difference", "paired_low", "paired_high", "noise_realised",
]  # fmt: skip
DRAW_COLUMNS = ["dataset", "method", "noise", "level", "metric", "seed", "value", "key"]
TEX = str.maketrans({
    "\\": r"\textbackslash ", "&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$",
    "{": r"\{", "}": r"\}", "±": r"$\pm$", "Δ": r"$\Delta$", "≥": r"$\geq$", "²": r"$^2$",
})  # fmt: skip


def to_text(layout: Layout) -> str:
    """For a terminal; stars stand for bold."""
    rows = [[[head] for head in layout.columns]]
    rows += [[[name], *(_lines(cell, "*{}*") for cell in cells)] for name, cells in layout.rows]
    widths = [max(len(text) for row in rows for text in row[i]) for i in range(len(layout.columns))]
    written = []
    for row in rows:
        for texts in zip_longest(*row, fillvalue=""):
            padded = (text.ljust(width) for text, width in zip(texts, widths, strict=True))
            written.append("  ".join(padded).rstrip())
    written.insert(1, "  ".join("-" * width for width in widths))
    notes = [*layout.caption, *layout.notes]
    return "\n".join([layout.title, "", *written, "", *notes]).rstrip() + "\n"


def to_markdown(layout: Layout) -> str:
    """For a page in Markdown; the title is left to the page."""
    written = [f"| {' | '.join(layout.columns)} |", f"|{'---|' * len(layout.columns)}"]
    for name, cells in layout.rows:
        texts = ["<br>".join(_lines(cell, "**{}**")) for cell in cells]
        written.append(f"| {' | '.join([name, *texts])} |")
    notes = [f"- {note}" for note in (*layout.caption, *layout.notes)]
    return "\n".join([*written, "", *notes]).rstrip() + "\n"


def to_latex(layout: Layout) -> str:
    """For a paper; needs the package makecell."""
    written = [" & ".join(map(_tex, layout.columns)) + r" \\ \hline"]
    for name, cells in layout.rows:
        texts = [r" \\ ".join(_lines(cell, r"\textbf{{{}}}", _tex)) for cell in cells]
        stacked = (rf"\makecell[tl]{{{text}}}" if text else "" for text in texts)
        written.append(" & ".join([_tex(name), *stacked]) + r" \\")
    caption = _tex(" ".join([f"{layout.title}.", *layout.caption, *layout.notes]))
    return "\n".join(
        [r"\begin{table}", rf"\caption{{{caption}}}",
         rf"\begin{{tabular}}{{{'l' * len(layout.columns)}}}", r"\hline", *written, r"\hline",
         r"\end{tabular}", r"\end{table}", ""]
    )  # fmt: skip


def to_html(layout: Layout) -> str:
    """For a page in HTML."""
    heads = "".join(f"<th>{escape(head)}</th>" for head in layout.columns)
    written = ["<table>", f"<caption>{escape(layout.title)}</caption>", f"<tr>{heads}</tr>"]
    for name, cells in layout.rows:
        texts = (f"<td>{'<br>'.join(_lines(cell, '<b>{}</b>', escape))}</td>" for cell in cells)
        written.append(f"<tr><th>{escape(name)}</th>{''.join(texts)}</tr>")
    notes = [f"<p>{escape(note)}</p>" for note in (*layout.caption, *layout.notes)]
    return "\n".join([*written, "</table>", *notes]) + "\n"


def _lines(cell: Sequence[Line], bold: str, escaped: Callable[[str], str] = str) -> list[str]:
    return [bold.format(escaped(x.text)) if x.bold else escaped(x.text) for x in cell]


def _tex(text: str) -> str:
    return text.translate(TEX)


def to_csv(cells: Sequence[Cell]) -> str:
    """One line for each cell; shares are not in per cent."""
    rows = [
        [
            cell.dataset, cell.row, cell.noise, cell.level, cell.metric, cell.n,
            cell.mean, cell.std, cell.published_mean, cell.published_std, cell.difference,
            None if cell.paired is None else cell.paired.low,
            None if cell.paired is None else cell.paired.high,
            cell.realised,
        ]
        for cell in cells
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=CSV_COLUMNS).to_csv(index=False, lineterminator="\n")


def to_draws(cells: Sequence[Cell]) -> str:
    """One line for each draw, with the key of its record: where every number comes from."""
    rows = [
        [
            cell.dataset, cell.row, cell.noise, cell.level, cell.metric,
            draw.spec.seed, draw.value, draw.spec.key,
        ]
        for cell in cells
        for draw in cell.draws
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=DRAW_COLUMNS).to_csv(index=False, lineterminator="\n")
