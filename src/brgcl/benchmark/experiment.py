"""Experiments: tables and figures as data, one TOML file each, read into a grid of runs.

A file holds the grid (data sets, rows, noises, levels, seeds), the settings of each row, the
published means and deviations, and notes on what cannot be compared:

    title = "..."                     heading of the table
    source = "..."                    where it stands in the paper, or that it is not there
    kind = "grid"                     or "statistics", "hyperparameters" (facts, nothing is run)
    task = "classify"                 or "cluster", "prototypes"; "detect": rows are detectors
    metrics = ["accuracy"]
    protocol = "clean-val"
    labelled = "train"                or "all" nodes
    published_label = "paper"         the word before published values; or "published", "target"
    reference = "brgcl"               the row that the others are compared with, draw by draw
    noise = ["symmetric"]
    levels = [0.0, 0.2, 0.4]
    datasets = ["cora", "pubmed"]
    seeds = { default = 10, pubmed = 5 }
    notes = ["..."]

    [rows.gcn]                        a method by its name
    [rows.wide]                       or a name of its own for a method with other settings
    method = "gcn"
    preset = "reduced"                with the method's settings for expensive graphs
    settings = { hidden = 64 }        "@level", "@classes": the run's own values; "@none": None
    published = "gcn"                 whose published values stand beside it
    labelled = "right"                an oracle: of the given labels it leaves out the wrong ones
    note = "..."
    levels, datasets                  where it has less than the rest
    seeds                             where it has another number of draws
    on.pubmed = { settings = {...}, seeds = 1, note = "..." }      otherwise on one graph

    [[published]]                     means and deviations, one for each level
    dataset = "cora"
    row = "gcn"
    metric = "accuracy"
    mean = [0.817, 0.696, nan]        nan where there is none
    std = [0.005, 0.012, 0.007]
    noise = "symmetric"               where the columns have several noises
"""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from brgcl.benchmark.run_spec import RunSpec, find_entry
from brgcl.data import DATASETS
from brgcl.errors import InputError, unknown_name

T = TypeVar("T", str, float)
KINDS = ("grid", "statistics", "hyperparameters")
PRESETS = ("default", "reduced")


@dataclass(frozen=True)
class Row:
    """A row of a table: a method with its settings; see the head of this file."""

    name: str
    method: str = ""
    preset: str = "default"
    settings: Mapping[str, Any] = field(default_factory=dict)
    rule: str = ""  # the classifier on top of representations; by default that of users, "auto"
    soft_labels: str = "normalize"  # targets of the perceptron among the classifiers
    labelled: str = ""  # by default the table's
    published: str = ""
    note: str = ""
    datasets: Sequence[str] | None = None  # None for all, like the levels
    levels: Sequence[float] | None = None
    seeds: int | None = None  # None for as many draws as the others
    on: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """A table or figure; see the head of this file."""

    name: str
    title: str
    source: str
    kind: str = "grid"
    task: str = "classify"
    metrics: Sequence[str] = ("accuracy",)
    protocol: str = "clean-val"
    labelled: str = "train"
    published_label: str = "paper"
    reference: str = "brgcl"
    noise: Sequence[str] = ("none",)
    levels: Sequence[float] = (0.0,)
    datasets: Sequence[str] = ()
    seeds: Mapping[str, int] = field(default_factory=dict)
    notes: Sequence[str] = ()
    rows: Mapping[str, Row] = field(default_factory=dict)
    published: Sequence[Mapping[str, Any]] = ()

    def columns(self) -> list[tuple[str, float]]:
        """Kinds and levels of noise, as columns of the table; level 0 is there once."""
        columns = {
            ("none", 0.0) if level == 0 else (n, level) for n in self.noise for level in self.levels
        }
        order = ["none", *self.noise]
        return sorted(columns, key=lambda column: (order.index(column[0]), column[1]))

    def published_value(
        self, dataset: str, row: str, noise: str, level: float, metric: str
    ) -> tuple[float | None, float | None]:
        """Published mean and deviation of a cell; None where the paper has none."""
        which = (dataset, self.rows[row].published, metric)
        for entry in self.published:
            if level > 0 and entry.get("noise", noise) != noise:
                continue
            if (entry["dataset"], entry["row"], entry["metric"]) == which and level in self.levels:
                at = list(self.levels).index(level)
                mean = None if math.isnan(entry["mean"][at]) else entry["mean"][at]
                return mean, entry["std"][at] if "std" in entry else None
        return None, None


@dataclass(frozen=True)
class Selection:
    """Some runs of an experiment; None stands for all there is."""

    datasets: Sequence[str] | None = None
    rows: Sequence[str] | None = None
    levels: Sequence[float] | None = None
    seeds: int | None = None  # so many draws instead of the table's own number
    scored_on: str = "test"


WHOLE = Selection()


@dataclass(frozen=True)
class PlannedRun:
    """One run of an experiment, with the row and column that it belongs to."""

    row: str
    noise: str
    level: float
    spec: RunSpec


def experiment_names() -> list[str]:
    """Names of the tables and figures that come with brgcl."""
    names = (file.name for file in (resources.files("brgcl") / "experiments").iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def load_experiment(name: str) -> Experiment:
    """Read a table by name, or a file of one's own (a path that ends in .toml)."""
    if name.endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            raise InputError(f"there is no file '{name}'")
        return _parse(path.stem, path.read_text(encoding="utf-8"), name)
    if name not in experiment_names():
        raise unknown_name("experiment", name, experiment_names())
    file = resources.files("brgcl") / "experiments" / f"{name}.toml"
    return _parse(name, file.read_text(encoding="utf-8"), file.name)


def _parse(name: str, text: str, where: str) -> Experiment:
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"'{where}' is not valid TOML: {error}") from error
    rows = {
        row: _make(Row, {"method": row, "name": row, "published": row, **told}, f"{where}, {row}")
        for row, told in values.pop("rows", {}).items()
    }
    experiment: Experiment = _make(Experiment, {"name": name, **values, "rows": rows}, where)
    for what, names, known in (
        ("kind", [experiment.kind], KINDS),
        ("data set", experiment.datasets, list(DATASETS)),
        ("preset", [row.preset for row in rows.values()], PRESETS),
    ):
        for each in names:
            if each not in known:
                raise unknown_name(f"{what} in '{where}'", each, known)
    for row in rows.values():
        find_entry(experiment.task, row.method)
    for entry in experiment.published:
        if len(entry["mean"]) != len(experiment.levels):
            raise InputError(f"'{where}': {entry['row']} has {len(entry['mean'])} published means "
                             f"for {len(experiment.levels)} levels")  # fmt: skip
    return experiment


def _make(cls: Any, values: Mapping[str, Any], where: str) -> Any:
    known = [f.name for f in fields(cls)]
    for name in values:
        if name not in known:
            raise unknown_name(f"entry in '{where}'", name, known)
    needed = [f.name for f in fields(cls) if f.default is f.default_factory is MISSING]
    if missing := [name for name in needed if name not in values]:
        raise InputError(f"'{where}' lacks {', '.join(missing)}")
    try:
        return cls(**values)
    except TypeError as error:
        raise InputError(f"'{where}': {error}") from error


def runs(experiment: Experiment, selection: Selection = WHOLE) -> list[PlannedRun]:
    """List the runs of an experiment, or of a selection, one for each draw."""
    for what, asked, known in (
        ("data set of this experiment", selection.datasets, experiment.datasets),
        ("row of this experiment", selection.rows, list(experiment.rows)),
        ("level of this experiment", selection.levels, experiment.levels),
    ):
        for each in asked or ():
            if each not in known:
                raise unknown_name(what, str(each), map(str, known))
    if experiment.kind != "grid":
        return []  # facts: nothing is run for them
    levels, scored_on = _chosen(selection.levels, experiment.levels), selection.scored_on
    return [
        PlannedRun(
            name, noise, level, _run_spec(experiment, row, dataset, noise, level, seed, scored_on)
        )
        for dataset in _chosen(selection.datasets, experiment.datasets)
        for name in _chosen(selection.rows, list(experiment.rows))
        if dataset in _chosen((row := experiment.rows[name]).datasets, [dataset])
        for noise, level in experiment.columns()
        if level in levels and level in _chosen(row.levels, levels)
        for seed in range(selection.seeds or num_draws(experiment, row, dataset))
    ]


def _chosen(some: Sequence[T] | None, every: Sequence[T]) -> Sequence[T]:
    return every if some is None else some


def runs_of(experiments: Sequence[Experiment], selection: Selection = WHOLE) -> list[PlannedRun]:
    """List the runs of several experiments.

    What one of them does not have is left out there; what none of them has is an error.
    """
    if len(experiments) == 1:
        return runs(experiments[0], selection)
    planned = []
    for experiment in experiments:
        here = replace(
            selection,
            datasets=_those_in(experiment.datasets, selection.datasets),
            rows=_those_in(list(experiment.rows), selection.rows),
            levels=_those_in(experiment.levels, selection.levels),
        )
        planned += runs(experiment, here)
    if not planned:
        raise InputError("none of these experiments has such runs; brgcl bench list shows them")
    return planned


def _those_in(known: Sequence[T], asked: Sequence[T] | None) -> list[T] | None:
    return None if asked is None else [each for each in asked if each in known]


def num_draws(experiment: Experiment, row: Row, dataset: str) -> int:
    """How many draws a row has on a graph: its own number there, else its own, else the table's."""
    usual: int = experiment.seeds.get(dataset, experiment.seeds.get("default", 3))
    return row.on.get(dataset, {}).get("seeds") or row.seeds or usual


def row_note(task: str, row: Row, dataset: str) -> str:
    """What a reader must know of a row on a graph."""
    here = row.on.get(dataset, {}).get("note", _reduced_note(task, row, dataset))
    return " ".join(filter(None, [row.note, here]))


def _reduced(task: str, row: Row, dataset: str) -> Mapping[str, Any]:
    """Settings that the preset of a row adds on a graph."""
    entry = find_entry(task, row.method)
    return entry.reduced.get(dataset, {}) if row.preset == "reduced" else {}


def _reduced_note(task: str, row: Row, dataset: str) -> str:
    words = {"num_negatives": "sampled negatives"}
    told = [f"{v} {words.get(k, k)}" for k, v in _reduced(task, row, dataset).items()]
    return f"{', '.join(told)}." if told else ""


def _run_spec(
    experiment: Experiment, row: Row, dataset: str, noise: str, level: float, seed: int,
    scored_on: str,
) -> RunSpec:  # fmt: skip
    here = row.on.get(dataset, {}).get("settings", {})
    own = {"@level": level, "@classes": DATASETS[dataset].num_classes, "@none": None}
    settings = {
        name: own.get(value, value) if isinstance(value, str) else value
        for name, value in {
            **_reduced(experiment.task, row, dataset),
            **row.settings,
            **here,
        }.items()
    }
    # where there is no classifier to choose, the rule stays what it is in the oldest records
    task = experiment.task
    chooses = task == "classify" and not find_entry(task, row.method).uses_labels
    return RunSpec.of(
        dataset,
        row.method,
        seed,
        settings,
        task=task,
        protocol=experiment.protocol,
        labelled=row.labelled or experiment.labelled,
        noise=noise,
        level=level,
        rule=row.rule or ("auto" if chooses else "best"),
        soft_labels=row.soft_labels,
        scored_on=scored_on,
    )
