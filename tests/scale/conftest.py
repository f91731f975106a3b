import pytest
import torch

from brgcl import make_graph
from brgcl.method.attributes import learn_preparation
from brgcl.scale.parts import split_graph


@pytest.fixture(scope="module", params=["plain", "weighted"])
def data(request):
    data = make_graph(300, num_classes=3, num_features=40)
    if request.param == "weighted":
        low, high = data.edge_index.min(0).values, data.edge_index.max(0).values
        data.edge_weight = ((low * 7 + high * 3) % 5 + 1).float() / 2
    return data


@pytest.fixture(scope="module")
def parts(data):
    return split_graph(data, learn_preparation(data.x), 6, seed=1)


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)
