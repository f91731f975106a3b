import logging

import numpy as np
import pytest
import torch

from brgcl import BRGCL, BRGCLConfig, make_graph
from brgcl.method.graph import Graph
from brgcl.scale.parts import PartGraph, map_array
from brgcl.scale.placement import place_graph, plan_for, training_name

TINY = {"epochs": 3, "warmup_epochs": 1, "hidden": 16, "dim": 8}


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


def test_the_mode_is_said_in_one_line(data, parts, caplog):
    config = BRGCLConfig(mode="partitioned", num_partitions=4)
    with caplog.at_level(logging.INFO, logger="brgcl"):
        place_graph(data, parts.preparation, plan_for(data, config), config)
    assert next(r.message for r in caplog.records if "parts" in r.message).startswith(
        "training on 2 of 4 parts at a time"
    )


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
