import numpy as np
import pandas as pd
import pytest

from brgcl.review.queue import draw_unflagged, order_queue
from brgcl.review.strata import other_strata


def suspects(num_flagged, num_others):
    size = num_flagged + num_others
    flags = np.arange(size) < num_flagged
    score = np.where(flags, 0.1, np.linspace(0.6, 1, size))
    return pd.DataFrame({"node": [f"n{i}" for i in range(size)], "score": score, "is_error": flags})


@pytest.mark.parametrize("sizes", [(0, 0), (0, 3), (5, 0), (40, 200), (900, 600), (900, 20)])
def test_every_flagged_and_every_drawn_node_is_shown_once(sizes):
    frame = suspects(*sizes)
    drawn = draw_unflagged(frame)
    queue = order_queue(frame, drawn)
    assert sorted(queue) == sorted([*range(sizes[0]), *drawn])
    assert [place for place in queue if place < sizes[0]] == list(range(sizes[0]))
    assert [place for place in queue if place >= sizes[0]] == drawn.tolist()
    assert len(drawn) == min(sizes[1], max(50, -(-sizes[0] // 9)))


def test_every_tenth_node_is_a_random_one_while_there_are_suspects():
    frame = suspects(450, 1000)
    queue = order_queue(frame, draw_unflagged(frame))
    assert (queue[:500].reshape(50, 10) >= 450).sum(axis=1).tolist() == [1] * 50
    assert (queue[:500].reshape(50, 10)[:, 9] >= 450).all()


def test_the_draw_depends_on_nothing_but_ids():
    frame = suspects(10, 300)
    drawn = set(frame["node"][draw_unflagged(frame)])
    mixed = frame.sample(frac=1, random_state=0, ignore_index=True)
    assert set(mixed["node"][draw_unflagged(mixed)]) == drawn


def test_equally_many_are_drawn_from_each_stratum_and_at_random():
    frame = suspects(9000, 4000)
    drawn = draw_unflagged(frame)
    assert len(drawn) == 1000
    for group in other_strata(frame["score"].to_numpy(), frame["is_error"].to_numpy()):
        mine = drawn[np.isin(drawn, group)]
        assert len(mine) in (333, 334)
        low = (mine < np.median(group)).mean()
        assert 0.4 < low < 0.6  # half of them, but for chance
