import json
import re
from statistics import mean

import pytest
import torch

import brgcl
from parameter_pictures import DRAWS, GUIDE, NODES, PICTURES, RESULTS, VALUES, plot, put_tables


@pytest.fixture(scope="module")
def results():
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def test_the_page_shows_what_was_measured(results):
    page = GUIDE.read_text(encoding="utf-8")
    assert put_tables(page, results) == page, "python benchmarks/parameter_pictures.py --pages"


def test_a_changed_number_changes_the_page(results):
    page = GUIDE.read_text(encoding="utf-8")
    changed = json.loads(json.dumps(results))
    changed["epochs"]["5"]["accuracy"] = [0.123] * DRAWS
    assert "0.123 ± 0.000" in put_tables(page, changed)


def test_every_value_was_measured_with_the_settings_of_the_script(results):
    assert (results["nodes"], results["draws"]) == (NODES, DRAWS)
    for name, values in VALUES.items():
        assert {v: r["settings"] for v, r in results[name].items()} == values
        assert all(len(r["accuracy"]) == DRAWS for r in results[name].values())
        for settings in values.values():
            brgcl.BRGCL(**settings)  # they are allowed


@pytest.mark.parametrize("name", [*VALUES, "price"])
def test_the_titles_of_a_picture_are_those_of_the_results(results, name):
    texts = re.findall(r"<!-- (.*?) -->", (PICTURES / f"{name}.svg").read_text(encoding="utf-8"))
    for value, found in results[name].items():
        if name == "price":
            assert f"{value}: {found['clusters']} clusters" in texts
        else:
            assert f"{value}: accuracy {mean(found['accuracy']):.2f}" in texts


def test_a_picture_has_a_map_for_each_value():
    z, groups = torch.eye(12), torch.arange(12) % 3
    axes = plot([("a", z, groups), ("b", z, groups)]).axes
    assert [axis.get_title() for axis in axes] == ["a", "b"]
    assert all(len(axis.collections[0].get_offsets()) == 12 for axis in axes)
