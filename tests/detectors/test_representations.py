import pytest

from brgcl.detectors.representations import representations_of
from brgcl.errors import InputError


def test_a_missing_training_is_an_error():
    with pytest.raises(InputError, match=r"Detector\.run"):
        representations_of(None)
