"""Records -> docs/results.md: every table and figure, and what can be concluded from them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from brgcl.benchmark.experiment import Experiment, Selection, load_experiment, runs
from brgcl.benchmark.records import Record
from brgcl.benchmark.show.formats import to_markdown
from brgcl.benchmark.show.layout import LEGEND, Sheet, cell_lines, figure, sheets, statistics_sheet
from brgcl.benchmark.show.settings_table import Search, settings_sheet
from brgcl.benchmark.show.statistics import Entry, table_entries
from brgcl.errors import InputError
from brgcl.evaluate.paired import paired_difference

ORDER = (
    "symmetric", "asymmetric", "attribute", "clustering", "clustering-noise", "sample-selection",
    "ablation", "components", "prototypes", "confidence-map", "hyperparameters",
    "dataset-statistics", "edge", "instance", "noisy-val", "no-val", "classifiers",
    "probe", "negatives",
)  # fmt: skip
BEGIN, END = "<!-- results -->", "<!-- end of results -->"
HEAD = """# Results

This page is made from [records.jsonl](../results/records.jsonl) by `make results`; no figure in it
is typed by hand. A cell that was not run says so, with the hours of one core that it would take.
The same draws of noise, splits and seeds serve every method. Trainings have one thread each.
"""


def results_page(
    records: Mapping[str, Record],
    searches: Mapping[str, Search],
    conclusions: str,
    pictures: Mapping[str, str],
) -> str:
    """Write the page.

    Args:
        records: What was run, by key.
        searches: What tuning found, by graph.
        conclusions: Text for its beginning.
        pictures: Picture of an experiment, as an address relative to the page.
    """
    suites = [load_experiment(name) for name in ORDER]
    parts = [
        HEAD,
        LEGEND,
        conclusions.strip(),
        _compared(suites, records),
        _filled(suites, records),
    ]
    for suite in suites:
        parts.append(_section(suite, records, searches, pictures.get(suite.name)))
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def summary(records: Mapping[str, Record]) -> str:
    """A small table for the README: BRGCL, GCN and the best of the others under label noise.

    The best is the one with the highest mean difference to BRGCL over the draws that both have.
    """
    lines = [
        "| Graph | Label noise | GCN | BRGCL | Best of the others | published GCN / BRGCL |",
        "|---|---|---|---|---|---|",
    ]
    for suite, noise, level in (
        (load_experiment("symmetric"), "none", 0.0),
        (load_experiment("symmetric"), "symmetric", 0.4),
        (load_experiment("asymmetric"), "pair", 0.4),
    ):
        entries = [
            entry
            for entry in table_entries(suite, records, Selection(levels=[level]))
            if entry.noise == noise and entry.mean is not None
        ]
        for dataset in dict.fromkeys(entry.dataset for entry in entries):
            here = {entry.row: entry for entry in entries if entry.dataset == dataset}
            if "gcn" in here and "brgcl" in here:
                lines.append(f"| {dataset} | {_place(noise, level)} | {_summarized(here)} |")
    return "\n".join(lines)


def _place(noise: str, level: float) -> str:
    return "none" if noise == "none" else f"{noise}, {100 * level:g} %"


def _summarized(here: Mapping[str, Entry]) -> str:
    gcn, ours = here["gcn"], here["brgcl"]
    others = [entry for name, entry in here.items() if not name.startswith(("gcn", "brgcl"))]
    gaps = {entry.row: entry.paired.mean for entry in others if entry.paired is not None}
    best = max(gaps, key=lambda row: gaps[row], default=None)
    published = [
        "none" if entry.published_mean is None else figure(entry.published_mean, entry.metric)
        for entry in (gcn, ours)
    ]
    cells = [cell_lines(gcn)[0].text, cell_lines(ours)[0].text]
    if best is None:
        cells.append("not run")
    else:
        gap = figure(gaps[best], ours.metric, sign=True)
        cells.append(f"{cell_lines(here[best])[0].text}, {best}, Δ {gap}")
    return " | ".join([*cells, " / ".join(published)])


def put_summary(text: str, records: Mapping[str, Record]) -> str:
    """Put the summary between its two marks in a text.

    Raises:
        InputError: The marks are not there.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InputError(f"the page has no lines '{BEGIN}' and '{END}' for the summary")
    return f"{before}{BEGIN}\n\n{summary(records)}\n\n{END}{after}"


def facts(suite: Experiment, searches: Mapping[str, Search]) -> Sheet:
    """The table of an experiment for which no cell is run: sizes of graphs, settings."""
    if suite.kind == "statistics":
        return statistics_sheet(suite)
    return settings_sheet(suite, searches)


def _section(
    suite: Experiment,
    records: Mapping[str, Record],
    searches: Mapping[str, Search],
    picture: str | None,
) -> str:
    lines = [f"## {suite.title}", f"`{suite.name}`: {suite.source}."]
    if picture is not None:
        lines.append(f"![{suite.title}]({picture})")
    if suite.kind != "grid":
        return "\n\n".join(
            [*lines, to_markdown(facts(suite, searches)), _commands(suite.name, None)]
        )
    if suite.reference != "brgcl":
        lines.append(f"Δ is the difference to {suite.reference}.")
    lines += [f"- {note}" for note in suite.notes]
    used = {record.spec.dataset for record in records.values()}
    for dataset in suite.datasets:
        (sheet,) = sheets(suite, records, Selection(datasets=[dataset]))
        lines.append(f"### {sheet.title}")
        if dataset in used:
            table = to_markdown(replace(sheet, caption=()))  # said once, above
            lines += [table, _commands(suite.name, dataset)]
        else:
            fill = f"brgcl bench run {suite.name} --datasets {dataset}"
            lines.append(
                f"Every cell needs the download: `{fill}` fetches the graph and fills them."
            )
    return "\n\n".join(line.strip() for line in lines)


def _commands(name: str, dataset: str | None) -> str:
    """How to see where the figures of a table come from, and how to fill it."""
    if dataset is None:
        return f"From `brgcl bench table {name}`."
    table = f"brgcl bench table {name} --datasets {dataset}"
    return (
        f"Every draw with the key of its record: `{table} --format draws`. "
        f"To fill: `brgcl bench run {name} --datasets {dataset}`."
    )


def _filled(suites: Sequence[Experiment], records: Mapping[str, Record]) -> str:
    """What share of the tables was run."""
    rows = ["| Experiment | " + " | ".join(_graphs(suites)) + " |"]
    rows.append("|---|" + "---|" * len(_graphs(suites)))
    total: dict[str, bool] = {}
    for suite in suites:
        if suite.kind != "grid":
            continue
        shares = []
        for dataset in _graphs(suites):
            if dataset not in suite.datasets:
                shares.append("")
                continue
            wanted = {cell.spec.key for cell in runs(suite, Selection(datasets=[dataset]))}
            done = {key for key in wanted if key in records and records[key].error is None}
            total |= {key: key in done for key in wanted}
            shares.append(f"{len(done) / len(wanted):.0%}")
        rows.append(f"| {suite.name} | {' | '.join(shares)} |")
    share = sum(total.values()) / len(total)
    return "\n".join(
        [
            "## What was run",
            "",
            f"{sum(total.values()):,} of {len(total):,} cells, {share:.0%}; draws of a cell that "
            "stands in several tables count once.",
            "",
            *rows,
        ]
    )


def _graphs(suites: Sequence[Experiment]) -> list[str]:
    return list(dict.fromkeys(dataset for suite in suites for dataset in suite.datasets))


def _compared(suites: Sequence[Experiment], records: Mapping[str, Record]) -> str:
    """BRGCL against each other row under label noise, over all cells that both have."""
    entries: list[Entry] = []
    for suite in suites:
        if suite.name in ("symmetric", "asymmetric"):
            entries += [e for e in table_entries(suite, records) if 0 < e.level <= 0.4 and e.n]
    if not entries:
        return ""
    lines = [
        "## BRGCL against the others under label noise",
        "",
        "Symmetric and pair noise of 20 and 40 %, all draws that both have; BRGCL minus the other, "
        "in points, with the 95 % interval over draws (mean over the levels of a draw).",
        "",
    ]
    key = lambda entry: entry.dataset  # noqa: E731
    for dataset, group in groupby(sorted(entries, key=key), key=key):
        lines += _compared_on(dataset, list(group))
    return "\n".join(lines)


def _compared_on(dataset: str, entries: Sequence[Entry]) -> list[str]:
    by_row: dict[str, dict[tuple[str, float], dict[int, float]]] = {}
    for entry in entries:
        by_row.setdefault(entry.row, {})[entry.noise, entry.level] = entry.values
    ours = by_row.pop("brgcl", {})
    lines = [
        f"**{dataset}**",
        "",
        "| Other | BRGCL minus it | Draws | Levels |",
        "|---|---|---|---|",
    ]
    for row, theirs in by_row.items():
        common = sorted(set(ours) & set(theirs))
        seeds = set.intersection(*(set(ours[c]) & set(theirs[c]) for c in common)) if common else ()
        if not seeds:
            continue
        gap = paired_difference(
            {seed: sum(ours[c][seed] for c in common) / len(common) for seed in seeds},
            {seed: sum(theirs[c][seed] for c in common) / len(common) for seed in seeds},
        )
        if gap is None:
            continue
        text = figure(gap.mean, "accuracy", sign=True)
        if gap.low is not None and gap.high is not None:
            low, high = (figure(end, "accuracy", sign=True) for end in (gap.low, gap.high))
            text += f" [{low}, {high}]"
        lines.append(f"| {row} | {text} | {gap.n} | {len(common)} |")
    return [*lines, ""] if len(lines) > 4 else []
