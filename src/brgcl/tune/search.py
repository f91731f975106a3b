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
    """All that was tried, and the choice.

    Attributes:
        criterion: What settings were scored by.
        mode: "grid" for the whole grid, "tpe" for a search.
        xi: Values of xi that were open to choice.
        gamma0: Values of gamma0 that were open to choice.
        epochs: Epochs of each training.
        wanted: Number of settings that were to be tried.
        tried: Those that were, sorted by xi and gamma0.
        default: The setting to beat.
        chosen: The default, unless another one is better by more than a standard error.
        rival: The chosen setting or, where that is the default, the best of the others; None if
            no other was tried to the end.
        config: All settings of the method, with the chosen xi and gamma0.
        cut: Whether the budget ended the search.
    """

    criterion: Criterion
    mode: Literal["grid", "tpe"]
    xi: tuple[float, ...]
    gamma0: tuple[float, ...]
    epochs: int
    wanted: int
    tried: tuple[TriedSetting, ...]
    default: TriedSetting
    chosen: TriedSetting
    rival: TriedSetting | None
    config: BRGCLConfig
    cut: bool

    @property
    def keeps_default(self) -> bool:
        """Whether nothing better than the default was found."""
        return self.chosen.point == self.default.point

    @property
    def num_pruned(self) -> int:
        """How many of the tried settings were not trained to the end."""
        return sum(setting.pruned for setting in self.tried)

    def to_dict(self) -> dict[str, Any]:
        """Everything, with the names that saved searches have."""
        return {
            "criterion": self.criterion,
            "mode": self.mode,
            "epochs": self.epochs,
            "trials_wanted": self.wanted,
            "trials_done": len(self.tried),
            "trials_pruned": self.num_pruned,
            "cut_by_budget": self.cut,
            "default": dataclasses.asdict(self.default),
            "chosen": dataclasses.asdict(self.chosen),
            "keeps_default": self.keeps_default,
            "xi": list(self.xi),
            "gamma0": list(self.gamma0),
            "rival": None if self.rival is None else dataclasses.asdict(self.rival),
            "trials": [dataclasses.asdict(setting) for setting in self.tried],
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
    time = Budget.of(budget)
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
    search = _Search(
        task=TuningTask(prepare(graph, short.attributes, short.device), labels, short),
        order=_shuffled(grid, short),
        mode="grid" if trials == "grid" else "tpe",
        wanted=len(grid) if trials == "grid" else min(trials, len(grid)),
        budget=time,
        report=report or (lambda done, total, text: None),
    )
    name = fingerprint(
        graph,
        labels,
        {"config": short.to_dict(), "criterion": criterion, "mode": search.mode, "grid": grid},
    )
    keep_freed_memory()
    with quiet_optuna():
        study = open_study(storage, f"{criterion}-{name}")
        default = _default(study, search)
        cut = _try_settings(study, search, default)
        tried = tuple(sorted(set(_tried(study)), key=lambda setting: setting.point))
    chosen = choose(default.setting, tried)
    return Tuning(
        criterion=criterion,
        mode=search.mode,
        xi=tuple(xi),
        gamma0=tuple(gamma0),
        epochs=short.epochs,
        wanted=search.wanted,
        tried=tried,
        default=default.setting,
        chosen=chosen,
        rival=_rival(default.setting, chosen, tried),
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
    """What to try, in which order, and until when."""

    task: TuningTask
    order: Sequence[Point]
    mode: Literal["grid", "tpe"]
    wanted: int
    budget: Budget
    report: Reporter


@dataclass(frozen=True)
class _Default:
    """The setting to beat, the parts of its score, and its scores on the way."""

    setting: TriedSetting
    score: Score
    checks: dict[int, float]


def _shuffled(grid: list[Point], config: BRGCLConfig) -> list[Point]:
    """The grid in a random order, the default first if it is there."""
    order = random.Random(config.seed).sample(grid, len(grid))
    return sorted(order, key=lambda point: point != (config.xi, config.gamma0))


def _default(study: "optuna.Study", search: _Search) -> _Default:
    """Score the default setting, or read its score from an earlier run."""
    stored = study.user_attrs.get("default")
    if stored is not None:
        checks = {int(epoch): value for epoch, value in stored["checks"].items()}
        return _Default(TriedSetting(**stored[STORED]), Score(tuple(stored["parts"])), checks)
    config = search.task.config
    point = (config.xi, config.gamma0)
    try:
        outcome = _train(search, point, 0)
    except OutOfTime as error:
        raise InputError(
            "the budget ended before the default setting was scored once; give a longer budget "
            "or fewer epochs"
        ) from error
    assert outcome.score is not None  # nothing prunes the default
    setting = set_against(outcome.score, point, outcome, config)
    stored = {STORED: dataclasses.asdict(setting), "parts": list(outcome.score.parts)}
    study.set_user_attr("default", stored | {"checks": outcome.checks})
    return _Default(setting, outcome.score, outcome.checks)


def _try_settings(study: "optuna.Study", search: _Search, default: _Default) -> bool:
    """Try settings until there are enough; returns whether the budget ended the search."""
    while True:
        tried = _tried(study)
        points = {setting.point for setting in tried}
        if len(points) >= search.wanted:
            return False
        known = {setting.point: setting for setting in [default.setting, *tried]}
        longest = max(setting.seconds for setting in known.values())
        if not known.keys() >= set(search.order) and not search.budget.holds(longest):
            return True
        trial, point = next_point(study, search, tried)
        if point in known:
            if point not in points:  # the default, for the first time
                for epoch, value in default.checks.items():
                    trial.report(value, epoch)
            _store(study, trial, known[point])
            continue
        try:
            outcome = _train(search, point, len(points), trial)
        except OutOfTime:
            return True
        _store(study, trial, set_against(default.score, point, outcome, search.task.config))


def next_point(
    study: "optuna.Study", search: _Search, tried: Sequence[TriedSetting]
) -> tuple["optuna.Trial", Point]:
    """Ask for the next setting: the next one of the grid, or what TPE proposes.

    TPE may propose a setting again. Then the next one of the grid follows, so that every search
    ends.
    """
    points = [setting.point for setting in tried]
    xi, gamma0 = (sorted({point[i] for point in search.order}) for i in (0, 1))
    if search.mode == "grid" or not points or points[-1] in points[:-1]:
        x, g = next(point for point in search.order if point not in points)
        study.enqueue_trial({"xi": xi.index(x), "gamma0": gamma0.index(g)})
    # seeded by the number of settings tried, not by a state in memory: the same after a restart
    study.sampler = import_optuna().samplers.TPESampler(
        seed=1009 * search.task.config.seed + len(points)
    )
    trial = study.ask()
    at = [trial.suggest_int("xi", 0, len(xi) - 1), trial.suggest_int("gamma0", 0, len(gamma0) - 1)]
    return trial, (xi[at[0]], gamma0[at[1]])


def _train(
    search: _Search, point: Point, done: int, trial: "optuna.Trial | None" = None
) -> Outcome:
    """Train with one setting, unless the budget ends or the setting is pruned."""

    def after_epoch(epoch: Epoch) -> None:
        text = f"xi {point[0]:g}  gamma0 {point[1]:g}  epoch {epoch.epoch}"
        search.report(done, search.wanted, text)
        search.budget.check()

    def hopeless(epoch: int, score: float) -> bool:
        if trial is None:
            return False
        trial.report(score, epoch)
        return trial.should_prune()

    return train_and_score(search.task, point, after_epoch=after_epoch, hopeless=hopeless)


def _store(study: "optuna.Study", trial: "optuna.Trial", setting: TriedSetting) -> None:
    """Store a tried setting; a process that is killed before has lost this one and no other."""
    from optuna.trial import TrialState

    trial.set_user_attr(STORED, dataclasses.asdict(setting))
    if setting.pruned:
        study.tell(trial, state=TrialState.PRUNED)
    else:
        study.tell(trial, setting.score)


def _tried(study: "optuna.Study") -> list[TriedSetting]:
    """The settings that were tried, in order; TPE may have asked for one twice."""
    from optuna.trial import TrialState

    done = (TrialState.COMPLETE, TrialState.PRUNED)
    trials = study.get_trials(deepcopy=False, states=done)
    return [TriedSetting(**trial.user_attrs[STORED]) for trial in trials]


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
            "xi and gamma0 change nothing here, since prototypes never join the training; "
            f"warmup_epochs ({config.warmup_epochs}) must be below epochs ({config.epochs}) and "
            f"proto_weight ({config.proto_weight}) above 0"
        )
