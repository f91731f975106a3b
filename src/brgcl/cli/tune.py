"""The command `brgcl tune`: arguments -> a search and a comparison -> text or files."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from brgcl.cli.console import print_json, print_line, show_table
from brgcl.cli.grouped import grouped, option
from brgcl.cli.names import METHODS
from brgcl.cli.options import (
    GraphOptions,
    Json,
    NoiseOptions,
    Seed,
    SettingOptions,
    parse_duration,
    parse_trials,
)
from brgcl.cli.run_folder import claim_file
from brgcl.cli.settings import resolve_config
from brgcl.errors import check_name
from brgcl.progress import progress_bar

if TYPE_CHECKING:
    from brgcl.evaluation.protocol import NoisyGraph

COMPARED = 5  # fresh draws, unless told otherwise


@dataclass(frozen=True)
class EqualOptions:
    """How to tune a method by validation labels."""

    PANEL: ClassVar = "With --method"
    method: str | None = option(
        None, "Tune this method by validation accuracy, in the same way for every method."
    )
    draws: int = option(3, "Number of draws to score each setting on, from 100 on.", min=1, max=20)
    workers: int = option(1, "Number of processes, one thread each.", min=1)
    records: Path = option(
        Path("results/tuning/equal/records.jsonl"),
        "File of records; the choice is written beside it.",
    )

    def __post_init__(self) -> None:
        check_name("method", self.method, METHODS, hint="brgcl methods lists all")


@dataclass(frozen=True)
class SearchOptions:
    """How to search, and where the choice goes."""

    PANEL: ClassVar = "Search"
    criterion: str | None = option(None, "labels or stability; default: labels if there are any.")
    trials: str | None = option(
        None,
        "grid, or a number of settings; default: grid up to 5,000 nodes, else 20; 8 with --method.",
    )
    epochs: int | None = option(
        None, "Epochs of each training; default: all up to 5,000 nodes, else 60.", min=1
    )
    budget: str | None = option(None, "Time limit for the whole command: 90s, 5m, 2h.")
    compare: int | None = option(
        None, "Number of fresh draws for the comparison with the default; default: 5.", min=0
    )
    storage: Path | None = option(None, "Journal file; the same command resumes from it.")
    out: Path | None = option(None, "TOML file for the chosen settings, for --config.")
    overwrite: bool = option(False, "Replace the file of --out.", "--overwrite")
    picture: Path | None = option(None, "Plot the scores: .svg, .png or .pdf.", "--plot")


@grouped
def tune(
    search: SearchOptions,
    graph: GraphOptions,
    settings: SettingOptions,
    noise: NoiseOptions,
    equal: EqualOptions,
    seed: Seed = 0,
    json_: Json = False,
) -> None:
    """Choose settings: xi and gamma0 for your graph, or those of any method with --method.

    Without --method, xi and gamma0 of BRGCL are chosen by the noisy training labels, or by
    stability if there are no labels. Validation labels are never read.

    With --method NAME, the settings of a method are chosen by accuracy on the validation nodes of
    a data set. Every method gets the same number of trials and draws, and the same kinds of noise.
    """
    if equal.method is not None:
        from brgcl.cli.tune_method import tune_method

        tune_method(equal, search, graph, settings, noise, seed, json_)
        return
    seconds = None if search.budget is None else parse_duration(search.budget)
    trials, out, picture = parse_trials(search.trials), search.out, search.picture
    if out is not None:
        claim_file(out, overwrite=search.overwrite)

    from brgcl.atomic_files import write_text
    from brgcl.cli.tune_text import COLUMNS, lines, preset_text, table_rows
    from brgcl.evaluation.protocol import draw_noisy_graph
    from brgcl.pictures import check_picture, save_picture
    from brgcl.tune.compare import NOT_COMPARED, tune_and_compare
    from brgcl.tune.figure import plot_searches

    if picture is not None:
        check_picture(picture)
        claim_file(picture, overwrite=True)
    config = settings.config(graph.dataset)
    draws = COMPARED if search.compare is None else search.compare
    name, realised = "", 0.0

    def draw(number: int) -> "NoisyGraph":
        nonlocal name, realised
        data = graph.open(number)
        noisy = draw_noisy_graph(data, noise=noise.noise(), protocol="no-val", seed=number)
        name, realised = data.name, noisy.label_noise if number == seed else realised
        return noisy

    with progress_bar("tuning") as report:
        tuning, comparison = tune_and_compare(
            draw, config, seed=seed, draws=draws, budget=seconds, report=report,
            criterion=search.criterion, trials=trials, epochs=search.epochs, storage=search.storage,
        )  # fmt: skip
    said = [*lines(tuning), str(comparison or NOT_COMPARED)]
    if out is not None:
        base = resolve_config("brgcl", "default", None, None, graph.dataset)
        write_text(out, preset_text(tuning, base, [f"brgcl tune, {name}.", *said]))
    if picture is not None:
        save_picture(plot_searches({name: tuning.to_dict()}), picture)
    if json_:
        about = {"dataset": name, "seed": seed, "noise": noise.describe()}
        compared = None if comparison is None else comparison.to_dict()
        results = {"noise_realised": realised, **tuning.to_dict(), "comparison": compared}
        print_json(about | results)
        return
    show_table(f"Settings of {name}", COLUMNS, table_rows(tuning))
    said += [f"Written: {file}" for file in (out, picture) if file is not None]
    kept = f"brgcl classify ... --config {out}" if out else "--out FILE saves the chosen settings"
    for line in (*said, f"Next: {kept}"):
        print_line(line)
