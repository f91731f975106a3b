"""Searches on disk, and their pictures."""

import dataclasses
import json

import pytest

from brgcl.errors import InputError
from brgcl.tune.figure import plot_searches, read_searches

pytest.importorskip("optuna")


def test_the_surface_shows_every_setting_the_choice_and_the_holes(tuned):
    pytest.importorskip("matplotlib")
    search = dataclasses.replace(tuned, tried=tuned.tried[:3]).to_dict()
    axes = plot_searches({"small": search}).axes[0]
    (image,) = axes.get_images()
    assert image.get_array().count() == 3
    assert sorted(image.get_array().compressed()) == sorted(c.score for c in tuned.tried[:3])
    frames = [patch for patch in axes.patches if not patch.get_hatch()]
    holes = [patch for patch in axes.patches if patch.get_hatch()]
    assert len(holes) == len(tuned.xi) * len(tuned.gamma0) - 3
    at = (tuned.xi.index(tuned.chosen.xi), tuned.gamma0.index(tuned.chosen.gamma0))
    assert frames[-1].get_center() == pytest.approx(at)
    assert axes.get_title().startswith("small: 3 of 6 settings")


def test_a_search_by_tpe_is_plotted_as_points(tuned):
    pytest.importorskip("matplotlib")
    search = dataclasses.replace(tuned, mode="tpe").to_dict()
    points = plot_searches({"small": search}).axes[0].collections[0]
    assert points.get_offsets().tolist() == [[each.xi, each.gamma0] for each in tuned.tried]
    assert points.get_array().tolist() == [each.score for each in tuned.tried]


@pytest.fixture
def saved(tuned):
    return json.loads(json.dumps(tuned.to_dict() | {"noise": {}, "comparison": None}))


def test_searches_are_read_by_graph(tmp_path, saved):
    for name in ("cora", "citeseer"):
        (tmp_path / f"{name}.json").write_text(json.dumps(saved))
    assert read_searches(tmp_path) == {"citeseer": saved, "cora": saved}
    assert list(read_searches(tmp_path, ["cora"])) == ["cora"]
    assert read_searches(tmp_path / "nowhere") == {}


def test_a_search_that_is_asked_for_and_missing_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"no search in '.*pubmed\.json' yet; brgcl tune pubmed"):
        read_searches(tmp_path, ["pubmed"])


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"keeps_default": false}'])
def test_another_file_is_refused(tmp_path, text):
    (tmp_path / "cora.json").write_text(text)
    with pytest.raises(InputError, match=r"cora\.json"):
        read_searches(tmp_path)


@pytest.mark.parametrize("name", ["trials", "xi", "mode", "comparison"])
def test_a_search_without_what_is_shown_is_refused(tmp_path, saved, name):
    del saved[name]
    (tmp_path / "cora.json").write_text(json.dumps(saved))
    with pytest.raises(InputError, match=r"cora\.json"):
        read_searches(tmp_path)
