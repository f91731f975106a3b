"""Tables ready to be written: what cells say, facts, and settings beside the paper's."""

import pytest

from brgcl.benchmark.experiment import Selection, load_experiment, runs
from brgcl.benchmark.records import Record
from brgcl.benchmark.run_spec import RunSpec
from brgcl.benchmark.show.formats import to_markdown, to_text
from brgcl.benchmark.show.layout import layouts, settings_layout, statistics_layout, with_metrics
from brgcl.config import BRGCLConfig
from brgcl.errors import InputError


def test_a_missing_cell_says_so_with_its_hours(small, records):
    (cora, arxiv) = layouts(small, records)
    text = to_text(cora)
    assert "not run, about 0.4 h" in text  # four trainings of s2gc at level 0.4
    assert "2 draws not run" in text
    assert "needs the download" in to_text(arxiv)
    assert "needs the download" not in text


def test_failed_cells_say_so(small, records):
    (run,) = runs(small, Selection(datasets=["cora"], rows=["s2gc"], levels=[0.4], seeds=1))
    tables = layouts(small, records | {run.spec.key: Record(run.spec, {}, error="broken")})
    assert "failed (1)" in to_text(tables[0])


def test_a_capped_number_is_a_lower_bound():
    small = load_experiment("prototypes")
    spec = RunSpec.of("cora", "brgcl", 0, {}, task="prototypes")
    metrics = {"num_prototypes": 64.0, "capped": 1.0, "confident_share": 0.9}
    (layout,) = layouts(
        small, {spec.key: Record(spec, metrics)}, Selection(datasets=["cora"], rows=["brgcl"])
    )
    assert "≥ 64.0 (1)" in to_text(layout)


def test_sizes_of_graphs_stand_beside_the_papers():
    text = to_markdown(statistics_layout(load_experiment("dataset-statistics")))
    assert "paper" in text
    assert "ogbn-arxiv" in text


@pytest.mark.parametrize(("name", "word"), [("probe", "published"), ("symmetric", "paper")])
def test_values_from_elsewhere_are_not_called_the_papers(name, word):
    """The values beside the linear probe are those of other authors."""
    experiment = load_experiment(name)
    selection = Selection(datasets=["cora"], rows=["gcn"], levels=[0.0])
    gcn = runs(experiment, selection)[0].spec
    (layout,) = layouts(experiment, {gcn.key: Record(gcn, {"accuracy": 0.8})}, selection)
    texts = [line.text for line in layout.rows[0][1][0]]
    assert [text.split()[0] for text in texts if "8" in text and "(" not in text] == [word]


@pytest.fixture
def search():
    return {
        "mode": "grid",
        "criterion": "labels",
        "epochs": 100,
        "trials_wanted": 81,
        "trials_done": 81,
        "noise": {"labels": "symmetric:0.4", "attributes": None, "edges": None},
        "keeps_default": False,
        "chosen": {"xi": 0.25, "gamma0": 0.6, "gain": 0.021, "gain_error": 0.014},
        "default": {"xi": 0.5, "gamma0": 0.3},
        "xi": [0.25, 0.5],
        "gamma0": [0.3, 0.6],
        "trials": [
            {"xi": 0.25, "gamma0": 0.6, "score": 0.5, "error": 0.04, "pruned": False},
            {"xi": 0.5, "gamma0": 0.3, "score": 0.4, "error": 0.04, "pruned": False},
        ],
        "comparison": {
            "metric": "accuracy", "xi": 0.25, "gamma0": 0.6, "n": 5, "verdict": "worse",
            "default_mean": 0.76, "other_mean": 0.75,
            "difference_mean": -0.01, "difference_low": -0.018, "difference_high": -0.002,
        },
    }  # fmt: skip


def test_a_search_is_shown_with_what_it_is_worth(search):
    text = to_text(settings_layout(load_experiment("hyperparameters"), {"cora": search}))
    assert "81 of 81 cells of the grid" in text
    assert "gain +2.1 ± 1.4" in text
    assert "Δ -1.0 [-1.8, -0.2]" in text
    assert "gamma0 0.6: worse" in text
    assert text.count("not run") == 4  # the other graphs


def test_the_presets_and_the_papers_values_are_shown():
    experiment = load_experiment("hyperparameters")
    text = to_text(settings_layout(experiment, {}))
    assert "paper 0.35" in text
    assert f"{BRGCLConfig.preset('cora').xi:g}" in text


def test_a_choice_that_was_not_compared_says_so(search):
    text = to_text(
        settings_layout(load_experiment("hyperparameters"), {"cora": search | {"comparison": None}})
    )
    assert "not compared" in text


def test_a_table_can_show_other_scores_of_its_records():
    experiment = load_experiment("detection")
    selection = Selection(datasets=["cora"], rows=["brgcl"], levels=[0.1], seeds=1)
    scores = {"average_precision": 0.931, "auroc": 0.987, "error_rate_error": 0.013}
    records = {
        each.spec.key: Record(each.spec, scores, realised={"labels": 0.1})
        for each in runs(experiment, selection)
    }
    assert len(records) == 2  # symmetric and pair
    (own,) = layouts(experiment, records, selection)
    assert "93.1 (1)" in to_text(own)
    other = with_metrics(experiment, ["auroc", "error_rate_error"])
    (table,) = layouts(other, records, selection)
    assert "98.7 (1)" in to_text(table)
    assert "1.3 (1)" in to_text(table)
    assert "93.1" not in to_text(table)
    assert with_metrics(experiment, None) is experiment
    with pytest.raises(InputError, match="did you mean 'auroc'"):
        with_metrics(experiment, ["auc"])
