import pytest
import torch
from sklearn.base import clone
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv, GraphSAGE, SAGEConv

import brgcl
from brgcl import BRGCL, BRGCLConfig
from brgcl.errors import InputError
from brgcl.method.graph import adjacency_from_edges
from brgcl.method.own_module import OwnEncoder, digest, edges_of
from brgcl.method.sparse import Matrix

QUICK = {"epochs": 4, "warmup_epochs": 2, "reported": "prototypes"}
EDGES = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


class Net(nn.Module):
    """Two convolutions with dropout and batch normalisation between them."""

    def __init__(self, num_features=40, dropout=0.5):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = SAGEConv(num_features, 16), SAGEConv(16, 8)
        self.norm, self.dropout = nn.BatchNorm1d(16), nn.Dropout(dropout)

    def forward(self, x, edge_index):
        h = self.dropout(self.norm(self.first(x, edge_index)).relu())
        return self.second(h, edge_index)


@pytest.fixture(scope="module")
def data() -> Data:
    return brgcl.make_graph(120, num_classes=3, num_features=40)


def test_the_module_gets_dense_attributes_and_edges_without_loops():
    calls = []

    class Spy(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(1))

        def forward(self, x, edge_index):
            calls.append((x, edge_index))
            return self.weight * x

    x = torch.arange(8.0).reshape(4, 2)
    operator = adjacency_from_edges(EDGES, 4).normalized
    encoder = OwnEncoder(Spy(), 2)
    calls.clear()
    encoder(Matrix(x.to_sparse_csr()), operator, torch.tensor([1.0, 0.0]))
    seen, edge_index = calls[0]
    assert torch.equal(seen, x * torch.tensor([1, 0]))
    assert {tuple(edge) for edge in edge_index.T.tolist()} == {(0, 1), (1, 0), (1, 2), (2, 1)}
    assert edges_of(operator) is edge_index  # kept with the operator


def test_training_moves_a_copy_of_the_module(data):
    module = Net()
    before = digest(module)
    model = BRGCL(**QUICK, encoder=module).fit(data)
    assert digest(module) == before
    assert digest(model.encoder_.module) != before
    assert not model.encoder_.training  # dropout is off from here on
    assert model.representations_.shape == (120, 8)
    assert torch.equal(model.transform(data), model.representations_)


def test_a_module_learns_to_tell_classes_apart():
    graph = brgcl.make_graph(300, num_classes=3, num_features=60, labels_per_class=8)
    torch.manual_seed(0)
    module = GraphSAGE(60, 32, num_layers=2, out_channels=16)
    model = BRGCL(epochs=30, warmup_epochs=15, encoder=module).fit(graph)
    assert model.history_[-1].node_loss < model.history_[0].node_loss
    labels = torch.where(graph.train_mask, graph.y, -1)
    predicted = brgcl.NodeClassifier("centroid").fit(model.representations_, labels)
    right = predicted.predict(model.representations_) == graph.y
    assert right[~graph.train_mask].float().mean() > 0.6  # chance is a third


def test_dropout_follows_the_seed_and_leaves_the_global_generator_alone(data):
    torch.manual_seed(5)
    state = torch.get_rng_state()
    first = BRGCL(**QUICK, encoder=Net()).fit(data).representations_
    Net()  # which seeds the global generator
    torch.manual_seed(7)
    again = BRGCL(**QUICK, encoder=(net := Net())).fit(data).representations_
    other = BRGCL(**QUICK, seed=1, encoder=net).fit(data).representations_
    assert torch.equal(first, again)
    assert not torch.allclose(first, other)
    torch.set_rng_state(state)
    BRGCL(**QUICK, encoder=net).fit(data)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_stopped_training_ends_as_if_it_had_not_stopped(data, tmp_path):
    class StopError(Exception):
        pass

    def stop(epoch):
        if epoch.epoch == 3:
            raise StopError

    file, net = tmp_path / "training", Net()
    expected = BRGCL(**QUICK, encoder=net).fit(data)
    with pytest.raises(StopError):
        BRGCL(**QUICK, encoder=net).fit(data, callback=stop, checkpoint=file, checkpoint_every=0)
    found = BRGCL(**QUICK, encoder=net).fit(data, checkpoint=file)
    assert torch.equal(found.representations_, expected.representations_)
    with pytest.raises(StopError):
        BRGCL(**QUICK, encoder=net).fit(data, callback=stop, checkpoint=file, checkpoint_every=0)
    with torch.no_grad():
        net.first.lin_l.bias += 1
    with pytest.raises(InputError, match="of another graph or of other settings"):
        BRGCL(**QUICK, encoder=net).fit(data, checkpoint=file)


def test_lazy_layers_get_their_shapes(data):
    class Lazy(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = SAGEConv(-1, 8)

        def forward(self, x, edge_index):
            return self.layer(x, edge_index)

    first, again = (BRGCL(**QUICK, encoder=Lazy()).fit(data).representations_ for _ in range(2))
    assert torch.equal(first, again)


class Flat(nn.Linear):
    def forward(self, x, edge_index):
        return super().forward(x).sum(0)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (
            nn.Linear(40, 8),
            r"Linear cannot be called as module\(x, edge_index\)",
        ),
        (Net(7), r"Net cannot be called as module\(x, edge_index\) with 40 attributes"),
        (Flat(40, 8), r"Flat must return one row for each node, \(N, D\); for 2 nodes .* \(8,\)"),
        (GCNConv(40, 8, cached=True), "cached=True, and would take every view for the first"),
        (SAGEConv(40, 8, aggr="lstm"), None),
    ],
)
def test_a_module_that_does_not_fit_is_refused_before_training(module, message, data):
    if message is None:  # it is unusual, but it works
        BRGCL(epochs=1, warmup_epochs=0, encoder=module).fit(data)
        return
    with pytest.raises(InputError, match=message):
        BRGCL(encoder=module).fit(data)


def test_a_module_without_parameters_is_refused(data):
    class Fixed(nn.Module):
        def forward(self, x, edge_index):
            return x

    with pytest.raises(InputError, match="Fixed has no parameters that could be trained"):
        BRGCL(encoder=Fixed()).fit(data)


def test_what_is_no_module_is_refused():
    with pytest.raises(InputError, match="encoder must be one of 'gcn', 'sage', 'gat', 'gin'"):
        BRGCL(encoder=lambda x, edge_index: x)
    with pytest.raises(InputError, match=r"stands for a module; give it: BRGCL\(encoder=module\)"):
        BRGCL(encoder="own").fit(brgcl.make_graph(60))


def test_settings_of_a_module(data):
    module = Net()
    model = BRGCL(encoder=module, epochs=3)
    assert model.get_params()["encoder"] is module
    assert model.config == BRGCLConfig(encoder="own", epochs=3)
    assert repr(model) == "BRGCL(encoder=Net, epochs=3)"
    copied = clone(model)
    assert copied.encoder is not module
    assert digest(copied.encoder) == digest(module)
    assert model.set_params(encoder="gat").config.encoder == "gat"
    assert model.set_params(encoder=module).config.encoder == "own"
