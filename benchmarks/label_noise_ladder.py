"""What the label-noise model is worth: accuracy on validation nodes, from the floor to the ceiling.

    python benchmarks/label_noise_ladder.py --graphs cora citeseer --draws 100 110

No validation label is used but to score, and no test label at all. Representations and results are
cached in `--cache`; a killed run goes on where it was. Each graph is a data set, with its depth
(`citeseer:1`), or a generated one, `h0.2-d8-c7` (homophily, mean degree, classes).
"""

import argparse
import json
import re
from pathlib import Path

import torch
import torch.nn.functional as F
from torch_geometric.data import Data

import brgcl
from brgcl.baselines import cca_ssg
from brgcl.baselines.s2gc import diffuse
from brgcl.baselines.s2gc_features import reduce
from brgcl.evaluate.protocol import generator_for
from brgcl.method.attributes import learn_preparation
from brgcl.method.graph import adjacency_from_edges
from brgcl.method.sparse import is_sparse


def load(name: str, seed: int) -> Data:
    """Load a data set, or generate the graph that a name like `h0.2-d8-c7` describes."""
    found = re.fullmatch(r"h([\d.]+)-d([\d.]+)-c(\d+)", name)
    if not found:
        return brgcl.load_dataset(name.split(":")[0])
    homophily, degree, classes = float(found[1]), float(found[2]), int(found[3])
    return brgcl.make_graph(
        2000, num_classes=classes, homophily=homophily, avg_degree=degree, seed=seed
    )


def represent(data: Data, method: str, num_layers: int, seed: int) -> torch.Tensor:
    """Represent all nodes without any label, `(N, D)`."""
    if method == "brgcl":
        return brgcl.BRGCL(seed=seed, num_layers=num_layers).fit_transform(data)
    if method == "cca-ssg":
        generator = generator_for(seed, "training")
        config = cca_ssg.CCASSGConfig(num_layers=num_layers)
        return cca_ssg.fit(data, None, config, generator).representations
    x = learn_preparation(data.x, None).apply(data.x).data
    x = x.to_dense() if is_sparse(x) else x
    adjacency = adjacency_from_edges(data.edge_index, data.num_nodes).normalized
    torch.manual_seed(seed)
    return reduce(diffuse(adjacency, x, steps=16, alpha=0.05), 64)


def cached_representations(cache: Path, name: str, method: str, seed: int) -> torch.Tensor:
    """Read the centred unit rows of a graph, after computing them if they are not in the cache."""
    file = cache / "z" / f"{name}-{method}-{seed}.pt"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        depth = int(name.split(":")[1]) if ":" in name else 2
        z = represent(load(name, seed), method, depth, seed)
        part = file.with_suffix(".part")
        torch.save(z.half(), part)
        part.rename(file)
    z = F.normalize(torch.load(file).float(), dim=1)
    return F.normalize(z - z.mean(0), dim=1)
