import pytest
import torch
import torch.nn.functional as F

from brgcl import BRGCL, make_graph
from brgcl.method.encoder import Encoder
from brgcl.method.inputs import prepare
from brgcl.scale.inference import encode_by_blocks, make_room


@pytest.mark.parametrize("num_layers", [1, 2, 3])
@pytest.mark.parametrize("hidden", [8, 200])
@pytest.mark.parametrize("activation", ["relu", "prelu"])
def test_blocks_give_the_rows_of_the_whole_graph(data, parts, num_layers, hidden, activation):
    encoder = Encoder(40, hidden=hidden, dim=6, num_layers=num_layers, activation=activation)
    graph = prepare(data)
    expected = F.normalize(encoder(graph.x, graph.adjacency.normalized), dim=1).detach()
    found = encode_by_blocks(encoder, parts, entries=100)
    torch.testing.assert_close(parts.as_given(found), expected)
    assert all(weight.requires_grad for weight in encoder.parameters())


def test_what_exceeds_memory_is_kept_in_a_file(parts):
    encoder = Encoder(40, hidden=20, dim=6)
    expected = encode_by_blocks(encoder, parts)
    assert torch.equal(encode_by_blocks(encoder, parts, memory=0), expected)
    room = make_room(3, 2, memory=0)
    room.fill_(2.0)
    assert room.tolist() == [[2.0, 2.0]] * 3


def test_transform_of_a_large_graph_goes_by_blocks():
    data = make_graph(300, num_classes=3, num_features=40)
    model = BRGCL(epochs=2, warmup_epochs=1, hidden=16, dim=8).fit(data)
    whole = model.transform(data)
    model.config_ = model.config_.replace(mode="partitioned")
    torch.testing.assert_close(model.transform(data), whole)
