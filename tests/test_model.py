import copy
import dataclasses
import inspect
from typing import get_args, get_type_hints

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted
from torch_geometric.data import Data

import brgcl
from brgcl import BRGCL, BRGCLConfig
from brgcl.errors import InputError, NotFitted
from brgcl.method.train import Epoch
from brgcl.tasks.cluster import cluster
from brgcl.tasks.number_of_clusters import ClusterNumber

QUICK = {"epochs": 3, "hidden": 16, "dim": 8, "warmup_epochs": 1}
PLAIN = QUICK | {"reported": "prototypes"}  # nothing looks for clusters after training
LEARNED = ("mean_", "representations_", "prototypes_", "confidence_", "confident_")


def small_graph(**changes) -> Data:
    settings = {"num_nodes": 120, "num_classes": 3, "num_features": 40, "labels_per_class": 8}
    return brgcl.make_graph(**(settings | changes))


def bare(data: Data, **changes) -> Data:
    """The same attributes and edges, nothing else."""
    return Data(**({"x": data.x, "edge_index": data.edge_index} | changes))


@pytest.fixture(scope="module")
def data() -> Data:
    return small_graph()


@pytest.fixture(scope="module")
def model(data) -> BRGCL:
    return BRGCL(**QUICK).fit(data)


# Fit


def test_fit_returns_the_estimator_itself(data):
    model = BRGCL(**QUICK)
    assert model.fit(data) is model


def test_learned_attributes_have_their_shapes_and_types(model, data):
    N, K = data.num_nodes, model.num_prototypes_
    assert model.representations_.shape == (N, 8)
    assert model.representations_.dtype == torch.float32
    assert model.pseudo_labels_.shape == (N,)
    assert model.pseudo_labels_.dtype == torch.int64
    assert model.pseudo_labels_.unique().tolist() == list(range(model.num_clusters_))
    assert model.mean_.shape == (8,)
    assert model.prototypes_.shape == (K, 8)
    assert model.confidence_.shape == (N,)
    assert 0 <= float(model.confidence_.min()) <= float(model.confidence_.max()) <= 1
    assert model.confident_.shape == (N,)
    assert model.confident_.dtype == torch.bool
    assert isinstance(model.num_prototypes_capped_, bool)
    assert not any(getattr(model, name).requires_grad for name in LEARNED)


def test_representations_have_unit_length(model):
    assert torch.allclose(model.representations_.norm(dim=1), torch.ones(120), atol=1e-5)


def test_transform_centres_as_training_did(model, data):
    torch.testing.assert_close(model.transform(data), model.representations_)
    plain = BRGCL(**PLAIN, center=False).fit(data)
    h = plain.representations_
    torch.testing.assert_close(model.mean_, h.mean(0))
    torch.testing.assert_close(model.representations_, F.normalize(h - h.mean(0), dim=1))
    torch.testing.assert_close(plain.transform(data), h)


def test_another_graph_is_centred_by_the_mean_of_the_training_graph(model, data):
    part = small_graph(seed=1)
    plain = copy.copy(model)
    plain.config_ = model.config_.replace(center=False)
    expected = F.normalize(plain.transform(part) - model.mean_, dim=1)
    torch.testing.assert_close(model.transform(part), expected)


def test_reported_clusters_are_those_of_the_function(model, data):
    found = cluster(model.representations_, graph=data, seed=model.seed)
    assert model.num_clusters_ == model.clustering_.num_clusters == found.num_clusters
    assert model.clustering_.rule == found.rule


def test_prototypes_can_be_reported_as_in_the_paper(data):
    model = BRGCL(**PLAIN, center=False).fit(data)
    assert model.num_clusters_ == model.num_prototypes_
    assert not isinstance(model.clustering_, ClusterNumber)


def test_an_encoder_has_one_layer_where_attributes_outnumber_nodes(data, tmp_path, caplog):
    caplog.set_level("INFO", "brgcl")
    small = small_graph(num_nodes=30, num_features=40)
    model = BRGCL(**PLAIN).fit(small)
    assert len(model.encoder_.weights) == 1
    assert "40 attributes outnumber 30 nodes" in caplog.text
    model.save(tmp_path)
    torch.testing.assert_close(BRGCL.load(tmp_path).transform(small), model.transform(small))


def test_confidence_and_the_mask_of_confident_nodes_agree(model):
    gamma = 1 - model.config.gamma0  # the threshold after the last epoch
    expected = model.confidence_ > torch.tensor(-gamma).exp()
    assert torch.equal(model.confident_, expected)


def test_history_has_every_epoch_and_prototypes_from_the_end_of_the_warmup(model):
    assert [epoch.epoch for epoch in model.history_] == [1, 2, 3]
    for epoch in model.history_:
        warm = epoch.epoch <= 1
        assert (epoch.proto_loss is None) == warm
        assert (epoch.num_prototypes is None) == warm
        assert (epoch.confident_share is None) == warm
        assert epoch.seconds >= 0
        proto = 0.0 if warm else epoch.proto_loss
        total = model.config.node_weight * epoch.node_loss + model.config.proto_weight * proto
        assert epoch.loss == pytest.approx(total, rel=1e-5)
    fall = model.config.gamma0
    gammas = [epoch.gamma for epoch in model.history_]
    assert gammas == pytest.approx([1 - fall / 3, 1 - 2 * fall / 3, 1 - fall])


def test_the_callback_gets_every_epoch(data):
    seen: list[Epoch] = []
    model = BRGCL(**PLAIN).fit(data, callback=seen.append)
    assert seen == model.history_


def test_progress_goes_to_stderr(data, capsys):
    BRGCL(**PLAIN).fit(data, progress=True)
    assert capsys.readouterr().out == ""


def test_training_stops_when_the_loss_has_not_fallen_for_so_many_epochs(data):
    # with so small a step the loss moves at random only, so it soon fails to fall twice in a row
    model = BRGCL(**(PLAIN | {"epochs": 60, "lr": 1e-9, "patience": 2})).fit(data)
    losses = [epoch.loss for epoch in model.history_]
    assert len(losses) < 60
    assert min(losses[-2:]) >= min(losses[1:-2])


def test_without_patience_all_epochs_are_run(data):
    model = BRGCL(**(PLAIN | {"epochs": 12, "lr": 1e-9})).fit(data)
    assert len(model.history_) == 12


def test_fitting_again_starts_afresh(data, model):
    again = BRGCL(**PLAIN).fit(small_graph(seed=5)).fit(data)
    assert torch.equal(again.representations_, model.representations_)


@pytest.mark.parametrize(("epochs", "epoch"), [(3, "epoch 2"), (1, "the last epoch")])
def test_a_training_that_diverges_is_an_error_and_leaves_nothing(data, epochs, epoch):
    """Defect 16: representations that are not numbers are not handed out."""
    model = BRGCL(**(QUICK | {"lr": 1e30, "epochs": epochs}))
    with pytest.raises(InputError, match=rf"diverged in {epoch}: .*; lower lr, now 1e\+30"):
        model.fit(data)
    assert not any(name.endswith("_") for name in vars(model))


def test_a_model_that_diverges_keeps_what_it_had_learned(data):
    model = BRGCL(**PLAIN).fit(data)
    before = model.representations_
    with pytest.raises(InputError, match="diverged"):
        model.set_params(lr=1e30).fit(data)
    assert model.representations_ is before
    assert model.config_.lr == 1e-3


# Labels are not read


def labelled_otherwise(data):
    noise = torch.Generator().manual_seed(3)
    random = torch.randint(0, 9, (data.num_nodes,), generator=noise)
    return {
        "random labels": bare(data, y=random),
        "no labels": bare(data),
        "all unlabelled": bare(data, y=torch.full((data.num_nodes,), -1)),
        "other masks": bare(data, y=random, train_mask=random > 4, val_mask=random < 2),
    }


@pytest.mark.parametrize(
    "case", ["random labels", "no labels", "all unlabelled", "other masks"], ids=str
)
def test_labels_change_no_bit_of_what_is_learned(data, model, case):
    other = BRGCL(**QUICK).fit(labelled_otherwise(data)[case])
    for name in LEARNED:
        assert torch.equal(getattr(other, name), getattr(model, name)), name


# Seeds


def test_the_same_seed_gives_the_same_bits(data, model):
    again = BRGCL(**QUICK).fit(data)
    for name in LEARNED:
        assert torch.equal(getattr(again, name), getattr(model, name)), name


def test_another_seed_gives_other_representations(data, model):
    other = BRGCL(seed=1, **PLAIN).fit(data)
    assert not torch.allclose(other.representations_, model.representations_, atol=1e-3)


def test_the_global_generator_is_neither_read_nor_moved(data, model):
    torch.manual_seed(123)
    before = torch.get_rng_state()
    again = BRGCL(**QUICK).fit(data)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(again.representations_, model.representations_)


# Input


def test_the_graph_is_left_as_it_was(data):
    shuffled = bare(data, x=data.x.to_dense(), y=data.y, edge_index=data.edge_index.flip(1))
    copy = shuffled.clone()
    BRGCL(**QUICK).fit(shuffled).transform(shuffled)
    assert sorted(shuffled.keys()) == sorted(copy.keys())
    assert all(torch.equal(shuffled[name], copy[name]) for name in copy.keys())  # noqa: SIM118


def test_dense_and_sparse_attributes_agree(data, model):
    dense = BRGCL(**PLAIN).fit(bare(data, x=data.x.to_dense()))
    assert torch.allclose(dense.representations_, model.representations_, atol=1e-5)
    given = bare(data, x=data.x.to_dense())
    assert torch.allclose(model.transform(given), model.representations_, atol=1e-5)


def test_the_order_of_the_edges_does_not_matter(data, model):
    order = torch.randperm(data.edge_index.shape[1], generator=torch.Generator().manual_seed(0))
    other = BRGCL(**PLAIN).fit(bare(data, edge_index=data.edge_index[:, order]))
    assert torch.equal(other.representations_, model.representations_)


def test_isolated_nodes_are_represented(data):
    kept = (data.edge_index >= 10).all(0)
    model = BRGCL(**QUICK).fit(bare(data, edge_index=data.edge_index[:, kept]))
    assert bool(model.representations_.isfinite().all())
    assert model.pseudo_labels_.shape == (120,)


def test_a_graph_without_edges_works_with_a_warning(data, caplog):
    empty = bare(data, edge_index=torch.empty(2, 0, dtype=torch.long))
    model = BRGCL(**QUICK).fit(empty)
    assert bool(model.representations_.isfinite().all())
    said = [r for r in caplog.records if "no edges" in r.getMessage()]
    assert [r.levelname for r in said] == ["WARNING"]


def test_a_wrong_graph_is_refused(data):
    with pytest.raises(InputError, match="torch_geometric Data, got dict"):
        BRGCL(**QUICK).fit({"x": data.x})
    x = data.x.to_dense()
    x[3, 2] = float("nan")
    with pytest.raises(InputError, match=r"x\[3, 2\] is nan"):
        BRGCL(**QUICK).fit(bare(data, x=x))


# Transform


def test_transform_of_the_training_graph_gives_the_learned_representations(model, data):
    assert torch.equal(model.transform(data), model.representations_)


def test_fit_transform_is_fit_then_transform(model, data):
    assert torch.equal(BRGCL(**PLAIN).fit_transform(data), model.representations_)


def test_transform_of_an_induced_subgraph(model, data):
    nodes = torch.arange(0, 120, 2)
    part = bare(data, x=data.x.to_dense()).subgraph(nodes)
    z = model.transform(part)
    assert z.shape == (60, 8)
    assert bool(z.isfinite().all())


def test_transform_of_a_whole_component_ignores_the_rest(model, data):
    N = data.num_nodes
    twice = bare(
        data,
        x=data.x.to_dense().repeat(2, 1),
        edge_index=torch.cat([data.edge_index, data.edge_index + N], dim=1),
    )
    z = model.transform(twice)
    assert torch.allclose(z[:N], model.representations_, atol=1e-5)
    assert torch.allclose(z[N:], model.representations_, atol=1e-5)


@pytest.mark.parametrize("encoder", ["sage", "gat", "gin"])
def test_every_encoder_represents_nodes_that_training_never_saw(data, encoder):
    """A component of new nodes that repeats the training graph gets its representations."""
    x, N = data.x.to_dense(), data.num_nodes
    model = BRGCL(**PLAIN, encoder=encoder).fit(data)
    edges = torch.cat([data.edge_index + N, torch.tensor([[0, 1], [1, 0]])], dim=1)
    new = Data(x=torch.cat([x.flip(0), x]), edge_index=edges)
    assert torch.allclose(model.transform(new)[N:], model.representations_, atol=1e-5)
    assert torch.equal(model.fit(data).transform(data), model.representations_)


def test_the_global_generator_has_no_part_in_other_encoders(data):
    state = torch.get_rng_state()
    first = BRGCL(**PLAIN, encoder="gat").fit(data).representations_
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(99)
    again = BRGCL(**PLAIN, encoder="gat").fit(data).representations_
    assert torch.equal(first, again)


def test_transform_scales_attributes_as_in_training(data):
    N = data.num_nodes
    x = torch.randn(2 * N, 5, generator=torch.Generator().manual_seed(0))
    x[N:] += 3  # the second half alone has other column means
    edges = torch.cat([data.edge_index, data.edge_index + N], dim=1)
    model = BRGCL(**PLAIN).fit(Data(x=x, edge_index=edges))
    z = model.transform(Data(x=x[N:], edge_index=data.edge_index))
    assert torch.allclose(z, model.representations_[N:], atol=1e-5)


def test_transform_refuses_another_number_of_attributes(model, data):
    with pytest.raises(InputError, match="39 attributes but the model was fitted with 40"):
        model.transform(bare(data, x=data.x.to_dense()[:, :39]))


@pytest.mark.parametrize("call", ["transform", "cluster", "save"])
def test_nothing_works_before_fit(call, data, tmp_path):
    arguments = {"transform": [data], "cluster": [], "save": [tmp_path / "model"]}[call]
    with pytest.raises(NotFitted, match=r"call fit\(data\) first"):
        getattr(BRGCL(), call)(*arguments)
    assert not (tmp_path / "model").exists()


# Clusters


def test_cluster_without_a_number_gives_the_pseudo_labels(model):
    assert torch.equal(model.cluster(), model.pseudo_labels_)


def test_cluster_with_a_number(model):
    found = model.cluster(4)
    assert found.shape == (120,)
    assert found.unique().tolist() == [0, 1, 2, 3]
    assert torch.equal(found, model.cluster(4))


def test_cluster_refuses_more_clusters_than_nodes(model):
    with pytest.raises(InputError, match=r"num_clusters must be in 1\.\.120"):
        model.cluster(121)


# scikit-learn's conventions


def test_the_constructor_spells_out_the_settings_with_their_types_and_defaults():
    fields = {field.name: field.default for field in dataclasses.fields(BRGCLConfig)}
    parameters = list(inspect.signature(BRGCL).parameters.values())
    assert {each.name: each.default for each in parameters} == fields
    assert all(each.kind is inspect.Parameter.KEYWORD_ONLY for each in parameters)
    given = get_type_hints(BRGCL.__init__)
    given["encoder"], module = get_args(given["encoder"])
    assert module is torch.nn.Module  # which has the name "own" among the settings
    assert {name: given[name] for name in fields} == get_type_hints(BRGCLConfig)
    assert list(BRGCL().get_params().items()) == list(fields.items())
    assert BRGCL(xi=0.2, epochs=7).config == BRGCLConfig(xi=0.2, epochs=7)
    assert BRGCL.from_config(BRGCLConfig(xi=0.2)).config == BRGCLConfig(xi=0.2)


def test_wrong_arguments_are_refused_at_once():
    with pytest.raises(TypeError, match="unexpected keyword argument 'epoch'"):
        BRGCL(epoch=3)
    with pytest.raises(InputError, match="lr must be a number above 0, got 0"):
        BRGCL(lr=0)


@pytest.mark.parametrize("seed", [2**31, 2**32 - 1])
def test_any_seed_of_32_bits_serves_training_and_clusters(data, seed):
    """Defect 18: what scikit-learn does not take is not accepted either."""
    model = BRGCL(seed=seed, **QUICK).fit(data)
    assert model.cluster(3).shape == (120,)
    with pytest.raises(InputError, match="seed"):
        BRGCL(seed=2**32)


def test_params_can_be_read_and_set():
    model = BRGCL(tau=0.7)
    assert model.get_params()["tau"] == 0.7
    assert model.set_params(xi=0.1) is model
    assert (model.config.tau, model.config.xi) == (model.tau, model.xi) == (0.7, 0.1)
    with pytest.raises(InputError, match="unknown setting 'tua'"):
        model.set_params(tua=1)


def test_settings_are_attributes():
    """Defect 59: `model.hidden` can be read and set, and a wrong value is noticed by `fit`."""
    model = BRGCL(hidden=np.int64(64))
    assert (model.hidden, model.config.hidden) == (64, 64)
    model.hidden = 32
    assert model.config.hidden == 32
    model.hidden = 0
    with pytest.raises(InputError, match="hidden must be"):
        model.fit(small_graph())


def test_settings_stay_as_they_were_when_one_of_them_is_refused():
    model = BRGCL(tau=0.7)
    with pytest.raises(InputError, match="xi must be"):
        model.set_params(tau=0.5, xi=-1)
    assert model.tau == 0.7


def test_clone_copies_the_settings_and_not_what_was_learned(model):
    copy = clone(model)
    assert copy.config == model.config
    assert not hasattr(copy, "encoder_")
    assert clone(BRGCL(tau=np.float32(0.5))).tau == 0.5


def test_check_is_fitted(model):
    """Defect 59: scikit-learn's own check knows a fitted model from another."""
    check_is_fitted(model)
    with pytest.raises(NotFittedError):
        check_is_fitted(BRGCL())


def test_repr_shows_what_differs_from_the_default():
    assert repr(BRGCL()) == "BRGCL()"
    assert repr(BRGCL(xi=0.2, view1="nodes")) == "BRGCL(view1='nodes', xi=0.2)"
