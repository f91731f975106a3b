import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import brgcl.config
from brgcl.config import LATER, PAPER_TABLE, BRGCLConfig, ViewSettings, check_seed
from brgcl.errors import BrgclError, InputError

FIELDS = [field.name for field in dataclasses.fields(BRGCLConfig)]

# (field, wrong value, the rule that the message must state)
WRONG = [
    ("seed", 1.5, "an integer in [0, 4294967295]"),
    ("seed", 2**32, "an integer in [0, 4294967295]"),
    ("device", 0, "a string"),
    ("attributes", "l2", "'auto', or one of 'l1', 'standardize', 'none'"),
    ("hidden", 2.0, "an integer of at least 1"),
    ("epochs", True, "an integer of at least 1"),
    ("epochs", np.zeros(2), "an integer of at least 1"),
    ("lr", 0.0, "a number above 0"),
    ("lr", float("nan"), "a number above 0"),
    ("lr", float("inf"), "a number above 0"),
    ("weight_decay", -0.1, "a number of at least 0"),
    ("patience", 0, "an integer of at least 1, or none"),
    ("view2", None, "one of 'edges', 'nodes', 'subgraph', 'diffusion'"),
    ("drop1", 1.0, "a number in [0, 1)"),
    ("positive_twice", 1, "true or false"),
    ("num_negatives", 1, "an integer of at least 2, or 'auto', or none"),
    ("proto_weight", "1/K", "a number of at least 0, or '1/N'"),
    ("alpha", 0.0, "a number in (0, 1]"),
]

RIGHT_AT_THE_EDGE = [
    {"alpha": 1.0},
    {"gamma0": 0.0},
    {"drop1": 0.0, "mask2": 0},
    {"warmup_epochs": 0},
    {"num_negatives": 2},
    {"num_negatives": None},
    {"patience": 1},
    {"proto_weight": 0},
    {"lr": 1},
    {"clustering": "kmeans", "num_prototypes": 1},
]


@pytest.mark.parametrize(("name", "value", "rule"), WRONG)
def test_a_wrong_value_is_refused_by_name_rule_and_value(name, value, rule):
    with pytest.raises(InputError) as caught:
        BRGCLConfig(**{name: value})
    assert str(caught.value) == f"{name} must be {rule}, got {value!r}"


@pytest.mark.parametrize("seed", [-1, 2**32, 2**64, 1.0, None])
def test_a_seed_that_a_library_refuses_is_refused_at_once(seed):
    """Defect 18: a seed of 2**32 failed only after training, in scikit-learn or torch."""
    with pytest.raises(InputError, match=r"^seed must be an integer in \[0, 4294967295\], got "):
        check_seed(seed)


def test_the_largest_seed_is_taken():
    assert check_seed(np.uint32(2**32 - 1)) == BRGCLConfig(seed=2**32 - 1).seed == 2**32 - 1


def test_numpy_numbers_become_plain():
    config = BRGCLConfig(epochs=np.int64(3), lr=np.float32(0.5), positive_twice=np.bool_(True))
    assert [type(getattr(config, name)) for name in ("epochs", "lr", "positive_twice")] == [
        int,
        float,
        bool,
    ]


def test_a_torch_device_becomes_its_name():
    """Defect 19: a torch.device was refused."""
    assert BRGCLConfig(device=torch.device("cuda", 1)).device == "cuda:1"


def test_settings_are_checked_without_torch():
    program = (
        "import sys, types\n"
        "sys.modules['brgcl'] = package = types.ModuleType('brgcl')\n"
        f"package.__path__ = [{str(Path(brgcl.config.__file__).parent)!r}]\n"
        "import brgcl.config\n"
        "brgcl.config.BRGCLConfig()\n"
        "assert not {'torch', 'numpy', 'sklearn', 'pandas'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("settings", RIGHT_AT_THE_EDGE, ids=str)
def test_a_value_at_the_edge_of_its_range_is_taken(settings):
    config = BRGCLConfig(**settings)
    assert {name: getattr(config, name) for name in settings} == settings


def test_a_number_of_prototypes_needs_kmeans():
    with pytest.raises(InputError, match="num_prototypes is found by dp-means"):
        BRGCLConfig(num_prototypes=7)


def test_an_input_error_is_a_value_error_and_one_of_ours():
    assert issubclass(InputError, ValueError)
    assert issubclass(InputError, BrgclError)


def test_settings_are_keyword_only_and_frozen():
    with pytest.raises(TypeError):
        BRGCLConfig(3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        BRGCLConfig().seed = 1


def test_equal_settings_are_equal_and_hash_alike():
    assert BRGCLConfig(xi=0.2) == BRGCLConfig(xi=0.2) != BRGCLConfig(xi=0.3)
    assert len({BRGCLConfig(xi=0.2), BRGCLConfig(xi=0.2), BRGCLConfig(xi=0.3)}) == 2


def test_replace_changes_what_it_is_told_and_nothing_else():
    config = BRGCLConfig(tau=0.7)
    changed = config.replace(xi=0.2, epochs=5)
    assert (changed.tau, changed.xi, changed.epochs) == (0.7, 0.2, 5)
    assert config == BRGCLConfig(tau=0.7)
    assert {k for k, v in changed.to_dict().items() if v != config.to_dict()[k]} == {"xi", "epochs"}


def test_replace_validates():
    with pytest.raises(InputError, match=r"^tau must be a number above 0, got -1$"):
        BRGCLConfig().replace(tau=-1)


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [("epoch", "epochs"), ("gama0", "gamma0"), ("node_objectives", "node_objective")],
)
def test_an_unknown_setting_suggests_the_nearest(wrong, meant):
    with pytest.raises(InputError, match=f"unknown setting '{wrong}'; did you mean '{meant}'?"):
        BRGCLConfig().replace(**{wrong: 1})
    with pytest.raises(InputError, match=f"'{meant}'"):
        BRGCLConfig.check_names({wrong: 1})


def test_known_names_pass():
    assert BRGCLConfig.check_names(FIELDS) is None


def test_to_dict_and_back():
    config = BRGCLConfig.preset("paper-literal")
    assert list(config.to_dict()) == FIELDS
    assert BRGCLConfig(**config.to_dict()) == config


def test_settings_that_came_later_do_not_change_the_identity_of_the_default():
    default = BRGCLConfig()
    assert set(default.to_dict()) - set(default.identity()) == set(LATER)
    for name, value in {"encoder": "gat", "mode": "full", "memory_budget": 2.0}.items():
        assert default.replace(**{name: value}).identity() == default.identity() | {name: value}


def test_views_gather_the_settings_of_each_view():
    config = BRGCLConfig(view2="nodes", drop1=0.1, drop2=0.2, mask1=0.3, mask2=0.4)
    assert config.views == (ViewSettings("edges", 0.1, 0.3), ViewSettings("nodes", 0.2, 0.4))


# Presets


@pytest.mark.parametrize("name", ["default", "demo", *PAPER_TABLE])
def test_every_data_set_has_the_default_settings(name):
    assert BRGCLConfig.preset(name) == BRGCLConfig.preset() == BRGCLConfig()


@pytest.mark.parametrize(
    ("dataset", "xi", "gamma0"),
    [
        ("cora", 0.20, 0.3),
        ("citeseer", 0.15, 0.5),
        ("pubmed", 0.35, 0.7),
        ("coauthor-cs", 0.40, 0.4),
        ("ogbn-arxiv", 0.25, 0.4),
    ],
)
def test_the_paper_literal_preset_has_the_values_of_the_paper(dataset, xi, gamma0):
    config = BRGCLConfig.preset("paper-literal", dataset=dataset)
    assert (config.xi, config.gamma0) == (xi, gamma0)
    assert config.node_objective == "abs"
    assert config.positive_twice is True
    assert config.proto_weight == "1/N"
    assert config.warmup_epochs == 0
    assert config.num_negatives is None


def test_the_table_of_the_paper_has_five_data_sets():
    assert len(PAPER_TABLE) == 5


def test_unknown_presets_and_data_sets_suggest_the_nearest():
    with pytest.raises(InputError, match="unknown preset 'paper-litteral'; did you mean 'paper-l"):
        BRGCLConfig.preset("paper-litteral")
    with pytest.raises(InputError, match=r"unknown data set of the paper 'core'.*'cora'"):
        BRGCLConfig.preset("paper-literal", dataset="core")


# Every field explains itself


def field_sentences():
    for field in dataclasses.fields(BRGCLConfig):
        yield field.name, field.metadata.get("meaning", "")


def test_each_field_says_what_it_means():
    sentences = dict(field_sentences())
    assert list(sentences) == FIELDS
    for name, text in sentences.items():
        assert text.endswith("."), name
        assert text[0].isupper() or text[0].isdigit(), name
        assert len(text) <= 100, name


def test_no_two_fields_share_a_sentence():
    texts = [text for _, text in field_sentences()]
    assert len(set(texts)) == len(texts)
