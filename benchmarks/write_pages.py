"""Records -> docs/results.md, its pictures, and the tables in README.md and docs/methods.md.

The facts of each method in docs/methods.md are written anew, too.

    python benchmarks/write_pages.py                              (make results)
    python benchmarks/write_pages.py --folder elsewhere --records other.jsonl

Maps of nodes need trainings besides records: `brgcl bench plot confidence-map` makes them.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from brgcl.atomic_files import write_text
from brgcl.benchmark.experiment import experiment_names, load_experiment
from brgcl.benchmark.records import Record, ResultsFolder, read_records
from brgcl.benchmark.show.figures import is_measured, plot_experiment
from brgcl.benchmark.show.layout import Search
from brgcl.benchmark.show.statistics import table_cells
from brgcl.errors import InputError
from brgcl.pictures import check_picture, save_picture
from brgcl.tune.equal import read_outcomes
from brgcl.tune.figure import plot_searches, read_searches
from method_facts import put_facts
from methods_page import put_measured
from results_page import put_summary, results_page

ROOT = Path(__file__).parent.parent
PICTURES = Path("img/results")


def write_pages(folder: Path, records_file: Path) -> list[Path]:
    """Write the results page and its pictures, and put tables into the other pages.

    Args:
        folder: The repository, with README.md, docs/methods.md and results/conclusions.md.
        records_file: File of records.

    Returns:
        The files that were written.
    """
    if not records_file.is_file():
        raise InputError(f"there are no records in '{records_file}'; brgcl bench run makes them")
    records = read_records(records_file)
    searches = read_searches(ResultsFolder(records_file).searches)
    docs, readme, methods = folder / "docs", folder / "README.md", folder / "docs" / "methods.md"
    pages = {
        readme: put_summary(_read(readme), records),
        methods: put_facts(put_measured(_read(methods), records)),
    }
    written = plot_all(records, searches, docs / PICTURES)
    pages[docs / "results.md"] = results_page(
        records,
        searches,
        _read(folder / "results" / "conclusions.md"),
        known_pictures(docs),
        read_outcomes(ResultsFolder(records_file).searches / "equal"),
    )
    for file, text in pages.items():
        write_text(file, text)
    return [*written, *pages]


def plot_all(
    records: Mapping[str, Record], searches: Mapping[str, Search], folder: Path
) -> list[Path]:
    """Plot every experiment of which something was measured, except maps; returns the files."""
    figures = {"hyperparameters": plot_searches(searches)} if searches else {}
    for experiment in map(load_experiment, experiment_names()):
        is_plotted = experiment.kind == "grid" and experiment.task != "prototypes"
        if is_plotted and is_measured(table_cells(experiment, records)):
            figures[experiment.name] = plot_experiment(experiment, records)
    files = [folder / f"{name}.svg" for name in figures]
    for file, figure in zip(files, figures.values(), strict=True):
        save_picture(figure, file)
    return files


def known_pictures(docs: Path) -> dict[str, str]:
    """Pictures of experiments by name, maps among them, as addresses in the results page."""
    files = sorted((docs / PICTURES).glob("*.svg"))
    return {file.stem: file.relative_to(docs).as_posix() for file in files}


def _read(path: Path) -> str:
    if not path.is_file():
        raise InputError(f"there is no file '{path}'")
    return path.read_text(encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Write the pages of results from records.")
    parser.add_argument("--folder", type=Path, default=ROOT, help="the repository")
    parser.add_argument("--records", type=Path, help="default: results/records.jsonl in it")
    given = parser.parse_args(arguments)
    try:
        check_picture(Path("any.svg"))
        records = given.records or given.folder / "results" / "records.jsonl"
        for file in write_pages(given.folder, records):
            print(f"Written: {file}")
    except InputError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
