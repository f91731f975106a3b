"""Try values of xi and gamma0 and choose with caution."""

import dataclasses
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Literal

from torch import Tensor
from torch_geometric.data import Data

from brgcl.config import BRGCLConfig
from brgcl.data.fingerprint import fingerprint
from brgcl.data.graphs import check_graph
from brgcl.errors import InputError, unknown_name
from brgcl.machine import keep_freed_memory
from brgcl.method.train import Epoch, resolve_proto_weight
from brgcl.tasks.checks import check_labels
from brgcl.tune.criteria import CRITERIA, Criterion, Score, prepare
from brgcl.tune.journal import import_optuna, open_study, quiet_optuna
from brgcl.tune.tried_setting import Cell, Point, Task, Trained, make_cell, train_and_score

if TYPE_CHECKING:
    import optuna

XI = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
GAMMA0 = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""The grids of the paper (supplementary, "Tuning Hyper-Parameters by Cross-Validation")."""

SMALL_GRAPH = 5_000  # nodes up to which every cell of the grid is tried, in full trainings
FEW_TRIALS, FEW_EPOCHS = 20, 60  # for larger ones
HASTE = 1.1  # a trial may take so much longer than the longest one before it

Reporter = Callable[[int, int, str], None]  # settings done, settings in all, a few words


class OutOfTime(Exception):  # noqa: N818 - reads as what happened
    """The budget ended while a training was going on."""


@dataclass(frozen=True)
class Tuning:
    """All that was tried, and the choice.

    Attributes:
        criterion: What settings were scored by.
        mode: "grid" for all cells, "tpe" for a search.
        xi: Values of xi that were open to choice.
        gamma0: Values of gamma0 that were open to choice.
        epochs: Epochs of each trial.
        wanted: Number of settings that were to be tried.
        cells: Those that were, sorted by xi and gamma0.
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
    cells: tuple[Cell, ...]
    default: Cell
    chosen: Cell
    rival: Cell | None
    config: BRGCLConfig
    cut: bool

    @property
    def keeps_default(self) -> bool:
        """Whether nothing better than the default was found."""
        return self.chosen.point == self.default.point


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
        trials: "grid" tries every cell; a number searches so many of them (TPE). By default the
            grid up to 5,000 nodes, else 20.
        epochs: Epochs of a trial, with the warm-up in proportion; by default those of `config`
            up to 5,000 nodes, else 60.
        xi: Values of xi.
        gamma0: Values of gamma0.
        storage: A journal file; the same call goes on where an earlier one stopped.
        seed: Seed of trainings, folds, views and the search.
        budget: Seconds after which the search ends.
        report: Called as it goes on.

    Returns:
        What was tried and the choice, which is the same for the same arguments.

    Raises:
        InputError: An argument is wrong, Optuna is absent, or the budget does not even suffice
            for the default setting.
    """
    import_optuna()
    deadline = None if budget is None else monotonic() + budget
    graph = check_graph(graph)
    small = int(graph.num_nodes) <= SMALL_GRAPH
    config = (config or BRGCLConfig()).replace(seed=seed)
    if epochs is None:
        epochs = config.epochs if small else min(FEW_EPOCHS, config.epochs)
    short = _with_epochs(config, epochs)
    _check_arguments(short, graph.num_nodes, criterion, trials, xi, gamma0)
    known = labels is not None and bool((labels >= 0).any())
    criterion = criterion or ("labels" if known else "stability")
    if criterion == "labels":
        if labels is None:
            raise InputError("no node has a label; criterion 'stability' needs none")
        labels = check_labels(labels, graph.num_nodes, graph)
    else:
        labels = None
    trials = trials or ("grid" if small else FEW_TRIALS)
    grid = [(x, g) for x in sorted(set(xi)) for g in sorted(set(gamma0))]
    search = _Search(
        task=Task(prepare(graph, short), labels, short),
        grid=grid,
        mode="grid" if trials == "grid" else "tpe",
        wanted=len(grid) if trials == "grid" else min(trials, len(grid)),
        deadline=deadline,
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
        cut = _fill(study, search, default)
        cells = tuple(sorted(set(_cells(study)), key=lambda cell: cell.point))
    chosen = choose(default.cell, cells)
    return Tuning(
        criterion=criterion,
        mode=search.mode,
        xi=tuple(sorted(set(xi))),
        gamma0=tuple(sorted(set(gamma0))),
        epochs=short.epochs,
        wanted=search.wanted,
        cells=cells,
        default=default.cell,
        chosen=chosen,
        rival=_rival(default.cell, chosen, cells),
        config=config.replace(xi=chosen.xi, gamma0=chosen.gamma0),
        cut=cut,
    )


def choose(default: Cell, cells: Sequence[Cell]) -> Cell:
    """Take the default unless another setting gains more than the standard error of its gain."""
    margin = {cell: cell.gain - cell.gain_error for cell in cells if cell.gain_error is not None}
    better = [cell for cell in margin if margin[cell] > 0]
    return max(better, key=lambda cell: margin[cell], default=default)


@dataclass(frozen=True)
class _Search:
    """What to try, and until when."""

    task: Task
    grid: list[Point]
    mode: Literal["grid", "tpe"]
    wanted: int
    deadline: float | None
    report: Reporter


@dataclass(frozen=True)
class _Default:
    """The setting to beat: its cell, the parts of its score, its scores on the way."""

    cell: Cell
    score: Score
    checks: dict[int, float]


def _default(study: "optuna.Study", search: _Search) -> _Default:
    """Score the default setting, or read what an earlier run found."""
    stored = study.user_attrs.get("default")
    if stored is not None:
        checks = {int(epoch): value for epoch, value in stored["checks"].items()}
        return _Default(Cell(**stored["cell"]), Score(tuple(stored["parts"])), checks)
    config = search.task.config
    try:
        found = _train(search, (config.xi, config.gamma0), 0)
    except OutOfTime as error:
        raise InputError(
            "the budget ended before the default setting was scored once; give a longer --budget, "
            "or fewer --epochs"
        ) from error
    assert found.score is not None  # nothing prunes the default
    cell = make_cell((config.xi, config.gamma0), found, found.score, config)
    study.set_user_attr(
        "default",
        {
            "cell": dataclasses.asdict(cell),
            "parts": list(found.score.parts),
            "checks": found.checks,
        },
    )
    return _Default(cell, found.score, found.checks)


def _fill(study: "optuna.Study", search: _Search, default: _Default) -> bool:
    """Try settings until there are enough; returns whether the budget ended it before."""
    optuna = import_optuna()
    order = random.Random(search.task.config.seed).sample(search.grid, len(search.grid))
    xis, gammas = (sorted({point[i] for point in search.grid}) for i in (0, 1))
    order.sort(key=lambda point: point != default.cell.point)  # if it is there, it is first
    while True:
        cells = _cells(study)
        tried = {cell.point: cell for cell in cells}
        repeated = bool(cells) and cells[-1].point in {cell.point for cell in cells[:-1]}
        longest = max(cell.seconds for cell in [default.cell, *cells])
        if len(tried) >= search.wanted:
            return False
        free = tried.keys() | {default.cell.point} >= set(search.grid)  # the rest is known
        late = search.deadline is not None and monotonic() + HASTE * longest > search.deadline
        if late and not free:
            return True
        if search.mode == "grid" or repeated or not tried:
            x, g = next(point for point in order if point not in tried)
            study.enqueue_trial({"xi": xis.index(x), "gamma0": gammas.index(g)})
        # from the number of trials, not from a state in memory: it is the same after a restart
        study.sampler = optuna.samplers.TPESampler(seed=1009 * search.task.config.seed + len(cells))
        trial = study.ask()
        point = (
            xis[trial.suggest_int("xi", 0, len(xis) - 1)],
            gammas[trial.suggest_int("gamma0", 0, len(gammas) - 1)],
        )
        if point in tried:
            _tell(study, trial, tried[point])
        elif point == default.cell.point:
            for epoch, value in default.checks.items():
                trial.report(value, epoch)
            _tell(study, trial, default.cell)
        else:
            try:
                found = _train(search, point, len(tried), trial)
            except OutOfTime:
                return True
            _tell(study, trial, make_cell(point, found, default.score, search.task.config))


def _train(
    search: _Search, point: Point, done: int, trial: "optuna.Trial | None" = None
) -> Trained:
    """Train with one setting, unless the budget ends or the trial is pruned."""

    def after_epoch(epoch: Epoch) -> None:
        text = f"xi {point[0]:g}  gamma0 {point[1]:g}  epoch {epoch.epoch}"
        search.report(done, search.wanted, text)
        if search.deadline is not None and monotonic() > search.deadline:
            raise OutOfTime

    def hopeless(epoch: int, score: float) -> bool:
        if trial is None:
            return False
        trial.report(score, epoch)
        return trial.should_prune()

    return train_and_score(search.task, point, after_epoch=after_epoch, hopeless=hopeless)


def _tell(study: "optuna.Study", trial: "optuna.Trial", cell: Cell) -> None:
    """Store a result; a process that is killed before has lost this trial and no other."""
    from optuna.trial import TrialState

    trial.set_user_attr("cell", dataclasses.asdict(cell))
    if cell.pruned:
        study.tell(trial, state=TrialState.PRUNED)
    else:
        study.tell(trial, cell.score)


def _cells(study: "optuna.Study") -> list[Cell]:
    """The settings that were tried, in order; a search may have asked for one twice."""
    from optuna.trial import TrialState

    done = (TrialState.COMPLETE, TrialState.PRUNED)
    trials = study.get_trials(deepcopy=False, states=done)
    return [Cell(**trial.user_attrs["cell"]) for trial in trials]


def _rival(default: Cell, chosen: Cell, cells: Sequence[Cell]) -> Cell | None:
    if chosen.point != default.point:
        return chosen
    others = [cell for cell in cells if not cell.pruned and cell.point != default.point]
    return max(others, key=lambda cell: cell.score, default=None)


def _with_epochs(config: BRGCLConfig, epochs: int) -> BRGCLConfig:
    """Shorten or lengthen a training, its warm-up in proportion."""
    warmup = round(config.warmup_epochs * epochs / config.epochs)
    return config.replace(epochs=epochs, warmup_epochs=warmup)


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
