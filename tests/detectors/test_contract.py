import pytest
import torch

from brgcl.data import make_graph
from brgcl.detectors.contract import NoSettings
from brgcl.detectors.registry import DETECTORS
from brgcl.errors import InputError
from brgcl.methods import METHODS


def test_settings_are_those_of_the_method_but_for_its_own():
    assert DETECTORS["brgcl"].config("cora") == METHODS["brgcl"].config("cora")
    assert DETECTORS["confident-gcn"].config("coauthor-cs").hidden == 64
    assert DETECTORS["confident-gcn"].config("coauthor-cs").weight_decay == 5e-5
    assert DETECTORS["small-loss"].config(hidden=8).hidden == 8
    assert DETECTORS["neighbours"].config() == NoSettings()
    with pytest.raises(InputError, match="unknown setting 'hiden'"):
        DETECTORS["neighbours"].config(hiden=8)


def test_a_training_that_is_given_is_not_done_again():
    graph = make_graph(60, num_classes=2, num_features=20)
    z = torch.where(graph.y == 0, 1.0, -1.0)[:, None] * torch.ones(60, 3)
    labels = graph.y.clone()
    labels[0] = 1 - labels[0]

    class Learned:
        representations = z

    found = DETECTORS["nearest"].run(graph, labels, fitted=Learned())
    assert found.is_error.nonzero().flatten().tolist() == [0]
