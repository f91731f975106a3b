"""The command `brgcl tune`: arguments -> a search and a comparison -> text or files."""

from pathlib import Path
from typing import Annotated

import typer

from brgcl.atomic_files import claim_file, write_text
from brgcl.cli import options
from brgcl.cli.console import print_json, show_table, stdout
from brgcl.cli.options import open_graph, parse_duration, parse_noises, parse_trials, resolve_config
from brgcl.cli.tune_text import COLUMNS, lines, preset_text, table_rows
from brgcl.evaluate.protocol import NoisyGraph, draw_noisy_graph
from brgcl.pictures import check_picture, save_picture
from brgcl.progress import progress_bar
from brgcl.tune.compare import NOT_COMPARED, tune_and_compare
from brgcl.tune.figure import plot_searches


def tune(
    graph: options.Name = None,
    edges: options.Edges = None,
    features: options.Features = None,
    labels: options.Labels = None,
    root: options.Root = None,
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
        typer.Option(min=1, help="Epochs of a trial; default: all up to 5,000 nodes, else 60."),
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="Time after which all is over: 90s, 5m, 2h.")
    ] = None,
    compare: Annotated[
        int, typer.Option(min=0, help="Fresh draws to compare with the default on.")
    ] = 5,
    storage: Annotated[
        Path | None, typer.Option(help="Journal file; the same call goes on where one stopped.")
    ] = None,
    preset: options.Preset = "default",
    config: options.ConfigFile = None,
    settings: options.Settings = None,
    seed: options.Seed = 0,
    label_noise: options.LabelNoise = None,
    attribute_noise: options.AttributeNoise = None,
    edge_noise: options.EdgeNoise = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="TOML file for the choice, read by --config.", rich_help_panel=options.OUT
        ),
    ] = None,
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", help="Replace that file.", rich_help_panel=options.OUT),
    ] = False,
    picture: Annotated[
        Path | None,
        typer.Option(
            "--plot", help="Draw the scores: .svg, .png or .pdf.", rich_help_panel=options.OUT
        ),
    ] = None,
    json_: options.Json = False,
) -> None:
    """Choose xi and gamma0 by noisy training labels, or by stability without any."""
    seconds = None if budget is None else parse_duration(budget)
    if picture is not None:
        check_picture(picture)
    if out is not None:
        claim_file(out, overwrite=overwrite)
    chosen = resolve_config("brgcl", preset, config, settings, graph)
    noise = parse_noises(label_noise, attribute_noise, edge_noise)
    name, realised = "", 0.0

    def draw(number: int) -> NoisyGraph:
        nonlocal name, realised
        data = open_graph(graph, edges, features, labels, root, number)
        trial = draw_noisy_graph(data, noise=noise, protocol="no-val", seed=number)
        name, realised = data.name, trial.label_noise if number == seed else realised
        return trial

    with progress_bar("tuning") as report:
        tuning, comparison = tune_and_compare(
            draw, chosen, seed=seed, draws=compare, budget=seconds, report=report,
            criterion=criterion, trials=parse_trials(trials), epochs=epochs, storage=storage,
        )  # fmt: skip
    said = [*lines(tuning), str(comparison or NOT_COMPARED)]
    if out is not None:
        base = resolve_config("brgcl", "default", None, None, graph)
        write_text(out, preset_text(tuning, base, [f"brgcl tune, {name}.", *said]))
    if picture is not None:
        save_picture(plot_searches({name: tuning.to_dict()}), picture)
    if json_:
        given = {"labels": label_noise, "attributes": attribute_noise, "edges": edge_noise}
        found = {"dataset": name, "seed": seed, "noise": given, "noise_realised": realised}
        found |= tuning.to_dict()
        print_json(found | {"comparison": None if comparison is None else comparison.to_dict()})
        return
    show_table(f"Settings of {name}", COLUMNS, table_rows(tuning))
    for line in said:
        stdout.print(line, highlight=False)
    for file in (out, picture):
        if file is not None:
            stdout.print(f"Written: {file}", highlight=False)
