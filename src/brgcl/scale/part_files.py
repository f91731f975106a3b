"""A graph by parts as a folder of arrays, which several processes map into memory.

    crow.npy, col.npy, starts.npy       as in `PartGraph`
    weight.npy, given.npy               where the graph has them
    x.npy                               attributes; sparse ones are x_crow, x_col and x_value
    mean.npy, scale.npy                 where attributes are standardised
    about.json                          the name of the graph, and what is not an array

The folder is made under another name and renamed when all is there.
"""

import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
from torch import Tensor

from brgcl.atomic_files import refusing_damage, write_json
from brgcl.data.graph_folder import map_array
from brgcl.method.attributes import Preparation
from brgcl.method.sparse import csr_tensor, is_sparse
from brgcl.scale.parts import PartGraph

ABOUT = "about.json"
GRAPH = ("crow", "col", "weight", "starts", "given")
SCALES = ("mean", "scale")


def write_parts(folder: Path, graph: PartGraph, name: str) -> None:
    """Write a graph under a name; a folder that was there is replaced."""
    arrays = {key: getattr(graph, key) for key in GRAPH}
    arrays |= {key: getattr(graph.preparation, key) for key in SCALES}
    if is_sparse(graph.x):
        parts = graph.x.crow_indices(), graph.x.col_indices(), graph.x.values()
        arrays |= dict(zip(("x_crow", "x_col", "x_value"), parts, strict=True))
    else:
        arrays["x"] = graph.x
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        for key, array in arrays.items():
            if array is not None:
                np.save(made / f"{key}.npy", array.numpy())
        about = {"name": name, "num_features": graph.x.shape[1], "kind": graph.preparation.kind}
        write_json(made / ABOUT, about)
        shutil.rmtree(folder, ignore_errors=True)
        made.chmod(0o755)  # mkdtemp made it private
        made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def stored_name(folder: Path) -> str | None:
    """The name under which a graph was written; None if there is no whole one."""
    try:
        return str(json.loads((folder / ABOUT).read_text(encoding="utf-8"))["name"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read_parts(folder: Path) -> PartGraph:
    """Map the arrays of a graph; they are read where and when they are used.

    Raises:
        InputError: The folder is damaged or not there.
    """
    with refusing_damage(folder, "remove it to find the parts again"):
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))

        def array(key: str) -> Tensor | None:
            file = folder / f"{key}.npy"
            return map_array(file) if file.exists() else None

        x = array("x")
        crow = map_array(folder / "crow.npy")
        if x is None:
            parts = [map_array(folder / f"x_{key}.npy") for key in ("crow", "col", "value")]
            shape = (len(crow) - 1, int(about["num_features"]))
            x = csr_tensor(parts[0], parts[1], parts[2], shape)
        return PartGraph(
            crow,
            map_array(folder / "col.npy"),
            array("weight"),
            map_array(folder / "starts.npy"),
            x,
            Preparation(about["kind"], array("mean"), array("scale")),
            array("given"),
        )
