"""Every setting of every method refuses what lies beyond its declared range.

The wrong values are derived from the types of the fields, so that a new `Config` is covered by
being in METHODS.
"""

import dataclasses
from types import UnionType
from typing import Annotated, Union, get_args, get_origin, get_type_hints

import pytest
from annotated_types import Ge, GroupedMetadata, Gt, Le, Lt

from brgcl.baselines.shared.gcn_training import GCNConfig
from brgcl.config import BRGCLConfig, Settings
from brgcl.errors import InputError
from brgcl.methods import METHODS

CONFIGS = sorted({method.Config for method in METHODS.values()}, key=lambda cls: cls.__name__)


def parts(hint):
    """The types of a union, each with its bounds."""
    if get_origin(hint) in (Union, UnionType):
        return [part for each in get_args(hint) for part in parts(each)]
    if get_origin(hint) is not Annotated:
        return [(hint, [])]
    kind, *given = get_args(hint)
    return [(kind, [b for g in given for b in (g if isinstance(g, GroupedMetadata) else [g])])]


def beyond(bound):
    """A value just outside of a bound."""
    match bound:
        case Ge(ge=limit):
            return limit - 1
        case Le(le=limit):
            return limit + 1
        case Gt(gt=limit) | Lt(lt=limit):
            return limit


def wrong_values(hint):
    found = [object(), "no such word", b"", float("nan")]
    for kind, bounds in parts(hint):
        found += [beyond(bound) for bound in bounds]
        found += [True, 1.5] if kind is int else [True] if kind is float else []
        found += [1] if kind is bool else []
        if kind in (int, float):
            assert bounds, "a number without a range"
    kinds = [kind for kind, _ in parts(hint)]
    return [value for value in found if not (kinds == [str] and isinstance(value, str))]


WRONG = [
    (cls, name, value)
    for cls in CONFIGS
    for name, hint in get_type_hints(cls, include_extras=True).items()
    for value in wrong_values(hint)
]


@pytest.mark.parametrize("cls", CONFIGS)
def test_settings_are_a_frozen_dataclass_of_ours(cls):
    assert issubclass(cls, Settings)
    assert dataclasses.is_dataclass(cls)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(cls(), dataclasses.fields(cls)[0].name, None)
    assert hash(cls()) == hash(cls())
    assert cls(**cls().to_dict()) == cls()


@pytest.mark.parametrize("cls", CONFIGS)
def test_a_value_beyond_each_bound_is_refused_by_name_rule_and_value(cls):
    cases = [(name, value) for which, name, value in WRONG if which is cls]
    assert len(cases) >= 4
    for name, value in cases:
        with pytest.raises(InputError) as caught:
            cls(**{name: value})
        message = str(caught.value)
        assert message.startswith(f"{name} must be "), (name, value)
        assert message.endswith(f", got {value!r}"), (name, value)


@pytest.mark.parametrize(
    ("method", "settings", "message"),
    [
        ("nrgnn", {"n_p": -1}, "n_p must be at least 1 where candidates is sparse, got -1"),
        ("sce", {"alpha": 0.0, "beta": 0.0}, "beta must be above 0 if alpha is 0, got 0.0"),
        ("erase", {"hidden": 10, "heads": 4}, "hidden must be a multiple of heads, got 10"),
        ("graphmae", {"heads": 3}, "heads must be a divisor of dim = 512, got 3"),
        ("brgcl", {"view1": "diffusion", "drop1": 0}, "drop1 must be above 0 if view1 is diff"),
        (
            "brgcl",
            {"view2": "diffusion", "encoder": "gat"},
            "view2 must be another one, since encoder 'gat' reads edges, got 'diffusion'",
        ),
        (
            "brgcl",
            {"mode": "partitioned", "encoder": "gin"},
            "training by parts has the encoder 'gcn' only, not 'gin'; set encoder='gcn', or mode=",
        ),
        ("brgcl-joint", {"patience": 5}, "patience must be none, got 5"),
        ("brgcl-joint", {"device": "cuda"}, "device must be 'cpu', got 'cuda'"),
    ],
)
def test_rules_between_settings_hold(method, settings, message):
    with pytest.raises(InputError) as caught:
        METHODS[method].config(**settings)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("name", METHODS)
def test_an_unknown_setting_suggests_the_nearest(name):
    known = dataclasses.fields(METHODS[name].Config)[0].name
    with pytest.raises(InputError, match=f"unknown setting '{known}s'; did you mean '{known}'"):
        METHODS[name].config(**{f"{known}s": 1})


def test_settings_built_on_others_add_to_them():
    assert issubclass(METHODS["gce"].Config, GCNConfig)
    assert issubclass(METHODS["brgcl-joint"].Config, BRGCLConfig)
