"""The command that says which noise a graph has."""

from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from brgcl.cli.console import print_json, print_line, show_table
from brgcl.cli.grouped import grouped
from brgcl.cli.options import GraphNoiseOptions, GraphOptions, Json, Seed
from brgcl.progress import progress_bar

if TYPE_CHECKING:
    import pandas as pd


@grouped
def diagnose(
    graph: GraphOptions,
    noise: GraphNoiseOptions,
    top: Annotated[int, Option(min=0, help="Number of suspicious edges and nodes to list.")] = 10,
    seed: Seed = 0,
    json_: Json = False,
) -> None:
    """Estimate how many labels, edges and attributes of a graph are wrong."""
    from brgcl.noise.graph import corrupt_graph
    from brgcl.tasks.diagnose import diagnose as find

    data = graph.open(seed)
    observed, attribute_rate, edge_rate = corrupt_graph(data, noise.noise(), seed)
    labels = data.y if bool((data.y >= 0).any()) else None
    with progress_bar("judging labels, edges and attributes") as report:
        found = find(observed, labels=labels, seed=seed, report=report)
    if json_:
        lists = {
            "suspicious_edges": _records(found.edges, top),
            "suspicious_nodes": _records(found.attributes, top),
        }
        rates = {"attribute_noise_realised": attribute_rate, "edge_noise_realised": edge_rate}
        print_json({"dataset": data.name, **found.to_dict(), **rates, **lists})
        return
    for sentence in found.sentences:
        print_line(sentence)
    for title, frame, ends in (
        ("Most suspicious edges", found.edges, ["source", "target"]),
        ("Most suspicious attributes", found.attributes, ["node"]),
    ):
        suspects = _suspects(frame, top)
        if len(suspects):
            shown = suspects[[*ends, "score", "evidence"]].itertuples(index=False)
            rows = [[*map(str, ids), f"{score:.3f}", text] for *ids, score, text in shown]
            show_table(title, [*ends, "P(right)", "evidence"], rows, words=True)
    print_line("No file was written; --json prints all numbers. Next, with the same graph:")
    if labels is not None:
        print_line("  brgcl find-errors ... --out run   find the wrong labels, to review them")
    print_line("  brgcl embed ... --out run         learn representations in spite of the noise")


def _suspects(frame: "pd.DataFrame | None", top: int) -> Any:
    """The first flagged rows; empty if nothing was judged."""
    return [] if frame is None else frame[frame["is_error"]].head(top)


def _records(frame: "pd.DataFrame | None", top: int) -> list[dict[str, Any]]:
    import json

    suspects = _suspects(frame, top)
    return json.loads(suspects.to_json(orient="records")) if len(suspects) else []
