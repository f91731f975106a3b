import csv
import io
from statistics import mean, stdev

import pytest
from scipy import stats

from brgcl.benchmark.experiment import Selection, load_experiment, runs
from brgcl.benchmark.records import Record
from brgcl.benchmark.run_spec import RunSpec
from brgcl.benchmark.show.formats import (
    CSV_COLUMNS,
    to_csv,
    to_draws,
    to_html,
    to_latex,
    to_markdown,
    to_text,
)
from brgcl.benchmark.show.layout import sheets, statistics_sheet
from brgcl.benchmark.show.statistics import table_entries
from brgcl.errors import InputError
from brgcl.evaluate.paired import paired_difference

SUITE = """
title = "A <small> table"
source = "a test"
noise = ["symmetric"]
levels = [0.0, 0.4]
datasets = ["cora", "ogbn-arxiv"]
seeds = { default = 4 }
notes = ["100 % & more"]
[[published]]
dataset = "cora"
row = "gcn"
metric = "accuracy"
mean = [0.8, 0.6]
std = [0.01, 0.02]
[rows.brgcl]
[rows.gcn]
note = "The baseline."
[rows.s2gc]
"""
SCORES = {  # by row and level
    ("brgcl", 0.0): [0.82, 0.81, 0.83, 0.82],
    ("gcn", 0.0): [0.82, 0.815, 0.825, 0.82],
    ("s2gc", 0.0): [0.70, 0.71],
    ("brgcl", 0.4): [0.70, 0.72, 0.74, 0.76],
    ("gcn", 0.4): [0.60, 0.65, 0.66, 0.71],
}


@pytest.fixture
def suite(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SUITE)
    return load_experiment(str(path))


@pytest.fixture
def records(suite):
    found = {}
    for cell in runs(suite, Selection(datasets=["cora"])):
        scores = SCORES.get((cell.row, cell.level), [])
        if cell.spec.seed < len(scores):
            found[cell.spec.key] = Record(
                cell.spec,
                {"accuracy": scores[cell.spec.seed]},
                realised={"labels": 0.375, "attributes": 0.0, "edges": 0.0},
                training_seconds=360.0,
            )
    return found


def entry(suite, records, row, level):
    (found,) = table_entries(
        suite, records, Selection(datasets=["cora"], rows=[row], levels=[level])
    )
    return found


def test_mean_deviation_and_published_difference(suite, records):
    gcn = entry(suite, records, "gcn", 0.4)
    scores = SCORES["gcn", 0.4]
    assert gcn.n == 4
    assert gcn.mean == pytest.approx(mean(scores))
    assert gcn.std == pytest.approx(stdev(scores))
    assert (gcn.published_mean, gcn.published_std) == (0.6, 0.02)
    assert gcn.difference == pytest.approx(mean(scores) - 0.6)
    assert gcn.realised == pytest.approx(0.375)


def test_paired_interval_is_that_of_the_t_test(suite, records):
    gcn = entry(suite, records, "gcn", 0.4)
    gaps = [a - b for a, b in zip(SCORES["gcn", 0.4], SCORES["brgcl", 0.4], strict=True)]
    low, high = stats.ttest_1samp(gaps, 0).confidence_interval(0.95)
    assert (gcn.paired.low, gcn.paired.high) == pytest.approx((low, high))
    assert entry(suite, records, "brgcl", 0.4).paired is None


def test_pairs_are_draws_that_both_have():
    found = paired_difference({0: 1.0, 2: 3.0, 5: 1.0}, {2: 1.0, 0: 0.0, 9: 4.0})
    assert (found.n, found.mean) == (2, 1.5)
    assert paired_difference({0: 1.0}, {1: 1.0}) is None
    assert paired_difference({0: 1.0}, {0: 0.5}).low is None


def test_best_and_its_ties_are_marked(suite, records):
    assert entry(suite, records, "brgcl", 0.0).is_best
    assert entry(suite, records, "gcn", 0.0).is_best
    assert not entry(suite, records, "s2gc", 0.0).is_best
    assert not entry(suite, records, "gcn", 0.4).is_best


def test_a_row_with_easy_draws_only_is_not_the_best(suite, records):
    for key, record in list(records.items()):
        of = record.spec
        if (of.method, of.level, of.seed) == ("gcn", 0.4, 3):
            record.metrics["accuracy"] = SCORES["brgcl", 0.4][3] - 0.001
        elif (of.method, of.level) == ("gcn", 0.4):
            del records[key]
    gcn, ours = (entry(suite, records, row, 0.4) for row in ("gcn", "brgcl"))
    assert gcn.mean > ours.mean
    assert ours.is_best
    assert not gcn.is_best


def test_a_row_below_by_more_than_a_point_is_no_tie():
    wide = paired_difference({0: 0.5, 1: 0.9}, {0: 0.8, 1: 0.7})
    assert wide.low < 0 < wide.high
    assert not wide.is_tie


def test_a_missing_cell_says_so_with_its_hours(suite, records):
    (cora, arxiv) = sheets(suite, records)
    text = to_text(cora)
    assert "not run, about 0.4 h" in text  # four trainings of s2gc at level 0.4
    assert "2 draws not run" in text
    assert "needs the download" in to_text(arxiv)
    assert "needs the download" not in text


def test_failed_cells_say_so(suite, records):
    cell = runs(suite, Selection(datasets=["cora"], rows=["s2gc"], levels=[0.4], seeds=1))[0].spec
    found = sheets(suite, records | {cell.key: Record(cell, {}, error="broken")})
    assert "failed (1)" in to_text(found[0])


def test_forms(suite, records):
    sheet = sheets(suite, records, Selection(datasets=["cora"]))[0]
    assert "**73.0 ± 2.6 (4)**" in to_markdown(sheet)
    assert "paper 60.0 ± 2.0, +5.5" in to_markdown(sheet)
    assert "gcn: The baseline." in to_markdown(sheet)
    assert "| realised noise |" in to_markdown(sheet)
    assert r"\textbf{73.0 $\pm$ 2.6 (4)}" in to_latex(sheet)
    assert r"100 \% \& more" in to_latex(sheet)
    assert "<b>73.0 ± 2.6 (4)</b>" in to_html(sheet)
    assert "A &lt;small&gt; table" in to_html(sheet)
    assert "<small>" not in to_html(sheet)


def test_csv_has_the_promised_columns(suite, records):
    rows = list(csv.DictReader(io.StringIO(to_csv(table_entries(suite, records)))))
    assert list(rows[0]) == CSV_COLUMNS
    (row,) = [r for r in rows if (r["dataset"], r["method"], r["level"]) == ("cora", "gcn", "0.4")]
    assert row["noise"] == "symmetric"
    assert float(row["mean"]) == pytest.approx(0.655)
    assert float(row["paired_high"]) < 0
    empty = [r for r in rows if r["dataset"] == "ogbn-arxiv"]
    assert {(r["n"], r["mean"]) for r in empty} == {("0", "")}


def test_every_draw_can_be_traced_to_its_record(suite, records):
    text = to_draws(table_entries(suite, records, Selection(datasets=["cora"])))
    for row in csv.DictReader(io.StringIO(text)):
        known = records.get(row["key"])
        assert (row["value"] == "") == (known is None)
        if known is not None:
            assert float(row["value"]) == known.metrics["accuracy"]


def test_an_unknown_row_is_an_error(suite, records):
    with pytest.raises(InputError, match="did you mean 'gcn'"):
        table_entries(suite, records, Selection(rows=["gnc"]))


def test_validation_figures_and_test_figures_are_apart(suite, records):
    found = table_entries(suite, records, Selection(scored_on="validation"))
    assert all(entry.n == 0 for entry in found)
    assert "validation nodes" in sheets(suite, records, Selection(scored_on="validation"))[0].title


def test_a_capped_number_is_a_lower_bound():
    suite = load_experiment("prototypes")
    cell = RunSpec.of("cora", "brgcl", 0, {}, task="prototypes")
    metrics = {"num_prototypes": 64.0, "capped": 1.0, "confident_share": 0.9}
    (sheet,) = sheets(
        suite, {cell.key: Record(cell, metrics)}, Selection(datasets=["cora"], rows=["brgcl"])
    )
    assert "≥ 64.0 (1)" in to_text(sheet)


def test_sizes_of_graphs_stand_beside_the_papers():
    text = to_markdown(statistics_sheet(load_experiment("dataset-statistics")))
    assert "paper" in text
    assert "ogbn-arxiv" in text
