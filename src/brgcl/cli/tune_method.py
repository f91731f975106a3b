"""`brgcl tune GRAPH --method NAME`: arguments -> runs on validation nodes -> a choice."""

import json
import time
from typing import TYPE_CHECKING

from brgcl.cli.console import print_json, print_line, say, show_table
from brgcl.cli.options import (
    GraphOptions,
    NoiseOptions,
    SettingOptions,
    parse_duration,
    parse_trials,
)
from brgcl.cli.run_folder import claim_file
from brgcl.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from brgcl.benchmark.runner import Watcher
    from brgcl.benchmark.schedule import Job
    from brgcl.cli.tune import EqualOptions, SearchOptions
    from brgcl.tune.equal import EqualTuning, TriedChanges

COLUMNS = ("changes", "accuracy", "gain", "± s.e.", "seconds")


def tune_method(
    equal: "EqualOptions",
    search: "SearchOptions",
    graph: GraphOptions,
    settings: SettingOptions,
    noise: NoiseOptions,
    seed: int,
    json_: bool,
) -> None:
    """Try settings of a method, write the choice beside the records, and show it."""
    dataset = _check_options(search, graph, settings, noise)
    deadline = None if search.budget is None else time.time() + parse_duration(search.budget)
    trials = parse_trials(search.trials)
    if trials == "grid":
        raise InputError("with --method, --trials must be a number, the same for all methods")
    if search.out is not None:
        claim_file(search.out, overwrite=search.overwrite)

    from brgcl.atomic_files import write_text
    from brgcl.benchmark.records import ResultsFolder
    from brgcl.cli.bench_progress import watching
    from brgcl.tune.equal import TRIALS, outcome_file, tune_equally

    def announced(jobs: "Sequence[Job]") -> "AbstractContextManager[Watcher]":
        say(f"{equal.method} on {dataset}: {sum(len(job.specs) for job in jobs):,} runs to do.")
        return watching(jobs, equal.workers)

    folder = ResultsFolder(equal.records, graph.root)
    tuning = tune_equally(
        dataset, str(equal.method), folder, trials=trials or TRIALS, draws=equal.draws, seed=seed,
        workers=equal.workers, deadline=deadline, watching=announced,
    )  # fmt: skip
    written = [outcome_file(folder, tuning)]
    write_text(written[0], json.dumps(tuning.to_dict(), indent=1) + "\n")
    if search.out is not None:
        write_text(search.out, preset_text(tuning))
        written.append(search.out)
    if json_:
        print_json(tuning.to_dict())
        return
    show_table(f"Settings of {tuning.method} on {dataset}", COLUMNS, table_rows(tuning))
    for line in (*lines(tuning), *(f"Written: {file}" for file in written)):
        print_line(line)


def _check_options(
    search: "SearchOptions", graph: GraphOptions, settings: SettingOptions, noise: NoiseOptions
) -> str:
    """Refuse what is fixed with --method; return the name of the data set."""
    if graph.dataset is None:
        raise InputError(
            "--method needs a data set, whose validation labels choose; without --method, brgcl "
            "tune chooses xi and gamma0 for your files"
        )
    given = {
        "--criterion": search.criterion, "--epochs": search.epochs, "--compare": search.compare,
        "--storage": search.storage, "--plot": search.picture, "--config": settings.file,
        "--set": settings.settings, "--label-noise": noise.label_noise,
        "--attribute-noise": noise.attribute_noise, "--edge-noise": noise.edge_noise,
        "--preset": None if settings.preset == "default" else settings.preset,
    }  # fmt: skip
    for name, value in given.items():
        if value is not None:
            raise InputError(
                f"{name} cannot be used with --method, which treats all methods in the same way"
            )
    return graph.dataset


def table_rows(tuning: "EqualTuning") -> list[list[str]]:
    """The settings that were tried, the best first, under `COLUMNS`."""
    ranked = sorted(tuning.tried, key=lambda each: -each.accuracy)
    return [
        [
            changes_text(each) + (" (choice)" if each == tuning.chosen else ""),
            f"{each.accuracy:.4f}", f"{each.gain:+.4f}", f"{each.gain_error:.4f}",
            f"{each.seconds:.1f}",
        ]
        for each in ranked
    ]  # fmt: skip


def lines(tuning: "EqualTuning") -> list[str]:
    """What was done, and what is chosen, in sentences."""
    chosen, others = tuning.chosen, tuning.tried[1:]
    first, last = tuning.draws[0], tuning.draws[-1]
    did = (
        f"Tried {tuning.trials} settings on draws {first} to {last} with {len(tuning.cells)} kinds "
        "of noise; accuracy on validation nodes, whose labels choose nothing else."
    )
    if chosen != tuning.default:
        choice = f"{changes_text(chosen)}; it gains {_gain(chosen)}, two standard errors or more."
        return [did, f"Choice: {choice}", "The best of several scores is partly luck."]
    best = max(others, key=lambda each: each.gain)
    return [
        did,
        "Choice: the default; no other setting gains two standard errors (the best, "
        f"{changes_text(best)}, gains {_gain(best)}).",
    ]


def changes_text(tried: "TriedChanges") -> str:
    """Changes to the default in one line."""
    return ", ".join(f"{name}={value}" for name, value in tried.changes.items()) or "default"


def preset_text(tuning: "EqualTuning") -> str:
    """The choice as TOML for `--config`."""
    comments = [f"brgcl tune {tuning.dataset} --method {tuning.method}.", *lines(tuning)]
    # JSON writes numbers, strings and booleans as TOML does
    changes = [f"{name} = {json.dumps(value)}" for name, value in tuning.chosen.changes.items()]
    return "\n".join([*(f"# {text}" for text in comments), *changes]) + "\n"


def _gain(tried: "TriedChanges") -> str:
    return f"{tried.gain:+.4f} ± {tried.gain_error:.4f}"
