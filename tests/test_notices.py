import torch

import brgcl
from brgcl import BRGCL


def test_a_sample_of_negatives_is_announced(caplog):
    caplog.set_level("INFO", logger="brgcl")
    data = brgcl.make_graph(1001, num_features=20)
    settings = {"epochs": 1, "hidden": 8, "dim": 4, "warmup_epochs": 1}
    BRGCL(**settings).fit(data)
    assert "contrasting with 256 of the 1,001 nodes" in caplog.text
    caplog.clear()
    BRGCL(**settings, num_negatives=10).fit(data)  # the user knows
    BRGCL(**settings, node_objective="decorrelation").fit(data)  # contrasts no nodes
    assert "contrasting" not in caplog.text


def test_a_warm_up_longer_than_the_training_is_told(caplog):
    """Defect 45: warmup_epochs above epochs was accepted without a word."""
    data, settings = brgcl.make_graph(60, num_features=20), {"epochs": 2, "hidden": 8, "dim": 4}
    BRGCL(**settings).fit(data)
    assert "prototypes never join: training has 2 epochs and the warm-up 50" in caplog.text
    caplog.clear()
    BRGCL(**settings, warmup_epochs=1).fit(data)
    BRGCL(**settings, proto_weight=0).fit(data)
    assert caplog.text == ""


def test_edge_weights_that_an_encoder_does_not_read_are_told(caplog):
    data, settings = brgcl.make_graph(60, num_features=20), {"epochs": 2, "hidden": 8, "dim": 4}
    data.edge_weight = torch.ones(data.num_edges)
    BRGCL(**settings, warmup_epochs=1).fit(data)
    assert caplog.text == ""
    BRGCL(**settings, warmup_epochs=1, encoder="sage").fit(data)
    assert "edge weights are read by the encoder 'gcn' alone; 'sage'" in caplog.text
