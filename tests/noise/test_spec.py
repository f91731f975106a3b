import pytest

from brgcl.errors import InputError
from brgcl.noise import ATTRIBUTE_NOISE, EDGE_NOISE, LABEL_NOISE, NoiseSpec, parse_noise


@pytest.mark.parametrize(
    ("text", "kinds", "spec"),
    [
        ("symmetric:0.4", LABEL_NOISE, NoiseSpec("symmetric", 0.4)),
        ("within:0.3@train", ATTRIBUTE_NOISE, NoiseSpec("within", 0.3, "train")),
        ("rewire:0", EDGE_NOISE, NoiseSpec("rewire", 0.0)),
    ],
)
def test_text_is_read_and_given_back(text, kinds, spec):
    assert parse_noise(text, kinds) == spec
    assert str(spec) == text


def test_other_spellings_of_the_same_noise():
    assert str(parse_noise(" within : 0.30 @ all ", ATTRIBUTE_NOISE)) == "within:0.3"
    assert parse_noise("add:.1", EDGE_NOISE) == NoiseSpec("add", 0.1)


def test_a_level_keeps_all_its_digits():
    assert str(NoiseSpec("add", 1 / 3)) == "add:0.3333333333333333"


@pytest.mark.parametrize("text", [None, "", " ", "none"])
def test_no_noise(text):
    assert parse_noise(text, LABEL_NOISE) is None


@pytest.mark.parametrize(
    ("text", "kinds", "message"),
    [
        ("symmetric", LABEL_NOISE, "noise 'symmetric' has no level; write e.g. symmetric:0.4"),
        ("pair:", LABEL_NOISE, "noise 'pair:' has no level; write e.g. pair:0.4"),
        ("symetric:0.4", LABEL_NOISE, "unknown noise 'symetric'; did you mean 'symmetric'?"),
        ("within:0.4", LABEL_NOISE, "unknown noise 'within'"),
        ("pair:much", LABEL_NOISE, "noise level 'much' in 'pair:much' is not a number"),
        ("pair:40", LABEL_NOISE, "noise level must be in [0, 1), got 40.0"),
        ("pair:nan", LABEL_NOISE, "noise level must be in [0, 1), got nan"),
        ("pair:0.4@train", LABEL_NOISE, "pair noise takes no scope, got '@train'"),
        ("add:0.4@all", EDGE_NOISE, "add noise takes no scope, got '@all'"),
        ("cell:0.4@tain", ATTRIBUTE_NOISE, "unknown noise scope 'tain'; did you mean 'train'?"),
        ("cell:0.4@", ATTRIBUTE_NOISE, "unknown noise scope ''"),
    ],
)
def test_wrong_text_is_named(text, kinds, message):
    with pytest.raises(InputError) as error:
        parse_noise(text, kinds)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("fields", [("none", 0.1), ("pair", 1.0), ("pair", 0.1, "train")])
def test_a_value_is_checked_however_it_is_made(fields):
    with pytest.raises(InputError):
        NoiseSpec(*fields)
