"""Cells of a table: means, deviations, differences draw by draw."""

from dataclasses import replace
from statistics import mean, stdev

import pytest
from scipy import stats

from brgcl.benchmark.experiment import Selection
from brgcl.benchmark.show.layout import layouts
from brgcl.benchmark.show.statistics import _best, _is_best, table_cells
from brgcl.errors import InputError
from brgcl.evaluation.paired import paired_difference


def one_cell(small, records, row, level):
    (cell,) = table_cells(small, records, Selection(datasets=["cora"], rows=[row], levels=[level]))
    return cell


def test_mean_deviation_and_published_difference(small, records, scores):
    gcn = one_cell(small, records, "gcn", 0.4)
    mine = scores["gcn", 0.4]
    assert gcn.n == 4
    assert gcn.mean == pytest.approx(mean(mine))
    assert gcn.std == pytest.approx(stdev(mine))
    assert (gcn.published_mean, gcn.published_std) == (0.6, 0.02)
    assert gcn.difference == pytest.approx(mean(mine) - 0.6)
    assert gcn.realised == pytest.approx(0.375)


def test_paired_interval_is_that_of_the_t_test(small, records, scores):
    gcn = one_cell(small, records, "gcn", 0.4)
    gaps = [a - b for a, b in zip(scores["gcn", 0.4], scores["brgcl", 0.4], strict=True)]
    low, high = stats.ttest_1samp(gaps, 0).confidence_interval(0.95)
    assert (gcn.paired.low, gcn.paired.high) == pytest.approx((low, high))
    assert one_cell(small, records, "brgcl", 0.4).paired is None


def test_pairs_are_draws_that_both_have():
    difference = paired_difference({0: 1.0, 2: 3.0, 5: 1.0}, {2: 1.0, 0: 0.0, 9: 4.0})
    assert (difference.n, difference.mean) == (2, 1.5)
    assert paired_difference({0: 1.0}, {1: 1.0}) is None
    assert paired_difference({0: 1.0}, {0: 0.5}).low is None


def test_best_and_its_ties_are_marked(small, records):
    assert one_cell(small, records, "brgcl", 0.0).is_best
    assert one_cell(small, records, "gcn", 0.0).is_best
    assert not one_cell(small, records, "s2gc", 0.0).is_best
    assert not one_cell(small, records, "gcn", 0.4).is_best


def test_an_oracle_leads_no_column(small, records):
    cells = table_cells(small, records, Selection(datasets=["cora"], levels=[0.4]))
    ours = one_cell(small, records, "brgcl", 0.4)
    draw = ours.draws[0]
    oracle = replace(ours, draws=(replace(draw, spec=replace(draw.spec, labelled="right")),))
    assert (ours.is_oracle, oracle.is_oracle) == (False, True)
    best = _best([oracle, *cells], ours)
    assert not best.is_oracle
    assert not _is_best(oracle, best)


def test_a_row_with_easy_draws_only_is_not_the_best(small, records, scores):
    for key, record in list(records.items()):
        of = record.spec
        if (of.method, of.level, of.seed) == ("gcn", 0.4, 3):
            record.metrics["accuracy"] = scores["brgcl", 0.4][3] - 0.001
        elif (of.method, of.level) == ("gcn", 0.4):
            del records[key]
    gcn, ours = (one_cell(small, records, row, 0.4) for row in ("gcn", "brgcl"))
    assert gcn.mean > ours.mean
    assert ours.is_best
    assert not gcn.is_best


def test_a_row_below_by_more_than_a_point_is_no_tie():
    wide = paired_difference({0: 0.5, 1: 0.9}, {0: 0.8, 1: 0.7})
    assert wide.low < 0 < wide.high
    assert not wide.is_tie


def test_an_unknown_row_is_an_error(small, records):
    with pytest.raises(InputError, match="did you mean 'gcn'"):
        table_cells(small, records, Selection(rows=["gnc"]))


def test_validation_scores_and_test_scores_are_apart(small, records):
    cells = table_cells(small, records, Selection(scored_on="validation"))
    assert all(cell.n == 0 for cell in cells)
    assert "validation nodes" in layouts(small, records, Selection(scored_on="validation"))[0].title
