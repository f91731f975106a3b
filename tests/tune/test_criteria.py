"""What a setting is scored by where nobody knows the truth."""

import numpy as np
import pytest
import torch

from brgcl.method.inputs import prepare
from brgcl.method.train import begin_training
from brgcl.tune.criteria import Score, agreement, is_trivial, stability


def test_every_label_is_held_out_once(data, labels, tiny):
    graph = prepare(data)
    encoder = begin_training(graph, tiny, torch.Generator().manual_seed(0)).encoder
    score = agreement(encoder, graph, labels, seed=0)
    assert len(score.values) == int((labels >= 0).sum())
    assert set(score.values) <= {0.0, 1.0}
    assert score.error == pytest.approx(np.std(score.values, ddof=1) / len(score.values) ** 0.5)


def test_the_gain_is_paired():
    """Where only one label differs, the error of the gain is far below that of the scores."""
    many, more = Score((1.0, 0.0) * 50), Score((1.0, 1.0) + (1.0, 0.0) * 49)
    gain, error = more.gain_over(many)
    assert gain == pytest.approx(0.01)
    assert error < 0.25 * many.error


@pytest.mark.parametrize(
    ("sizes", "trivial"),
    [([50], True), ([46, 4], True), ([45, 5], False), ([25, 25], False), ([1] * 50, True)],
)
def test_a_partition_that_says_nothing_is_recognised(sizes, trivial):
    assignment = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    assert is_trivial(assignment) is trivial


def test_a_constant_partition_is_not_called_stable(data, tiny):
    graph = prepare(data)
    encoder = begin_training(graph, tiny, torch.Generator().manual_seed(0)).encoder
    assert stability(encoder, graph, tiny.replace(xi=1000.0), seed=0).values == (0.0,) * 5
    assert any(stability(encoder, graph, tiny.replace(xi=0.3), seed=0).values)
