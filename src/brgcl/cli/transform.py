"""The command for nodes that training never saw."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument

from brgcl.cli.console import print_json, print_line, print_metrics
from brgcl.cli.graph import print_results
from brgcl.cli.grouped import grouped
from brgcl.cli.options import GraphOptions, OutputOptions, Seed
from brgcl.cli.pipes import print_csv
from brgcl.cli.run_files import embedding_table, write_run
from brgcl.cli.run_folder import claim_file
from brgcl.cli.stored_model import load_classifier, load_model
from brgcl.errors import InputError
from brgcl.progress import progress_bar

if TYPE_CHECKING:
    import pandas as pd
    from torch_geometric.data import Data

    from brgcl.contract import Fitted
    from brgcl.tasks.linear_classifier import LinearClassifier

TABLES = (".csv", ".parquet")


@grouped
def transform(
    model: Annotated[Path, Argument(help="Run folder, or a folder that BRGCL.save wrote.")],
    graph: GraphOptions,
    output: OutputOptions,
    seed: Seed = 0,
) -> None:
    """Represent nodes that training never saw: their clusters, confidence and classes.

    The graph needs the attributes of the training graph. Classes are predicted if MODEL is a run of
    brgcl classify. --out may also be a table: a .csv or .parquet file, or - for CSV on stdout.
    """
    from brgcl.atomic_files import write_csv, write_parquet
    from brgcl.baselines.brgcl import represent

    table = None
    if output.out is not None and output.out.suffix.lower() in TABLES:
        table = output.out
        graph.check_kept(table, "--out")
        claim_file(table, overwrite=output.overwrite)
    elif output.out is not None:
        kept = (output.out / "model").resolve()
        if kept.is_dir() and kept in (model.resolve(), (model / "model").resolve()):
            raise InputError(f"--out would replace the run of '{model}'; give another --out")
    with nullcontext() if table is not None else output.claim(graph) as folder:
        known, classifier = load_model(model), load_classifier(model)
        data = graph.open(seed)
        if folder is not None:
            folder.about = {"inputs": graph.describe(data), "model": str(model.absolute())}
            folder.need(8 * data.num_nodes * known.config_.dim)
        with progress_bar("representing nodes"):
            fitted = replace(represent(data, known), model=None)
        metrics, nodes = _describe(data, fitted, classifier)
        if folder is not None:
            title = f"Nodes of {data.name}"
            write_run(folder, data, fitted, metrics, nodes, title=title, seed=seed)
    if output.to_stdout:
        print_csv(_table(data, fitted, nodes))
    if table is None:
        print_results(metrics, output, folder, "nodes.parquet has the clusters")
        return
    write = write_csv if table.suffix.lower() == ".csv" else write_parquet
    write(table, _table(data, fitted, nodes))
    if output.json_:
        print_json(metrics)
    else:
        print_metrics(metrics)
        print_line(f"Written to {table}, one row per node; --out FOLDER writes a report, too.")


def _table(data: "Data", fitted: "Fitted", nodes: "pd.DataFrame") -> "pd.DataFrame":
    """What was found out about each node, and its representation."""
    return nodes.merge(embedding_table(data, fitted.representations), on="node_id")


def _describe(
    data: "Data", fitted: "Fitted", classifier: "LinearClassifier | None"
) -> tuple[dict[str, Any], "pd.DataFrame"]:
    """What is printed, and one row per node."""
    import pandas as pd

    clusters, own, sure = fitted.clustering, fitted.confidence, fitted.confident
    assert clusters is not None
    assert own is not None
    assert sure is not None
    metrics: dict[str, Any] = {
        "dataset": data.name, "num_nodes": data.num_nodes, "num_edges": data.num_edges // 2,
        "dim": fitted.representations.shape[1], "num_clusters": clusters.num_clusters,
        "num_clusters_here": int((clusters.assignment.bincount() > 0).sum()),
        "confident_share": float(sure.float().mean()),
    }  # fmt: skip
    columns: dict[str, Any] = {
        "node_id": list(data.node_ids), "cluster": clusters.assignment.numpy(),
        "confidence": own.numpy(), "confident": sure.numpy(),
    }  # fmt: skip
    if classifier is not None:
        best = classifier.predict_proba(fitted.representations, data).max(1)
        columns["predicted"] = [classifier.class_names[i] for i in best.indices.tolist()]
        columns["probability"] = best.values.numpy()
        metrics["num_classes"] = len(classifier.class_names)
    return metrics, pd.DataFrame(columns)
