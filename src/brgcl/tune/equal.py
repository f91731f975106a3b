"""Tune any method as every other is tuned: as many settings, draws and cells, the same rule.

The settings are drawn from the `space` of the method, its default first. Each is scored by the
accuracy on validation nodes, whose labels then serve no other purpose, over the same draws and
noise. Draws 100 to 119 are for choosing; tables are made from those below.
"""

import dataclasses
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import sqrt
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from brgcl.benchmark.records import Record, ResultsFolder, read_records
from brgcl.benchmark.run_spec import RunSpec
from brgcl.benchmark.runner import Watching, run
from brgcl.contract import Method
from brgcl.errors import InputError
from brgcl.methods import METHODS, find_method

Changes = Mapping[str, Any]  # to the settings that a method has on a graph

TRIALS = 8
FIRST_DRAW, MOST_DRAWS = 100, 20
CELLS = (
    ("none", 0.0), ("symmetric", 0.2), ("symmetric", 0.4), ("pair", 0.2), ("pair", 0.4),
)  # fmt: skip


@dataclass(frozen=True)
class TriedChanges:
    """One setting of a method, and its accuracy on validation nodes."""

    changes: Changes  # empty for the default
    accuracy: float  # mean over draws and cells
    gain: float  # mean difference to the default on the same draws and cells
    gain_error: float  # its standard error
    seconds: float  # processor time of a training, mean


@dataclass(frozen=True)
class EqualTuning:
    """What was tried for a method on a graph, and the choice."""

    method: str
    method_version: int
    dataset: str
    seed: int  # of the settings that were drawn
    draws: tuple[int, ...]
    cells: tuple[tuple[str, float], ...]  # noise and level
    tried: tuple[TriedChanges, ...]  # the default first
    chosen: TriedChanges
    commit: str  # of the source; several are separated by spaces

    @property
    def trials(self) -> int:
        """How many settings were tried, the default among them."""
        return len(self.tried)

    @property
    def n(self) -> int:
        """How many scores each accuracy is the mean of."""
        return len(self.draws) * len(self.cells)

    @property
    def default(self) -> TriedChanges:
        """The setting to beat."""
        return self.tried[0]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as `outcome_file` holds them."""
        return dataclasses.asdict(self) | {"trials": self.trials, "n": self.n}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "EqualTuning":
        """Read what `to_dict` wrote."""
        fields = {field.name: values[field.name] for field in dataclasses.fields(cls)}
        fields["draws"] = tuple(fields["draws"])
        fields["cells"] = tuple((noise, level) for noise, level in fields["cells"])
        fields["tried"] = tuple(TriedChanges(**each) for each in fields["tried"])
        return cls(**fields | {"chosen": TriedChanges(**fields["chosen"])})


def tune_equally(
    dataset: str,
    method: str,
    folder: ResultsFolder,
    *,
    trials: int = TRIALS,
    draws: int = 3,
    seed: int = 0,
    workers: int = 1,
    deadline: float | None = None,
    watching: Watching | None = None,
) -> EqualTuning:
    """Try settings of a method on a graph and choose one; what was run before is not run again.

    Args:
        dataset: A data set with validation labels.
        method: A method with a `space`.
        folder: Where records are read and written.
        trials: How many settings to try, the default among them.
        draws: On how many draws, from draw 100 on.
        seed: Seed of the settings that are drawn.
        workers: Processes.
        deadline: As `time.time()`; no training begins that would end later.
        watching: As in `benchmark.runner.run`.

    Raises:
        InputError: An argument is wrong, a run failed, or the deadline came too soon.
    """
    if not 1 <= draws <= MOST_DRAWS:
        raise InputError(f"draws must be in 1..{MOST_DRAWS}, got {draws}")
    entry, numbers = find_method(method), range(FIRST_DRAW, FIRST_DRAW + draws)
    settings = changes_to_try(entry, dataset, trials, seed)
    wanted = [runs_of(entry, dataset, changes, numbers) for changes in settings]
    specs = [spec for runs in wanted for spec in runs]
    summary = run(specs, folder, workers=workers, deadline=deadline, watching=watching)
    if summary.failed:
        first = summary.failures[0]
        raise InputError(
            f"{summary.failed} runs failed, the first of them {first.spec}: {first.reason}"
        )
    if summary.left:
        raise InputError(
            f"the budget ended with {summary.left} of {summary.total} runs left; the same command "
            "resumes them"
        )
    known = read_records(folder.records)
    tried = scored(settings, [[known[spec.key] for spec in runs] for runs in wanted])
    return EqualTuning(
        method=method,
        method_version=entry.version,
        dataset=dataset,
        seed=seed,
        draws=tuple(numbers),
        cells=CELLS,
        tried=tried,
        chosen=choose(tried),
        commit=" ".join(sorted({str(known[spec.key].commit) for spec in specs})),
    )


def changes_to_try(method: Method, dataset: str, trials: int, seed: int) -> list[Changes]:
    """Changes to a method's settings for a graph: none, then random ones of its space.

    Example:
        >>> changes_to_try(METHODS["smooth"], "cora", 3, seed=0)
        [{}, {'steps': 32, 'dim': 256}, {'steps': 8, 'alpha': 0.1, 'dim': 32}]
    """
    if not method.space:
        tuned = ", ".join(name for name, other in METHODS.items() if other.space)
        raise InputError(f"{method.name} has no settings to try; these have: {tuned}")
    default = method.config(dataset)
    points = [
        dict(zip(method.space, values, strict=True)) for values in product(*method.space.values())
    ]
    changes: list[Changes] = [
        {name: value for name, value in point.items() if value != getattr(default, name)}
        for point in points
    ]
    others = [each for each in changes if each]
    if not 2 <= trials <= len(others) + 1:
        raise InputError(f"trials must be in 2..{len(others) + 1} for {method.name}, got {trials}")
    return [{}, *random.Random(seed).sample(others, trials - 1)]


def runs_of(method: Method, dataset: str, changes: Changes, draws: Sequence[int]) -> list[RunSpec]:
    """The runs that score a setting; a training without labels serves all cells of its draw."""
    rule = "best" if method.uses_labels else "auto"  # as in tables
    return [
        RunSpec.of(
            dataset, method.name, draw, changes, noise=noise, level=level, rule=rule,
            scored_on="validation",
        )
        for draw in draws
        for noise, level in CELLS
    ]  # fmt: skip


def scored(
    settings: Sequence[Changes], records: Sequence[Sequence[Record]]
) -> tuple[TriedChanges, ...]:
    """Compare settings with the first one, the default, over runs on the same draws and cells."""
    accuracy = [[record.metrics["accuracy"] for record in runs] for runs in records]
    tried = []
    for changes, values, runs in zip(settings, accuracy, records, strict=True):
        gains = [value - before for value, before in zip(values, accuracy[0], strict=True)]
        seconds = mean(record.training_seconds for record in runs)
        error = stdev(gains) / sqrt(len(gains))
        tried.append(TriedChanges(changes, mean(values), mean(gains), error, seconds))
    return tuple(tried)


def choose(tried: Sequence[TriedChanges]) -> TriedChanges:
    """Take the default, the first, unless another gains two standard errors; then the best."""
    better = [each for each in tried if each.gain > 0 and each.gain >= 2 * each.gain_error]
    return max(better, key=lambda each: each.gain, default=tried[0])


def outcome_file(folder: ResultsFolder, tuning: EqualTuning) -> Path:
    """Where the choice for a method on a graph is kept, beside the records."""
    return folder.records.parent / f"{tuning.method}-{tuning.dataset}.json"


def read_outcomes(folder: Path) -> list[EqualTuning]:
    """Read all choices in a folder, methods in the order of `METHODS`; without a folder none."""
    found = []
    for file in sorted(folder.glob("*.json")):
        try:
            found.append(EqualTuning.from_dict(json.loads(file.read_text(encoding="utf-8"))))
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"'{file}' was not saved by brgcl tune --method") from error
    order = list(METHODS)
    return sorted(found, key=lambda each: order.index(each.method) if each.method in order else -1)
