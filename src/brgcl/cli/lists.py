"""What there is: data sets, methods, the version."""

import dataclasses

from brgcl import __version__
from brgcl.cli.console import print_json, print_line, show_table
from brgcl.cli.grouped import grouped
from brgcl.cli.options import Json, Root


@grouped
def datasets(root: Root = None, json_: Json = False) -> None:
    """List the public data sets and whether their files are present."""
    from brgcl.data.datasets import dataset_status

    listed = dataset_status(root)
    if json_:
        entries = [dataclasses.asdict(s) | {"path": s.path and str(s.path)} for s in listed]
        print_json({"datasets": entries})
        return
    rows = [
        [
            s.name, f"{s.num_nodes:,}", "varies" if s.num_edges is None else f"{s.num_edges:,}",
            f"{s.num_features:,}", str(s.num_classes),
            str(s.path or ("generated" if s.available else "not here")),
        ]
        for s in listed
    ]  # fmt: skip
    show_table("Data sets", ["name", "nodes", "edges", "attributes", "classes", "files"], rows)
    print_line("Missing files are downloaded at the first use, e.g. brgcl classify cora.")


@grouped
def methods(json_: Json = False) -> None:
    """List the methods that --method accepts."""
    from brgcl.methods import METHODS

    columns = ("name", "kind", "uses_labels", "oracle", "cost", "citation")
    listed = [{name: getattr(method, name) for name in columns} for method in METHODS.values()]
    if json_:
        print_json({"methods": listed})
        return
    words = {True: "yes", False: "no", "": "none"}
    rows = [[words.get(value, value) for value in entry.values()] for entry in listed]
    names = ["name", "kind", "labels", "oracle", "cost", "citation"]
    show_table("Methods", names, rows, words=True)
    print_line("To use one: brgcl classify GRAPH --method NAME.")


@grouped
def version(json_: Json = False) -> None:
    """Print the versions of brgcl and its libraries, for a bug report."""
    import platform

    from brgcl.machine import library_versions, processor, source_commit

    about = {
        "version": __version__, "commit": source_commit(), **library_versions(),
        "system": platform.platform(), "processor": processor(),
    }  # fmt: skip
    if json_:
        print_json(about)
    else:
        show_table("", ["name", "value"], [list(pair) for pair in about.items()], words=True)
        print_line("brgcl doctor checks the installation.")
