import pytest

from brgcl.config import BRGCLConfig
from brgcl.scale import memory
from brgcl.scale.memory import Size, make_plan, step_bytes

LARGE = Size(300_000, 1_200_000, 1000)
SMALL = Size(20_000, 90_000, 500)


@pytest.mark.parametrize(
    ("size", "settings", "mode"),
    [
        (SMALL, {}, "sampled"),
        (SMALL, {"num_negatives": None}, "full"),
        (LARGE, {}, "partitioned"),
        (LARGE, {"memory_budget": 50}, "sampled"),
        (LARGE, {"mode": "sampled"}, "sampled"),
        (LARGE, {"num_negatives": None}, "full"),
        (LARGE, {"view1": "diffusion"}, "sampled"),
        (SMALL, {"memory_budget": 0.1}, "partitioned"),
        (SMALL, {"mode": "partitioned"}, "partitioned"),
        (SMALL, {"memory_budget": 0.1, "encoder": "sage"}, "sampled"),
    ],
)
def test_the_mode_follows_from_memory_unless_it_is_set(size, settings, mode, monkeypatch):
    monkeypatch.setattr(memory, "memory", lambda: 16_000_000_000)
    assert make_plan(size, BRGCLConfig(**settings)).mode == mode


def test_a_small_machine_has_a_small_budget(monkeypatch):
    monkeypatch.setattr(memory, "memory", lambda: 1_000_000_000)
    assert make_plan(LARGE, BRGCLConfig()).budget == 1e9
    monkeypatch.setattr(memory, "memory", lambda: None)
    assert make_plan(LARGE, BRGCLConfig()).budget == memory.MOST


@pytest.mark.parametrize("budget", [0.005, 0.2, 1.0])
def test_a_batch_fits_the_budget(budget):
    plan = make_plan(LARGE, BRGCLConfig(memory_budget=budget))
    assert plan.needed <= budget * 1e9
    assert (plan.num_parts == 600) == (budget > 0.1)  # smaller parts where one would not fit
    assert plan.batches * plan.parts_per_batch >= plan.num_parts


def test_the_weights_move_once_per_epoch_on_small_graphs_and_often_on_large_ones():
    for parts in (10, 50):
        plan = make_plan(SMALL, BRGCLConfig(mode="partitioned", num_partitions=parts))
        assert (plan.batches, plan.batches_per_step) == (2, 2)
    plan = make_plan(Size(1_000_000, 20_000_000, 128), BRGCLConfig())
    assert plan.batches_per_step == 1
    assert plan.batches == 50


@pytest.mark.parametrize(("wanted", "found"), [(2, 40), (10, 40), (30, 30), (50, 50)])
def test_large_parts_are_cut_so_that_a_batch_mixes_many(wanted, found):
    config = BRGCLConfig(mode="partitioned", num_partitions=wanted)
    plan = make_plan(SMALL, config)
    assert (plan.num_parts, plan.parts_per_batch) == (found, found // 2)
    assert make_plan(SMALL, config, stored_parts=wanted).num_parts == wanted


@pytest.mark.parametrize("num_nodes", [*range(501, 3000, 83), 19_717, 1_000_000])
def test_parts_are_not_cut_where_their_number_is_not_set(num_nodes):
    plan = make_plan(Size(num_nodes, 4 * num_nodes, 100), BRGCLConfig(mode="partitioned"))
    assert plan.num_parts == max(2, num_nodes // memory.PART_NODES)
    assert memory.cut_parts(num_nodes, plan.num_parts) == plan.num_parts


def test_memory_grows_with_every_size():
    config = BRGCLConfig()
    base = step_bytes(SMALL, config)
    assert step_bytes(Size(40_000, 180_000, 500), config) == pytest.approx(2 * base)
    assert step_bytes(Size(20_000, 180_000, 500), config) > base
    assert step_bytes(SMALL, config.replace(dim=512)) > base
    assert step_bytes(SMALL, config, halo=1.0) > base


def test_a_plan_says_what_it_takes():
    plan = make_plan(LARGE, BRGCLConfig(memory_budget=4))
    assert str(plan).startswith("training on 40 of 600 parts at a time, about 0.")
    assert str(plan).endswith("of the 4.0 GB in memory_budget")


@pytest.mark.parametrize(
    ("num_nodes", "wanted"), [(50_000, 4), (50_000, 8), (100_000, 8), (10**6, 8)]
)
def test_a_step_has_as_many_batches_as_are_asked_for(num_nodes, wanted):
    size = Size(num_nodes, 20 * num_nodes, 128)
    config = BRGCLConfig(mode="partitioned", batches_per_step=wanted)
    plan, default = make_plan(size, config), make_plan(size, config.replace(batches_per_step=None))
    assert plan.batches_per_step == wanted
    assert plan.batches % wanted == 0
    assert default.num_parts <= plan.num_parts < default.num_parts + wanted
    assert plan.parts_per_batch <= default.parts_per_batch


def test_a_step_has_no_more_batches_than_there_are():
    config, size = BRGCLConfig(mode="partitioned", batches_per_step=9), Size(10_000, 45_000, 500)
    plan = make_plan(size, config, stored_parts=5)
    assert plan.batches_per_step == plan.batches == 5
    plan = make_plan(size, config.replace(num_partitions=20))
    assert (plan.batches_per_step, plan.batches) == (9, 10)
