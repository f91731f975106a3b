"""The command that turns a graph of any kind into a folder of memory-mapped arrays."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from brgcl.cli.console import print_json, print_line, print_metrics
from brgcl.cli.grouped import grouped
from brgcl.cli.options import GraphOptions, Json, Overwrite, parse_size, spelled_as_options
from brgcl.data.catalogue import GRAPH_FILE
from brgcl.errors import InputError
from brgcl.progress import progress_bar

SMALLEST = 16 << 20  # bytes


@dataclass(frozen=True)
class SourceOptions(GraphOptions):
    """What to convert: files, an OGB folder, a co-author archive, or a data set by its name."""

    def _check_path(self, path: Path) -> None:
        ogb = (path / "raw/edge.csv.gz").is_file() or (path / "edge.csv.gz").is_file()
        if ogb or (path.suffix == ".npz" and path.is_file()):
            return
        if (path / GRAPH_FILE).is_file():
            raise InputError(f"'{path}' is a graph folder already; every command reads it as it is")
        if path.is_dir():
            raise InputError(
                f"'{path}' has no raw/edge.csv.gz; give a folder in OGB's layout, or --edges FILE"
            )
        super()._check_path(path)


@grouped
def convert(
    graph: SourceOptions,
    out: Annotated[Path, Option(help="Graph folder to write.", rich_help_panel="Output")],
    memory: Annotated[
        str, Option(help="Memory to use in addition to one entry per node, e.g. 500MB.")
    ] = "1GB",
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Convert a graph into a folder that every command reads in little memory.

    GRAPH may also be a folder in OGB's layout (raw/, split/) or an .npz file like that of
    coauthor-cs.
    """
    from brgcl.data.convert import convert_files
    from brgcl.data.convert_ogb import convert_ogb
    from brgcl.data.graph_folder import read_about, save_graph

    size = parse_size(memory)
    if size < SMALLEST:
        raise InputError(f"--memory must be at least {SMALLEST >> 20}MB, got {memory}")
    options: dict[str, Any] = {
        "memory": size, "overwrite": overwrite, "progress": partial(progress_bar, unit="bytes"),
    }  # fmt: skip
    if graph.graph is None:
        with spelled_as_options():
            convert_files(out, **graph.files, **graph.columns, **options)
    elif graph.dataset is not None:
        with progress_bar(f"converting {graph.dataset}"):
            save_graph(graph.open(0), out, overwrite=overwrite)
    elif Path(graph.graph).is_dir():
        convert_ogb(out, graph.graph, **options)
    else:
        with progress_bar(f"converting {graph.graph}"):
            save_graph(_open_archive(Path(graph.graph), size), out, overwrite=overwrite)
    about = read_about(out)
    found = {name: about[name] for name in ("name", "num_nodes", "num_edges", "num_features")}
    found["num_classes"] = len(about["class_names"])
    found["megabytes"] = sum(file["bytes"] for file in about["files"].values()) / 2**20
    if json_:
        print_json(found | {"folder": str(out)})
        return
    print_metrics(found)
    print_line(f"Written to {out}. Use it in place of the name of a data set: brgcl embed {out}")


def _open_archive(path: Path, memory: int) -> Any:
    from brgcl.data.formats import read_coauthor
    from brgcl.data.matrix_stream import check_unpacked

    check_unpacked(path, memory)
    data = read_coauthor(path)
    data.name = path.stem
    return data
