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
        None, "Tune this method by validation accuracy, as all others are (brgcl methods)."
    )
    draws: int = option(3, "Draws to score each setting on, from draw 100 on.", min=1, max=20)
    workers: int = option(1, "Processes, one thread each.", min=1)
    records: Path = option(
        Path("results/tuning/equal/records.jsonl"), "File of records; the choice goes beside it."
    )

    def __post_init__(self) -> None:
        check_name("method", self.method, METHODS, hint="brgcl methods lists all")


@dataclass(frozen=True)
class SearchOptions:
    """How to search, and where the choice goes."""

    PANEL: ClassVar = "Search"
    criterion: str | None = option(
        None, "labels or stability; default: labels where there are any."
    )
    trials: str | None = option(
        None,
        "grid or a number; default: grid up to 5,000 nodes, else 20. With --method a number, 8.",
    )
    epochs: int | None = option(
        None, "Epochs of each training; default: all up to 5,000 nodes, else 60.", min=1
    )
    budget: str | None = option(None, "Time after which all is over: 90s, 5m, 2h.")
    compare: int | None = option(
        None, "Fresh draws to compare with the default on; default: 5.", min=0
    )
    storage: Path | None = option(None, "Journal file; the same call resumes from it.")
    out: Path | None = option(None, "TOML file for the choice, read by --config.")
    overwrite: bool = option(False, "Replace that file.", "--overwrite")
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

    Without --method, BRGCL's xi and gamma0 are chosen by the noisy training labels, or by stability
    where there are none; validation labels are never read.

    With --method NAME, settings of any method are chosen on a data set by the accuracy on its
    validation nodes, with as many trials, draws and kinds of noise for every method.
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
    kept = f"brgcl classify ... --config {out}" if out else "--out FILE keeps the choice"
    for line in (*said, f"Next: {kept}"):
        print_line(line)
