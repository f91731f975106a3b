"""The files of a run.

nodes.parquet       one row per node in the order of the graph: node_id, all that was found out
                    about the node, and its place on the map (map_x, map_y; null = not placed)
edges.parquet       one row per undirected edge without loops: source, target, rows of nodes.parquet
embeddings.parquet  one row per node: node_id, z0, z1, ...
model/              the fitted model, where the method has one
classifier.safetensors   the fitted classifier, where it is linear (classify)
history.json        one entry per epoch, where the method keeps them
metrics.json        what the command printed
suspects.parquet    one row per labelled node, the most suspicious first (find-errors, demo)
suspects.csv        the same
findings.json       error rate, transition matrix and what else was found out about the labels
report.html         the page that shows all this (with the `report` extra)
run.json            how the run was made, and the checksums of the files above
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brgcl.cli.run_folder import RunFolder
from brgcl.progress import progress_bar

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor
    from torch_geometric.data import Data

    from brgcl.contract import Fitted
    from brgcl.tasks.classify import NodeClassifier


def write_run(
    folder: RunFolder,
    graph: "Data",
    fitted: "Fitted | None",
    metrics: Mapping[str, Any],
    nodes: "pd.DataFrame",
    *,
    title: str,
    seed: int = 0,
    suspects: "pd.DataFrame | None" = None,
    findings: Mapping[str, Any] | None = None,
    classifier: "NodeClassifier | None" = None,
) -> None:
    """Write the results of a command, and last the report, which is made from the other files.

    Args:
        folder: Where.
        graph: The graph as the method saw it, with `node_ids`.
        fitted: What the method learned; None where none was trained.
        metrics: What the command prints.
        nodes: One row per node, in the order of the graph.
        title: Heading of the report.
        seed: Seed of the map.
        suspects: One row per labelled node, where labels were judged.
        findings: What was found out about the labels as a whole.
        classifier: The fitted classifier, where there is one.
    """
    import pandas as pd

    from brgcl.atomic_files import write_csv, write_json, write_parquet
    from brgcl.report.extra import has_report_extra
    from brgcl.tasks.linear_classifier import LinearClassifier

    folder.about["title"] = title
    if fitted is not None:
        table = embedding_table(graph, fitted.representations)
        folder.write("embeddings.parquet", write_parquet, table)
        nodes = nodes.assign(**node_map(fitted.representations, seed=seed))
    if suspects is not None:
        found = suspects.set_index("node")[["suggested", "score", "is_error"]]
        found = found.astype({"is_error": "boolean"}).reindex(nodes["node_id"])
        nodes = pd.concat([nodes, found.reset_index(drop=True)], axis=1)
    folder.write("nodes.parquet", write_parquet, nodes)
    folder.write("edges.parquet", write_parquet, edge_table(graph))
    if fitted is not None and fitted.model is not None:
        folder.write("model", fitted.model.save)
        history = [dataclasses.asdict(epoch) for epoch in fitted.model.history_]
        folder.write("history.json", write_json, history)
    stored = None if classifier is None else LinearClassifier.of(classifier, graph.class_names)
    if stored is not None:
        folder.write("classifier.safetensors", stored.save)
    folder.write("metrics.json", write_json, metrics)
    if suspects is not None:
        folder.write("suspects.parquet", write_parquet, suspects)
        folder.write("suspects.csv", write_csv, suspects)
    if findings is not None:
        folder.write("findings.json", write_json, findings)
    if has_report_extra():
        folder.write("report.html", _write_page, folder.path)


def embedding_table(graph: "Data", z: "Tensor") -> "pd.DataFrame":
    """One row per node: its id and its representation, `(N, 1 + D)`."""
    import pandas as pd

    frame = pd.DataFrame(z.numpy(), columns=[f"z{i}" for i in range(z.shape[1])])
    frame.insert(0, "node_id", list(graph.node_ids))
    return frame


def edge_table(graph: "Data") -> "pd.DataFrame":
    """Every undirected edge once, without loops: `source` < `target`, numbers of nodes."""
    import pandas as pd

    ends = graph.edge_index.sort(dim=0).values
    once = ends[:, ends[0] < ends[1]].unique(dim=1).int().numpy()
    return pd.DataFrame({"source": once[0], "target": once[1]})


def node_map(z: "Tensor", *, seed: int = 0) -> dict[str, Any]:
    """Columns `map_x` and `map_y`, `(N,)`; NaN for a node without a place.

    No node has one without the `report` extra, and in a large graph only a sample of them has.
    """
    import numpy as np

    from brgcl.report.extra import has_report_extra

    places = np.full((len(z), 2), np.nan, dtype=np.float32)
    if has_report_extra():
        from brgcl.report.figures import place_nodes

        with progress_bar("placing nodes on the map"):
            shown, points = place_nodes(z, seed=seed)
        places[shown] = points
    return {"map_x": places[:, 0], "map_y": places[:, 1]}


def _write_page(path: Path, run: Path) -> None:
    from brgcl.report.page import write_page

    write_page(run, path)
