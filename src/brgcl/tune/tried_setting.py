"""One tried setting: a training with one xi and gamma0, and its score."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

import torch
from torch import Tensor

from brgcl.config import BRGCLConfig
from brgcl.method.graph import Graph
from brgcl.method.train import AnyEncoder, Epoch, TrainingState, begin_training, continue_training
from brgcl.tune.criteria import PAIRS, Score, agreement, stability

Point = tuple[float, float]  # xi, gamma0


@dataclass(frozen=True)
class TriedSetting:
    """One setting and its score; errors and prototypes are None where it was pruned."""

    xi: float
    gamma0: float
    score: float  # mean of the criterion; where pruned, at the epoch where training stopped
    error: float | None  # standard error of the score
    gain: float  # score above that of the default setting
    gain_error: float | None  # standard error of the gain, which is paired
    num_prototypes: int | None  # in the last epoch
    capped: bool  # whether their number reached the cap
    pruned: bool  # whether training was stopped early, because the score was below the median
    seconds: float  # after the warm-up, which all settings share

    @property
    def point(self) -> Point:
        """Its xi and gamma0."""
        return self.xi, self.gamma0


@dataclass(frozen=True)
class TuningTask:
    """What to train and how to score it."""

    graph: Graph  # it carries no labels
    labels: Tensor | None  # (N,), -1 = none; None where stability is the criterion
    config: BRGCLConfig
    warm: list[TrainingState] = field(default_factory=list)  # at the end of the warm-up, once there

    def score(self, encoder: AnyEncoder, config: BRGCLConfig, *, quick: bool = False) -> Score:
        """Score an encoder; `quick` is good enough to prune by."""
        if self.labels is not None:
            return agreement(encoder, self.graph, self.labels, config.seed)
        return stability(encoder, self.graph, config, config.seed, pairs=2 if quick else PAIRS)


@dataclass(frozen=True)
class Outcome:
    """How one training ended."""

    score: Score | None  # None where it was pruned, like the prototypes of the last epoch
    checks: dict[int, float]  # epoch -> score on the way
    num_prototypes: int | None
    seconds: float  # after the warm-up


def train_and_score(
    task: TuningTask,
    point: Point,
    *,
    after_epoch: Callable[[Epoch], None],
    hopeless: Callable[[int, float], bool],
) -> Outcome:
    """Train with one setting, without labels, and score what was learned.

    `hopeless` is called with epoch and score at each of `check_epochs`; True prunes the setting.
    """
    config = task.config.replace(xi=point[0], gamma0=point[1])
    training = warmed_up(task, after_epoch)
    start = monotonic()
    moments, checks = check_epochs(config), {}

    def watch(epoch: Epoch) -> None:
        after_epoch(epoch)
        if epoch.epoch in moments:
            checks[epoch.epoch] = task.score(training.encoder, config, quick=True).mean
            if hopeless(epoch.epoch, checks[epoch.epoch]):
                raise _Pruned

    try:
        continue_training(training, task.graph, config, watch)
    except _Pruned:
        return Outcome(None, checks, None, monotonic() - start)
    training.encoder.requires_grad_(False)
    score = task.score(training.encoder, config)
    return Outcome(score, checks, training.history[-1].num_prototypes, monotonic() - start)


def warmed_up(task: TuningTask, after_epoch: Callable[[Epoch], None]) -> TrainingState:
    """Train up to the end of the warm-up, which is the same for all settings: once for a task."""
    if not task.warm:
        config = task.config
        generator = torch.Generator().manual_seed(config.seed)
        training = begin_training(task.graph, config, generator)
        if config.warmup_epochs:
            continue_training(training, task.graph, config, after_epoch, config.warmup_epochs)
        task.warm.append(training)
    return task.warm[0].copy()


def set_against(
    default: Score, point: Point, outcome: Outcome, config: BRGCLConfig
) -> TriedSetting:
    """Compare the outcome of a setting with the score of the default one."""
    scores: tuple[float, float | None, float, float | None]
    if outcome.score is None:
        last = list(outcome.checks.values())[-1]
        scores = last, None, last - default.mean, None
    else:
        scores = outcome.score.mean, outcome.score.error, *outcome.score.gain_over(default)
    score, error, gain, gain_error = scores
    return TriedSetting(
        *point,
        score,
        error,
        gain,
        gain_error,
        num_prototypes=outcome.num_prototypes,
        capped=outcome.num_prototypes == config.max_prototypes,
        pruned=outcome.score is None,
        seconds=outcome.seconds,
    )


def check_epochs(config: BRGCLConfig) -> list[int]:
    """Epochs at which a setting may be pruned: a third and two thirds of the way from the warm-up.

    Before the warm-up ends, all settings give the same.

    Example:
        >>> check_epochs(BRGCLConfig(epochs=100, warmup_epochs=40))
        [60, 80]
    """
    first, last = config.warmup_epochs, config.epochs
    epochs = {first + (last - first) * part // 3 for part in (1, 2)}
    return sorted(epoch for epoch in epochs if first < epoch < last)


class _Pruned(Exception):  # noqa: N818 - reads as what happened
    pass
