"""scikit-learn's own checks of an estimator, against the exceptions that the docs list."""

import re
import warnings
from pathlib import Path

import pytest
from sklearn.utils import estimator_checks

from brgcl import BRGCL, NodeClassifier

PAGE = Path(__file__).parents[2] / "docs" / "scikit-learn.md"
LISTED = dict(re.findall(r"^\| `(check_\w+)` \| (.+) \|$", PAGE.read_text("utf-8"), re.MULTILINE))
SETTINGS_ONLY = (
    "check_estimator_cloneable", "check_estimator_repr", "check_get_params_invariance",
    "check_mixin_order", "check_no_attributes_set_in_init",
    "check_parameters_default_constructible", "check_set_params", "check_valid_tag_types",
)  # fmt: skip


@pytest.fixture(scope="module")
def found():
    """Each check with how it ended and what it raised."""
    if not hasattr(estimator_checks, "check_estimator_repr"):
        pytest.skip("this scikit-learn cannot return the checks that fail")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = estimator_checks.check_estimator(NodeClassifier("centroid"), on_fail=None)
    return {result["check_name"]: result for result in results}


def test_the_checks_that_fail_are_those_that_the_docs_list(found):
    failed = {name for name, result in found.items() if result["status"] == "failed"}
    assert failed == LISTED.keys() & found.keys()
    assert sum(result["status"] == "passed" for result in found.values()) >= 40
    assert all(len(reason) > 20 for reason in LISTED.values())


def test_what_is_refused_is_refused_with_an_error_of_ours(found):
    """A check on wrong input fails because of our words, never because nothing was noticed."""
    refused = [name for name, reason in LISTED.items() if "refused" in reason and name in found]
    assert len(refused) >= 6
    for name in refused:
        error = found[name]["exception"]
        told = [str(error), *map(str, (error.__cause__, error.__context__))]
        assert any("z must" in t or "labels" in t or "columns" in t for t in told), (name, told)


@pytest.mark.filterwarnings("ignore:InputError occurred during set_params")  # checked at once
@pytest.mark.parametrize("name", SETTINGS_ONLY)
def test_the_checks_of_settings_pass_for_graphs_too(name):
    check = getattr(estimator_checks, name, None)
    if check is None:
        pytest.skip("this scikit-learn has no such check")
    check("BRGCL", BRGCL())
