"""Records -> what was measured of each method, put into its section of docs/methods.md."""

import re
from collections.abc import Mapping, Sequence

from brgcl.benchmark.experiment import load_experiment
from brgcl.benchmark.records import Record
from brgcl.benchmark.show.layout import cell_lines, figure
from brgcl.benchmark.show.statistics import Entry, table_entries
from brgcl.errors import InputError
from brgcl.methods import METHODS

GRAPHS = ("cora", "citeseer", "pubmed", "coauthor-cs")
NOISES = (("symmetric", 0.2), ("symmetric", 0.4), ("pair", 0.2), ("pair", 0.4))
END = "<!-- end of measured -->"

Tables = Mapping[str, Sequence[Entry]]


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
        name: [entry for entry in table_entries(load_experiment(name), records) if entry.n]
        for name in names
    }


def measured(name: str, tables: Tables) -> str:
    """A table of what was measured of one method, in per cent, beside what others published."""
    supervised = METHODS[name].uses_labels
    of = {suite: [e for e in entries if e.row == name] for suite, entries in tables.items()}
    lines = [("clean" if supervised else "clean, linear probe", _texts(of["probe"]))]
    if not (supervised and of["probe"]):
        lines.append(("clean", _texts(_most_draws(of, "none", 0.0))))
    for noise, level in NOISES:
        lines.append((f"{noise} {100 * level:g} %", _texts(_most_draws(of, noise, level))))
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


def _most_draws(of: Tables, noise: str, level: float) -> list[Entry]:
    """The cells under a noise, from the table that has the most draws of each."""
    found: dict[str, Entry] = {}
    for suite in ("symmetric", "asymmetric", "classifiers"):
        for entry in of[suite]:
            known = found.get(entry.dataset)
            if (entry.noise, entry.level) == (noise, level) and (not known or entry.n > known.n):
                found[entry.dataset] = entry
    return list(found.values())


def _texts(entries: Sequence[Entry]) -> dict[str, str]:
    found = {}
    for entry in entries:
        text = cell_lines(entry)[0].text
        if entry.published_mean is not None and entry.difference is not None:
            text += f"; published {figure(entry.published_mean, entry.metric)}, "
            text += figure(entry.difference, entry.metric, sign=True)
        found[entry.dataset] = text
    return found


def _clusters(entries: Sequence[Entry]) -> dict[str, str]:
    found = {}
    for graph in GRAPHS:
        here = [entry for entry in entries if entry.dataset == graph]
        if not here:
            continue
        text = " / ".join(figure(entry.mean or 0.0, entry.metric) for entry in here)
        text += f" ({here[0].n})"
        if here[0].published_mean is not None:
            told = [figure(entry.published_mean or 0.0, entry.metric) for entry in here]
            text += f"; published {' / '.join(told)}"
        found[graph] = text
    return found
