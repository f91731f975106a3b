"""The commands on one graph: embed, classify, cluster."""

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Context, Option

from brgcl.cli.console import print_json, print_line, print_metrics, say, show
from brgcl.cli.grouped import grouped
from brgcl.cli.options import (
    ClassifierOptions,
    EmbedOutput,
    GraphNoiseOptions,
    GraphOptions,
    MethodOptions,
    OutputOptions,
    ProtocolOptions,
    Seed,
    Seeds,
    SettingOptions,
    check_seeds,
)
from brgcl.cli.pipes import print_csv
from brgcl.cli.ranks import Together, check_ranks, join, start_ranks
from brgcl.cli.run_files import embedding_table, write_run
from brgcl.cli.run_folder import RunFolder, claim_file
from brgcl.cli.stored_model import load_model
from brgcl.errors import InputError
from brgcl.progress import progress_bar
from brgcl.tasks.rules import ATTRIBUTE_RULES

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from brgcl.contract import Fitted
    from brgcl.evaluation.protocol import NoisyGraph


@grouped
def embed(
    context: Context,
    graph: GraphOptions,
    method: MethodOptions,
    noise: GraphNoiseOptions,
    output: EmbedOutput,
    seed: Seed = 0,
    checkpoint: Annotated[
        Path | None, Option(help="File to save the training to, and to resume it from.")
    ] = None,
    ranks: Annotated[
        int, Option(min=1, help="Number of processes that train together, by parts.")
    ] = 1,
) -> None:
    """Learn representations of the nodes and write them with your node ids."""
    if checkpoint is not None:
        graph.check_kept(checkpoint, "--checkpoint")
    if ranks > 1 and context.obj is None:
        check_ranks(method.method, checkpoint)
        if "-" in sys.argv[2:]:
            raise InputError("several ranks cannot share stdin or stdout; give files instead of -")
        start_ranks(ranks, sys.argv[2:])
        return
    together = None
    if context.obj is not None:  # this process is one of the ranks
        together = join(context.obj(), output.out, method.method, checkpoint)
        if not together.leads:
            together.follow(method.config(graph.dataset), seed)
            return
        output = together.output(output)
    import pandas as pd

    from brgcl.evaluation.protocol import draw_noisy_graph
    from brgcl.methods import find_method
    from brgcl.tasks.checks import check_labels, class_name

    with output.claim(graph) as folder:
        config, entry = method.config(graph.dataset), find_method(method.method)
        check_checkpoint(checkpoint, method.method)
        how: dict[str, Any] = {"seed": seed}
        if together is not None:
            config, how = together.config(config, seed), how | {"ranks": together.ranks.size}
        data = opener(graph, folder, method, noise, config, **how)(seed)
        noisy = draw_noisy_graph(data, noise=noise.noise(), protocol="no-val", seed=seed)
        if entry.uses_labels:
            check_labels(noisy.labels.train, data.num_nodes, data)
        fitted = train(noisy, method.method, config, seed, checkpoint, together)
        metrics: dict[str, Any] = {
            "method": method.method, "dataset": data.name, "num_nodes": data.num_nodes,
            "num_edges": data.num_edges // 2, "dim": fitted.representations.shape[1],
        }  # fmt: skip
        names = [None if label < 0 else str(class_name(label, data)) for label in data.y.tolist()]
        columns: dict[str, Any] = {"node_id": list(data.node_ids), "label_given": names}
        if fitted.clustering is not None:
            clusters = fitted.clustering
            metrics |= {"num_clusters": clusters.num_clusters, "capped": clusters.capped}
            columns["cluster"] = clusters.assignment.numpy()
        if fitted.confidence is not None and fitted.confident is not None:
            metrics["confident_share"] = float(fitted.confident.float().mean())
            columns["confidence"] = fitted.confidence.numpy()
            columns["confident"] = fitted.confident.numpy()
        title, nodes = f"Representations of {data.name}", pd.DataFrame(columns)
        if folder is not None:
            write_run(folder, noisy.graph, fitted, metrics, nodes, title=title, seed=seed)
    if together is not None:
        together.leave()
    if output.to_stdout:
        print_csv(embedding_table(noisy.graph, fitted.representations))
    print_results(metrics, output, folder, "embeddings.parquet has the representations")


@grouped
def classify(
    graph: GraphOptions,
    method: MethodOptions,
    classifier: ClassifierOptions,
    noise: ProtocolOptions,
    output: OutputOptions,
    seed: Seed = 0,
    seeds: Seeds = 1,
    model: Annotated[
        Path | None,
        Option(help="Run or stored model to use; no representations are trained."),
    ] = None,
) -> None:
    """Classify the nodes in spite of wrong labels."""
    how: dict[str, Any] = {
        "protocol": noise.protocol, "classifier": dataclasses.asdict(classifier),
    }  # fmt: skip
    options: dict[str, Any] = {"protocol": noise.protocol}
    if model is not None:
        if method != MethodOptions():
            raise InputError("a stored model has its own method and settings; remove yours")
        options["model"], how["model"] = load_model(model), str(model.absolute())
    run_evaluation(
        graph, method, noise, output, check_seeds(seed, seeds), how,
        classifier=classifier.make(method.method), **options,
    )  # fmt: skip


@grouped
def cluster(
    graph: GraphOptions,
    method: MethodOptions,
    noise: GraphNoiseOptions,
    output: OutputOptions,
    k: Annotated[
        int | None,
        Option("-k", min=1, help="Number of clusters; default: that of classes, else inferred."),
    ] = None,
    seed: Seed = 0,
    seeds: Seeds = 1,
) -> None:
    """Cluster the nodes by their representations."""
    draws, how = check_seeds(seed, seeds), {"num_clusters": k}
    run_evaluation(graph, method, noise, output, draws, how, task="cluster", num_clusters=k)


def run_evaluation(
    graph: GraphOptions,
    method: MethodOptions,
    noise: GraphNoiseOptions,
    output: OutputOptions,
    seeds: Sequence[int],
    how: Mapping[str, Any],
    **options: Any,
) -> None:
    """Evaluate a method, write the first draw, print the means over all of them."""
    from brgcl.evaluation.evaluate import evaluate
    from brgcl.evaluation.score import Classified

    with output.claim(graph) as folder:
        if options.get("model") is None:
            config = options["config"] = method.config(graph.dataset)
        else:
            config = options["model"].config_
        results = evaluate(
            opener(graph, folder, method, noise, config, seeds=list(seeds), **how),
            method.method, noise=noise.noise(), seeds=seeds,
            progress=progress_bar, **options,
        )  # fmt: skip
        first = results.runs[0]
        what = "classes" if isinstance(first.outcome, Classified) else "clusters"
        if folder is not None:
            write_run(
                folder, first.noisy.graph, first.fitted, results.summary(), results.nodes(),
                title=f"{what.capitalize()} of {results.dataset}", seed=first.seed,
                classifier=getattr(first.outcome, "classifier", None),
            )  # fmt: skip
    if output.to_stdout:
        print_csv(results.nodes())
    print_results(results.summary(), output, folder, f"nodes.parquet has the {what}")
    if what == "classes" and not (output.json_ or output.to_stdout):
        if getattr(first.outcome, "rule", None) in ATTRIBUTE_RULES:
            print_line("Attributes alone predict better, so nodes are classified by attributes.")
        print_line("To find wrong labels, run brgcl find-errors with the same graph.")


def train(
    noisy: "NoisyGraph",
    method: str,
    config: Any,
    seed: int,
    checkpoint: Path | None = None,
    together: Together | None = None,
) -> "Fitted":
    """Train a method on what it may see, with a progress bar, alone or together with other ranks.

    The seed of the command is that of `BRGCL(seed=...)`, so that Python repeats the run.
    """
    from brgcl.methods import find_method
    from brgcl.noise.graph import generator_for

    entry = find_method(method)
    given = {"checkpoint": checkpoint, "seed": seed} if entry.resumable else {}
    labels = noisy.labels if entry.uses_labels else None
    with progress_bar(method) as report:
        generator, known = generator_for(seed, "training"), noisy.graph
        if together is not None:
            known, given = together.share(known, config), given | together.options
        return entry.fit(known, labels, config, generator, report, **given)


def opener(
    graph: GraphOptions,
    folder: RunFolder | None,
    method: SettingOptions,
    noise: GraphNoiseOptions,
    config: Any,
    **how: Any,
) -> Callable[[int], "Data"]:
    """Make a function that opens the graph of a seed, and notes how the run is made."""

    def open_graph(seed: int) -> "Data":
        data = graph.open(seed)
        if folder is not None and not folder.about:
            settings = dataclasses.asdict(config)
            settings.pop("seed", None)
            folder.about = {
                "inputs": graph.describe(data), "method": method.method, "settings": settings,
                "noise": noise.describe(), **how,
            }  # fmt: skip
            width = settings.get("dim", 256)
            weights = data.num_features * settings.get("hidden", width)
            folder.need(4 * (2 * data.num_nodes * width + weights))
        return data

    return open_graph


def check_checkpoint(file: Path | None, method: str) -> None:
    """Check that a training can resume from a file, or write it."""
    from brgcl.methods import METHODS

    if file is None:
        return
    if not METHODS[method].resumable:
        can = ", ".join(name for name, entry in METHODS.items() if entry.resumable)
        raise InputError(f"{method} cannot resume from a checkpoint; {can} can")
    if file.is_file():
        say(f"Resuming from {file}.")
    else:
        claim_file(file, overwrite=False)


def print_results(
    metrics: dict[str, Any], output: OutputOptions, folder: RunFolder | None, result: str
) -> None:
    """Print what was found, where it is, and what to do next."""
    if output.to_stdout:
        say("; ".join(f"{name} {show(value)}" for name, value in metrics.items()))
        return
    tell = say if output.json_ else print_line
    if output.json_:
        print_json(metrics)
    else:
        print_metrics(metrics)
    if folder is None:
        tell("No file was written; --out FOLDER saves the results of all nodes.")
        return
    files = ", ".join([*folder.files, "run.json"])
    page = folder.path / ("report.html" if "report.html" in folder.files else "run.json")
    tell(f"Written to {folder.path}: {files}. {result}; open {page} for an overview.")
