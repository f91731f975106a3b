"""Tables as text, Markdown, LaTeX, HTML and CSV."""

import csv
import io

import pytest

from brgcl.benchmark.experiment import Selection
from brgcl.benchmark.show.formats import (
    CSV_COLUMNS,
    to_csv,
    to_draws,
    to_html,
    to_latex,
    to_markdown,
)
from brgcl.benchmark.show.layout import layouts
from brgcl.benchmark.show.statistics import table_cells


def test_forms(small, records):
    layout = layouts(small, records, Selection(datasets=["cora"]))[0]
    assert "**73.0 ± 2.6 (4)**" in to_markdown(layout)
    assert "paper 60.0 ± 2.0, +5.5" in to_markdown(layout)
    assert "gcn: The baseline." in to_markdown(layout)
    assert "| realised noise |" in to_markdown(layout)
    assert r"\textbf{73.0 $\pm$ 2.6 (4)}" in to_latex(layout)
    assert r"100 \% \& more" in to_latex(layout)
    assert "<b>73.0 ± 2.6 (4)</b>" in to_html(layout)
    assert "A &lt;small&gt; table" in to_html(layout)
    assert "<small>" not in to_html(layout)


def test_csv_has_the_promised_columns(small, records):
    rows = list(csv.DictReader(io.StringIO(to_csv(table_cells(small, records)))))
    assert list(rows[0]) == CSV_COLUMNS
    (row,) = [r for r in rows if (r["dataset"], r["method"], r["level"]) == ("cora", "gcn", "0.4")]
    assert row["noise"] == "symmetric"
    assert float(row["mean"]) == pytest.approx(0.655)
    assert float(row["paired_high"]) < 0
    empty = [r for r in rows if r["dataset"] == "ogbn-arxiv"]
    assert {(r["n"], r["mean"]) for r in empty} == {("0", "")}


def test_every_draw_can_be_traced_to_its_record(small, records):
    text = to_draws(table_cells(small, records, Selection(datasets=["cora"])))
    for row in csv.DictReader(io.StringIO(text)):
        known = records.get(row["key"])
        assert (row["value"] == "") == (known is None)
        if known is not None:
            assert float(row["value"]) == known.metrics["accuracy"]
