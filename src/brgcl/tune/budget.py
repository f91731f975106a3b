"""The time that a search and a comparison may take."""

from math import inf
from time import monotonic

OVERRUN = 1.1  # a training may take so much longer than an earlier one


class OutOfTime(Exception):  # noqa: N818 - reads as what happened
    """The budget ended while a training was going on."""


class Budget:
    """Some seconds from now on; None for no end."""

    def __init__(self, seconds: float | None = None) -> None:
        self._deadline = inf if seconds is None else monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds that are left; below 0 once it is over."""
        return self._deadline - monotonic()

    def holds(self, seconds: float) -> bool:
        """Whether a training fits that is expected to take so long."""
        return OVERRUN * seconds <= self.left

    def check(self) -> None:
        """Raise `OutOfTime` once it is over."""
        if self.left < 0:
            raise OutOfTime
