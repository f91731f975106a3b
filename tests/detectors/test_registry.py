import subprocess
import sys

import pytest

from brgcl.detectors import names
from brgcl.detectors.registry import DETECTORS, find_detector
from brgcl.errors import InputError


def test_names_are_those_of_the_registry():
    assert list(names.DETECTORS) == list(DETECTORS)
    assert all(names.DETECTORS.values())


def test_an_unknown_name_is_an_error_that_names_the_nearest():
    with pytest.raises(InputError, match="did you mean 'neighbours'"):
        find_detector("neighbors")


def test_names_load_no_library():
    code = "import sys, brgcl.detectors.names; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
