"""Tune on one draw, then compare the proposal with the default on fresh ones.

The choice sees training labels of one draw only. Test labels enter afterwards, where there are
any, and only the report: they say whether the choice was worth it.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from statistics import mean
from typing import Any

from brgcl.config import BRGCLConfig
from brgcl.contract import Reporter
from brgcl.evaluation.paired import Paired, paired_difference
from brgcl.evaluation.protocol import NoisyGraph
from brgcl.evaluation.score import classify_one, fit_one
from brgcl.method.inputs import prepare
from brgcl.tasks.agreement import cross_validated_agreement
from brgcl.tasks.rules import FIXED_RULE
from brgcl.tune.budget import OVERRUN, Budget, OutOfTime
from brgcl.tune.criteria import stability
from brgcl.tune.search import Tuning, tune

USABLE = 0.95  # of the budget; the rest is for starting, reading files and writing results
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
    """A setting and the default on the same fresh draws."""

    metric: str  # a key of METRICS
    xi: float
    gamma0: float
    seeds: tuple[int, ...]  # of the draws
    default: tuple[float, ...]  # scores of the default, one per draw
    other: tuple[float, ...]  # scores of the setting, one per draw
    wanted: int  # draws that were asked for

    @property
    def paired(self) -> Paired:
        """Mean of the paired differences, the setting above the default, and its interval."""
        pairs = (dict(zip(self.seeds, each, strict=True)) for each in (self.other, self.default))
        paired = paired_difference(*pairs)
        assert paired is not None  # there is at least one draw
        return paired

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
        """Everything, with the names that saved searches have."""
        return asdict(self) | {
            "n": len(self.seeds),
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
        draw: Makes the noisy graph of a seed.
        config: Settings; their xi and gamma0 are the default to beat.
        seed: Seed of the draw to tune on.
        draws: Number of fresh draws; 0 compares nothing.
        budget: Seconds after which all is over. Up to 85 % are kept for the comparison,
            by the time that one fresh draw takes; what does not fit is left out.
        report: Progress callback.
        search: Further arguments of `tune`.

    Returns:
        What was tried and chosen, and the comparison, None where there is none.
    """
    time = Budget(None if budget is None else USABLE * budget)

    def after_epoch(done: int, total: int, text: str) -> None:
        time.check()
        if report is not None:
            report(done, total, f"comparing, {text}")

    @cache
    def score(config: BRGCLConfig, seed: int) -> float:
        return _score(draw(seed), config, seed, after_epoch)

    noisy = draw(seed)
    seeds = range(seed + 1, seed + 1 + draws)
    reserve = 0.0
    if budget is not None and draws:
        before, fitting = time.left, 0
        with suppress(OutOfTime):
            score(config, seeds[0])
            took = before - time.left
            fitting = num_fitting(draws, took, time.left)
            reserve = max(0, 2 * fitting - 1) * OVERRUN * took
        seeds = seeds[:fitting]
    tuning = tune(
        noisy.graph,
        noisy.labels.train,
        config=config,
        seed=seed,
        budget=None if budget is None else max(0.0, time.left - reserve),
        report=report,
        **search,
    )
    rival = tuning.rival
    if rival is None:
        return tuning, None
    other = config.replace(xi=rival.xi, gamma0=rival.gamma0)
    pairs: list[tuple[int, float, float]] = []
    with suppress(OutOfTime):
        for fresh in seeds:
            pairs.append((fresh, score(config, fresh), score(other, fresh)))
    if not pairs:
        return tuning, None
    done, defaults, others = zip(*pairs, strict=True)
    return tuning, Comparison(_metric(noisy), *rival.point, done, defaults, others, draws)


def num_fitting(draws: int, seconds: float, left: float) -> int:
    """How many fresh draws fit into the rest of a budget, the first default being known.

    The search keeps 15 % of it, and the time of two draws for the default and a rival.

    Example:
        >>> num_fitting(5, seconds=1.0, left=100.0), num_fitting(5, seconds=1.0, left=6.0)
        (5, 2)
    """
    room = min(COMPARED * left, left - 2 * seconds)
    return max(0, min(draws, int((room / (OVERRUN * seconds) + 1) / 2)))


def _metric(noisy: NoisyGraph) -> str:
    if bool(noisy.truth.test.any()):
        return "accuracy"
    return "cv_agreement" if bool((noisy.labels.train >= 0).any()) else "stability"


def _score(noisy: NoisyGraph, config: BRGCLConfig, seed: int, report: Reporter) -> float:
    """How good a setting is on one draw, by what is known there."""
    metric = _metric(noisy)
    fitted = fit_one(noisy, "brgcl", config, seed, report)
    if metric == "accuracy":
        accuracy = classify_one(noisy, fitted, seed=seed).accuracy
        assert accuracy is not None  # there are test nodes
        return accuracy
    if metric == "cv_agreement":
        z, labels = fitted.representations, noisy.labels.train
        return cross_validated_agreement(z, labels, rule=FIXED_RULE, seed=seed).cv_agreement
    graph = prepare(noisy.graph, config.attributes, config.device)
    return stability(fitted.model.encoder_, graph, config, seed).mean
