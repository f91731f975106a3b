import logging
import sys

import numpy as np
import pytest
import torch

from brgcl import BRGCL, BRGCLConfig, make_graph
from brgcl.data.graph_folder import map_array
from brgcl.method.graph import Graph
from brgcl.scale.parts import PartGraph
from brgcl.scale.placement import place_graph, plan_for, training_name
from preloaded import started

TINY = {"epochs": 3, "warmup_epochs": 1, "hidden": 16, "dim": 8, "reported": "prototypes"}


def on_disk(parts, folder):
    """The parts as memory-mapped arrays, attributes dense and in the order of the parts."""
    arrays = {"crow": parts.crow, "col": parts.col, "x": parts.x.to_dense()[parts.given]}
    for name, tensor in arrays.items():
        np.save(folder / f"{name}.npy", tensor.numpy())
    crow, col, x = (map_array(folder / f"{name}.npy") for name in arrays)
    return PartGraph(crow, col, parts.weight, parts.starts, x, parts.preparation)


def test_the_plan_decides_what_is_made(data, parts):
    for mode, kind in (("sampled", Graph), ("partitioned", PartGraph)):
        config = BRGCLConfig(mode=mode)
        plan = plan_for(data, config)
        assert isinstance(place_graph(data, parts.preparation, plan, config), kind)
    assert plan_for(parts, BRGCLConfig()).num_parts == 6


def test_training_says_its_mode_in_one_line_and_transform_says_nothing(data, caplog):
    with caplog.at_level(logging.INFO, logger="brgcl"):
        model = BRGCL(**TINY, mode="partitioned", num_partitions=4).fit(data)
        said = [record.message for record in caplog.records if "parts" in record.message]
        assert len(said) == 1
        assert said[0].startswith("training on 2 of 4 parts at a time")
        caplog.clear()
        model.transform(data)
    assert not [record for record in caplog.records if "parts" in record.message]


def test_a_graph_on_disk_is_trained_on_as_in_memory(parts, tmp_path):
    stored = on_disk(parts, tmp_path)
    model = BRGCL(**TINY).fit(stored)
    inside = BRGCL(**TINY).fit(parts)
    torch.testing.assert_close(
        parts.as_given(model.representations_), inside.representations_, rtol=1e-3, atol=1e-4
    )
    assert torch.equal(model.transform(stored), model.representations_)


def test_names_tell_graphs_and_settings_apart(parts):
    data = make_graph(300, num_classes=3, num_features=40, seed=9)
    names = {
        training_name(parts, BRGCLConfig()),
        training_name(parts, BRGCLConfig(xi=0.2)),
        training_name(data, BRGCLConfig()),
    }
    assert len(names) == 3


@pytest.mark.parametrize("mode", ["full", "sampled"])
def test_modes_over_the_whole_graph_can_be_set(mode):
    data = make_graph(300, num_classes=3, num_features=40)
    model = BRGCL(**TINY, mode=mode).fit(data)
    same = BRGCL(**TINY, num_negatives=None if mode == "full" else 256).fit(data)
    assert torch.equal(model.representations_, same.representations_)


LIMITED = """
import resource, sys
from pathlib import Path
import numpy as np
import torch
from brgcl import BRGCL, make_graph
from brgcl.method.attributes import Preparation
from brgcl.data.graph_folder import map_array
from brgcl.scale.parts import PartGraph, split_graph

torch.set_num_threads(1)
folder = Path(sys.argv[1])
N, F = 6000, 12800  # 307 MB
small = make_graph(N, num_classes=3, num_features=20)
parts = split_graph(small, Preparation("none"), 60)
x = np.lib.format.open_memmap(folder / "x.npy", "w+", np.float32, (N, F))  # a file with holes
x[:, :20] = small.x.to_dense()[parts.given].numpy()
x.flush()
del x
used = next(line for line in open("/proc/self/status") if line.startswith("VmData"))
limit = int(used.split()[1]) * 1024 + 100_000_000
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
try:
    torch.ones(N, F)
    sys.exit("the limit does not hold")
except RuntimeError:
    pass
graph = PartGraph(parts.crow, parts.col, None, parts.starts, map_array(folder / "x.npy"),
                  Preparation("none"))
model = BRGCL(epochs=2, warmup_epochs=1, hidden=16, dim=8, memory_budget=0.05).fit(graph)
print(int(model.representations_.isfinite().all()))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")
def test_attributes_three_times_the_allowed_memory_are_trained_on(tmp_path):
    with started(LIMITED, tmp_path, folder=tmp_path) as process:
        code = process.wait()
    out, err = process.streams
    assert code == 0, err
    assert out.strip() == "1"
