import dataclasses
import json

import pytest

from brgcl.benchmark.run_spec import RunSpec, changed_settings
from brgcl.config import BRGCLConfig
from brgcl.errors import InputError
from brgcl.methods import METHODS


def ours(**fields):
    return RunSpec.of("cora", fields.pop("method", "brgcl"), fields.pop("seed", 0), {}, **fields)


def test_level_0_of_every_noise_is_the_same_experiment():
    clean = ours()
    assert ours(noise="symmetric", level=0) == clean
    assert ours(noise="within", level=0.0).key == clean.key


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"noise": "pair", "level": 0.2},
        {"protocol": "no-val"},
        {"task": "cluster"},
        {"rule": "mlp"},
        {"soft_labels": "hard"},
        {"scored_on": "validation"},
        {"method": "brgcl-paper"},
    ],
)
def test_another_experiment_has_another_key(change):
    assert ours(**change).key != ours().key


def test_another_setting_has_another_key_and_the_default_spelled_out_has_the_same():
    assert RunSpec.of("cora", "brgcl", 0, {"xi": 0.3}).key != ours().key
    assert RunSpec.of("cora", "brgcl", 0, {"xi": BRGCLConfig().xi}).key == ours().key


def test_keys_stay_what_they_are():
    assert ours(noise="symmetric", level=0.4).key == "72716399c60b6e5d"


def test_survives_json():
    spec = RunSpec.of("pubmed", "brgcl-paper", 3, {}, noise="within@train", level=0.3)
    assert RunSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec


@pytest.mark.parametrize("method", METHODS)
def test_settings_give_the_config_back(method):
    spec = RunSpec.of("citeseer", method, 0, {})
    wanted = METHODS[method].config("citeseer")
    assert spec.config == wanted
    names = {field.name for field in dataclasses.fields(wanted)}
    assert {name for name, _ in changed_settings(wanted)} <= names


def test_label_noise_shares_a_training_and_attribute_noise_does_not():
    clean = ours().training
    assert ours(noise="symmetric", level=0.4).training == clean
    assert ours(noise="pair", level=0.2, protocol="no-val", rule="mlp").training == clean
    assert ours(task="cluster").training == clean
    assert ours(noise="within", level=0.2).training != clean
    assert ours(noise="add", level=0.2).training != clean
    assert ours(seed=1).training != clean


@pytest.mark.parametrize("method", [name for name, m in METHODS.items() if m.uses_labels])
def test_methods_that_read_labels_share_no_training(method):
    with pytest.raises(InputError, match="learns from labels"):
        _ = ours(method=method).training


def test_noise_goes_to_its_part():
    assert ours(noise="pair", level=0.2).noise_spec().labels.kind == "pair"
    assert ours(noise="cell@train", level=0.2).noise_spec().attributes.scope == "train"
    assert ours(noise="rewire", level=0.2).noise_spec().edges.level == 0.2


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"noise": "symetric", "level": 0.2}, "symmetric"),
        ({"protocol": "clean"}, "clean-val"),
        ({"task": "embed"}, "classify"),
        ({"noise": "pair", "level": 1.0}, "level"),
    ],
)
def test_wrong_names_are_errors(fields, message):
    with pytest.raises(InputError, match=message):
        ours(**fields)


def test_an_unknown_setting_is_an_error():
    with pytest.raises(InputError, match="did you mean 'xi'"):
        RunSpec.of("cora", "brgcl", 0, {"xii": 1.0})


def test_the_choice_by_the_highest_count_is_written_as_auto():
    """Committed records were made with it, when it was the only choice and called so."""
    for rule, written in (("best", "auto"), ("auto", "auto-4"), ("mlp", "mlp")):
        spec = ours(rule=rule)
        assert spec.to_dict()["rule"] == written
        assert RunSpec.from_dict(spec.to_dict()) == spec


def test_a_rule_that_has_changed_for_validation_labels_keeps_its_records_without_them():
    spec = ours(rule="auto", protocol="no-val")
    assert spec.to_dict()["rule"] == "auto-3"
    assert RunSpec.from_dict(spec.to_dict()) == spec
    with pytest.raises(InputError, match="auto-3"):
        RunSpec.from_dict(ours(rule="auto").to_dict() | {"rule": "auto-3"})


def detection(method="brgcl", **fields):
    return RunSpec.of("cora", method, 0, {}, task="detect", **fields)


def test_a_detector_shares_the_training_of_its_method():
    assert detection(noise="pair", level=0.2, labelled="all").training == ours().training
    assert detection("nearest").training == ours().training
    assert detection("smooth").training == ours(method="smooth").training
    with pytest.raises(InputError, match="learns from labels"):
        _ = detection("confident-gcn").training


def test_detectors_and_methods_have_names_of_their_own():
    with pytest.raises(InputError, match="unknown detector 'gcn'"):
        detection("gcn")
    with pytest.raises(InputError, match="unknown method 'small-loss'"):
        ours(method="small-loss")


def test_a_run_of_a_detector_survives_json_and_says_which_nodes_are_labelled():
    for spec in (detection(labelled="all"), detection("neighbours"), detection("graph-cleaner")):
        assert RunSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec
    assert detection(labelled="all").key != detection().key != ours().key
    assert "labelled" not in ours().to_dict()
    assert detection("graph-cleaner").config.hidden == 256
