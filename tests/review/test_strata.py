import numpy as np
import pytest

from brgcl.review.strata import flagged_strata, other_strata


@pytest.mark.parametrize("cut", [-1.0, 0.02, 0.3, 2.0])
def test_every_node_is_in_one_group_of_similar_scores(cut):
    score = np.random.default_rng(0).random(500)
    flagged = score < cut
    groups = [*flagged_strata(score, flagged), *other_strata(score, flagged)]
    assert sorted(np.concatenate(groups)) == list(range(500))
    tops, bottoms = [score[g].max() for g in groups], [score[g].min() for g in groups]
    assert all(top <= bottom for top, bottom in zip(tops, bottoms[1:], strict=False))
    assert flagged_strata(score, flagged) != [] or not flagged.any()


def test_groups_of_flagged_nodes_have_equal_sizes():
    score = np.random.default_rng(0).random(103)
    assert [len(g) for g in flagged_strata(score, score < 2)] == [21, 21, 21, 20, 20]
    assert [len(g) for g in flagged_strata(score[:30], score[:30] < 2)] == [30]


def test_groups_of_others_have_equal_spread():
    score = np.random.default_rng(0).beta(20, 1, 5000)
    groups = other_strata(score, score < 0)
    spread = [np.sqrt(score[g] * (1 - score[g])).sum() for g in groups]
    assert len(groups) == 3
    assert np.allclose(spread, np.mean(spread), rtol=0.02)
    assert len(groups[0]) < len(groups[1]) < len(groups[2])


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_scores_that_are_all_alike_make_groups_of_equal_size(value):
    sizes = [len(g) for g in other_strata(np.full(90, value), np.zeros(90, dtype=bool))]
    assert sum(sizes) == 90
    assert max(sizes) - min(sizes) <= 2


def test_no_node_makes_no_group():
    none = np.zeros(0)
    assert flagged_strata(none, none > 0) == other_strata(none, none > 0) == []
