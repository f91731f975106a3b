"""The draws of a table as files, so that other code can be run on the same ones.

Files are .npz archives of plain arrays (no pickle), readable with numpy alone. A file of a draw has
what a method may see there; the graph as it was before noise, with the true classes, is a file of
its own.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor
from torch_geometric.data import Data

from brgcl.atomic_files import claim_folder, replacing, write_text
from brgcl.benchmark.experiment import WHOLE, Experiment, Selection, runs
from brgcl.benchmark.run_spec import RunSpec
from brgcl.data import DATASETS, load_dataset
from brgcl.errors import InputError
from brgcl.evaluation.protocol import NoisyGraph, draw_noisy_graph
from brgcl.method.sparse import csr_to_scipy, is_sparse

README = """\
The noise draws of "{title}" ({name})

index.csv has one line for each draw: its file, the file of its graph, the data set, the protocol,
the kind and level of noise, the seed, the realised shares of wrong training labels, of corrupted
attribute values and of corrupted edges, and the SHA-256 sum of the file. All files are .npz
archives of plain arrays: numpy.load(file) reads them, without pickle. N nodes are numbered from 0;
they, their attributes and the classes have the same order in all files of a data set.

A draw, draws/*.npz: what a method may see, and where it is scored
  train_labels        (N,)     observed class of each training node, -1 elsewhere; learn from these
  val_labels          (N,)     observed class of each validation node, -1 elsewhere; with these only
                               an epoch or a classifier may be chosen. All -1: there are none
  train_mask, val_mask (N,)    where the two have a class
  test_mask           (N,)     nodes on which a method is scored; clusters are scored on all nodes
                               whose class is known
  num_classes         ()
  with attribute noise, the corrupted attributes, raw as they are in the data set:
  x_data, x_indices, x_indptr, x_shape      in CSR form, or x (N, F) where they are dense
  with edge noise, all edges that are left or new, each in both directions:
  edge_index          (2, 2E)  and edge_weight (2E,) where edges have weights
Where a draw has no attributes or no edges, those of its graph hold.

A graph, graphs/*.npz: as it was before noise
  x_data, ... or x; edge_index, edge_weight     as above
  true_labels         (N,)     true classes, -1 = unknown. For scores and nothing else

In Python:
  import numpy, scipy.sparse
  draw = numpy.load("{example}")
  graph = numpy.load("{graph}")
  f = draw if "x_data" in draw or "x" in draw else graph
  x = scipy.sparse.csr_array((f["x_data"], f["x_indices"], f["x_indptr"]), shape=f["x_shape"])

A table of ours is a mean over these draws; take the same number of them ({seeds}), compare on the
same ones, and say which protocol it was ({protocol}).
"""


def write_draws(
    experiment: Experiment,
    folder: Path,
    selection: Selection = WHOLE,
    *,
    root: Path | None = None,
    overwrite: bool = False,
    say: Callable[[str], None] = lambda text: None,
) -> int:
    """Write every draw of a table, with an index and a README; returns how many there are.

    `root` is the folder with the graphs, where it is not the usual one; `overwrite` says whether
    the folder of the draws may have files.
    """
    # all rows of a table meet the same draws, so one run stands for each
    specs = (planned.spec for planned in runs(experiment, selection))
    wanted = list({draw_name(spec): spec for spec in specs}.values())
    if not wanted:
        raise InputError(f"'{experiment.name}' has no draws; brgcl bench list shows what has runs")
    claim_folder(folder, overwrite=overwrite)
    wanted.sort(key=lambda draw: (list(experiment.datasets).index(draw.dataset), draw.seed))
    lines: list[dict[str, Any]] = []
    loaded: tuple[str, int] | None = None
    for number, draw in enumerate(wanted, start=1):
        if loaded != (draw.dataset, draw.seed):
            data = load_dataset(draw.dataset, root, seed=draw.seed)
            loaded = (draw.dataset, draw.seed)
        graph = _graph_file(draw)
        if not any(line["graph"] == graph for line in lines):
            _write_arrays(folder / graph, graph_arrays(data) | {"true_labels": _plain(data.y)})
        noisy = draw_noisy_graph(
            data,
            noise=draw.noise_spec(),
            protocol=draw.protocol,
            seed=draw.seed,
            labelled=draw.labelled,
        )
        file = f"draws/{draw_name(draw)}.npz"
        say(f"{number} of {len(wanted)}: {file}")
        lines.append(
            {
                "file": file,
                "graph": graph,
                "dataset": draw.dataset,
                "protocol": draw.protocol,
                "noise": draw.noise,
                "level": draw.level,
                "seed": draw.seed,
                "label_noise": noisy.label_noise,
                "attribute_noise": noisy.attribute_noise,
                "edge_noise": noisy.edge_noise,
                "sha256": _write_arrays(folder / file, draw_arrays(draw, noisy)),
            }
        )
    write_text(folder / "index.csv", pd.DataFrame(lines).to_csv(index=False, lineterminator="\n"))
    seeds = {(draw.dataset, draw.seed) for draw in wanted}
    counts = set(Counter(dataset for dataset, _ in seeds).values())
    text = README.format(
        title=experiment.title, name=experiment.name, protocol=experiment.protocol,
        example=lines[-1]["file"], graph=lines[-1]["graph"],
        seeds=" or ".join(map(str, sorted(counts))),
    )  # fmt: skip
    write_text(folder / "README.txt", text)
    return len(wanted)


def draw_name(draw: RunSpec) -> str:
    """A short name of a draw, which is that of its file.

    Example:
        >>> draw_name(RunSpec(dataset="demo", method="gcn", noise="pair", level=0.2, seed=1))
        'demo-pair-0.2-seed1'
    """
    noise = "clean" if draw.noise == "none" else f"{draw.noise.replace('@', '-')}-{draw.level:g}"
    return f"{draw.dataset}-{noise}-seed{draw.seed}"


def draw_arrays(draw: RunSpec, noisy: NoisyGraph) -> dict[str, Any]:
    """What a method may see in a draw, and where it is scored, as plain arrays."""
    labels, noise = noisy.labels, draw.noise_spec()
    train = _plain(labels.train)
    chosen = np.full_like(train, -1) if labels.validation is None else _plain(labels.validation)
    arrays = {
        "train_labels": train,
        "val_labels": chosen,
        "train_mask": train >= 0,
        "val_mask": chosen >= 0,
        "test_mask": _plain(noisy.truth.test),
        "num_classes": np.asarray(labels.num_classes),
    }
    graph = graph_arrays(noisy.graph)
    if noise.attributes is not None:
        arrays |= {name: array for name, array in graph.items() if name.startswith("x")}
    if noise.edges is not None:
        arrays |= {name: array for name, array in graph.items() if name.startswith("edge")}
    return arrays


def graph_arrays(data: Data) -> dict[str, Any]:
    """Attributes and edges as plain arrays; sparse attributes as those of a CSR matrix."""
    if is_sparse(data.x):
        x = csr_to_scipy(data.x)
        arrays = {
            "x_data": x.data, "x_indices": x.indices, "x_indptr": x.indptr,
            "x_shape": np.asarray(x.shape),
        }  # fmt: skip
    else:
        arrays = {"x": _plain(data.x)}
    arrays["edge_index"] = _plain(data.edge_index)
    if data.get("edge_weight") is not None:
        arrays["edge_weight"] = _plain(data.edge_weight)
    return arrays


def _graph_file(draw: RunSpec) -> str:
    generated = not DATASETS[draw.dataset].files  # another one for each seed
    return f"graphs/{draw.dataset}{f'-seed{draw.seed}' if generated else ''}.npz"


def _plain(values: Tensor) -> Any:
    return values.cpu().numpy()


def _write_arrays(path: Path, arrays: Mapping[str, Any]) -> str:
    """Write arrays; returns the checksum, which is the same for the same arrays."""
    with replacing(path) as temporary:
        with temporary.open("wb") as file:
            np.savez_compressed(file, **arrays)
        with temporary.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
