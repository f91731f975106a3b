"""What a detector reads of a training without labels."""

from torch import Tensor

from brgcl.contract import Fitted
from brgcl.errors import InputError


def representations_of(fitted: Fitted | None) -> Tensor:
    """Representations of a training, `(N, D)`, or an error where there is none."""
    if fitted is None:
        raise InputError(
            "this detector reads representations; give what its method has learned, or call "
            "Detector.run, which trains it"
        )
    return fitted.representations
