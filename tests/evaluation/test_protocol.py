import dataclasses

import pytest
import torch
from torch_geometric.data import Data

from brgcl.contract import ObservedLabels
from brgcl.data import check_graph, make_graph
from brgcl.errors import InputError
from brgcl.evaluation.protocol import PROTOCOLS, GroundTruth, draw_noisy_graph
from brgcl.methods import METHODS
from brgcl.noise import NoiseSpec
from brgcl.noise.graph import Noise, generator_for

LABELS = NoiseSpec("symmetric", 0.4)
ATTRIBUTES = NoiseSpec("cell", 0.3)
EDGES = NoiseSpec("add", 0.2)
ALL = Noise(LABELS, ATTRIBUTES, EDGES)


@pytest.fixture(scope="module")
def data() -> Data:
    return make_graph(300, num_classes=3, num_features=50, labels_per_class=30, num_val=80)


def same_graph(one: Data, two: Data) -> bool:
    return torch.equal(one.edge_index, two.edge_index) and torch.equal(
        one.x.to_dense(), two.x.to_dense()
    )


# Who sees what


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_training_labels_are_noisy_and_only_on_training_nodes(data, protocol):
    noisy = draw_noisy_graph(data, noise=Noise(LABELS), protocol=protocol)
    train = noisy.labels.train
    assert torch.equal(train >= 0, data.train_mask)
    wrong = (train != data.y)[data.train_mask].float().mean()
    assert noisy.label_noise == pytest.approx(float(wrong))
    assert 0.25 < noisy.label_noise < 0.55
    assert noisy.labels.num_classes == 3


def test_clean_val_has_true_validation_labels(data):
    validation = draw_noisy_graph(data, noise=Noise(LABELS), protocol="clean-val").labels.validation
    assert torch.equal(validation, torch.where(data.val_mask, data.y, -1))


def test_noisy_val_has_validation_labels_as_noisy_as_the_others(data):
    noisy = draw_noisy_graph(data, noise=Noise(LABELS), protocol="noisy-val")
    validation = noisy.labels.validation
    assert torch.equal(validation >= 0, data.val_mask)
    wrong = float((validation != data.y)[data.val_mask].float().mean())
    assert 0.25 < wrong < 0.55


def test_no_val_has_no_validation_labels(data):
    assert draw_noisy_graph(data, noise=Noise(LABELS), protocol="no-val").labels.validation is None


def test_the_protocols_share_their_training_labels(data):
    drawn = [
        draw_noisy_graph(data, noise=Noise(LABELS), protocol=p).labels.train for p in PROTOCOLS
    ]
    assert torch.equal(drawn[0], drawn[1])
    assert torch.equal(drawn[0], drawn[2])


def test_without_noise_labels_are_true(data):
    noisy = draw_noisy_graph(data, noise=Noise())
    assert torch.equal(noisy.labels.train, torch.where(data.train_mask, data.y, -1))
    assert (noisy.label_noise, noisy.attribute_noise, noisy.edge_noise) == (0, 0, 0)
    assert same_graph(noisy.graph, data)


def test_an_unknown_protocol_suggests_the_nearest(data):
    with pytest.raises(InputError, match=r"unknown protocol 'clean'; did you mean 'clean-val'\?"):
        draw_noisy_graph(data, noise=Noise(), protocol="clean")


# The truth is kept apart


@pytest.mark.parametrize("noise", [Noise(), ALL], ids=str)
def test_the_observed_graph_carries_no_labels_and_no_masks(data, noise):
    graph = draw_noisy_graph(data, noise=noise).graph
    assert set(graph.keys()) == {"x", "edge_index", "num_nodes", "node_ids", "class_names"}
    assert graph.num_nodes == 300


def test_weights_of_edges_stay_with_the_graph(data):
    weighted = data.clone()
    weighted.edge_weight = torch.full((data.edge_index.shape[1],), 2.0)
    for noise in (Noise(), ALL):
        graph = draw_noisy_graph(weighted, noise=noise).graph
        assert "edge_weight" in graph
        assert graph.edge_weight.shape == (graph.edge_index.shape[1],)


def test_truth_is_another_type_with_the_true_classes_and_the_test_nodes(data):
    noisy = draw_noisy_graph(data, noise=ALL)
    assert isinstance(noisy.truth, GroundTruth)
    assert not isinstance(noisy.truth, ObservedLabels)
    assert torch.equal(noisy.truth.y, data.y)
    assert torch.equal(noisy.truth.test, data.test_mask)
    observed = {field.name for field in dataclasses.fields(ObservedLabels)}
    assert observed == {"train", "validation", "num_classes"}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_test_label_is_observed(data, protocol):
    labels = draw_noisy_graph(data, noise=ALL, protocol=protocol).labels
    seen = labels.train >= 0
    if labels.validation is not None:
        seen = seen | (labels.validation >= 0)
    assert not bool((seen & data.test_mask).any())


def test_the_input_is_left_as_it_was(data):
    copy = data.clone()
    draw_noisy_graph(data, noise=ALL, protocol="noisy-val")
    assert same_graph(data, copy)
    assert torch.equal(data.y, copy.y)


# Draws


def test_the_same_seed_draws_the_same(data):
    one, two = (draw_noisy_graph(data, noise=ALL, seed=3) for _ in range(2))
    assert torch.equal(one.labels.train, two.labels.train)
    assert same_graph(one.graph, two.graph)


def test_the_draw_does_not_depend_on_what_was_trained_before(data):
    one = draw_noisy_graph(data, noise=ALL, seed=3)
    for seed in range(len(METHODS)):
        torch.manual_seed(seed)
        torch.rand(10)
        two = draw_noisy_graph(data, noise=ALL, seed=3)
        assert torch.equal(one.labels.train, two.labels.train)
        assert same_graph(one.graph, two.graph)


def test_seeds_draw_differently(data):
    one, two = (draw_noisy_graph(data, noise=ALL, seed=seed) for seed in (0, 1))
    assert not torch.equal(one.labels.train, two.labels.train)
    assert not torch.equal(one.graph.x.to_dense(), two.graph.x.to_dense())
    assert not torch.equal(one.graph.edge_index, two.graph.edge_index)


def test_one_kind_of_noise_does_not_change_the_draw_of_another(data):
    whole = draw_noisy_graph(data, noise=ALL)
    labels = draw_noisy_graph(data, noise=Noise(labels=LABELS))
    attributes = draw_noisy_graph(data, noise=Noise(attributes=ATTRIBUTES))
    edges = draw_noisy_graph(data, noise=Noise(edges=EDGES))
    assert torch.equal(labels.labels.train, whole.labels.train)
    assert torch.equal(attributes.graph.x.to_dense(), whole.graph.x.to_dense())
    assert torch.equal(edges.graph.edge_index, whole.graph.edge_index)
    # and what is not asked for stays as it is
    assert same_graph(labels.graph, data)
    assert torch.equal(attributes.graph.edge_index, data.edge_index)
    assert torch.equal(edges.graph.x.to_dense(), data.x.to_dense())


def test_streams_of_two_purposes_and_of_two_seeds_differ():
    def first(seed, purpose):
        return float(torch.rand((), generator=generator_for(seed, purpose)))

    numbers = {first(s, p) for s in range(20) for p in ("label-noise", "edge-noise", "training")}
    assert len(numbers) == 60
    assert first(4, "training") == first(4, "training")


def test_a_low_level_flips_a_part_of_what_a_high_level_flips(data):
    low, high = (
        draw_noisy_graph(data, noise=Noise(NoiseSpec("symmetric", level))).labels.train
        for level in (0.2, 0.5)
    )
    flipped = [(train != data.y) & data.train_mask for train in (low, high)]
    assert bool((flipped[0] <= flipped[1]).all())
    assert int(flipped[1].sum()) > int(flipped[0].sum())


def test_realised_noise_is_what_was_done(data):
    noisy = draw_noisy_graph(data, noise=ALL)
    before = {tuple(pair) for pair in data.edge_index.T.tolist()}
    after = {tuple(pair) for pair in noisy.graph.edge_index.T.tolist()}
    assert before < after
    assert noisy.edge_noise == pytest.approx(len(after - before) / len(before))
    assert noisy.edge_noise == pytest.approx(0.2, abs=0.01)
    assert 0 < noisy.attribute_noise <= 0.35


def test_attribute_noise_may_fall_on_training_nodes_alone(data):
    noise = Noise(attributes=NoiseSpec("cell", 0.5, "train"))
    changed = (draw_noisy_graph(data, noise=noise).graph.x.to_dense() != data.x.to_dense()).any(1)
    assert bool(changed.any())
    assert not bool((changed & ~data.train_mask).any())


def test_noise_prints_what_it_is():
    assert str(Noise()) == "none"
    assert str(ALL) == "labels symmetric:0.4, attributes cell:0.3, edges add:0.2"


# A user's own graph has no split


@pytest.fixture
def own(data) -> Data:
    y = torch.where(torch.arange(300) % 3 == 0, data.y, -1)
    return check_graph(Data(x=data.x, edge_index=data.edge_index, y=y))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_all_labels_of_a_users_graph_train_and_nothing_is_scored(own, protocol):
    noisy = draw_noisy_graph(own, noise=Noise(), protocol=protocol)
    assert torch.equal(noisy.labels.train, own.y)
    assert noisy.labels.validation is None
    assert not bool(noisy.truth.test.any())
    assert bool((noisy.truth.y == -1).all())


def test_noise_on_a_users_labels_is_counted(own):
    noisy = draw_noisy_graph(own, noise=Noise(LABELS))
    known = own.y >= 0
    assert torch.equal(noisy.labels.train >= 0, known)
    wrong = (noisy.labels.train != own.y)[known].float().mean()
    assert noisy.label_noise == pytest.approx(float(wrong))
    assert noisy.label_noise > 0.2


def test_a_graph_without_labels_can_be_drawn(own):
    bare = check_graph(Data(x=own.x, edge_index=own.edge_index))
    noisy = draw_noisy_graph(bare, noise=ALL, protocol="no-val")
    assert bool((noisy.labels.train == -1).all())
    assert noisy.label_noise == 0


def test_all_nodes_may_be_labelled_and_are_flipped_as_where_few_are():
    data = make_graph(200, num_classes=3, num_features=30, labels_per_class=10, num_val=40)
    data.y[0] = -1
    noise = Noise(NoiseSpec("symmetric", 0.3))
    some = draw_noisy_graph(data, noise=noise, seed=2)
    every = draw_noisy_graph(data, noise=noise, seed=2, labelled="all")
    assert torch.equal(every.labels.train >= 0, data.y >= 0)
    assert every.labels.validation is None
    assert not every.truth.test.any()
    assert torch.equal(every.truth.y, data.y)
    few = some.labels.train >= 0
    assert torch.equal(every.labels.train[few], some.labels.train[few])
    wrong = (every.labels.train != data.y)[data.y >= 0]
    assert every.label_noise == pytest.approx(float(wrong.float().mean()))
    with pytest.raises(InputError, match="unknown labelled 'most'"):
        draw_noisy_graph(data, noise=noise, labelled="most")


def test_an_oracle_gets_the_right_ones_of_the_given_labels(data):
    noise = Noise(labels=NoiseSpec("symmetric", 0.5))
    given = draw_noisy_graph(data, noise=noise, seed=3)
    oracle = draw_noisy_graph(data, noise=noise, seed=3, labelled="right")
    right = given.labels.train == data.y
    assert torch.equal(oracle.labels.train, torch.where(right, data.y, -1))
    assert 0 < int((oracle.labels.train >= 0).sum()) < int((given.labels.train >= 0).sum())
    assert oracle.label_noise == given.label_noise
    assert torch.equal(oracle.labels.validation, given.labels.validation)
