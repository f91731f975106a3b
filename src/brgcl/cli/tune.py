"""The command `brgcl tune`: arguments -> a search and a comparison -> text or files."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brgcl.cli.console import print_json, print_line, show_table
from brgcl.cli.grouped import grouped
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
from brgcl.progress import progress_bar

if TYPE_CHECKING:
    from brgcl.evaluation.protocol import NoisyGraph


@grouped
def tune(
    graph: GraphOptions,
    method: SettingOptions,
    noise: NoiseOptions,
    criterion: Annotated[
        str | None,
        typer.Option(help="labels or stability; default: labels where there are any."),
    ] = None,
    trials: Annotated[
        str | None,
        typer.Option(help="grid, or a number; default: grid up to 5,000 nodes, else 20."),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            min=1, help="Epochs of each training; default: all up to 5,000 nodes, else 60."
        ),
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="Time after which all is over: 90s, 5m, 2h.")
    ] = None,
    compare: Annotated[
        int, typer.Option(min=0, help="Fresh draws to compare with the default on.")
    ] = 5,
    storage: Annotated[
        Path | None, typer.Option(help="Journal file; the same call resumes from it.")
    ] = None,
    seed: Seed = 0,
    out: Annotated[
        Path | None, typer.Option(help="TOML file for the choice, read by --config.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace that file.")] = False,
    picture: Annotated[
        Path | None, typer.Option("--plot", help="Plot the scores: .svg, .png or .pdf.")
    ] = None,
    json_: Json = False,
) -> None:
    """Choose xi and gamma0 by noisy training labels, or by stability without any."""
    seconds = None if budget is None else parse_duration(budget)
    number_of_trials = parse_trials(trials)
    if out is not None:
        claim_file(out, overwrite=overwrite)

    from brgcl.atomic_files import write_text
    from brgcl.cli.tune_text import COLUMNS, lines, preset_text, table_rows
    from brgcl.evaluation.protocol import draw_noisy_graph
    from brgcl.pictures import check_picture, save_picture
    from brgcl.tune.compare import NOT_COMPARED, tune_and_compare
    from brgcl.tune.figure import plot_searches

    if picture is not None:
        check_picture(picture)
        claim_file(picture, overwrite=True)
    config = method.config(graph.graph)
    name, realised = "", 0.0

    def draw(number: int) -> "NoisyGraph":
        nonlocal name, realised
        data = graph.open(number)
        noisy = draw_noisy_graph(data, noise=noise.noise(), protocol="no-val", seed=number)
        name, realised = data.name, noisy.label_noise if number == seed else realised
        return noisy

    with progress_bar("tuning") as report:
        tuning, comparison = tune_and_compare(
            draw, config, seed=seed, draws=compare, budget=seconds, report=report,
            criterion=criterion, trials=number_of_trials, epochs=epochs, storage=storage,
        )  # fmt: skip
    said = [*lines(tuning), str(comparison or NOT_COMPARED)]
    if out is not None:
        base = resolve_config("brgcl", "default", None, None, graph.graph)
        write_text(out, preset_text(tuning, base, [f"brgcl tune, {name}.", *said]))
    if picture is not None:
        save_picture(plot_searches({name: tuning.to_dict()}), picture)
    if json_:
        found = {"dataset": name, "seed": seed, "noise": noise.describe()}
        found["noise_realised"] = realised
        found |= tuning.to_dict()
        print_json(found | {"comparison": None if comparison is None else comparison.to_dict()})
        return
    show_table(f"Settings of {name}", COLUMNS, table_rows(tuning))
    for line in said:
        print_line(line)
    for file in (out, picture):
        if file is not None:
            print_line(f"Written: {file}")
    kept = f"brgcl classify ... --config {out}" if out else "--out FILE keeps the choice"
    print_line(f"Next: {kept}")
