import pytest
import torch

from brgcl.detectors.votes import judge_by_votes

LABELS = torch.tensor([0, 0, 0, 1, -1])  # shares 3/4 and 1/4


def test_scores_are_smoothed_shares():
    votes = torch.tensor([[0.0, 3], [2, 1], [0, 0], [1, 1]])
    found = judge_by_votes(votes, LABELS)
    assert found.nodes.tolist() == [0, 1, 2, 3]
    assert found.score.tolist() == pytest.approx([0.75 / 4, 2.75 / 4, 0.75, 1.25 / 3])
    assert found.is_error.tolist() == [True, False, False, False]
    assert found.suggested.tolist() == [1, 0, 0, 1]


def test_more_votes_say_more():
    few, many = (judge_by_votes(torch.tensor([[0.0, n]] * 4), LABELS).score[0] for n in (1, 10))
    assert few > many
