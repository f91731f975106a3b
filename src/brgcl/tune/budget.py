"""The time that a search and a comparison may take."""

from dataclasses import dataclass
from math import inf
from time import monotonic

OVERRUN = 1.1  # a training may take so much longer than an earlier one


class OutOfTime(Exception):  # noqa: N818 - reads as what happened
    """The budget ended while a training was going on."""


@dataclass(frozen=True)
class Budget:
    """A moment after which nothing goes on; None for no end."""

    deadline: float | None = None

    @classmethod
    def of(cls, seconds: float | None) -> "Budget":
        """A budget that begins now."""
        return cls(None if seconds is None else monotonic() + seconds)

    @property
    def left(self) -> float:
        """Seconds that are left; below 0 once it is over."""
        return inf if self.deadline is None else self.deadline - monotonic()

    def holds(self, seconds: float) -> bool:
        """Whether a training fits that is expected to take so long."""
        return OVERRUN * seconds <= self.left

    def check(self) -> None:
        """Raise `OutOfTime` once it is over."""
        if self.left < 0:
            raise OutOfTime
