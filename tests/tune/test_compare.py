"""Tune on one draw, compare on fresh ones, within one budget."""

import pytest
import torch

from brgcl import NodeClassifier, make_graph
from brgcl.evaluation.protocol import draw_noisy_graph
from brgcl.evaluation.score import classify_one
from brgcl.noise import NoiseSpec
from brgcl.noise.graph import Noise
from brgcl.tune import compare
from brgcl.tune.compare import Comparison, tune_and_compare

pytest.importorskip("optuna")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Fresh draws are classified by centroids, without choosing among the classifiers."""

    def classify(noisy, fitted, **arguments):
        return classify_one(noisy, fitted, NodeClassifier("centroid"), **arguments)

    monkeypatch.setattr(compare, "classify_one", classify)


def comparison(default, other):
    return Comparison("accuracy", 0.1, 0.3, tuple(range(len(default))), default, other, 5)


def test_the_interval_is_students():
    compared = comparison((0.70, 0.72, 0.71), (0.72, 0.73, 0.74))
    assert compared.paired.mean == pytest.approx(0.02)
    half = 4.302653 * 0.01 / 3**0.5
    assert compared.paired.high == pytest.approx(0.02 + half)
    assert compared.paired.low == pytest.approx(0.02 - half)
    assert compared.verdict == "no clear difference"
    assert "3 fresh draws (5 were wanted" in str(compared)


def test_the_verdict_follows_the_interval():
    base = (0.7, 0.8, 0.75)
    assert comparison(base, (0.75, 0.85, 0.801)).verdict == "better"
    assert comparison(base, (0.65, 0.75, 0.701)).verdict == "worse"
    assert comparison(base, base).verdict == "no clear difference"
    assert comparison((0.7,), (0.8,)).verdict == "no clear difference"
    assert comparison((0.7,), (0.8,)).to_dict()["difference_low"] is None


def drawing(graph, seen=None):
    def draw(seed):
        if seen is not None:
            seen.append(seed)
        noise = Noise(labels=NoiseSpec("symmetric", 0.3)) if bool((graph.y >= 0).any()) else Noise()
        return draw_noisy_graph(graph, noise=noise, protocol="no-val", seed=seed)

    return draw


def test_the_comparison_is_on_draws_that_tuning_did_not_see(data, tiny, grid):
    seen = []
    tuning, compared = tune_and_compare(drawing(data, seen), tiny, seed=4, draws=3, **grid)
    assert seen[0] == 4
    assert set(seen[1:]) == {5, 6, 7} == set(compared.seeds)
    assert compared.metric == "accuracy"
    assert (compared.xi, compared.gamma0) == tuning.rival.point != tuning.default.point
    assert all(0 <= value <= 1 for value in compared.default + compared.other)


def test_what_is_compared_follows_from_what_is_known(data, tiny):
    own = make_graph(90, num_classes=3, num_features=20)
    for name in ("train_mask", "val_mask", "test_mask"):
        del own[name]
    bare = own.clone()
    bare.y = torch.full_like(own.y, -1)
    for graph, metric in ((own, "cv_agreement"), (bare, "stability")):
        _, compared = tune_and_compare(drawing(graph), tiny, draws=2, xi=(0.1, 0.5), gamma0=(0.3,))
        assert compared.metric == metric
        assert len(compared.default) == len(compared.other) == 2


def test_nothing_is_compared_where_that_is_switched_off(data, tiny):
    seen = []
    _, compared = tune_and_compare(drawing(data, seen), tiny, draws=0, xi=(0.1,), gamma0=(0.3,))
    assert compared is None
    assert seen == [0]


@pytest.mark.parametrize(("budget", "draws"), [(1000, 3), (70, 3), (40, 3), (24, 1)])
def test_the_budget_holds_for_search_and_comparison(data, clock, budget, draws, tiny, grid):
    """A second of warm-up, three a setting: what does not fit is left out, what is cut is said."""

    def tick(done, total, text):
        clock[0] += 1

    tuning, compared = tune_and_compare(
        drawing(data), tiny, draws=3, budget=budget, report=tick, **grid
    )
    assert clock[0] <= budget
    assert tuning.cut == (budget < 70)
    assert len(compared.seeds) == draws
    assert ("were wanted" in str(compared)) == (draws < 3)


def test_a_fresh_draw_that_the_budget_cannot_hold_is_left_out(data, clock, tiny):
    def tick(done, total, text):
        clock[0] += 1

    _, compared = tune_and_compare(
        drawing(data), tiny, draws=3, budget=14, report=tick, xi=(0.1, 0.5), gamma0=(0.3,)
    )
    assert compared is None
    assert clock[0] <= 14
    assert "no time left" in compare.NOT_COMPARED
