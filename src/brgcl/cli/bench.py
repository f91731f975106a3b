"""The bench commands: run experiments, show their tables and figures."""

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer
from typer import Argument, Option

from brgcl.cli.console import print_json, print_line, print_metrics, say, show_table
from brgcl.cli.grouped import grouped, option
from brgcl.cli.options import Json, Overwrite, Root, parse_duration, parse_levels, parse_names
from brgcl.errors import InputError, check_name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from brgcl.benchmark.experiment import Selection
    from brgcl.benchmark.records import Record
    from brgcl.benchmark.runner import Watcher
    from brgcl.benchmark.schedule import Job

bench = typer.Typer(help="Run benchmarks and show their tables.", no_args_is_help=True)

Name = Annotated[
    str,
    Argument(metavar="NAME", help="A table or figure (brgcl bench list), or your own .toml file."),
]
RecordsFile = Annotated[Path, Option("--records", help="File of records.")]
RECORDS = Path("results/records.jsonl")
Metrics = Annotated[
    str | None,
    Option(
        help="Scores to show instead of the default ones, e.g. auroc,f1,mcc.",
        rich_help_panel="Selection",
    ),
]
Draws = Annotated[
    int | None, Option(min=1, help="Number of draws of noise; default: that of the table.")
]


@dataclass(frozen=True)
class GraphSelection:
    """A part of a table: some graphs and levels."""

    PANEL: ClassVar = "Selection"
    datasets: str | None = option(None, "Only these graphs, separated by commas.")
    levels: str | None = option(None, "Only these noise levels, separated by commas.")

    def part(self, num_draws: int | None = None) -> "Selection":
        """Read the options."""
        from brgcl.benchmark.experiment import Selection

        rows = parse_names(getattr(self, "methods", None))
        scored_on = getattr(self, "scored_on", "test")
        levels = parse_levels(self.levels)
        return Selection(parse_names(self.datasets), rows, levels, num_draws, scored_on)


@dataclass(frozen=True)
class RowSelection(GraphSelection):
    """A part of a table: some rows as well."""

    methods: str | None = option(None, "Only these rows, separated by commas.")


@dataclass(frozen=True)
class ScoreSelection(RowSelection):
    """A part of a table, and which scores."""

    scored_on: str = option("test", "Nodes to score: test, or validation (to choose settings).")


@bench.command(name="list")
@grouped
def list_(json_: Json = False) -> None:
    """List the tables and figures that can be run."""
    from brgcl.benchmark.experiment import experiment_names, load_experiment, runs

    listed = [
        {"name": s.name, "title": s.title, "source": s.source, "cells": len(runs(s))}
        for s in map(load_experiment, experiment_names())
    ]
    if json_:
        print_json({"experiments": listed})
        return
    rows = [[str(value) for value in entry.values()] for entry in listed]
    show_table("Experiments", list(listed[0]), rows, words=True)
    print_line("Run one with brgcl bench run NAME; print it with brgcl bench table NAME.")


@bench.command(name="run")
@grouped
def run_(
    names: Annotated[
        list[str],
        Argument(
            metavar="NAME...", help="Tables or figures (brgcl bench list), or your own .toml files."
        ),
    ],
    selection: ScoreSelection,
    seeds: Draws = None,
    workers: Annotated[int, Option(min=1, help="Number of processes, one thread each.")] = 1,
    backend: Annotated[str, Option(help="Where to run: local or dask.")] = "local",
    budget: Annotated[
        str | None, Option(help="Start no run that would end later than this: 90s, 5m, 2h.")
    ] = None,
    retry: Annotated[bool, Option(help="Repeat failed runs.")] = False,
    records: RecordsFile = RECORDS,
    root: Root = None,
    json_: Json = False,
) -> None:
    """Run the experiments of tables or figures; what is done already is not done again.

    Stop it whenever you like, and start it again to go on. Several of them may share one file.
    Ends with 1 if a run failed.
    """
    start = time.time()
    deadline = None if budget is None else start + parse_duration(budget)

    from brgcl.benchmark.experiment import load_experiment, runs_of
    from brgcl.benchmark.records import ResultsFolder
    from brgcl.benchmark.runner import run
    from brgcl.cli.bench_progress import watching

    wanted = runs_of([load_experiment(name) for name in names], selection.part(seeds))
    specs = list(dict.fromkeys(planned.spec for planned in wanted))
    what = " ".join(names)

    def announced(jobs: "Sequence[Job]") -> "AbstractContextManager[Watcher]":
        todo = sum(len(job.specs) for job in jobs)
        say(f"{what}: {len(specs):,} runs, {len(specs) - todo:,} done, {todo:,} to run.")
        return watching(jobs, workers)

    summary = run(
        specs, ResultsFolder(records, root), workers=workers, backend=backend, deadline=deadline,
        retry=retry, watching=announced,
    )  # fmt: skip
    result = {
        "experiment": what, "cells": summary.total, "done": summary.done, "failed": summary.failed,
        "left": summary.left, "records": str(records), "seconds": time.time() - start,
    }  # fmt: skip
    for record in summary.failures:
        say(f"failed: {record.spec}: {record.reason}")
    if json_:
        print_json(result)
    else:
        print_metrics(result)
        more = "run it again to go on" if summary.left else f"brgcl bench table {names[0]}"
        print_line(f"Records: {records}. Next: {'add --retry' if summary.failed else more}.")
    if summary.failed:
        raise typer.Exit(1)


def _existing_records(file: Path, name: str) -> "dict[str, Record]":
    """Read records that must be there, since a table is made of them."""
    from brgcl.benchmark.records import read_records

    if not file.is_file():
        raise InputError(f"no records in '{file}' yet; brgcl bench run {name} makes them")
    return read_records(file)


@bench.command()
@grouped
def table(
    name: Name,
    selection: ScoreSelection,
    metrics: Metrics = None,
    format_: Annotated[
        str, Option("--format", help="text, md, latex, html, csv or draws (one line per draw).")
    ] = "text",
    records: RecordsFile = RECORDS,
) -> None:
    """Print a table: our results, the published ones, and paired differences to BRGCL."""
    from brgcl.benchmark.experiment import load_experiment
    from brgcl.benchmark.records import ResultsFolder
    from brgcl.benchmark.show import formats
    from brgcl.benchmark.show.layout import facts_layout, layouts, with_metrics
    from brgcl.benchmark.show.statistics import table_cells
    from brgcl.tune.figure import read_searches

    check_name("format", format_, formats.FORMATS)
    experiment, part = load_experiment(name), selection.part()
    experiment = with_metrics(experiment, parse_names(metrics))
    if experiment.kind != "grid":
        if format_ in ("csv", "draws"):
            raise InputError(f"'{name}' has no draws; give --format text, md, latex or html")
        pages = [facts_layout(experiment, read_searches(ResultsFolder(records).searches))]
    elif format_ in ("csv", "draws"):
        write = formats.to_csv if format_ == "csv" else formats.to_draws
        sys.stdout.write(write(table_cells(experiment, _existing_records(records, name), part)))
        return
    else:
        pages = layouts(experiment, _existing_records(records, name), part)
    form = {
        "text": formats.to_text, "md": formats.to_markdown,
        "latex": formats.to_latex, "html": formats.to_html,
    }[format_]  # fmt: skip
    sys.stdout.write("\n".join(form(page) for page in pages))


@bench.command(name="plot")
@grouped
def plot_(
    name: Name,
    selection: RowSelection,
    metrics: Metrics = None,
    records: RecordsFile = RECORDS,
    out: Annotated[
        Path | None, Option(help="Picture file: .svg, .png or .pdf; default: NAME.svg.")
    ] = None,
    root: Root = None,
    json_: Json = False,
) -> None:
    """Plot a table as curves over noise levels, as dots for a single level, or as maps of nodes."""
    from brgcl.benchmark.experiment import load_experiment
    from brgcl.benchmark.records import ResultsFolder, read_records
    from brgcl.benchmark.show.figures import plot_experiment
    from brgcl.benchmark.show.layout import with_metrics
    from brgcl.benchmark.show.node_maps import is_map, mapped_runs, plot_maps
    from brgcl.benchmark.trainings import read_or_train
    from brgcl.pictures import check_picture, save_picture
    from brgcl.report.figures import place_nodes
    from brgcl.tune.figure import plot_searches, read_searches

    experiment, part = load_experiment(name), selection.part()
    experiment = with_metrics(experiment, parse_names(metrics))
    file = Path(f"{experiment.name}.svg") if out is None else out
    check_picture(file)
    folder = ResultsFolder(records, root)
    if experiment.kind == "hyperparameters":
        figure = plot_searches(read_searches(folder.searches, part.datasets))
    elif is_map(experiment):
        shown = mapped_runs(experiment, part)
        trained = read_or_train([each.spec for each in shown], folder, read_records(records), say)
        figure = plot_maps(experiment, shown, trained, place_nodes)
    else:
        figure = plot_experiment(experiment, _existing_records(records, name), part)
    save_picture(figure, file)
    if json_:
        panels = [axes.get_title() for axes in figure.axes if axes.get_title()]
        print_json({"experiment": experiment.name, "file": str(file), "panels": panels})
    else:
        print_line(f"Written: {file}. To print the numbers: brgcl bench table {name}")


@bench.command()
@grouped
def draws(
    name: Name,
    selection: GraphSelection,
    out: Annotated[Path, Option(help="Folder for the draws.")],
    seeds: Draws = None,
    root: Root = None,
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Write the noise draws of a table as files, so that other code can use the same draws."""
    from brgcl.benchmark.experiment import load_experiment
    from brgcl.benchmark.export import write_draws

    experiment, part = load_experiment(name), selection.part(seeds)
    number = write_draws(experiment, out, part, root=root, overwrite=overwrite, say=say)
    if json_:
        print_json({"experiment": experiment.name, "draws": number, "folder": str(out)})
    else:
        print_line(f"{number:,} draws written to {out}; README.txt there says how to read them")
