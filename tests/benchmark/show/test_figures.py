"""Pictures of tables: what stands in them, not how it looks."""

import json
import random
import sys
import zlib

import numpy as np
import pytest
import torch

pytest.importorskip("matplotlib")

from brgcl.benchmark.experiment import Selection, experiment_names, load_experiment, runs
from brgcl.benchmark.records import Record, append_record
from brgcl.benchmark.representations import Learned
from brgcl.benchmark.runner import ResultsFolder
from brgcl.benchmark.show import node_maps as maps
from brgcl.benchmark.show.figures import plot_suite
from brgcl.benchmark.show.style import OURS, row_styles
from brgcl.cli import main as cli
from brgcl.data import make_graph
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
def suite(tmp_path):
    (tmp_path / "own.toml").write_text(HEAD + ROWS)
    return load_experiment(str(tmp_path / "own.toml"))


@pytest.fixture
def draw(tmp_path, monkeypatch):
    """Draw a table from records without writing it, and give its panels by title."""
    monkeypatch.setattr("brgcl.benchmark.show.figures.save_picture", lambda figure, file: None)

    def call(suite, records, say=lambda text: None, **chosen):
        place = ResultsFolder(tmp_path / "records.jsonl")
        file, part = tmp_path / "picture.svg", Selection(**chosen)
        figure = plot_suite(suite, records, file, place, part, say=say)
        return {axes.get_title(): axes for axes in figure.axes if axes.get_title()}

    return call


def measure(suite, **chosen):
    """Fabricated records of cells."""
    return {
        cell.spec.key: Record(
            cell.spec,
            {
                **dict.fromkeys(("accuracy", "acc", "nmi", "ari", "confident_share"), score),
                "num_prototypes": 64.0,
                "capped": 1.0,
            },
            realised=dict.fromkeys(("labels", "attributes", "edges"), cell.level),
        )
        for cell in runs(suite, Selection(**chosen))
        for score in [0.8 - 0.5 * cell.level + 0.01 * cell.spec.seed]
    }


def labels(axes):
    return [line.get_label() for line in axes.get_lines()]


def values(axes, label):
    line = next(line for line in axes.get_lines() if line.get_label() == label)
    return line.get_xdata(), line.get_ydata()


def fake_learn(training, place):
    rng = np.random.default_rng(zlib.crc32(training.key.encode()))
    z = torch.from_numpy(rng.normal(size=(40, 8)).astype(np.float32))
    return Learned(z, torch.linspace(0, 1, 40), {"confident_share": 0.625}), True


# Curves


def test_a_panel_for_each_graph_and_kind_of_noise_and_a_line_for_each_measured_row(suite, draw):
    records = measure(suite, datasets=["demo"], rows=["brgcl", "wide"])
    found = draw(suite, records)
    assert list(found) == ["demo, symmetric (n = 3)", "demo, pair (n = 3)"]
    for axes in found.values():
        assert labels(axes) == ["brgcl", "wide", "brgcl, published"]  # shared values: once
        assert len(axes.collections) == 2  # a band each


def test_the_clean_cell_begins_every_curve_and_values_are_per_cent(suite, draw):
    found = draw(suite, measure(suite, datasets=["demo"]))
    for axes in found.values():
        x, y = values(axes, "gcn")
        assert list(x) == [0, 20, 40]
        assert y == pytest.approx([81, 71, 61])
        theirs = values(axes, "brgcl, published")[1]
        assert theirs == pytest.approx([90, 80, 70])
        assert list(axes.get_xticks()) == [0, 20, 40]


def test_the_published_line_is_dashed_in_the_colour_of_its_row(suite, draw):
    axes = draw(suite, measure(suite, datasets=["demo"]))["demo, pair (n = 3)"]
    ours, theirs = (
        next(line for line in axes.get_lines() if line.get_label() == name)
        for name in ("brgcl", "brgcl, published")
    )
    assert ours.get_color() == theirs.get_color() == OURS
    assert ours.get_linestyle() == "-"
    assert theirs.get_linestyle() == "--"


def test_one_draw_has_no_band(suite, draw):
    found = draw(suite, measure(suite, datasets=["demo"], seeds=1))
    assert list(found) == ["demo, symmetric (n = 1)", "demo, pair (n = 1)"]
    assert all(len(axes.collections) == 0 for axes in found.values())


def test_a_row_with_fewer_draws_says_so(suite, draw):
    records = measure(suite, datasets=["demo"], rows=["brgcl"])
    records |= measure(suite, datasets=["demo"], rows=["gcn"], seeds=2)
    axes = draw(suite, records)["demo, pair (n = 2 to 3)"]
    legend = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert legend == ["brgcl", "gcn (n = 2)", "the paper's value"]


def test_a_missing_cell_breaks_the_line(suite, draw):
    axes = draw(suite, measure(suite, datasets=["demo"], levels=[0.0, 0.4]))["demo, pair (n = 3)"]
    y = values(axes, "gcn")[1]
    assert np.isnan(y).tolist() == [False, True, False]


def test_a_kind_of_noise_that_was_not_run_has_no_panel(suite, draw):
    records = {
        key: record
        for key, record in measure(suite, datasets=["cora"]).items()
        if record.spec.noise != "pair"
    }
    assert list(draw(suite, records)) == ["cora (n = 3)"]


def test_clean_cells_alone_are_no_curve(suite, draw):
    records = measure(suite, datasets=["cora"], levels=[0.0])
    with pytest.raises(InputError, match="holds no noisy cell of 'own' yet"):
        draw(suite, records)
    assert list(draw(suite, records, levels=[0.0])) == ["cora (n = 3)"]


def test_some_graphs_rows_and_levels_can_be_chosen(suite, draw):
    found = draw(suite, measure(suite), datasets=["cora"], rows=["gcn"], levels=[0.2, 0.4])
    assert list(found) == ["cora, symmetric (n = 3)", "cora, pair (n = 3)"]
    x, _ = values(found["cora, pair (n = 3)"], "gcn")
    assert list(x) == [20, 40]
    assert labels(found["cora, pair (n = 3)"]) == ["gcn"]


# Dots


def test_one_level_is_drawn_as_dots_with_hollow_published_values(draw):
    suite = load_experiment("ablation")
    found = draw(suite, measure(suite, datasets=["cora", "pubmed"]))
    assert list(found) == ["cora (n = 3)", "pubmed (n = 3)"]
    first, second = found.values()
    assert [text.get_text() for text in first.get_yticklabels()] == list(suite.rows)
    assert not any(text.get_text() for text in second.get_yticklabels())
    hollow = [line for line in first.get_lines() if line.get_label().endswith("published")]
    assert len(hollow) == 4
    assert all(line.get_markerfacecolor() == "white" for line in hollow)
    x, _ = values(first, "decoupled+confident, published")
    assert x == pytest.approx([79.3])
    assert len(first.collections) == 4  # error bars


def test_a_chosen_level_is_drawn_as_dots(suite, draw):
    found = draw(suite, measure(suite), levels=[0.4], datasets=["demo"])
    assert list(found) == ["demo, symmetric (n = 3)", "demo, pair (n = 3)"]


def test_numbers_of_prototypes_are_not_per_cent_and_a_cap_is_marked(draw):
    suite = load_experiment("prototypes")
    found = draw(suite, measure(suite, datasets=["cora"]), rows=["brgcl"])
    assert list(found) == ["cora (n = 3)"]  # two metrics, one title: the last is left
    figure = found["cora (n = 3)"].figure
    assert [axes.get_xlabel() for axes in figure.axes] == ["prototypes", "confident nodes, %"]
    dot = next(line for line in figure.axes[0].get_lines() if line.get_marker() == ">")
    assert dot.get_xdata() == pytest.approx([64])


# Maps


def test_maps_show_confidence_at_each_level(draw, monkeypatch):
    monkeypatch.setattr(maps, "learn", fake_learn)
    monkeypatch.setattr(maps, "place_nodes", lambda z, *, seed: (np.arange(40), z[:, :2].numpy()))
    said = []
    found = draw(load_experiment("confidence-map"), {}, say=said.append)
    assert list(found)[:2] == ["cora, clean: 62 % confident", "cora, within 10 %: 62 % confident"]
    assert len(found) == 12
    dots = found["citeseer, within 50 %: 62 % confident"].collections[0]
    assert dots.get_array().tolist() == torch.linspace(0, 1, 40).tolist()
    low, high = dots.cmap(0.0), dots.cmap(1.0)
    assert low[2] > low[0]  # blue
    assert high[0] > high[2]  # red
    assert said[0] == "map 1 of 12: prototypes cora, brgcl, seed 0"


def test_maps_train_what_is_not_there_once_and_say_so(tmp_path, draw, monkeypatch):
    pytest.importorskip("openTSNE")
    small = make_graph(40, num_classes=2, num_features=12, labels_per_class=5, num_val=10)
    monkeypatch.setattr("brgcl.benchmark.runner._load", lambda *which: small)
    rows = "[rows.brgcl]\nsettings = { epochs = 2, hidden = 8, dim = 4, warmup_epochs = 1 }\n"
    head = HEAD.split("published")[0].replace('"symmetric", "pair"', '"within"')
    head = head.replace('"demo", "cora"', '"demo"') + 'task = "prototypes"\n'
    (tmp_path / "own.toml").write_text(head + 'metrics = ["confident_share"]\n' + rows)
    suite = load_experiment(str(tmp_path / "own.toml"))
    said = []
    first = draw(suite, {}, levels=[0.2], say=said.append)
    assert len(said) == 2
    assert "training now" in said[1]
    again = draw(suite, {}, levels=[0.2], say=said.append)
    assert len(said) == 3
    points = [next(iter(panels.values())).collections[0].get_offsets() for panels in (first, again)]
    assert np.array_equal(*points)  # a fixed seed


def test_a_method_without_confidence_has_no_map(tmp_path, monkeypatch):
    monkeypatch.setattr(maps, "learn", lambda *which: (Learned(torch.ones(3, 2), None, {}), True))
    with pytest.raises(InputError, match="brgcl has no confidence"):
        plot_suite(
            load_experiment("confidence-map"), {}, tmp_path / "a.svg", ResultsFolder(tmp_path / "r")
        )


# All of them


@pytest.mark.parametrize("name", experiment_names())
def test_every_table_can_be_drawn(name, draw, monkeypatch):
    suite = load_experiment(name)
    monkeypatch.setattr(maps, "learn", fake_learn)
    monkeypatch.setattr(maps, "place_nodes", lambda z, *, seed: (np.arange(40), z[:, :2].numpy()))
    if suite.kind != "grid":
        missing = "no search" if suite.kind == "hyperparameters" else "no picture"
        with pytest.raises(InputError, match=missing):
            draw(suite, {})
        return
    chosen = {"datasets": suite.datasets[:1]}
    records = measure(suite, **chosen, seeds=2)
    found = draw(suite, records, **chosen)
    assert found
    if suite.task == "classify" and len(suite.levels) > 1:
        assert len(found) == len(suite.noise)
        for axes in found.values():
            rows = {cell.row for cell in runs(suite, Selection(**chosen))}
            assert rows <= set(labels(axes))


@pytest.mark.parametrize("name", experiment_names())
def test_rows_of_a_table_look_different(name):
    styles = list(row_styles(load_experiment(name)).values())
    assert len({(style.color, style.marker) for style in styles}) == len(styles)
    assert sum(style.stands_out for style in styles) == (1 if styles else 0)


def test_a_method_looks_the_same_in_all_tables():
    looks = {}
    for name in experiment_names():
        suite = load_experiment(name)
        for row, style in row_styles(suite).items():
            if row == suite.rows[row].method:
                assert looks.setdefault(row, style) == style
    assert looks["brgcl"].color == OURS


# Files


@pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
def test_the_same_picture_gives_the_same_file(suite, tmp_path, ending):
    records, place = (
        measure(suite, datasets=["demo"], rows=["gcn"]),
        ResultsFolder(tmp_path / "r.jsonl"),
    )
    records = {k: r for k, r in records.items() if r.spec.noise != "pair"}
    files = [tmp_path / f"{name}.{ending}" for name in "ab"]
    for file in files:
        plot_suite(suite, records, file, place)
    first, second = (file.read_bytes() for file in files)
    assert first == second
    assert {path.name for path in tmp_path.iterdir()} == {"own.toml", f"a.{ending}", f"b.{ending}"}
    if ending == "svg":
        assert b"<dc:date>" not in first


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run a command in an empty folder; returns its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["brgcl", "bench", "plot", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit:
            cli.main()
        streams = capsys.readouterr()
        return exit.value.code or 0, streams.out, streams.err

    return call


def test_the_command_draws_records_from_a_file(suite, tmp_path, run):
    records = list(measure(suite, datasets=["demo"], rows=["gcn"], seeds=2).values())
    random.Random(0).shuffle(records)
    for record in records:
        append_record(tmp_path / "some.jsonl", record)
    code, out, _ = run("own.toml", "--records", "some.jsonl", "--json")
    assert code == 0
    panels = ["demo, symmetric (n = 2)", "demo, pair (n = 2)"]
    assert json.loads(out) == {"experiment": "own", "file": "own.svg", "panels": panels}
    assert (tmp_path / "own.svg").is_file()


def test_the_command_says_what_to_run_where_nothing_is_measured(suite, tmp_path, run):
    code, _, error = run("own.toml", "--datasets", "demo")
    assert code == 2
    assert "brgcl bench run own.toml --datasets demo" in " ".join(error.split())
    assert not (tmp_path / "own.svg").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["symmetric", "--out", "a.gif"], "a picture is written as .svg, .png or .pdf"),
        (["symetric"], "did you mean 'symmetric'?"),
        (["symmetric", "--methods", "gnc"], "did you mean 'gcn'?"),
        (["dataset-statistics"], "brgcl bench table dataset-statistics"),
    ],
)
def test_wrong_input_is_one_line(run, arguments, message):
    code, out, error = run(*arguments)
    assert (code, out) == (2, "")
    assert message in " ".join(error.split())


def test_without_matplotlib_the_command_says_how_to_get_it(run, monkeypatch):
    monkeypatch.setattr("brgcl.benchmark.speed_page.find_spec", lambda name: None)
    code, _, error = run("symmetric")
    assert code == 2
    assert "pip install 'brgcl[report]'" in " ".join(error.split())
