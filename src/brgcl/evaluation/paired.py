"""Two methods on the same draws: the mean difference and its t interval."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from statistics import mean, stdev

from scipy.stats import t as student

LEVEL = 0.95
TIE = 0.01


@dataclass(frozen=True)
class Paired:
    """Mean difference to another row over the same draws, with its interval where n > 1."""

    n: int
    mean: float
    low: float | None
    high: float | None

    @property
    def is_tie(self) -> bool:
        """Whether the interval holds 0 and the difference is at most a point."""
        if self.low is None or self.high is None:
            return False
        return self.low <= 0 <= self.high and self.mean > -TIE


def paired_difference(values: Mapping[int, float], reference: Mapping[int, float]) -> Paired | None:
    """Compare two rows over the draws that both have.

    Example:
        >>> paired_difference({0: 0.5, 1: 0.7}, {0: 0.4, 1: 0.6, 2: 0.9}).n
        2
    """
    gaps = [values[seed] - reference[seed] for seed in sorted(values) if seed in reference]
    if not gaps:
        return None
    if len(gaps) == 1:
        return Paired(1, gaps[0], None, None)
    half = student.ppf((1 + LEVEL) / 2, len(gaps) - 1) * stdev(gaps) / sqrt(len(gaps))
    return Paired(len(gaps), mean(gaps), mean(gaps) - half, mean(gaps) + half)
