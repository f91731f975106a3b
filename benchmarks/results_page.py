"""Records -> docs/results.md: every table and figure, and what can be concluded from them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from brgcl.benchmark.experiment import Experiment, Selection, load_experiment, runs
from brgcl.benchmark.records import Record
from brgcl.benchmark.show.formats import to_markdown
from brgcl.benchmark.show.layout import (
    LEGEND,
    Search,
    cell_lines,
    facts_layout,
    format_interval,
    format_value,
    layouts,
)
from brgcl.benchmark.show.statistics import Cell, table_cells
from brgcl.config import BRGCLConfig
from brgcl.errors import InputError
from brgcl.evaluation.paired import paired_difference
from brgcl.methods import METHODS
from brgcl.tune.equal import EqualTuning

ORDER = (
    "targets", "symmetric", "asymmetric", "attribute", "clustering", "clustering-noise",
    "sample-selection", "ladder", "ablation", "components", "prototypes", "confidence-map",
    "hyperparameters", "dataset-statistics", "edge", "instance", "noisy-val", "no-val",
    "classifiers", "probe", "negatives", "detection", "detection-few", "parts",
)  # fmt: skip
FLOOR = "smooth"  # what one gets without training
BEGIN, END = "<!-- results -->", "<!-- end of results -->"
HEAD = """# Results

The tables and pictures of this page are made from [records.jsonl](../results/records.jsonl) by
`make results`. The conclusions ([conclusions.md](../results/conclusions.md)) and the notes below
tables are written by hand.
A cell that was not run says so, with the hours of one core that it would take.
The same draws of noise, splits and seeds serve every method. Trainings have one thread each.
"""


def results_page(
    records: Mapping[str, Record],
    searches: Mapping[str, Search],
    conclusions: str,
    pictures: Mapping[str, str],
    tunings: Sequence[EqualTuning] = (),
) -> str:
    """Write the page.

    Args:
        records: What was run, by key.
        searches: What tuning found, by graph.
        conclusions: Text for its beginning.
        pictures: Picture of an experiment, as an address relative to the page.
        tunings: What `brgcl tune --method` chose.
    """
    experiments = [load_experiment(name) for name in ORDER]
    parts = [
        HEAD,
        LEGEND,
        conclusions,
        _compared(experiments, records),
        _filled(experiments, records),
        tuning_section(tunings),
    ]
    for experiment in experiments:
        parts.append(_section(experiment, records, searches, pictures.get(experiment.name)))
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def summary(records: Mapping[str, Record]) -> str:
    """A small table for the README: BRGCL, the floor and the best other method under label noise.

    The floor is `smooth`, which trains nothing but the classifier. The best is the row with the
    highest mean difference to BRGCL over the draws that both have.
    """
    lines = [
        "| Graph | Label noise | BRGCL | Without training | Best other method | Published BRGCL |",
        "|---|---|---|---|---|---|",
    ]
    for experiment, noise, level in (
        (load_experiment("symmetric"), "none", 0.0),
        (load_experiment("symmetric"), "symmetric", 0.4),
        (load_experiment("asymmetric"), "pair", 0.4),
    ):
        measured = [
            cell
            for cell in table_cells(experiment, records, Selection(levels=[level]))
            if cell.noise == noise and cell.mean is not None
        ]
        where = "none" if noise == "none" else f"{noise}, {100 * level:g} %"
        for dataset in dict.fromkeys(cell.dataset for cell in measured):
            here = {cell.row: cell for cell in measured if cell.dataset == dataset}
            if "brgcl" in here:
                lines.append(f"| {dataset} | {where} | {_summarized(experiment, here)} |")
    return "\n".join(lines)


def _summarized(experiment: Experiment, here: Mapping[str, Cell]) -> str:
    ours = here["brgcl"]
    leads = {
        row: cell.paired.mean
        for row, cell in here.items()
        if cell.paired is not None and not is_ours(experiment, row)
    }
    floors = [row for row in leads if experiment.rows[row].method == FLOOR]
    texts = [cell_lines(ours)[0].text]
    for rows in (floors, [row for row in leads if row not in floors]):
        if not rows:
            texts.append("not run")
            continue
        best = max(rows, key=lambda row: leads[row])
        name = "" if best == FLOOR else f"{best}, "
        lead = format_value(leads[best], ours.metric, sign=True)
        texts.append(f"{cell_lines(here[best])[0].text}, {name}Δ {lead}")
    known = ours.published_mean
    texts.append("none" if known is None else format_value(known, ours.metric))
    return " | ".join(texts)


def is_ours(experiment: Experiment, row: str) -> bool:
    """Whether a row is BRGCL or a variant of it, which is no rival."""
    return issubclass(METHODS[experiment.rows[row].method].Config, BRGCLConfig)


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


def _section(
    experiment: Experiment,
    records: Mapping[str, Record],
    searches: Mapping[str, Search],
    picture: str | None,
) -> str:
    lines = [f"## {experiment.title}", f"`{experiment.name}`: {experiment.source}."]
    if picture is not None:
        lines.append(f"![{experiment.title}]({picture})")
    if experiment.kind != "grid":
        return "\n\n".join(
            [
                *lines,
                to_markdown(facts_layout(experiment, searches)),
                _commands(experiment.name, None),
            ]
        )
    if experiment.reference != "brgcl":
        lines.append(f"Δ is the difference to {experiment.reference}.")
    lines += [f"- {note}" for note in experiment.notes]
    used = {record.spec.dataset for record in records.values()}
    for dataset in experiment.datasets:
        (layout,) = layouts(experiment, records, Selection(datasets=[dataset]))
        lines.append(f"### {layout.title}")
        if dataset in used:
            table = to_markdown(replace(layout, caption=()))  # said once, above
            lines += [table, _commands(experiment.name, dataset)]
        else:
            fill = f"brgcl bench run {experiment.name} --datasets {dataset}"
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


def _filled(experiments: Sequence[Experiment], records: Mapping[str, Record]) -> str:
    """What share of the tables was run."""
    rows = ["| Experiment | " + " | ".join(_graphs(experiments)) + " |"]
    rows.append("|---|" + "---|" * len(_graphs(experiments)))
    total: dict[str, bool] = {}
    for experiment in experiments:
        if experiment.kind != "grid":
            continue
        shares = []
        for dataset in _graphs(experiments):
            if dataset not in experiment.datasets:
                shares.append("")
                continue
            wanted = {cell.spec.key for cell in runs(experiment, Selection(datasets=[dataset]))}
            done = {key for key in wanted if key in records and records[key].error is None}
            total |= {key: key in done for key in wanted}
            shares.append(f"{len(done) / len(wanted):.0%}")
        rows.append(f"| {experiment.name} | {' | '.join(shares)} |")
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


def tuning_section(tunings: Sequence[EqualTuning]) -> str:
    """How every tuned row was tuned: trials, choice, gain and commit."""
    if not tunings:
        return ""
    lines = [
        "## Equal tuning",
        "",
        "`brgcl tune GRAPH --method NAME` ([tuning.md](tuning.md#any-method)) "
        "gives every method the same trials. Accuracy on validation nodes in per cent, mean of n "
        "scores; the default stays unless another setting gains two standard errors. The tables "
        "below have the defaults of [methods.md](methods.md); rows that are not listed here had no "
        "such trials.",
        "",
        "| Method | Graph | Trials | n | Default | Choice | Its settings | Gain | Commit |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for each in tunings:
        default, chosen = each.default, each.chosen
        changes = ", ".join(f"`{name}={value}`" for name, value in chosen.changes.items())
        gain = f"{100 * chosen.gain:+.1f} ± {100 * chosen.gain_error:.1f}" if changes else ""
        values = [
            each.method, each.dataset, str(each.trials), str(each.n),
            f"{100 * default.accuracy:.1f}", f"{100 * chosen.accuracy:.1f}", changes or "default",
            gain, " ".join(commit[:10] for commit in each.commit.split()),
        ]  # fmt: skip
        lines.append(f"| {' | '.join(values)} |")
    return "\n".join(lines)


def _graphs(experiments: Sequence[Experiment]) -> list[str]:
    return list(
        dict.fromkeys(dataset for experiment in experiments for dataset in experiment.datasets)
    )


def _compared(experiments: Sequence[Experiment], records: Mapping[str, Record]) -> str:
    """BRGCL against each other row under label noise, over all cells that both have."""
    values = pd.DataFrame(
        [
            (cell.dataset, cell.row, cell.noise, cell.level, seed, value)
            for experiment in experiments
            if experiment.name in ("symmetric", "asymmetric")
            for cell in table_cells(experiment, records)
            if 0 < cell.level <= 0.4
            for seed, value in cell.values.items()
        ],
        columns=["dataset", "row", "noise", "level", "seed", "value"],
    )
    if values.empty:
        return ""
    lines = [
        "## BRGCL against the others under label noise",
        "",
        "Symmetric and pair noise of 20 and 40 %, all draws that both have; BRGCL minus the other, "
        "in points, with the 95 % interval over draws (mean over the levels of a draw).",
        "",
    ]
    for dataset, here in values.groupby("dataset"):
        rows = _compared_on(here)
        if rows:
            head = ["| Other | BRGCL minus it | Draws | Levels |", "|---|---|---|---|"]
            lines += [f"**{dataset}**", "", *head, *rows, ""]
    return "\n".join(lines)


def _compared_on(values: pd.DataFrame) -> list[str]:
    """A line for each other row on one graph."""
    table = values.pivot_table(index="seed", columns=["row", "noise", "level"], values="value")
    lines = []
    for row in values["row"].unique():
        if row == "brgcl" or "brgcl" not in table:
            continue
        levels = table["brgcl"].columns.intersection(table[row].columns)
        both = [table[name][levels] for name in ("brgcl", row)]
        complete = pd.concat(both, axis=1).dropna().index
        ours, theirs = (each.loc[complete].mean(axis=1).to_dict() for each in both)
        gap = paired_difference(ours, theirs)
        if gap is not None and len(levels):
            text = format_interval(gap, "accuracy")
            lines.append(f"| {row} | {text} | {gap.n} | {len(levels)} |")
    return lines
