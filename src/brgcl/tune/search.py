"""Try values of xi and gamma0 and choose with caution."""

import dataclasses
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from torch import Tensor
from torch_geometric.data import Data

from brgcl.config import BRGCLConfig
from brgcl.contract import Reporter
from brgcl.data.fingerprint import fingerprint
from brgcl.data.graphs import check_graph
from brgcl.errors import InputError, unknown_name
from brgcl.machine import keep_freed_memory
from brgcl.method.inputs import prepare
from brgcl.method.train import Epoch, resolve_proto_weight
from brgcl.tasks.checks import check_labels
from brgcl.tune.budget import Budget, OutOfTime
from brgcl.tune.criteria import CRITERIA, Criterion, Score
from brgcl.tune.journal import import_optuna, open_study, quiet_optuna
from brgcl.tune.tried_setting import (
    Outcome,
    Point,
    TriedSetting,
    TuningTask,
    set_against,
    train_and_score,
)

if TYPE_CHECKING:
    import optuna

XI = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
GAMMA0 = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""The grids of the paper (supplementary, "Tuning Hyper-Parameters by Cross-Validation")."""

SMALL_GRAPH = 5_000  # nodes up to which the whole grid is tried, in full trainings
FEW_SETTINGS, FEW_EPOCHS = 20, 60  # for larger ones
STORED = "cell"  # the name under which journals keep a tried setting


@dataclass(frozen=True)
class Tuning:
    """All that was tried, and the choice."""

    criterion: Criterion
    mode: Literal["grid", "tpe"]  # the whole grid, or a search
    xi: tuple[float, ...]  # values that were open to choice
    gamma0: tuple[float, ...]
    epochs: int  # of each training
    wanted: int  # number of settings that were to be tried
    tried: tuple[TriedSetting, ...]  # those that were, sorted by xi and gamma0
    default: TriedSetting  # the setting to beat
    chosen: TriedSetting  # the default, unless another one is better by more than a standard error
    rival: TriedSetting | None  # the chosen setting or, where that is the default, the best other
    config: BRGCLConfig  # all settings of the method, with the chosen xi and gamma0
    cut: bool  # whether the budget ended the search

    @property
    def keeps_default(self) -> bool:
        """Whether no other setting was better than the default."""
        return self.chosen.point == self.default.point

    @property
    def num_pruned(self) -> int:
        """How many of the tried settings were not trained to the end."""
        return sum(setting.pruned for setting in self.tried)

    def to_dict(self) -> dict[str, Any]:
        """Everything but `config`, with the names that saved searches have."""
        values = dataclasses.asdict(self)
        del values["config"]
        return values | {
            "trials_wanted": values.pop("wanted"),
            "trials_done": len(self.tried),
            "trials_pruned": self.num_pruned,
            "cut_by_budget": values.pop("cut"),
            "keeps_default": self.keeps_default,
            "trials": values.pop("tried"),
        }


def tune(
    graph: Data,
    labels: Tensor | None = None,
    *,
    config: BRGCLConfig | None = None,
    criterion: Criterion | None = None,
    trials: int | Literal["grid"] | None = None,
    epochs: int | None = None,
    xi: Sequence[float] = XI,
    gamma0: Sequence[float] = GAMMA0,
    storage: Path | None = None,
    seed: int = 0,
    budget: float | None = None,
    report: Reporter | None = None,
) -> Tuning:
    """Choose xi and gamma0 for a graph.

    Args:
        graph: The graph; labels in it are not read.
        labels: Training labels, as noisy as they are, -1 = none, `(N,)`.
        config: The other settings, and the default xi and gamma0 to beat.
        criterion: "labels" or "stability"; by default the first where there are labels.
        trials: "grid" tries the whole grid; a number tries so many of its settings (TPE). By
            default the grid up to 5,000 nodes, else 20.
        epochs: Epochs of each training, with the warm-up in proportion; by default those of
            `config` up to 5,000 nodes, else 60.
        xi: Values of xi.
        gamma0: Values of gamma0.
        storage: A journal file; the same call resumes an earlier one that was stopped.
        seed: Seed of trainings, folds, views and the search.
        budget: Seconds after which the search ends.
        report: Progress callback: settings done, settings in all, a few words.

    Returns:
        What was tried and the choice, which is the same for the same arguments.

    Raises:
        InputError: An argument is wrong, Optuna is absent, or the budget does not even suffice
            for the default setting.
    """
    import_optuna()
    time = Budget(budget)
    graph = check_graph(graph)
    small = int(graph.num_nodes) <= SMALL_GRAPH
    config = (config or BRGCLConfig()).replace(seed=seed)
    if epochs is None:
        epochs = config.epochs if small else min(FEW_EPOCHS, config.epochs)
    short = _with_epochs(config, epochs)
    _check_arguments(short, graph.num_nodes, criterion, trials, xi, gamma0)
    criterion, labels = _check_criterion(criterion, labels, graph)
    trials = trials or ("grid" if small else FEW_SETTINGS)
    xi, gamma0 = sorted(set(xi)), sorted(set(gamma0))
    grid = [(x, g) for x in xi for g in gamma0]
    mode: Literal["grid", "tpe"] = "grid" if trials == "grid" else "tpe"
    about = {"config": short.identity(), "criterion": criterion, "mode": mode, "grid": grid}
    keep_freed_memory()
    with quiet_optuna():
        search = _Search(
            task=TuningTask(prepare(graph, short.attributes, short.device), labels, short),
            order=_shuffled(grid, short),
            mode=mode,
            wanted=len(grid) if trials == "grid" else min(trials, len(grid)),
            budget=time,
            report=report or (lambda done, total, text: None),
            study=open_study(storage, f"{criterion}-{fingerprint(graph, labels, about)}"),
        )
        default, score, checks = search.try_default()
        cut = search.try_others(default, score, checks)
        tried = tuple(sorted(set(search.tried()), key=lambda setting: setting.point))
    chosen = choose(default, tried)
    return Tuning(
        criterion=criterion,
        mode=mode,
        xi=tuple(xi),
        gamma0=tuple(gamma0),
        epochs=short.epochs,
        wanted=search.wanted,
        tried=tried,
        default=default,
        chosen=chosen,
        rival=_rival(default, chosen, tried),
        config=config.replace(xi=chosen.xi, gamma0=chosen.gamma0),
        cut=cut,
    )


def choose(default: TriedSetting, tried: Sequence[TriedSetting]) -> TriedSetting:
    """Take the default unless another setting gains more than the standard error of its gain."""
    margin = {each: each.gain - each.gain_error for each in tried if each.gain_error is not None}
    better = [each for each in margin if margin[each] > 0]
    return max(better, key=lambda each: margin[each], default=default)


@dataclass(frozen=True)
class _Search:
    """What to try, in which order, until when, and the study that keeps it."""

    task: TuningTask
    order: Sequence[Point]
    mode: Literal["grid", "tpe"]
    wanted: int
    budget: Budget
    report: Reporter
    study: "optuna.Study"

    def tried(self) -> list[TriedSetting]:
        """The settings that were tried, in order; TPE may have asked for one twice."""
        from optuna.trial import TrialState

        done = (TrialState.COMPLETE, TrialState.PRUNED)
        trials = self.study.get_trials(deepcopy=False, states=done)
        return [TriedSetting(**trial.user_attrs[STORED]) for trial in trials]

    def try_default(self) -> tuple[TriedSetting, Score, dict[int, float]]:
        """Score the default setting, or read its score: the setting, all values, and checks."""
        stored = self.study.user_attrs.get("default")
        if stored is not None:
            checks = {int(epoch): value for epoch, value in stored["checks"].items()}
            return TriedSetting(**stored[STORED]), Score(tuple(stored["parts"])), checks
        config = self.task.config
        point = (config.xi, config.gamma0)
        try:
            outcome = self._train(point, 0)
        except OutOfTime as error:
            raise InputError(
                "the budget ended before the default setting was scored once; give a longer budget "
                "or fewer epochs"
            ) from error
        score, checks = outcome.score, outcome.checks
        assert score is not None  # nothing prunes the default
        setting = set_against(score, point, outcome, config)
        stored = {STORED: dataclasses.asdict(setting), "parts": list(score.values)}
        self.study.set_user_attr("default", stored | {"checks": checks})
        return setting, score, checks

    def try_others(self, default: TriedSetting, score: Score, checks: dict[int, float]) -> bool:
        """Try settings until there are enough; returns whether the budget ended the search."""
        while True:
            tried = self.tried()
            points = {setting.point for setting in tried}
            if len(points) >= self.wanted:
                return False
            known = {setting.point: setting for setting in [default, *tried]}
            longest = max(setting.seconds for setting in known.values())
            if not known.keys() >= set(self.order) and not self.budget.holds(longest):
                return True
            trial, point = self._next_point([setting.point for setting in tried])
            if point in known:
                if point not in points:  # the default, for the first time
                    for epoch, value in checks.items():
                        trial.report(value, epoch)
                self._store(trial, known[point])
                continue
            try:
                outcome = self._train(point, len(points), trial)
            except OutOfTime:
                return True
            self._store(trial, set_against(score, point, outcome, self.task.config))

    def _next_point(self, tried: Sequence[Point]) -> tuple["optuna.Trial", Point]:
        """Ask for the next setting: the next one of the grid, or what TPE proposes.

        TPE may propose a setting again. Then the next one of the grid follows, so that every
        search ends.
        """
        xi, gamma0 = (sorted(set(values)) for values in zip(*self.order, strict=True))
        if self.mode == "grid" or not tried or tried[-1] in tried[:-1]:
            x, g = next(point for point in self.order if point not in tried)
            self.study.enqueue_trial({"xi": xi.index(x), "gamma0": gamma0.index(g)})
        # seeded by the number of settings tried, not by a state in memory: the same after a restart
        seed = 1009 * self.task.config.seed + len(tried)
        self.study.sampler = import_optuna().samplers.TPESampler(seed=seed)
        trial = self.study.ask()
        x = xi[trial.suggest_int("xi", 0, len(xi) - 1)]
        return trial, (x, gamma0[trial.suggest_int("gamma0", 0, len(gamma0) - 1)])

    def _train(self, point: Point, done: int, trial: "optuna.Trial | None" = None) -> Outcome:
        """Train with one setting, unless the budget ends or the setting is pruned."""

        def after_epoch(epoch: Epoch) -> None:
            text = f"xi {point[0]:g}  gamma0 {point[1]:g}  epoch {epoch.epoch}"
            self.report(done, self.wanted, text)
            self.budget.check()

        def hopeless(epoch: int, score: float) -> bool:
            if trial is None:
                return False
            trial.report(score, epoch)
            return trial.should_prune()

        return train_and_score(self.task, point, after_epoch=after_epoch, hopeless=hopeless)

    def _store(self, trial: "optuna.Trial", setting: TriedSetting) -> None:
        """Store a tried setting; a process that is killed before has lost this one and no other."""
        from optuna.trial import TrialState

        trial.set_user_attr(STORED, dataclasses.asdict(setting))
        if setting.pruned:
            self.study.tell(trial, state=TrialState.PRUNED)
        else:
            self.study.tell(trial, setting.score)


def _shuffled(grid: list[Point], config: BRGCLConfig) -> list[Point]:
    """The grid in a random order, the default first if it is there."""
    order = random.Random(config.seed).sample(grid, len(grid))
    return sorted(order, key=lambda point: point != (config.xi, config.gamma0))


def _rival(
    default: TriedSetting, chosen: TriedSetting, tried: Sequence[TriedSetting]
) -> TriedSetting | None:
    if chosen.point != default.point:
        return chosen
    others = [each for each in tried if not each.pruned and each.point != default.point]
    return max(others, key=lambda each: each.score, default=None)


def _with_epochs(config: BRGCLConfig, epochs: int) -> BRGCLConfig:
    """Shorten or lengthen a training, its warm-up in proportion."""
    warmup = round(config.warmup_epochs * epochs / config.epochs)
    return config.replace(epochs=epochs, warmup_epochs=warmup)


def _check_criterion(
    criterion: Criterion | None, labels: Tensor | None, graph: Data
) -> tuple[Criterion, Tensor | None]:
    """The criterion, by default the one that the labels allow, and the labels that it reads."""
    if criterion is None:
        known = labels is not None and bool((labels >= 0).any())
        criterion = "labels" if known else "stability"
    if criterion == "stability":
        return criterion, None
    if labels is None:
        raise InputError("no node has a label; criterion 'stability' needs none")
    return criterion, check_labels(labels, graph.num_nodes, graph)


def _check_arguments(
    config: BRGCLConfig,
    num_nodes: int,
    criterion: str | None,
    trials: int | str | None,
    xi: Sequence[float],
    gamma0: Sequence[float],
) -> None:
    if criterion is not None and criterion not in CRITERIA:
        raise unknown_name("criterion", criterion, CRITERIA)
    if trials is not None and trials != "grid" and not (isinstance(trials, int) and trials >= 1):
        raise InputError(f"trials must be 'grid' or at least 1, got {trials!r}")
    for name, values in (("xi", xi), ("gamma0", gamma0)):
        if len(values) == 0:
            raise InputError(f"{name} has no value to choose from; give at least one")
        for value in values:
            config.replace(**{name: value})  # says what is wrong with it
    if config.warmup_epochs >= config.epochs or resolve_proto_weight(config, num_nodes) == 0:
        raise InputError(
            "xi and gamma0 have no effect, because prototypes are not used in training; "
            f"warmup_epochs ({config.warmup_epochs}) must be below epochs ({config.epochs}) and "
            f"proto_weight ({config.proto_weight}) above 0"
        )
