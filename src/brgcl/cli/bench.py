"""The bench commands: run experiments, show their tables and figures, time an epoch."""

import time
from pathlib import Path
from typing import Annotated

import typer

from brgcl.atomic_files import write_text
from brgcl.benchmark.experiment import Selection, experiment_names, load_experiment, runs, runs_of
from brgcl.benchmark.export import write_draws
from brgcl.benchmark.method_page import put_measured
from brgcl.benchmark.page import facts, put_summary, results_page
from brgcl.benchmark.records import read_records
from brgcl.benchmark.runner import BACKENDS, ResultsFolder, run
from brgcl.benchmark.schedule import schedule
from brgcl.benchmark.show.figures import draw_all, plot_suite
from brgcl.benchmark.show.formats import (
    FORMATS,
    to_csv,
    to_draws,
    to_html,
    to_latex,
    to_markdown,
    to_text,
)
from brgcl.benchmark.show.layout import sheets
from brgcl.benchmark.show.settings_table import read_searches
from brgcl.benchmark.show.statistics import table_entries
from brgcl.benchmark.speed import cases_here, check_case, empty_memory, machine, measure
from brgcl.benchmark.speed_page import (
    COLUMNS,
    NOTE,
    check_picture,
    detail_lines,
    plot,
    slopes,
    table_rows,
)
from brgcl.cli import options
from brgcl.cli.bench_progress import watching
from brgcl.cli.console import print_json, say, show_table, stdout
from brgcl.errors import InputError, unknown_name

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
    suites = [load_experiment(name) for name in experiment_names()]
    if json_:
        print_json(
            {
                "experiments": [
                    {"name": s.name, "title": s.title, "source": s.source, "cells": len(runs(s))}
                    for s in suites
                ]
            }
        )
        return
    rows = [[s.name, s.title, s.source, f"{len(runs(s)):,}"] for s in suites]
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
    suite, found = load_experiment(name), read_records(records)
    if suite.kind != "grid":
        pages = [facts(suite, read_searches(ResultsFolder(records).searches))]
        if format_ in ("csv", "draws"):
            raise InputError(f"'{name}' has no draws; give --format text, md, latex or html")
    else:
        if not records.exists():
            raise InputError(f"no records in '{records}' yet; brgcl bench run {name} makes them")
        part = _part(datasets, methods, levels, split=split)
        if format_ in ("csv", "draws"):
            write = to_csv if format_ == "csv" else to_draws
            stdout.file.write(write(table_entries(suite, found, part)))
            return
        pages = sheets(suite, found, part)
    form = {"text": to_text, "md": to_markdown, "latex": to_latex, "html": to_html}[format_]
    stdout.file.write("\n".join(form(page) for page in pages))


@bench.command()
def page(
    records: RecordsFile = RECORDS,
    conclusions: Annotated[Path, typer.Option(help="Text for the beginning of the page.")] = Path(
        "results/conclusions.md"
    ),
    out: Annotated[Path, typer.Option(help="Page to write; pictures are in img/results.")] = Path(
        "docs/results.md"
    ),
    readme: Annotated[
        Path | None, typer.Option(help="A page that a summary is put into, between its marks.")
    ] = None,
    methods: Annotated[
        Path | None, typer.Option(help="A page that what was measured of each method is put into.")
    ] = None,
    pictures: Annotated[bool, typer.Option(help="Draw the pictures anew, except maps.")] = False,
) -> None:
    """Write all tables as one page in Markdown, and parts of them into other pages."""
    text = conclusions.read_text(encoding="utf-8") if conclusions.exists() else ""
    found = read_records(records)
    folder = out.parent / "img" / "results"
    if pictures:
        draw_all(found, folder, ResultsFolder(records))
    drawn = {
        file.stem: file.relative_to(out.parent).as_posix() for file in sorted(folder.glob("*.svg"))
    }
    written = {
        out: results_page(found, read_searches(ResultsFolder(records).searches), text, drawn)
    }
    if readme is not None:
        written[readme] = put_summary(read_page(readme), found)
    if methods is not None:
        written[methods] = put_measured(read_page(methods), found)
    for file, content in written.items():
        write_text(file, content)
        say(f"Written: {file}")


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
    """Draw a table: curves over noise levels, dots where there is one level, maps of nodes."""
    suite = load_experiment(name)
    file = Path(f"{suite.name}.svg") if out is None else out
    figure = plot_suite(
        suite,
        read_records(records),
        file,
        ResultsFolder(records, root),
        _part(datasets, methods, levels),
        name=name,
        say=say,
    )
    if json_:
        panels = [axes.get_title() for axes in figure.axes if axes.get_title()]
        print_json({"experiment": suite.name, "file": str(file), "panels": panels})
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
    suite = load_experiment(name)
    number = write_draws(
        suite,
        out,
        _part(datasets, None, levels, seeds),
        root=root,
        overwrite=overwrite,
        say=say,
    )
    if json_:
        print_json({"experiment": suite.name, "draws": number, "folder": str(out)})
    else:
        stdout.print(
            f"{number:,} draws written to {out}; its README.txt says how to read them",
            highlight=False,
            soft_wrap=True,
        )


def read_page(path: Path) -> str:
    """Read a page that something is put into."""
    if not path.is_file():
        raise InputError(f"there is no file '{path}'")
    return path.read_text(encoding="utf-8")


@bench.command()
def speed(
    cases: Annotated[
        str | None, typer.Option(help="Some cases only, by name, separated by commas.")
    ] = None,
    mode: Annotated[str | None, typer.Option(help="exact or sampled; default: both.")] = None,
    objective: Annotated[str, typer.Option(help="exp or abs.")] = "exp",
    repeats: Annotated[int, typer.Option(min=1, help="Epochs and calls to take medians of.")] = 5,
    picture: Annotated[
        Path | None, typer.Option("--plot", help="Draw time and memory: .svg, .png or .pdf.")
    ] = None,
    json_: options.Json = False,
) -> None:
    """Time an epoch against its bare kernels, GRACE and dense similarities."""
    chosen = cases.split(",") if cases else None
    for name in chosen or []:
        check_case(name)
    if objective not in ("exp", "abs"):
        raise unknown_name("objective", objective, ("exp", "abs"))
    if mode not in (None, "exact", "sampled"):
        raise unknown_name("mode", mode, ("exact", "sampled"))
    if picture is not None:
        check_picture(picture)
    wanted = [
        (name, kind)
        for name, kind in cases_here()
        if (chosen is None or name in chosen) and mode in (None, kind)
    ]
    if not wanted:
        raise InputError(
            "none of these cases can be run here; brgcl datasets shows what is on disk"
        )
    found = []
    for number, (name, kind) in enumerate(wanted, start=1):
        say(f"{number} of {len(wanted)}: {name}, {kind}, {objective}")
        found.append(measure(name, kind, objective, repeats=repeats))
    empty_mb = empty_memory()
    slope_of = slopes(found, empty_mb)
    if picture is not None:
        plot(found, empty_mb, picture)
    if json_:
        print_json({"cases": found, "slopes": slope_of, "empty_mb": empty_mb, "machine": machine()})
        return
    show_table(f"Speed, {objective}", COLUMNS, table_rows(found))
    stdout.print(NOTE, highlight=False)
    for part, slope in slope_of.items():
        if slope is not None:
            stdout.print(f"Log-log slope of {part} over nodes, sampled: {slope:.3f}")
    for line in (line for case in found for line in detail_lines(case)):
        stdout.print(line, highlight=False)
