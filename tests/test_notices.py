import torch

import brgcl
from brgcl import BRGCL, BRGCLConfig
from brgcl.notices import tell_depth

SMALL = {"epochs": 2, "hidden": 8, "dim": 4, "reported": "prototypes"}  # nothing looks for clusters


def test_a_sample_of_negatives_is_announced(caplog):
    caplog.set_level("INFO", logger="brgcl")
    data = brgcl.make_graph(1001, num_features=20)
    settings = SMALL | {"epochs": 1, "warmup_epochs": 1}
    BRGCL(**settings).fit(data)
    assert "contrasting with 256 of the 1,001 nodes" in caplog.text
    caplog.clear()
    BRGCL(**settings, num_negatives=10).fit(data)  # the user knows
    BRGCL(**settings, node_objective="decorrelation").fit(data)  # contrasts no nodes
    few = brgcl.make_graph(60, num_features=20)  # all of them
    BRGCL(**settings, mode="partitioned", num_partitions=2).fit(few)
    assert "contrasting" not in caplog.text


def test_a_warm_up_longer_than_the_training_is_told(caplog):
    """Defect 45: warmup_epochs above epochs was accepted without a word."""
    data, settings = brgcl.make_graph(60, num_features=20), SMALL
    BRGCL(**settings).fit(data)
    assert "prototypes are not used: training has 2 epochs and the warm-up 50" in caplog.text
    caplog.clear()
    BRGCL(**settings, warmup_epochs=1).fit(data)
    BRGCL(**settings, proto_weight=0).fit(data)
    assert caplog.text == ""


def test_edge_weights_that_an_encoder_does_not_read_are_told(caplog):
    data, settings = brgcl.make_graph(60, num_features=20), SMALL
    data.edge_weight = torch.ones(data.num_edges)
    BRGCL(**settings, warmup_epochs=1).fit(data)
    assert caplog.text == ""
    BRGCL(**settings, warmup_epochs=1, encoder="sage").fit(data)
    assert "only the encoder 'gcn' reads edge weights; 'sage'" in caplog.text


def test_one_layer_is_announced_with_its_reason(caplog):
    caplog.set_level("INFO", logger="brgcl")
    auto, one = BRGCLConfig(), BRGCLConfig(num_layers=1)
    tell_depth(auto, one, 30, 40)
    assert "one graph convolution, since 40 attributes outnumber 30 nodes" in caplog.text
    caplog.clear()
    tell_depth(auto, one, 40, 30)
    assert "since neighbours tell more of a node's attributes" in caplog.text
    caplog.clear()
    tell_depth(one, one, 30, 40)  # the user knows
    tell_depth(auto, BRGCLConfig(num_layers=2), 40, 30)
    assert caplog.text == ""
