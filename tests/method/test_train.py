import itertools
import math

import pytest
import torch
import torch.nn.functional as F

from brgcl.config import BRGCLConfig
from brgcl.errors import InputError
from brgcl.method.confidence import threshold
from brgcl.method.dpmeans import dp_means
from brgcl.method.graph import Graph, adjacency_from_edges
from brgcl.method.prototypes import prototype_loss
from brgcl.method.sparse import Matrix
from brgcl.method.train import (
    begin_training,
    continue_training,
    contrast_views,
    find_clusters,
    find_prototypes,
    last_prototypes,
    make_encoder,
    num_negatives,
    representation_loss,
    temperature,
    train,
)
from brgcl.method.views import View, two_views

SMALL = {"hidden": 16, "dim": 8, "lr": 0.01, "epochs": 12, "warmup_epochs": 6}


def two_blocks(size=20, isolated=0, seed=0, edges=True):
    """Two dense blocks, few edges between them, attributes that lean to the block."""
    generator = torch.Generator().manual_seed(seed)
    block = torch.arange(2).repeat_interleave(size)
    pairs = torch.combinations(torch.arange(2 * size))
    chance = torch.where(block[pairs[:, 0]] == block[pairs[:, 1]], 0.3, 0.02)
    pairs = pairs[torch.rand(len(pairs), generator=generator) < chance].T
    edge_index = torch.cat([pairs, pairs.flip(0)], dim=1)
    if not edges:
        edge_index = edge_index[:, :0]
    N = 2 * size + isolated
    x = torch.rand(N, 10, generator=generator)
    x[:size, :5] += 0.5
    x[size : 2 * size, 5:] += 0.5
    return Graph(Matrix(x), adjacency_from_edges(edge_index, N))


def fit(graph, seed=0, callback=None, **settings):
    config = BRGCLConfig(**{**SMALL, **settings})
    return train(graph, config, torch.Generator().manual_seed(seed), callback)


def representation(encoder, graph):
    with torch.no_grad():
        return encoder(graph.x, graph.adjacency.normalized)


def weights(encoder):
    return torch.cat([parameter.detach().flatten() for parameter in encoder.parameters()])


def mean(values):
    values = list(values)
    return sum(values) / len(values)


# Learning


@pytest.mark.parametrize("objective", ["exp", "abs", "decorrelation"])
def test_the_loss_falls(objective):
    _, history = fit(two_blocks(), node_objective=objective, epochs=30, warmup_epochs=30)
    assert mean(e.loss for e in history[-5:]) < mean(e.loss for e in history[:5])


def test_the_prototype_loss_falls():
    _, history = fit(
        two_blocks(),
        epochs=30,
        warmup_epochs=0,
        proto_weight=1.0,
        clustering="kmeans",
        num_prototypes=2,
    )
    assert mean(e.proto_loss for e in history[-5:]) < mean(e.proto_loss for e in history[:5])


def test_two_blocks_come_apart():
    graph = two_blocks()
    encoder, _ = fit(graph, epochs=60, warmup_epochs=30)
    h = F.normalize(representation(encoder, graph), dim=1)
    similarity = h @ h.T
    within = (similarity[:20, :20].mean() + similarity[20:, 20:].mean()) / 2
    assert within > similarity[:20, 20:].mean() + 0.3


def test_a_step_follows_the_gradient_of_the_whole_loss():
    graph = two_blocks()
    config = BRGCLConfig(**SMALL).replace(epochs=1, warmup_epochs=0, proto_weight=0.7)
    found, _ = train(graph, config, torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(0)
    encoder = make_encoder(graph.x.shape[1], config.replace(num_layers=2), generator)
    optimizer = torch.optim.Adam(encoder.parameters(), lr=config.lr)
    views = two_views(graph, config.views, generator)
    node = contrast_views(encoder, graph, views, config, generator)
    h = F.normalize(encoder(graph.x, graph.adjacency.normalized), dim=1)
    gamma = threshold(1, 1, config.gamma0)
    clusters = find_prototypes(
        h.detach(), graph.adjacency.transition, gamma, config, None, max_rounds=5
    )
    proto = prototype_loss(h, clusters.clusters.assignment, clusters.prototypes, config.proto_tau)
    representation_loss(node, proto, config.node_weight, 0.7).backward()
    optimizer.step()
    assert torch.allclose(weights(found), weights(encoder), atol=1e-6)


# Reproducibility


def test_the_same_generator_gives_the_same_weights_bit_for_bit():
    graph = two_blocks()
    first, history = fit(graph, seed=3)
    again, history_again = fit(graph, seed=3)
    other, _ = fit(graph, seed=4)
    assert torch.equal(weights(first), weights(again))
    assert [e.loss for e in history] == [e.loss for e in history_again]
    assert not torch.equal(weights(first), weights(other))


def test_the_global_random_state_is_neither_read_nor_changed():
    graph = two_blocks()
    torch.manual_seed(1)
    state = torch.get_rng_state()
    first, _ = fit(graph, num_negatives=8)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(2)
    again, _ = fit(graph, num_negatives=8)
    assert torch.equal(weights(first), weights(again))


def test_the_graph_is_left_alone():
    graph = two_blocks()
    x, A = graph.x.data.clone(), graph.adjacency.normalized.data.to_dense()
    fit(graph)
    assert torch.equal(graph.x.data, x)
    assert torch.equal(graph.adjacency.normalized.data.to_dense(), A)


# Schedule and history


def test_warm_up_delays_prototypes():
    _, history = fit(two_blocks(), epochs=8, warmup_epochs=5)
    assert [e.epoch for e in history] == list(range(1, 9))
    for field in ("proto_loss", "num_prototypes", "confident_share"):
        present = [getattr(e, field) is not None for e in history]
        assert present == [False] * 5 + [True] * 3, field


def test_the_threshold_counts_from_the_first_epoch():
    _, history = fit(two_blocks(), epochs=8, warmup_epochs=5, gamma0=0.4)
    assert [e.gamma for e in history] == [threshold(t, 8, 0.4) for t in range(1, 9)]
    assert history[-1].gamma == pytest.approx(0.6)


def test_the_loss_is_the_weighted_sum_of_its_terms():
    _, history = fit(two_blocks(), node_weight=0.5, proto_weight=2.0, epochs=6, warmup_epochs=3)
    for e in history[:3]:
        assert e.loss == pytest.approx(0.5 * e.node_loss, rel=1e-6)
    for e in history[3:]:
        assert e.loss == pytest.approx(0.5 * e.node_loss + 2 * e.proto_loss, rel=1e-6)


def test_one_over_n_weighs_prototypes_as_the_paper_does():
    _, history = fit(two_blocks(), proto_weight="1/N", epochs=3, warmup_epochs=0)
    for e in history:
        assert e.loss == pytest.approx(e.node_loss + e.proto_loss / 40, rel=1e-6)


def test_representation_loss_by_hand():
    node, proto = torch.tensor(3.0), torch.tensor(5.0)
    assert representation_loss(node, proto, 1.0, 1.0).item() == 8
    assert representation_loss(node, proto, 2.0, 0.5).item() == 8.5
    assert representation_loss(node, None, 2.0, 0.5).item() == 6


def test_prototypes_change_the_representation_only_after_the_warm_up():
    graph = two_blocks()
    with_prototypes, history = fit(graph, proto_weight=1.0, epochs=20, warmup_epochs=10)
    without, history_without = fit(graph, proto_weight=0.0, epochs=20, warmup_epochs=10)
    node, node_without = ([e.node_loss for e in h] for h in (history, history_without))
    # the first prototype epoch still sees the weights of the warm-up
    assert node[:11] == node_without[:11]
    assert node[11:] != node_without[11:]
    assert not torch.equal(representation(with_prototypes, graph), representation(without, graph))
    assert all(e.proto_loss is None for e in history_without)


def test_each_epoch_goes_on_from_the_last_epochs_centres():
    """One round opens one cluster; started afresh, every epoch would find two."""
    _, history = fit(two_blocks(), lr=1e-12, xi=1e-4, cluster_rounds=1, epochs=5, warmup_epochs=0)
    assert [e.num_prototypes for e in history] == [2, 3, 4, 5, 6]


def test_the_callback_sees_every_epoch():
    seen = []
    _, history = fit(two_blocks(), epochs=4, callback=seen.append)
    assert seen == history


@pytest.mark.parametrize("settings", [{"lr": 1e36}, {"lr": 1e30}, {"lr": 1e30, "warmup_epochs": 0}])
def test_training_that_diverges_stops_before_the_callback_sees_it(settings):
    """Defect 16: neither a loss nor a weight that is not finite is passed on."""
    seen = []
    with pytest.raises(InputError, match=r"diverged in epoch [12]: .*; lower lr, now 1e\+3"):
        fit(two_blocks(), callback=seen.append, **settings)
    assert all(math.isfinite(epoch.loss) for epoch in seen)
    assert len(seen) <= 1


def test_an_epoch_says_in_a_few_words_what_it_did():
    _, history = fit(two_blocks(), epochs=2, warmup_epochs=1)
    first, second = history
    assert str(first) == f"loss {first.loss:.3f}  rank {first.effective_rank:.0f}"
    assert f"  K {second.num_prototypes}  " in str(second)
    assert str(second).endswith("%")


# Patience


def test_patience_stops_when_the_loss_no_longer_falls():
    # a learning rate this small cannot improve on the noise of the views
    _, history = fit(two_blocks(), lr=1e-12, epochs=60, proto_weight=0, patience=3)
    losses = [e.loss for e in history]
    assert len(losses) < 60
    assert min(losses) == losses[-4]
    assert all(loss >= losses[-4] for loss in losses[-3:])


def test_without_patience_all_epochs_are_run():
    _, history = fit(two_blocks(), lr=1e-12, epochs=14)
    assert len(history) == 14


def test_patience_begins_when_prototypes_have_joined():
    """The prototype term lifts the loss, which is no reason to stop, nor is a stale warm-up."""
    _, history = fit(two_blocks(), lr=1e-12, epochs=40, warmup_epochs=12, patience=1)
    assert 12 < len(history) < 40


# Switches

CLUSTERINGS = [
    {"clustering": "dp-means"},
    {"clustering": "kmeans"},
    {"clustering": "kmeans", "num_prototypes": 3},
]
KINDS = ["edges", "nodes", "subgraph", "diffusion"]


@pytest.mark.parametrize("kinds", [*itertools.product(KINDS, KINDS)], ids="-".join)
def test_every_combination_of_switches_trains_and_stays_finite(kinds):
    graph = two_blocks(size=10, isolated=2)
    patience = 1 if kinds[0] < kinds[1] else None
    for objective, clustering, prototypes in itertools.product(
        ["exp", "abs", "decorrelation"], CLUSTERINGS, ["confident", "all"]
    ):
        encoder, history = fit(
            graph,
            epochs=3,
            warmup_epochs=1,
            view1=kinds[0],
            view2=kinds[1],
            node_objective=objective,
            prototypes=prototypes,
            patience=patience,
            **clustering,
        )
        assert all(math.isfinite(e.loss) for e in history)
        assert representation(encoder, graph).isfinite().all()
        assert len(history) == 3 or (patience == 1 and history[-1].loss >= history[-2].loss)


@pytest.mark.parametrize(
    "settings",
    [
        {"num_layers": 1},
        {"num_layers": 3},
        {"activation": "prelu"},
        {"activation": "elu"},
        {"num_negatives": 5},
        {"num_negatives": None},
        {"positive_twice": True},
        {"normalize_prototypes": False},
        {"tau": 0.01, "proto_tau": 0.01},
        {"weight_decay": 0.1},
        {"drop1": 0.0, "drop2": 0.0, "mask1": 0.0, "mask2": 0.0},
        {"propagation_steps": 1, "alpha": 1.0},
        {"max_prototypes": 1},
        {"xi": 1e-3},
        {"xi": 100.0},
        {"clustering": "kmeans", "num_prototypes": 60},  # more than nodes
    ],
    ids=str,
)
@pytest.mark.parametrize("graph", ["blocks", "isolated", "no-edges"])
def test_every_setting_trains_and_stays_finite(graph, settings):
    graph = {
        "blocks": two_blocks(size=10),
        "isolated": two_blocks(size=10, isolated=3),
        "no-edges": two_blocks(size=10, edges=False),
    }[graph]
    encoder, history = fit(graph, epochs=3, warmup_epochs=1, **settings)
    assert [math.isfinite(e.loss) for e in history] == [True] * 3
    assert representation(encoder, graph).isfinite().all()


@pytest.mark.parametrize("dataset", [None, "citeseer"])
def test_the_paper_literal_preset_trains(dataset):
    config = BRGCLConfig.preset("paper-literal", dataset=dataset).replace(
        epochs=5, hidden=16, dim=8
    )
    encoder, history = train(two_blocks(), config, torch.Generator().manual_seed(0))
    assert all(math.isfinite(e.loss) for e in history)
    assert all(e.num_prototypes is not None for e in history)  # no warm-up
    assert weights(encoder).isfinite().all()


def test_double_precision_follows_the_attributes():
    graph = two_blocks(size=10)
    adjacency = adjacency_from_edges(
        torch.stack([graph.adjacency.row, graph.adjacency.col])[
            :, graph.adjacency.row != graph.adjacency.col
        ],
        20,
        dtype=torch.float64,
    )
    encoder, history = fit(Graph(Matrix(graph.x.data.double()), adjacency), epochs=3)
    assert all(parameter.dtype == torch.float64 for parameter in encoder.parameters())
    assert math.isfinite(history[-1].loss)


@pytest.mark.parametrize("survivors", [0, 1])
@pytest.mark.parametrize("objective", ["exp", "abs", "decorrelation"])
def test_views_without_two_common_nodes_contrast_nothing(objective, survivors):
    graph = two_blocks(size=3)
    config = BRGCLConfig(node_objective=objective, hidden=4, dim=2)
    encoder = make_encoder(
        graph.x.shape[1], config.replace(num_layers=2), torch.Generator().manual_seed(0)
    )
    first = torch.arange(6) < 3 + survivors
    views = tuple(View(graph.adjacency.normalized, None, n) for n in (first, torch.arange(6) >= 3))
    loss = contrast_views(encoder, graph, views, config, torch.Generator())
    loss.backward()
    assert loss.item() == 0
    assert all(not p.grad.any() for p in encoder.parameters())


# Prototypes of a representation


def by_hand():
    """Two cliques of four, each a point on a circle; node 7 leans to the other clique's point."""
    pairs = [(i, j) for b in (0, 4) for i in range(b, b + 4) for j in range(b, i)]
    edges = torch.tensor(pairs).T
    adjacency = adjacency_from_edges(torch.cat([edges, edges.flip(0)], dim=1), 8)
    h = torch.tensor([[1.0, 0.0]] * 4 + [[0.0, 1.0]] * 3 + [[0.8, 0.6]])
    return h, Graph(Matrix(torch.ones(8, 1)), adjacency)


def test_prototypes_are_made_of_confident_nodes():
    h, graph = by_hand()
    found = find_prototypes(
        h, graph.adjacency.transition, 0.7, BRGCLConfig(xi=0.5), None, max_rounds=50
    )
    label = found.clusters.assignment
    assert found.clusters.num_clusters == 2
    assert label[7] == label[0] != label[4]
    assert found.confident.tolist() == [True] * 7 + [False]
    assert found.confidence[7].item() == pytest.approx(0.1 + 0.9 / 4, abs=1e-6)
    torch.testing.assert_close(found.prototypes[label[0]], torch.tensor([1.0, 0.0]))
    torch.testing.assert_close(found.prototypes[label[4]], torch.tensor([0.0, 1.0]))


def test_prototypes_of_all_nodes_are_drawn_to_the_doubtful_one():
    h, graph = by_hand()
    config = BRGCLConfig(xi=0.5, prototypes="all", normalize_prototypes=False)
    found = find_prototypes(h, graph.adjacency.transition, 0.7, config, None, max_rounds=50)
    torch.testing.assert_close(
        found.prototypes[found.clusters.assignment[0]], torch.tensor([4.8 / 5, 0.6 / 5])
    )
    unit = find_prototypes(
        h,
        graph.adjacency.transition,
        0.7,
        config.replace(normalize_prototypes=True),
        None,
        max_rounds=50,
    )
    torch.testing.assert_close(unit.prototypes, F.normalize(found.prototypes, dim=1))


def test_kmeans_takes_the_number_it_is_given():
    h, _ = by_hand()
    config = BRGCLConfig(clustering="kmeans", num_prototypes=3)
    found = find_clusters(h, config, None, max_rounds=50)
    assert found.num_clusters == 3
    assert found.assignment.unique().numel() == 3


def test_kmeans_without_a_number_waits_for_dp_means_to_end():
    """However few rounds an epoch has: one cluster is opened per round."""
    h = F.normalize(torch.randn(200, 12, generator=torch.Generator().manual_seed(0)), dim=1)
    config = BRGCLConfig(clustering="kmeans", xi=0.8)
    found = find_clusters(h, config, None, max_rounds=2)
    assert found.num_clusters == dp_means(h, 0.8).num_clusters > 3


def test_kmeans_without_a_number_keeps_the_one_that_dp_means_finds():
    h, _ = by_hand()
    config = BRGCLConfig(clustering="kmeans", xi=0.5)
    first = find_clusters(h, config, None, max_rounds=50)
    assert torch.equal(first.assignment, dp_means(h, 0.5).assignment)
    moved = find_clusters(torch.cat([h, -5 * h]), config, first.centers, max_rounds=50)
    assert moved.num_clusters == first.num_clusters


def test_the_temperature_falls_with_the_square_root_of_the_degree():
    graph = two_blocks()
    degree = 2 * graph.adjacency.num_edges / graph.adjacency.num_nodes
    config = BRGCLConfig(tau=0.4, tau_degree=degree / 4)
    assert temperature(config, graph) == pytest.approx(0.2)
    assert temperature(config.replace(tau_degree=degree), graph) == 0.4
    assert temperature(config.replace(tau_degree=None), graph) == 0.4


@pytest.mark.parametrize(
    ("setting", "num_nodes", "expected"),
    [("auto", 1_000, None), ("auto", 1_001, 256), (None, 10**5, None), (77, 100, 77)],
)
def test_the_number_of_negatives(setting, num_nodes, expected):
    assert num_negatives(BRGCLConfig(num_negatives=setting), num_nodes) == expected


def test_all_pairs_of_too_many_nodes_are_refused():
    with pytest.raises(InputError, match="set num_negatives=256, or num_negatives=160000"):
        num_negatives(BRGCLConfig(num_negatives=None), 160_000)
    assert num_negatives(BRGCLConfig(num_negatives=160_000), 160_000) == 160_000


def test_a_training_can_be_taken_up_again_after_any_epoch():
    graph, config = (
        two_blocks(),
        BRGCLConfig(epochs=6, warmup_epochs=2, hidden=8, dim=4, patience=5),
    )
    whole, history = train(graph, config, torch.Generator().manual_seed(0))
    for stop in range(1, 6):
        training = begin_training(graph, config, torch.Generator().manual_seed(0))
        continue_training(training, graph, config, until=stop)
        weights = [p.clone() for p in training.encoder.parameters()]
        other = training.copy()
        continue_training(other, graph, config)
        assert [e.loss for e in other.history] == [e.loss for e in history]
        for ours, theirs in zip(other.encoder.parameters(), whole.parameters(), strict=True):
            assert torch.equal(ours, theirs)
        assert len(training.history) == stop  # the copy has left it alone
        for before, now in zip(weights, training.encoder.parameters(), strict=True):
            assert torch.equal(before, now)


def test_prototypes_of_many_rows_come_from_a_sample_that_all_rows_join(monkeypatch):
    generator = torch.Generator().manual_seed(0)
    label = torch.arange(400) % 4
    noise = 0.05 * torch.randn(400, 6, generator=generator)
    h = F.normalize(torch.eye(6)[label] + noise, dim=1)
    ends = torch.arange(399)
    path = torch.cat([torch.stack([ends, ends + 1]), torch.stack([ends + 1, ends])], 1)
    transition = adjacency_from_edges(path, 400).transition
    config = BRGCLConfig(xi=0.5)
    expected = last_prototypes(h, transition, 0.7, config)
    monkeypatch.setattr("brgcl.method.train.MANY_ROWS", 90)
    found = last_prototypes(h, transition, 0.7, config)
    assert found.clusters.num_clusters == 4
    torch.testing.assert_close(found.confidence, expected.confidence)
    order = torch.cdist(expected.prototypes, found.prototypes).argmin(1)
    torch.testing.assert_close(found.prototypes[order], expected.prototypes)
