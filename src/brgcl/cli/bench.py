"""The bench commands: run experiments, show their tables and figures."""

import time
from pathlib import Path
from typing import Annotated

import typer

from brgcl.benchmark.experiment import Selection, experiment_names, load_experiment, runs, runs_of
from brgcl.benchmark.export import write_draws
from brgcl.benchmark.records import Record, read_records
from brgcl.benchmark.runner import BACKENDS, ResultsFolder, run
from brgcl.benchmark.schedule import schedule
from brgcl.benchmark.show.figures import plot_experiment
from brgcl.benchmark.show.formats import (
    FORMATS,
    to_csv,
    to_draws,
    to_html,
    to_latex,
    to_markdown,
    to_text,
)
from brgcl.benchmark.show.layout import facts_layout, layouts
from brgcl.benchmark.show.node_maps import is_map, mapped_runs, plot_maps
from brgcl.benchmark.show.statistics import table_cells
from brgcl.benchmark.trainings import read_or_train
from brgcl.cli import options
from brgcl.cli.bench_progress import watching
from brgcl.cli.console import print_json, say, show_table, stdout
from brgcl.errors import InputError, unknown_name
from brgcl.pictures import check_picture, save_picture
from brgcl.report.report import place_nodes
from brgcl.tune.figure import plot_searches, read_searches

bench = typer.Typer(help="Benchmarks.", no_args_is_help=True)

SuiteName = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="A table or figure (brgcl bench list), or a .toml file of your own."
    ),
]
RecordsFile = Annotated[Path, typer.Option("--records", help="File of records.")]
RECORDS = Path("results/records.jsonl")
Datasets = Annotated[str | None, typer.Option(help="Some graphs only, separated by commas.")]
Rows = Annotated[str | None, typer.Option(help="Some rows only, separated by commas.")]
Levels = Annotated[str | None, typer.Option(help="Some noise levels only, separated by commas.")]
Split = Annotated[
    str, typer.Option(help="Nodes that are scored: test, or validation to choose something.")
]


def _part(
    datasets: str | None,
    rows: str | None,
    levels: str | None,
    seeds: int | None = None,
    split: str = "test",
) -> Selection:
    """What options leave of a table."""
    return Selection(
        options.parse_names(datasets),
        options.parse_names(rows),
        options.parse_levels(levels),
        seeds,
        split,
    )


@bench.command(name="list")
def list_(json_: options.Json = False) -> None:
    """List the tables and figures that can be run."""
    experiments = [load_experiment(name) for name in experiment_names()]
    if json_:
        print_json(
            {
                "experiments": [
                    {"name": s.name, "title": s.title, "source": s.source, "cells": len(runs(s))}
                    for s in experiments
                ]
            }
        )
        return
    rows = [[s.name, s.title, s.source, f"{len(runs(s)):,}"] for s in experiments]
    show_table("Experiments", ["name", "title", "source", "cells"], rows)


@bench.command(name="run")
def run_(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME...", help="Tables or figures (brgcl bench list), or .toml files."
        ),
    ],
    datasets: Datasets = None,
    methods: Rows = None,
    levels: Levels = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Draws of noise; default: the table's own number.")
    ] = None,
    split: Split = "test",
    workers: Annotated[int, typer.Option(min=1, help="Processes, one thread each.")] = 1,
    backend: Annotated[str, typer.Option(help=f"{', '.join(BACKENDS)}.")] = "local",
    budget: Annotated[
        str | None, typer.Option(help="Begin nothing that would end later: 90s, 5m, 2h.")
    ] = None,
    retry: Annotated[bool, typer.Option(help="Run cells again that failed.")] = False,
    records: RecordsFile = RECORDS,
    root: options.Root = None,
    json_: options.Json = False,
) -> None:
    """Run the experiments of tables or figures; what is done already is not done again.

    Stop it whenever you like, and start it again to go on. Several of them may share one file.
    """
    start = time.time()
    deadline = None if budget is None else start + options.parse_duration(budget)
    wanted = runs_of(
        [load_experiment(name) for name in names], _part(datasets, methods, levels, seeds, split)
    )
    experiments = list(dict.fromkeys(cell.spec for cell in wanted))
    what = " ".join(names)
    place = ResultsFolder(records, root)
    before = read_records(records)
    jobs = schedule(experiments, before, retry=retry)
    todo = sum(len(job.specs) for job in jobs)
    say(f"{what}: {len(experiments):,} cells, {len(experiments) - todo:,} done, {todo:,} to run.")
    with watching(jobs, workers) as watch:
        run(
            experiments, place, workers=workers, backend=backend, deadline=deadline, retry=retry,
            watch=watch,
        )  # fmt: skip
    after = read_records(records)
    done = [after[e.key] for e in experiments if e.key in after]
    failed = [record for record in done if record.error is not None]
    found = {
        "experiment": what,
        "cells": len(experiments),
        "done": len(done) - len(failed),
        "failed": len(failed),
        "left": len(experiments) - len(done),
        "records": str(records),
        "seconds": time.time() - start,
    }
    for record in failed:
        say(f"failed: {record.spec}: {str(record.error).strip().splitlines()[-1]}")
    if json_:
        print_json(found)
    else:
        show_table("", ["figure", "value"], [[key, str(value)] for key, value in found.items()])


def _existing_records(file: Path, name: str) -> dict[str, Record]:
    """Read records that must be there, since a table is made of them."""
    if not file.is_file():
        raise InputError(f"no records in '{file}' yet; brgcl bench run {name} makes them")
    return read_records(file)


@bench.command()
def table(
    name: SuiteName,
    format_: Annotated[
        str, typer.Option("--format", help=f"{', '.join(FORMATS)} (draws: one line a draw).")
    ] = "text",
    datasets: Datasets = None,
    methods: Rows = None,
    levels: Levels = None,
    split: Split = "test",
    records: RecordsFile = RECORDS,
) -> None:
    """Print a table: ours, the paper's, and differences to BRGCL draw by draw."""
    if format_ not in FORMATS:
        raise unknown_name("format", format_, FORMATS)
    experiment = load_experiment(name)
    if experiment.kind != "grid":
        pages = [facts_layout(experiment, read_searches(ResultsFolder(records).searches))]
        if format_ in ("csv", "draws"):
            raise InputError(f"'{name}' has no draws; give --format text, md, latex or html")
    else:
        found = _existing_records(records, name)
        selection = _part(datasets, methods, levels, split=split)
        if format_ in ("csv", "draws"):
            write = to_csv if format_ == "csv" else to_draws
            stdout.file.write(write(table_cells(experiment, found, selection)))
            return
        pages = layouts(experiment, found, selection)
    form = {"text": to_text, "md": to_markdown, "latex": to_latex, "html": to_html}[format_]
    stdout.file.write("\n".join(form(page) for page in pages))


@bench.command(name="plot")
def plot_(
    name: SuiteName,
    datasets: Datasets = None,
    methods: Rows = None,
    levels: Levels = None,
    records: RecordsFile = RECORDS,
    out: Annotated[
        Path | None, typer.Option(help="Picture: .svg, .png or .pdf; default: NAME.svg.")
    ] = None,
    root: options.Root = None,
    json_: options.Json = False,
) -> None:
    """Plot a table: curves over noise levels, dots where there is one level, maps of nodes."""
    experiment = load_experiment(name)
    file = Path(f"{experiment.name}.svg") if out is None else out
    check_picture(file)
    place, selection = ResultsFolder(records, root), _part(datasets, methods, levels)
    if experiment.kind == "hyperparameters":
        figure = plot_searches(read_searches(place.searches, selection.datasets))
    elif is_map(experiment):
        shown = mapped_runs(experiment, selection)
        trained = read_or_train([each.spec for each in shown], place, read_records(records), say)
        figure = plot_maps(experiment, shown, trained, place_nodes)
    else:
        figure = plot_experiment(experiment, _existing_records(records, name), selection)
    save_picture(figure, file)
    if json_:
        panels = [axes.get_title() for axes in figure.axes if axes.get_title()]
        print_json({"experiment": experiment.name, "file": str(file), "panels": panels})
    else:
        stdout.print(f"Written to {file}", highlight=False, soft_wrap=True)


@bench.command()
def draws(
    name: SuiteName,
    out: Annotated[Path, typer.Option(help="Folder for the draws.")],
    datasets: Datasets = None,
    levels: Levels = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Draws of noise; default: the table's own number.")
    ] = None,
    root: options.Root = None,
    overwrite: options.Overwrite = False,
    json_: options.Json = False,
) -> None:
    """Write the noise draws of a table as files, for other code to be run on the same ones."""
    experiment = load_experiment(name)
    number = write_draws(
        experiment,
        out,
        _part(datasets, None, levels, seeds),
        root=root,
        overwrite=overwrite,
        say=say,
    )
    if json_:
        print_json({"experiment": experiment.name, "draws": number, "folder": str(out)})
    else:
        stdout.print(
            f"{number:,} draws written to {out}; its README.txt says how to read them",
            highlight=False,
            soft_wrap=True,
        )
