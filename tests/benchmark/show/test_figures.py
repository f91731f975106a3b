"""Pictures of tables: what stands in them, not how it looks."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from brgcl.benchmark.experiment import Selection, experiment_names, load_experiment, runs
from brgcl.benchmark.records import Record
from brgcl.benchmark.show.figures import plot_experiment
from brgcl.benchmark.show.node_maps import is_map
from brgcl.benchmark.show.statistics import SCORES
from brgcl.benchmark.show.style import OURS, row_styles
from brgcl.errors import InputError

HEAD = """
title = "A table"
source = "a test"
noise = ["symmetric", "pair"]
levels = [0.0, 0.2, 0.4]
datasets = ["demo", "cora"]
seeds = { default = 3 }
published = [
  { dataset = "demo", row = "brgcl", metric = "accuracy", mean = [0.9, 0.8, 0.7] },
]
"""
ROWS = """
[rows.brgcl]
[rows.wide]
method = "brgcl"
published = "brgcl"
settings = { hidden = 64 }
[rows.gcn]
"""


@pytest.fixture
def experiment(tmp_path):
    (tmp_path / "own.toml").write_text(HEAD + ROWS)
    return load_experiment(str(tmp_path / "own.toml"))


def panels(experiment, records, **chosen):
    """Plot a table from records, and give its panels by title."""
    figure = plot_experiment(experiment, records, Selection(**chosen))
    return {axes.get_title(): axes for axes in figure.axes if axes.get_title()}


def measure(experiment, **chosen):
    """Fabricated records of runs."""
    return {
        planned.spec.key: Record(
            planned.spec,
            {
                **dict.fromkeys((*SCORES, "confident_share"), score),
                "num_prototypes": 64.0,
                "capped": 1.0,
            },
            realised=dict.fromkeys(("labels", "attributes", "edges"), planned.level),
        )
        for planned in runs(experiment, Selection(**chosen))
        for score in [0.8 - 0.5 * planned.level + 0.01 * planned.spec.seed]
    }


def labels(axes):
    return [line.get_label() for line in axes.get_lines()]


def values(axes, label):
    line = next(line for line in axes.get_lines() if line.get_label() == label)
    return line.get_xdata(), line.get_ydata()


# Curves


def test_a_panel_for_each_graph_and_kind_of_noise_and_a_line_for_each_measured_row(experiment):
    records = measure(experiment, datasets=["demo"], rows=["brgcl", "wide"])
    shown = panels(experiment, records)
    assert list(shown) == ["demo, symmetric (n = 3)", "demo, pair (n = 3)"]
    for axes in shown.values():
        assert labels(axes) == ["brgcl", "wide", "brgcl, published"]  # shared values: once
        assert len(axes.collections) == 2  # a band each


def test_the_clean_cell_begins_every_curve_and_values_are_per_cent(experiment):
    shown = panels(experiment, measure(experiment, datasets=["demo"]))
    for axes in shown.values():
        x, y = values(axes, "gcn")
        assert list(x) == [0, 20, 40]
        assert y == pytest.approx([81, 71, 61])
        theirs = values(axes, "brgcl, published")[1]
        assert theirs == pytest.approx([90, 80, 70])
        assert list(axes.get_xticks()) == [0, 20, 40]


def test_the_published_line_is_dashed_in_the_colour_of_its_row(experiment):
    axes = panels(experiment, measure(experiment, datasets=["demo"]))["demo, pair (n = 3)"]
    ours, theirs = (
        next(line for line in axes.get_lines() if line.get_label() == name)
        for name in ("brgcl", "brgcl, published")
    )
    assert ours.get_color() == theirs.get_color() == OURS
    assert ours.get_linestyle() == "-"
    assert theirs.get_linestyle() == "--"


def test_one_draw_has_no_band(experiment):
    shown = panels(experiment, measure(experiment, datasets=["demo"], seeds=1))
    assert list(shown) == ["demo, symmetric (n = 1)", "demo, pair (n = 1)"]
    assert all(len(axes.collections) == 0 for axes in shown.values())


def test_a_row_with_fewer_draws_says_so(experiment):
    records = measure(experiment, datasets=["demo"], rows=["brgcl"])
    records |= measure(experiment, datasets=["demo"], rows=["gcn"], seeds=2)
    axes = panels(experiment, records)["demo, pair (n = 2 to 3)"]
    legend = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert legend == ["brgcl", "gcn (n = 2)", "the paper's value"]


def test_a_missing_cell_breaks_the_line(experiment):
    axes = panels(experiment, measure(experiment, datasets=["demo"], levels=[0.0, 0.4]))[
        "demo, pair (n = 3)"
    ]
    y = values(axes, "gcn")[1]
    assert np.isnan(y).tolist() == [False, True, False]


def test_a_kind_of_noise_that_was_not_run_has_no_panel(experiment):
    records = {
        key: record
        for key, record in measure(experiment, datasets=["cora"]).items()
        if record.spec.noise != "pair"
    }
    assert list(panels(experiment, records)) == ["cora (n = 3)"]


def test_clean_cells_alone_are_no_curve(experiment):
    records = measure(experiment, datasets=["cora"], levels=[0.0])
    with pytest.raises(InputError, match="hold no noisy cell of 'own' yet"):
        panels(experiment, records)
    assert list(panels(experiment, records, levels=[0.0])) == ["cora (n = 3)"]


def test_some_graphs_rows_and_levels_can_be_chosen(experiment):
    shown = panels(
        experiment, measure(experiment), datasets=["cora"], rows=["gcn"], levels=[0.2, 0.4]
    )
    assert list(shown) == ["cora, symmetric (n = 3)", "cora, pair (n = 3)"]
    x, _ = values(shown["cora, pair (n = 3)"], "gcn")
    assert list(x) == [20, 40]
    assert labels(shown["cora, pair (n = 3)"]) == ["gcn"]


# Dots


def test_one_level_is_plotted_as_dots_with_hollow_published_values():
    experiment = load_experiment("ablation")
    shown = panels(experiment, measure(experiment, datasets=["cora", "pubmed"]))
    assert list(shown) == ["cora (n = 3)", "pubmed (n = 3)"]
    first, second = shown.values()
    assert [text.get_text() for text in first.get_yticklabels()] == list(experiment.rows)
    assert not any(text.get_text() for text in second.get_yticklabels())
    hollow = [line for line in first.get_lines() if line.get_label().endswith("published")]
    assert len(hollow) == 6
    assert all(line.get_markerfacecolor() == "white" for line in hollow)
    x, _ = values(first, "decoupled+confident, published")
    assert x == pytest.approx([79.3])
    assert len(first.collections) == 6  # error bars


def test_a_chosen_level_is_plotted_as_dots(experiment):
    shown = panels(experiment, measure(experiment), levels=[0.4], datasets=["demo"])
    assert list(shown) == ["demo, symmetric (n = 3)", "demo, pair (n = 3)"]


def test_numbers_of_prototypes_are_not_per_cent_and_a_cap_is_marked():
    experiment = load_experiment("prototypes")
    shown = panels(experiment, measure(experiment, datasets=["cora"]), rows=["brgcl"])
    assert list(shown) == ["cora (n = 3)"]  # two metrics, one title: the last is left
    figure = shown["cora (n = 3)"].figure
    assert [axes.get_xlabel() for axes in figure.axes] == ["prototypes", "confident nodes, %"]
    dot = next(line for line in figure.axes[0].get_lines() if line.get_marker() == ">")
    assert dot.get_xdata() == pytest.approx([64])


# All of them


@pytest.mark.parametrize("name", experiment_names())
def test_every_table_can_be_plotted(name):
    experiment = load_experiment(name)
    if experiment.kind != "grid":
        with pytest.raises(InputError, match="no picture"):
            panels(experiment, {})
        return
    if is_map(experiment):
        return  # made of trainings, not of records
    chosen = {"datasets": experiment.datasets[:1]}
    records = measure(experiment, **chosen, seeds=2)
    shown = panels(experiment, records, **chosen)
    assert shown
    if experiment.task == "classify" and len(experiment.levels) > 1:
        assert len(shown) == len(experiment.noise)
        for axes in shown.values():
            rows = {planned.row for planned in runs(experiment, Selection(**chosen))}
            assert rows <= set(labels(axes))


@pytest.mark.parametrize("name", experiment_names())
def test_rows_of_a_table_look_different(name):
    styles = list(row_styles(load_experiment(name)).values())
    assert len({(style.color, style.marker) for style in styles}) == len(styles)
    assert sum(style.stands_out for style in styles) == (1 if styles else 0)


def test_a_method_looks_the_same_in_all_tables():
    looks = {}
    for name in experiment_names():
        experiment = load_experiment(name)
        for row, style in row_styles(experiment).items():
            if row == experiment.rows[row].method:
                what = experiment.task == "detect", row  # detectors are no methods
                assert looks.setdefault(what, style) == style
    assert looks[False, "brgcl"].color == looks[True, "brgcl"].color == OURS
