"""The command line: arguments -> a library call -> text or files; no numerics here."""

import dataclasses
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.logging import RichHandler

from brgcl import __version__
from brgcl.atomic_files import claim_folder
from brgcl.cli import options
from brgcl.cli.bench import bench
from brgcl.cli.console import finish, print_json, say, show_table, stderr, stdout
from brgcl.cli.options import open_graph, parse_noises, resolve_config
from brgcl.cli.run_folder import name_classes, write_run
from brgcl.cli.tune import tune
from brgcl.data import dataset_status
from brgcl.errors import BrgclError, InputError
from brgcl.evaluate import evaluate
from brgcl.evaluate.protocol import draw_noisy_graph
from brgcl.evaluate.score import Classified, Clustered, fit_one
from brgcl.methods import METHODS
from brgcl.progress import progress_bar
from brgcl.report.demo import DEMO_NOISE, demo_report, run_demo, summarize_demo
from brgcl.report.report import write_report
from brgcl.tasks.classify import NodeClassifier

app = typer.Typer(
    name="brgcl",
    help="Learn on graphs whose labels, attributes and edges are noisy.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(bench, name="bench")


def main() -> None:
    """Run the command line; wrong input is one line on stderr and exit code 2."""
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    handler = RichHandler(console=stderr, show_time=False, show_path=False, show_level=False)
    handler.addFilter(each_message_once())
    logger = logging.getLogger("brgcl")
    logger.handlers = [handler]
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        app(arguments, prog_name="brgcl")
    except BrgclError as error:
        if debug:
            raise
        sys.stderr.write(f"brgcl: {' '.join(str(error).split())}\n")
        raise SystemExit(2) from error
    except Exception as error:
        if debug:
            raise
        text = " ".join(str(error).split())
        sys.stderr.write(f"brgcl: failed, {type(error).__name__}: {text} (--debug shows where)\n")
        raise SystemExit(1) from error


@app.command()
def demo(
    seed: options.Seed = 0,
    seeds: Annotated[int, typer.Option(min=1, help="How many graphs to generate.")] = 5,
    out: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("brgcl-demo"),
    settings: options.Settings = None,
    json_: options.Json = False,
) -> None:
    """Generate noisy graphs, train, and compare with a GCN on the same noisy labels."""
    config = resolve_config("brgcl", "default", None, settings)
    say(f"Generated graphs of 2,000 nodes, 7 classes, 20 labels a class; noise: {DEMO_NOISE}.")
    rows = []
    for number in range(seed, seed + seeds):
        with progress_bar(f"graph {number + 1 - seed} of {seeds}") as report:
            rows.append(run_demo(number, config=config, report=report))
    page = demo_report(rows)
    write_report(page, out / "report.html", version=__version__)
    if json_:
        print_json(summarize_demo(rows))
        return
    for table in page.tables:
        show_table(table.title, table.columns, table.rows)
        stdout.print(table.note, highlight=False)
    stdout.print(page.summary[-1], highlight=False)
    stdout.print(f"Report: {out / 'report.html'}", highlight=False)


@app.command()
def embed(
    graph: options.Name = None,
    edges: options.Edges = None,
    features: options.Features = None,
    labels: options.Labels = None,
    root: options.Root = None,
    method: options.MethodName = "brgcl",
    preset: options.Preset = "default",
    config: options.ConfigFile = None,
    settings: options.Settings = None,
    seed: options.Seed = 0,
    attribute_noise: options.AttributeNoise = None,
    edge_noise: options.EdgeNoise = None,
    out: Annotated[Path, typer.Option(help="Folder to write.", rich_help_panel=options.OUT)] = Path(
        "run"
    ),
    overwrite: options.Overwrite = False,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="File from which a training that was stopped goes on.", rich_help_panel=options.OUT
        ),
    ] = None,
    json_: options.Json = False,
) -> None:
    """Learn representations of the nodes and write them with the nodes' own ids."""
    claim_folder(out, overwrite=overwrite)
    chosen = resolve_config(method, preset, config, settings, graph)
    if checkpoint is not None and not METHODS[method].resumable:
        can = ", ".join(name for name, entry in METHODS.items() if entry.resumable)
        raise InputError(f"{method} cannot go on from a checkpoint; {can} can")
    noise = parse_noises(None, attribute_noise, edge_noise)
    data = open_graph(graph, edges, features, labels, root, seed)
    trial = draw_noisy_graph(data, noise=noise, protocol="no-val", seed=seed)
    with progress_bar(method) as report:
        fitted = fit_one(trial, method, chosen, seed, report, checkpoint)
    metrics: dict[str, Any] = {
        "method": method,
        "dataset": data.name,
        "num_nodes": data.num_nodes,
        "num_edges": data.edge_index.shape[1] // 2,
        "dim": fitted.representations.shape[1],
    }
    if fitted.model is not None:
        metrics["num_clusters"] = fitted.model.num_prototypes_
        metrics["confident_share"] = float(fitted.model.confident_.float().mean())
    columns = {"label": name_classes(data.y, data)}
    written = write_run(
        out, data, fitted, metrics, columns,
        title=f"Representations of {data.name}", groups=None, version=__version__,
    )  # fmt: skip
    finish(metrics, json_, out, written)


@app.command()
def classify(
    graph: options.Name = None,
    edges: options.Edges = None,
    features: options.Features = None,
    labels: options.Labels = None,
    root: options.Root = None,
    method: options.MethodName = "brgcl",
    preset: options.Preset = "default",
    config: options.ConfigFile = None,
    settings: options.Settings = None,
    rule: options.ClassifierRule = "auto",
    soft_labels: options.Targets = "normalize",
    seed: options.Seed = 0,
    seeds: options.Seeds = 1,
    label_noise: options.LabelNoise = None,
    attribute_noise: options.AttributeNoise = None,
    edge_noise: options.EdgeNoise = None,
    protocol: options.Protocol = "clean-val",
    out: options.Out = None,
    overwrite: options.Overwrite = False,
    json_: options.Json = False,
) -> None:
    """Classify the nodes in spite of wrong labels."""
    if out is not None:
        claim_folder(out, overwrite=overwrite)
    chosen = resolve_config(method, preset, config, settings, graph)
    noise = parse_noises(label_noise, attribute_noise, edge_noise)
    classifier = NodeClassifier(rule, soft_labels=soft_labels)  # type: ignore[arg-type]
    found = evaluate(
        lambda number: open_graph(graph, edges, features, labels, root, number), method,
        config=chosen, noise=noise, protocol=protocol, classifier=classifier,
        seeds=range(seed, seed + seeds), progress=progress_bar,
    )  # fmt: skip
    metrics, first = found.summary(), found.runs[0]
    written: list[str] = []
    if out is not None:
        assert isinstance(first.outcome, Classified)
        groups = ("predicted class", first.outcome.probabilities.argmax(1))
        written = write_run(
            out, first.graph, first.fitted, metrics, dict(found.nodes()),
            title=f"Classes of {found.dataset}", groups=groups, version=__version__,
        )  # fmt: skip
    finish(metrics, json_, out, written)


@app.command()
def cluster(
    graph: options.Name = None,
    edges: options.Edges = None,
    features: options.Features = None,
    labels: options.Labels = None,
    root: options.Root = None,
    k: Annotated[
        int | None,
        typer.Option("-k", min=1, help="Clusters; default: as many as classes, else inferred."),
    ] = None,
    method: options.MethodName = "brgcl",
    preset: options.Preset = "default",
    config: options.ConfigFile = None,
    settings: options.Settings = None,
    seed: options.Seed = 0,
    seeds: options.Seeds = 1,
    attribute_noise: options.AttributeNoise = None,
    edge_noise: options.EdgeNoise = None,
    out: options.Out = None,
    overwrite: options.Overwrite = False,
    json_: options.Json = False,
) -> None:
    """Cluster the nodes by their representations."""
    if out is not None:
        claim_folder(out, overwrite=overwrite)
    chosen = resolve_config(method, preset, config, settings, graph)
    noise = parse_noises(None, attribute_noise, edge_noise)
    found = evaluate(
        lambda number: open_graph(graph, edges, features, labels, root, number), method,
        task="cluster", config=chosen, noise=noise, num_clusters=k,
        seeds=range(seed, seed + seeds), progress=progress_bar,
    )  # fmt: skip
    metrics, first = found.summary(), found.runs[0]
    written: list[str] = []
    if out is not None:
        assert isinstance(first.outcome, Clustered)
        written = write_run(
            out, first.graph, first.fitted, metrics, dict(found.nodes()),
            title=f"Clusters of {found.dataset}", groups=("cluster", first.outcome.assignment),
            version=__version__,
        )  # fmt: skip
    finish(metrics, json_, out, written)


app.command()(tune)


@app.command()
def datasets(root: options.Root = None, json_: options.Json = False) -> None:
    """List the named data sets and whether their files are here."""
    found = dataset_status(root)
    if json_:
        print_json(
            {
                "datasets": [
                    dataclasses.asdict(s) | {"path": None if s.path is None else str(s.path)}
                    for s in found
                ]
            }
        )
        return
    rows = [
        [
            s.name,
            f"{s.num_nodes:,}",
            "varies" if s.num_edges is None else f"{s.num_edges:,}",
            f"{s.num_features:,}",
            str(s.num_classes),
            str(s.path) if s.path else "generated" if s.available else "not here",
        ]
        for s in found
    ]
    show_table("Data sets", ["name", "nodes", "edges", "attributes", "classes", "files"], rows)


@app.command()
def methods(json_: options.Json = False) -> None:
    """List the methods."""
    found = [
        {
            "name": name,
            **{f: getattr(m, f) for f in ("kind", "uses_labels", "oracle", "cost", "citation")},
        }
        for name, m in METHODS.items()
    ]
    if json_:
        print_json({"methods": found})
        return
    rows = [
        [
            entry["name"],
            entry["kind"],
            "yes" if entry["uses_labels"] else "no",
            entry["oracle"] or "none",
            entry["cost"],
            entry["citation"],
        ]
        for entry in found
    ]
    show_table("Methods", ["name", "kind", "labels", "oracle", "cost", "citation"], rows)


@app.command()
def version(json_: options.Json = False) -> None:
    """Print the version."""
    if json_:
        print_json({"version": __version__})
    else:
        stdout.print(__version__, highlight=False)


def each_message_once() -> Callable[[logging.LogRecord], bool]:
    """Make a filter that lets every message through once."""
    seen: set[str] = set()

    def is_new(record: logging.LogRecord) -> bool:
        text = record.getMessage()
        new = text not in seen
        seen.add(text)
        return new

    return is_new
