"""Records -> what was measured of each method, put into its section of docs/methods.md."""

import re
from collections.abc import Mapping, Sequence

from brgcl.benchmark.experiment import load_experiment
from brgcl.benchmark.records import Record
from brgcl.benchmark.show.layout import cell_lines, format_value, noise_name
from brgcl.benchmark.show.statistics import Cell, table_cells
from brgcl.errors import InputError
from brgcl.methods import METHODS

GRAPHS = ("cora", "citeseer", "pubmed", "coauthor-cs")
NOISES = (("symmetric", 0.2), ("symmetric", 0.4), ("pair", 0.2), ("pair", 0.4))
END = "<!-- end of measured -->"

Tables = Mapping[str, Sequence[Cell]]


def put_measured(text: str, records: Mapping[str, Record]) -> str:
    """Put a table into the section of each method, between its two marks.

    Raises:
        InputError: A method has no marks.
    """
    tables = measured_tables(records)
    for name in METHODS:
        begin = f"<!-- measured: {name} -->"
        pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(END)}", flags=re.DOTALL)
        before, *after = pattern.split(text)
        if len(after) != 1:
            raise InputError(f"the page needs '{begin}' and '{END}' once")
        text = f"{before}{begin}\n\n{measured(name, tables)}\n\n{END}{after[0]}"
    return text


def measured_tables(records: Mapping[str, Record]) -> Tables:
    """All cells that were measured in the tables that methods are judged by."""
    names = ("probe", "symmetric", "asymmetric", "classifiers", "clustering")
    return {
        name: [cell for cell in table_cells(load_experiment(name), records) if cell.n]
        for name in names
    }


def measured(name: str, tables: Tables) -> str:
    """A table of what was measured of one method, in per cent, beside what others published."""
    of = {
        experiment: [cell for cell in cells if cell.row == name]
        for experiment, cells in tables.items()
    }
    probe = (
        "clean, beside its authors' figure" if METHODS[name].uses_labels else "clean, linear probe"
    )
    lines = [(probe, _texts(of["probe"]))]
    for noise, level in (("none", 0.0), *NOISES):
        lines.append((noise_name(noise, level), _texts(_most_draws(of, noise, level))))
    lines.append(("clusters, ACC / NMI / ARI", _clusters(of["clustering"])))
    rows = [
        f"| {title} | {' | '.join(cells.get(graph, '') for graph in GRAPHS)} |"
        for title, cells in lines
        if cells
    ]
    if not rows:
        return "Nothing was measured yet."
    head = [f"| Measured | {' | '.join(GRAPHS)} |", "|---|" + "---|" * len(GRAPHS)]
    return "\n".join([*head, *rows])


def _most_draws(of: Tables, noise: str, level: float) -> list[Cell]:
    """The cells under a noise, from the table that has the most draws of each."""
    best: dict[str, Cell] = {}
    for experiment in ("symmetric", "asymmetric", "classifiers"):
        for cell in of[experiment]:
            known = best.get(cell.dataset)
            if (cell.noise, cell.level) == (noise, level) and (not known or cell.n > known.n):
                best[cell.dataset] = cell
    return list(best.values())


def _texts(cells: Sequence[Cell]) -> dict[str, str]:
    texts = {}
    for cell in cells:
        text = cell_lines(cell)[0].text
        if cell.published_mean is not None and cell.difference is not None:
            text += f"; published {format_value(cell.published_mean, cell.metric)}, "
            text += format_value(cell.difference, cell.metric, sign=True)
        texts[cell.dataset] = text
    return texts


def _clusters(cells: Sequence[Cell]) -> dict[str, str]:
    texts = {}
    for graph in GRAPHS:
        here = [cell for cell in cells if cell.dataset == graph]
        if not here:
            continue
        text = " / ".join(format_value(cell.mean or 0.0, cell.metric) for cell in here)
        text += f" ({here[0].n})"
        if here[0].published_mean is not None:
            told = [format_value(cell.published_mean or 0.0, cell.metric) for cell in here]
            text += f"; published {' / '.join(told)}"
        texts[graph] = text
    return texts
