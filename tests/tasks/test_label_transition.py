import pytest
import torch

from brgcl.tasks.label_noise import noise_matrix
from brgcl.tasks.label_transition import (
    anchored_transition,
    evened,
    evenness,
    mostly_right,
    transition_prior,
    unexplained_errors,
    with_rates,
)


def test_the_own_label_is_the_most_frequent():
    raised = mostly_right(torch.tensor([[0.1, 0.9], [0.3, 0.7]]))
    assert torch.allclose(raised, torch.tensor([[0.5, 0.5], [0.3, 0.7]]))


def test_evenness_tells_pair_noise_from_symmetric_noise():
    pair = 0.8 * torch.eye(5) + 0.2 * torch.eye(5).roll(1, 1)
    assert evenness(3000 * pair) < 4
    assert evenness(3000 * noise_matrix(0.2, 5)) > 100


def test_the_prior_grows_with_the_labels_of_a_class():
    assert transition_prior(140, 7) == 7
    assert transition_prior(14000, 7) == 106


def test_an_even_spread_changes_no_error_rate():
    counts = torch.tensor([[80.0, 15, 5], [0, 90, 10], [3, 3, 94]])
    T = counts / counts.sum(1, keepdim=True)
    some, most = evened(T, counts, 20.0), evened(T, counts, 1e6)
    for spread in (some, most):
        assert torch.allclose(spread.diagonal(), T.diagonal())
        assert torch.allclose(spread.sum(1), torch.ones(3))
    assert float(some[0, 1]) == pytest.approx(0.2 * 25 / 40)
    assert float(most[0, 1]) == pytest.approx(0.1, abs=1e-4)
    raised = with_rates(T, torch.tensor([0.4, 0.1, 0.0]))
    assert raised[0].tolist() == pytest.approx([0.6, 0.3, 0.1])
    assert raised[2].tolist() == pytest.approx([0, 0, 1])


def test_errors_that_the_transition_matrix_does_not_explain_are_counted():
    sure = torch.linspace(0.6, 0.9, 1050)
    p = torch.stack([torch.cat([sure, 1 - sure]), torch.cat([1 - sure, sure])], 1)
    given = torch.tensor([0, 0, 1] * 350 + [1] * 1050)  # a third of the first class is wrong
    assert unexplained_errors(p, torch.eye(2), given) == pytest.approx(1 / 6, abs=0.02)
    explained = torch.tensor([[2 / 3, 1 / 3], [0.0, 1.0]])
    assert unexplained_errors(p, explained, given) == pytest.approx(0, abs=0.02)
    assert unexplained_errors(p[::4], torch.eye(2), given[::4]) == 0  # too few labels to tell


def test_labels_of_clearest_class_show_how_they_are_confused():
    p = torch.full((1200, 2), 0.5)
    p[:600, 0], p[600:, 0] = 0.9, 0.1
    p[:, 1] = 1 - p[:, 0]
    given = torch.tensor([0, 0, 0, 1] * 150 + [1] * 600)
    assert torch.allclose(anchored_transition(p, given)[1], torch.tensor([0.0, 1.0]))
    assert anchored_transition(p, given)[0].sum() == pytest.approx(1)
