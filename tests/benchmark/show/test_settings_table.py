"""The table of chosen settings: what a search found, beside the paper's values."""

import json

import pytest

from brgcl.benchmark.experiment import Selection, load_experiment
from brgcl.benchmark.runner import ResultsFolder
from brgcl.benchmark.show.figures import plot_suite
from brgcl.benchmark.show.formats import to_text
from brgcl.benchmark.show.settings_table import read_searches, settings_of, settings_sheet
from brgcl.config import BRGCLConfig
from brgcl.errors import InputError


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
    text = to_text(settings_sheet(load_experiment("hyperparameters"), {"cora": search}))
    assert "81 of 81 cells of the grid" in text
    assert "gain +2.1 ± 1.4" in text
    assert "Δ -1.0 [-1.8, -0.2]" in text
    assert "gamma0 0.6: worse" in text
    assert text.count("not run") == 4  # the other graphs


def test_the_presets_and_the_papers_values_are_shown():
    suite = load_experiment("hyperparameters")
    text = to_text(settings_sheet(suite, {}))
    assert "paper 0.35" in text
    assert f"{BRGCLConfig.preset('cora').xi:g}" in text


def test_a_choice_that_was_not_compared_says_so(search):
    text = to_text(
        settings_sheet(load_experiment("hyperparameters"), {"cora": search | {"comparison": None}})
    )
    assert "not compared" in text


def test_the_default_stays_without_settings(search):
    assert settings_of(search) == {"xi": 0.25, "gamma0": 0.6}
    assert settings_of(search | {"keeps_default": True}) == {}


def test_searches_are_read_by_graph(tmp_path, search):
    (tmp_path / "cora.json").write_text(json.dumps(search))
    assert read_searches(tmp_path) == {"cora": search}
    assert read_searches(tmp_path / "nowhere") == {}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"keeps_default": false}'])
def test_another_file_is_refused(tmp_path, text):
    (tmp_path / "cora.json").write_text(text)
    with pytest.raises(InputError, match=r"cora\.json"):
        read_searches(tmp_path)


@pytest.mark.parametrize("name", ["trials", "xi", "mode", "comparison"])
def test_a_search_without_what_is_shown_is_refused(tmp_path, search, name):
    del search[name]
    (tmp_path / "cora.json").write_text(json.dumps(search))
    with pytest.raises(InputError, match=r"cora\.json"):
        read_searches(tmp_path)


def test_searches_are_drawn_for_the_graphs_asked_for(tmp_path, search):
    pytest.importorskip("matplotlib")
    place = ResultsFolder(tmp_path / "records.jsonl")
    place.searches.mkdir()
    for name in ("cora", "citeseer"):
        (place.searches / f"{name}.json").write_text(json.dumps(search))
    suite = load_experiment("hyperparameters")

    def titles(**part):
        figure = plot_suite(suite, {}, tmp_path / "a.svg", place, Selection(**part))
        return [axes.get_title().split(":")[0] for axes in figure.axes if axes.get_title()]

    assert titles() == ["citeseer", "cora"]
    assert titles(datasets=["cora"]) == ["cora"]
    with pytest.raises(InputError, match="brgcl tune pubmed --json"):
        titles(datasets=["pubmed"])
