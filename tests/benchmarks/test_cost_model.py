import dataclasses

import numpy as np
import pytest

from cost_model import (
    Case,
    Prices,
    end_work,
    epoch_work,
    fit_prices,
    measured,
    memory_work,
    show,
    simulate,
    split_work,
    traffic,
)

PRICES = Prices(
    epoch=[2e-11, 3e-10, 4e-8, 5e-7],
    end=[1e-11, 1e-10, 1e-8, 1e-4],
    split=3e-7,
    split_bytes=100.0,
    memory=[6e8, 1.5, 1.1, 1.2],
    spread=0.1,
)
CASES = [
    Case(nodes, nodes * degree, features=features, hidden=hidden, dim=dim)
    for nodes, degree, features, hidden, dim in (
        (20_000, 20, 128, 512, 256), (20_000, 5, 128, 512, 256), (20_000, 60, 128, 512, 256),
        (20_000, 20, 512, 512, 256), (20_000, 20, 128, 128, 256), (20_000, 20, 128, 512, 64),
        (100_000, 20, 128, 512, 256), (300_000, 20, 128, 512, 256),
    )
]  # fmt: skip


def record_of(case):
    """What would be measured if the model held."""
    return {
        "epoch_seconds_each": [1.0, 1.0, *[PRICES.epoch_seconds(case)] * 3],
        "after_epochs_seconds": PRICES.end_seconds(case),
        "peak_mb": PRICES.peak_bytes(case) / 1e6,
        "batch_seconds": [0.9, 1.0, 1.1] * 3,
        "num_entries": case.entries,
    }


def split_of(case, price):
    """What finding the parts would take."""
    return {
        "split_seconds": price * split_work(case), "split_mb": case.entries * 1e-4,
        "num_entries": case.entries,
    }  # fmt: skip


SPLITS = [split_of(CASES[-2], 1e-7), split_of(CASES[-1], PRICES.split)]


def test_prices_are_found_again():
    found = fit_prices(CASES, [record_of(case) for case in CASES], SPLITS)
    large = Case(10**6, 2 * 10**7)
    assert found.epoch_seconds(large) == pytest.approx(PRICES.epoch_seconds(large))
    assert found.end_seconds(large) == pytest.approx(PRICES.end_seconds(large))
    assert found.split == pytest.approx(PRICES.split)
    assert found.split_bytes == pytest.approx(PRICES.split_bytes)
    assert found.memory == pytest.approx(PRICES.memory)
    assert found.spread == pytest.approx(np.std([0.9, 1.0, 1.1] * 3, ddof=1))


def test_work_is_linear_in_the_graph():
    case = Case(40_000, 800_000)
    twice = Case(80_000, 1_600_000)
    assert epoch_work(twice) == pytest.approx([2 * unit for unit in epoch_work(case)])
    levels = np.log2(160) / np.log2(80)  # parts
    assert split_work(twice) == pytest.approx(2 * split_work(case) * levels)
    assert end_work(twice)[:3] == pytest.approx([2 * unit for unit in end_work(case)[:3]])
    assert end_work(twice)[3] == end_work(case)[3]  # a sample of rows
    assert memory_work(twice)[3] == pytest.approx(2 * memory_work(case)[3])
    assert memory_work(case)[1] <= memory_work(twice)[1] < 1e9  # a step is bounded


def test_one_rank_sends_nothing_and_is_always_busy():
    case = Case(10**6, 2 * 10**7)
    found = simulate(case, dataclasses.replace(PRICES, spread=0.0))
    assert traffic(case) == 0
    assert found["seconds"] == pytest.approx(PRICES.epoch_seconds(case))
    assert found["efficiency"] == pytest.approx(1)


def test_ranks_share_the_batches_and_wait_for_the_slowest():
    case = Case(6_400_000, 128_000_000, ranks=64, batches_per_step=64)
    even = dataclasses.replace(PRICES, spread=0.0)
    alone = PRICES.epoch_seconds(case)
    free = {"bandwidth": 1e30, "latency": 0.0}
    assert simulate(case, even, **free)["seconds"] == pytest.approx(alone / 64)
    assert simulate(case, PRICES, **free)["seconds"] > 1.1 * alone / 64
    assert simulate(case, even, latency=1.0)["seconds"] == pytest.approx(
        alone / 64 + 5 * (traffic(case) / 1.25e9 + 60)
    )


def test_traffic_of_gradients_sums_and_labels_by_hand():
    case = Case(10**6, 2 * 10**7, ranks=8, batches_per_step=8)
    assert case.weights == 197_376
    gradients, sums, labels = 8 * 197_376, 16 * 64 * 257, 4 * 160_000 + 4 * 8 * 259
    assert traffic(case) == pytest.approx(7 / 8 * (gradients + sums + labels))


def test_tables_name_what_was_not_used():
    records = {f"{case.nodes // 1000}k partitioned 4": record_of(case) for case in CASES[-2:]}
    records |= {
        "20k cost base": record_of(CASES[0]),
        "20k cost degree 60": record_of(CASES[2]),
        "50k ranks 2 4": {},
        "300k order 1": SPLITS[1],
    }
    assert list(measured(records)) == ["100k", "20k, base", "20k, degree 60", "300k"]
    text = show(records, "300k")
    assert "| 300k, not used |" in text
    assert "| papers100M | 64 | 87 |" in text
