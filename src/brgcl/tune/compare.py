"""Tune on one draw, then set the proposal against the default on fresh ones.

The choice sees training labels of one draw only. Test labels enter afterwards, where there are
any, and only the report: they say whether the choice was worth it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import mean
from time import monotonic
from typing import Any

from brgcl.config import BRGCLConfig
from brgcl.contract import Reporter
from brgcl.evaluate.paired import Paired, paired_difference
from brgcl.evaluate.protocol import NoisyGraph
from brgcl.evaluate.score import classify_one, fit_one
from brgcl.tasks.label_errors import cross_validated_agreement
from brgcl.tasks.rules import FIXED_RULE
from brgcl.tune.criteria import prepare, stability
from brgcl.tune.search import OutOfTime, Tuning, tune

USABLE = 0.95  # of the budget; the rest is for starting, reading files and writing results
HASTE = 1.1  # a draw may take so much longer than the first one
COMPARED = 0.85  # most of what is left of the budget that the comparison may take
NOT_COMPARED = (
    "Nothing was compared on fresh draws: switched off, no time left, or nothing else was tried."
)
METRICS = {
    "accuracy": "test accuracy",
    "cv_agreement": "cross-validated agreement with the given labels",
    "stability": "stability",
}


@dataclass(frozen=True)
class Comparison:
    """A setting against the default on the same fresh draws.

    Attributes:
        metric: A key of `METRICS`.
        xi: xi of the setting.
        gamma0: gamma0 of the setting.
        seeds: Seeds of the draws.
        default: Figures of the default, one per draw.
        other: Figures of the setting, one per draw.
        wanted: Draws that were asked for.
    """

    metric: str
    xi: float
    gamma0: float
    seeds: tuple[int, ...]
    default: tuple[float, ...]
    other: tuple[float, ...]
    wanted: int

    @property
    def paired(self) -> Paired:
        """Mean of the paired differences, the setting above the default, and its interval."""
        other, default = (
            dict(zip(self.seeds, values, strict=True)) for values in (self.other, self.default)
        )
        found = paired_difference(other, default)
        assert found is not None  # there is at least one draw
        return found

    @property
    def verdict(self) -> str:
        """What the interval says: "better", "worse" or "no clear difference"."""
        low, high = self.paired.low, self.paired.high
        if low is None or high is None or low <= 0 <= high:
            return "no clear difference"
        return "better" if low > 0 else "worse"

    def __str__(self) -> str:
        paired = self.paired
        spread = ""
        if paired.low is not None:
            spread = f", 95 % interval {paired.low:+.4f} to {paired.high:+.4f}"
        cut = f" ({self.wanted} were wanted, the budget ended)" if paired.n < self.wanted else ""
        return (
            f"On {paired.n} fresh draws{cut} xi={self.xi:g}, gamma0={self.gamma0:g} has "
            f"{METRICS[self.metric]} {mean(self.other):.4f}, the default "
            f"{mean(self.default):.4f}: paired difference {paired.mean:+.4f}{spread}; "
            f"{self.verdict}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything, for `--json`."""
        return {
            "metric": self.metric,
            "xi": self.xi,
            "gamma0": self.gamma0,
            "n": len(self.seeds),
            "wanted": self.wanted,
            "seeds": list(self.seeds),
            "default": list(self.default),
            "other": list(self.other),
            "default_mean": mean(self.default),
            "other_mean": mean(self.other),
            "difference_mean": self.paired.mean,
            "difference_low": self.paired.low,
            "difference_high": self.paired.high,
            "verdict": self.verdict,
        }


def tune_and_compare(
    draw: Callable[[int], NoisyGraph],
    config: BRGCLConfig,
    *,
    seed: int = 0,
    draws: int = 5,
    budget: float | None = None,
    report: Reporter | None = None,
    **search: Any,
) -> tuple[Tuning, Comparison | None]:
    """Tune on the draw of `seed`, and compare on those of the seeds after it.

    What is compared with the default is the choice or, where that is the default itself, the best
    of the others: then the comparison shows what caution cost or saved.

    Args:
        draw: Makes the trial of a seed.
        config: Settings; their xi and gamma0 are the default to beat.
        seed: Seed of the draw to tune on.
        draws: Number of fresh draws; 0 compares nothing.
        budget: Seconds after which all is over. Up to 85 % are kept for the comparison,
            by the time that one fresh draw takes; what does not fit is left out.
        report: Called as it goes on.
        search: Further arguments of `tune`.

    Returns:
        What was tried and chosen, and the comparison, None where there is none.
    """
    deadline = None if budget is None else monotonic() + USABLE * budget
    clock = _Clock(deadline, report)
    trial = draw(seed)
    fresh = range(seed + 1, seed + 1 + draws)
    known: dict[int, float | None] = {}  # of the default, by seed
    reserve, fitting = 0.0, draws
    if deadline is not None and draws:
        start = monotonic()
        known[fresh[0]] = _measure(draw, fresh[0], config, clock)
        took = monotonic() - start
        left, one = deadline - monotonic(), HASTE * took
        room = min(COMPARED * left, left - 2 * took)  # the search needs the default and a rival
        fitting = 0 if known[fresh[0]] is None else max(0, min(draws, int((room / one + 1) / 2)))
        reserve = max(0, 2 * fitting - 1) * one
    tuning = tune(
        trial.graph,
        trial.labels.train,
        config=config,
        seed=seed,
        budget=None if deadline is None else max(0.0, deadline - reserve - monotonic()),
        report=report,
        **search,
    )
    rival = tuning.rival
    if rival is None or fitting == 0:
        return tuning, None
    other = config.replace(xi=rival.xi, gamma0=rival.gamma0)
    pairs = []
    for number in fresh[:fitting]:
        first = known[number] if number in known else _measure(draw, number, config, clock)
        second = None if first is None else _measure(draw, number, other, clock)
        if first is None or second is None:
            break
        pairs.append((number, first, second))
    if not pairs:
        return tuning, None
    seeds, defaults, others = zip(*pairs, strict=True)
    metric = _metric(trial)
    return tuning, Comparison(metric, rival.xi, rival.gamma0, seeds, defaults, others, draws)


@dataclass(frozen=True)
class _Clock:
    """Passes on how far a training is, and ends it when the budget does."""

    deadline: float | None
    report: Reporter | None

    def __call__(self, done: int, total: int, text: str) -> None:
        if self.deadline is not None and monotonic() > self.deadline:
            raise OutOfTime
        if self.report is not None:
            self.report(done, total, f"comparing, {text}")


def _measure(
    draw: Callable[[int], NoisyGraph], seed: int, config: BRGCLConfig, clock: _Clock
) -> float | None:
    """How good a setting is on one draw; None where the budget ended before that was known."""
    try:
        return _figure(draw(seed), config, seed, clock)
    except OutOfTime:
        return None


def _metric(trial: NoisyGraph) -> str:
    if bool(trial.truth.test.any()):
        return "accuracy"
    return "cv_agreement" if bool((trial.labels.train >= 0).any()) else "stability"


def _figure(trial: NoisyGraph, config: BRGCLConfig, seed: int, clock: _Clock) -> float:
    """How good a setting is on one draw, by what is known there."""
    metric = _metric(trial)
    fitted = fit_one(trial, "brgcl", config, seed, clock)
    if metric == "accuracy":
        right = classify_one(trial, fitted, seed=seed).accuracy
        assert right is not None  # there are test nodes
        return right
    if metric == "cv_agreement":
        z, labels = fitted.representations, trial.labels.train
        return cross_validated_agreement(z, labels, rule=FIXED_RULE, seed=seed).cv_agreement
    graph = prepare(trial.graph, config)
    return stability(fitted.model.encoder_, graph, config, seed).mean
