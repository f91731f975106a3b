import torch

from brgcl.baselines import gcn, gcn_wide
from brgcl.contract import ObservedLabels
from brgcl.data import make_graph


def test_it_is_the_gcn_with_more_units():
    data = make_graph(60, num_classes=2, num_features=10, seed=0)
    labels = ObservedLabels(torch.where(torch.arange(60) < 20, data.y, -1), None, 2)
    config = gcn_wide.METHOD.config(epochs=5)
    assert config == gcn.METHOD.config(epochs=5, hidden=256)
    wide, same = (
        method.fit(data, labels, config, torch.Generator().manual_seed(0))
        for method in (gcn_wide.METHOD, gcn.METHOD)
    )
    assert wide.representations.shape == (60, 256)
    assert torch.equal(wide.representations, same.representations)
    assert torch.equal(wide.probabilities, same.probabilities)


def test_settings_for_a_data_set_are_those_of_the_gcn():
    for name in (*gcn.METHOD.presets, "cora"):
        assert gcn_wide.METHOD.config(name) == gcn.METHOD.config(name, hidden=256)
