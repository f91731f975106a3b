import pytest
import torch

import brgcl
from brgcl import BRGCL, InputError
from brgcl.method.attributes import learn_preparation
from brgcl.method.inputs import check_device, prepare

GRAPH = brgcl.make_graph(60, num_classes=3, num_features=20)


@pytest.mark.parametrize("device", ["gpu", "mps", "meta", "", "cuda", torch.device("meta")])
def test_a_device_that_cannot_train_is_refused_before_training(device, monkeypatch):
    """Defect 19: an unknown device ended in an AssertionError, a torch.device was refused."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match=r"^device must be 'cpu' on this machine, got '.*'$"):
        BRGCL(device=device, epochs=1).fit(GRAPH)


def test_a_device_of_torch_is_taken():
    model = BRGCL(device=torch.device("cpu"), epochs=2, warmup_epochs=1, hidden=8, dim=4)
    assert model.fit(GRAPH).representations_.shape == (60, 4)


def test_gpus_are_named_when_there_are_any(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert check_device("cuda:0") == torch.device("cuda", 0)
    with pytest.raises(InputError, match="'cpu' or 'cuda' or 'cuda:0' on this machine, got 'gpu'"):
        check_device("gpu")


def test_a_learned_scaling_is_applied_as_it_is():
    x = torch.randn(60, 5)
    graph = brgcl.make_graph(60, num_classes=3, num_features=20)
    graph.x = x
    learned = learn_preparation(2 * x)
    assert torch.equal(prepare(graph, learned).x.data, learned.apply(x).data)
    assert torch.equal(prepare(graph, "none").x.data, x)
