import pytest
import torch

from brgcl import BRGCL, make_graph
from brgcl.config import BRGCLConfig, ViewSettings
from brgcl.errors import InputError
from brgcl.method.node_loss import unit_rows
from brgcl.method.train import begin_with
from brgcl.scale.clusters import RunningClusters
from brgcl.scale.halo import HaloFinder
from brgcl.scale.memory import Plan
from brgcl.scale.train import (
    Processes,
    draw_batches,
    draw_view,
    mixed_seed,
    part_nodes,
    run_batch,
    train_by_parts,
)

TINY = {"epochs": 6, "warmup_epochs": 2, "hidden": 16, "dim": 8, "seed": 3, "num_negatives": 40}


def plan(parts_per_batch, batches_per_step, num_parts=6):
    return Plan("partitioned", num_parts, parts_per_batch, batches_per_step, 0, 0, 1e9)


def trained(parts, config, how, **options):
    state = begin_with(40, config.replace(num_layers=2), torch.Generator().manual_seed(config.seed))
    train_by_parts(state, parts, config, how, **options)
    return state


def test_batches_hold_every_part_once_and_change_with_the_epoch():
    first, again, other = (draw_batches(10, 4, 0, epoch) for epoch in (1, 1, 2))
    assert sorted(torch.cat(first).tolist()) == list(range(10))
    assert [len(batch) for batch in first] == [3, 3, 2, 2]
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(torch.cat(first), torch.cat(other))


def test_seeds_of_batches_differ():
    seeds = {mixed_seed(s, e, b) for s in range(3) for e in range(1, 30) for b in range(-1, 30)}
    assert len(seeds) == 3 * 29 * 31


def test_nodes_of_parts(parts):
    nodes = part_nodes(parts, torch.tensor([4, 1]))
    expected = [
        *range(int(parts.starts[1]), int(parts.starts[2])),
        *range(int(parts.starts[4]), int(parts.starts[5])),
    ]
    assert nodes.tolist() == expected


@pytest.mark.parametrize("kind", ["edges", "nodes"])
def test_a_view_without_anything_dropped_is_the_graph(parts, generator, kind):
    halo = HaloFinder(parts, 2).find(part_nodes(parts, torch.tensor([0])))
    operators, columns, alive = draw_view(halo, ViewSettings(kind, 0.0, 0.0), 40, generator)
    assert columns is None
    assert bool(alive.all())
    for operator, expected in zip(operators, halo.operators(), strict=True):
        assert torch.equal(operator.data.to_dense(), expected.data.to_dense())


def test_a_dropped_node_keeps_its_loop_alone(parts, generator):
    halo = HaloFinder(parts, 1).find(torch.arange(300))
    (operator,), columns, alive = draw_view(halo, ViewSettings("nodes", 0.5, 0.5), 40, generator)
    dense = operator.data.to_dense()
    lost = (~alive).nonzero().squeeze(1)
    assert 100 < len(lost) < 200
    assert 10 < columns.sum() < 30
    torch.testing.assert_close(dense[lost], torch.eye(300)[lost])
    torch.testing.assert_close(dense, dense.T)


def test_the_loss_falls_and_prototypes_join(parts):
    config = BRGCLConfig(**{**TINY, "epochs": 40, "warmup_epochs": 30, "lr": 0.01})
    history = trained(parts, config, plan(2, 1)).history
    assert history[29].node_loss < history[0].node_loss
    assert history[29].proto_loss is None
    assert history[-1].proto_loss is not None
    assert history[-1].num_prototypes >= 1
    assert 0 <= history[-1].confident_share <= 1


def test_prototypes_pull_the_views_and_clusters_see_their_sum(parts):
    config = BRGCLConfig(**TINY)
    state = trained(parts, config, plan(3, 1), until=3)
    clusters = RunningClusters(300, config.dim)
    clusters.load(state.parts)
    core = part_nodes(parts, torch.tensor([0, 2, 5]))
    halo = HaloFinder(parts, 2).find(core)
    x, generator = parts.attributes(halo.nodes), torch.Generator().manual_seed(1)
    with torch.no_grad():
        views = [draw_view(halo, view, x.shape[1], generator) for view in config.views]
        h = unit_rows(sum(state.encoder(x, operators, mask) for operators, mask, _ in views))
    nearest = torch.cdist(h, clusters.centers).argmin(1)
    gradients = {}
    for weight in (0.0, 2.0):
        state.optimizer.zero_grad(set_to_none=True)
        found = run_batch(
            state, parts, halo, clusters, config,
            gamma=0.9, proto_weight=weight, generator=torch.Generator().manual_seed(1), share=1.0,
        )  # fmt: skip
        gradients[weight] = state.encoder.weights[0].grad.clone()
        assert torch.equal(found.labels.long(), nearest)
        torch.testing.assert_close(found.sums[0].sum(0), h.sum(0))
        assert found.proto_loss > 0
    assert not torch.allclose(gradients[0.0], gradients[2.0])


def test_a_step_of_two_batches_has_their_mean_gradient(parts):
    config = BRGCLConfig(**{**TINY, "epochs": 1})
    seen = []

    class Watch(Processes):
        def add(self, tensors):
            if len(tensors) > 2:
                seen.append([t.clone() for t in tensors])

    trained(parts, config, plan(3, 2), processes=Watch())
    both = seen.pop()
    alone = []
    for rank in range(2):

        class One(Watch):
            size = 2

        One.rank = rank
        trained(parts, config, plan(3, 2), processes=One())
        alone.append(seen.pop())
    for whole, first, second in zip(both, *alone, strict=True):
        torch.testing.assert_close(whole, first + second)


def test_training_goes_on_from_any_step(parts):
    config = BRGCLConfig(**TINY)
    whole = trained(parts, config, plan(2, 1))
    steps = []

    class StopError(Exception):
        pass

    for last in (1, 4, 8, 13):
        state = begin_with(
            40, config.replace(num_layers=2), torch.Generator().manual_seed(config.seed)
        )
        steps.clear()
        kept = []

        def stop(last=last, state=state, kept=kept):
            steps.append(None)
            if len(steps) == last:
                kept.append(state.copy())
                raise StopError

        with pytest.raises(StopError):
            train_by_parts(
                state, parts, config, plan(2, 1), after_step=stop, after_epoch=lambda _: stop()
            )
        train_by_parts(kept[0], parts, config, plan(2, 1))
        ends = zip(kept[0].encoder.parameters(), whole.encoder.parameters(), strict=True)
        assert all(torch.equal(a, b) for a, b in ends)
        assert torch.equal(kept[0].centers, whole.centers)
        assert [e.loss for e in kept[0].history] == [e.loss for e in whole.history]


def test_patience_ends_a_training_by_parts(parts):
    config = BRGCLConfig(**{**TINY, "epochs": 60, "lr": 0.2, "patience": 2})
    assert len(trained(parts, config, plan(3, 2)).history) < 60


def test_what_needs_the_whole_graph_or_diverges_is_refused(parts):
    with pytest.raises(InputError, match="'subgraph' needs the whole graph; set mode='sampled'"):
        trained(parts, BRGCLConfig(**TINY, view1="subgraph"), plan(3, 1))
    with pytest.raises(InputError, match="training diverged in epoch"):
        trained(parts, BRGCLConfig(**TINY, lr=1e30), plan(3, 1))


def test_fit_by_parts_keeps_the_order_of_nodes_and_finds_what_the_whole_graph_gives():
    data = make_graph(600, num_classes=3, num_features=60, topic_strength=0.5)
    settings = {"epochs": 30, "warmup_epochs": 20, "hidden": 32, "dim": 16, "lr": 0.01}
    model = BRGCL(**settings, mode="partitioned", num_partitions=6).fit(data)
    torch.testing.assert_close(model.transform(data), model.representations_)
    z = model.representations_
    same = data.y[:, None] == data.y[None, :]
    cosine = z @ z.T
    assert cosine[same].mean() > cosine[~same].mean() + 0.3
    whole = BRGCL(**settings).fit(data)
    assert abs(len(set(model.pseudo_labels_.tolist())) - whole.num_clusters_) <= 2


def test_processes_that_follow_take_the_depth_of_the_first(parts):
    class Second(Processes):
        rank, size = 1, 2

        def from_first(self, tensor):
            assert tensor is None
            return torch.tensor([[1.0]])

    settings = {**TINY, "warmup_epochs": 6}
    model = BRGCL(**settings, mode="partitioned", batches_per_step=2)
    model.fit(parts, processes=Second())
    assert len(model.encoder_.weights) == 1


def test_processes_that_follow_learn_the_weights_and_write_nothing(data, parts, tmp_path):
    class Second(Processes):
        rank, size = 1, 2

    settings = {**TINY, "warmup_epochs": 6, "num_layers": 2}
    model = BRGCL(**settings, mode="partitioned", batches_per_step=2)
    file = tmp_path / "checkpoint"
    model.fit(parts, checkpoint=file, checkpoint_every=0, processes=Second())
    assert len(model.history_) == 6
    assert not hasattr(model, "representations_")
    assert not file.exists()
    with pytest.raises(InputError, match="several processes train by parts; set mode"):
        BRGCL(**TINY).fit(data, processes=Second())
