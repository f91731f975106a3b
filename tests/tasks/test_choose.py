import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from brgcl.tasks.choose import (
    clearly_better,
    folds_of_few,
    most_cautious,
    most_right,
    one_error_better,
    right_nodes,
    shares,
    stratified_folds,
)

RATES = {"centroid": 0.5, "logistic": 0.6, "logistic+": 0.7, "mlp": 0.75}


def hits(*counts):
    """Which of the nodes are right: `counts` alternate between right and wrong nodes in a row."""
    flags = [i % 2 == 0 for i in range(len(counts))]
    return torch.tensor(flags).repeat_interleave(torch.tensor(counts))


@pytest.mark.parametrize(
    ("gained", "lost", "moves"),
    [(0, 0, False), (1, 0, False), (3, 0, False), (4, 0, True), (6, 1, False), (7, 1, True)],
)
def test_two_standard_errors_are_needed_to_leave_the_cautious_rule(gained, lost, moves):
    centroid = hits(100 + lost, gained)
    logistic = torch.cat([hits(100), ~hits(lost), hits(gained)])
    assert most_cautious({"centroid": centroid, "logistic": logistic}) == (
        "logistic" if moves else "centroid"
    )


def test_a_choice_by_counts_compares_with_the_rule_taken_so_far():
    steps = {"centroid": hits(100, 20), "logistic": hits(110, 10), "mlp": hits(113, 7)}
    assert most_cautious(steps) == "logistic"  # mlp is clearly better than the centroid only
    assert most_cautious({name: steps[name] for name in ("centroid", "mlp")}) == "mlp"


@pytest.mark.parametrize("seed", range(20))
def test_a_choice_by_counts_is_that_of_mcnemars_statistic(seed):
    rng = np.random.default_rng(seed)
    right = {name: torch.from_numpy(rng.random(60) < rate) for name, rate in RATES.items()}
    taken = "centroid"
    for name in list(RATES)[1:]:
        d = right[name].double() - right[taken].double()
        if d.sum() > 0 and float(d.sum() / d.square().sum().sqrt()) >= 2 - 1e-12:
            taken = name
    assert most_cautious(right) == taken


def test_observed_errors_are_those_of_the_paired_difference_in_whole_numbers():
    def masks(wins, losses, both):
        challenger = torch.tensor([True] * wins + [False] * losses + [True] * both)
        return challenger, torch.tensor([False] * wins + [True] * losses + [True] * both)

    for wins, losses, both in ((0, 0, 50), (3, 0, 50), (5, 0, 50), (0, 5, 50)):
        assert clearly_better(*masks(wins, losses, both), errors="observed") == (wins == 5)
    for wins, losses in ((20, 10), (22, 9), (12, 4), (12, 5)):
        challenger, incumbent = masks(wins, losses, 70)
        difference = (challenger.double() - incumbent.double()).numpy()
        error = difference.std() / math.sqrt(len(difference))
        found = clearly_better(challenger, incumbent, errors="observed")
        assert found == bool(difference.mean() >= 2 * error)
    assert clearly_better(*masks(3, 0, 0), errors="observed")  # no spread at all
    assert not clearly_better(*masks(3, 0, 0))


def tied_classifiers(labels, seed=0):
    """Probabilities of two classifiers, each right on its own 373 of 500 nodes.

    On one more node the second classifier gives the true class and another one nearly the same
    probability.
    """
    rng = torch.Generator().manual_seed(seed)
    found = {}
    for name in ("centroid", "logistic"):
        wrong = torch.randperm(500, generator=rng)[:127]
        predicted = labels.clone()
        predicted[wrong] = (labels[wrong] + 1) % 7
        found[name] = (4.0 * F.one_hot(predicted, 7)).softmax(1)
    close = wrong[0]
    found["logistic"][close] = 0.1
    found["logistic"][close, labels[close]] = 0.25 - 2e-7
    found["logistic"][close, (labels[close] + 1) % 7] = 0.25
    return found


def test_a_tie_keeps_the_cautious_rule_on_every_processor():
    """Audit 7: 373 of 500 for both, and what another processor rounds differently."""
    labels = torch.arange(500) % 7
    counts = set()
    for seed in range(30):
        found = tied_classifiers(labels)
        rng = torch.Generator().manual_seed(seed)
        for proba in found.values():
            proba += 1e-6 * (2 * torch.rand(proba.shape, generator=rng) - 1)
        right = right_nodes(found, labels)
        counts.add((int(right["centroid"].sum()), int(right["logistic"].sum())))
        assert most_cautious(right) == "centroid"
    assert counts == {(373, 373), (373, 374)}  # the highest count alone would choose both


def test_right_nodes_are_counted_where_there_is_a_label():
    proba = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]])
    right = right_nodes({"a": proba, "b": proba.flip(1)}, torch.tensor([0, 0, -1, 1]))
    assert right["a"].tolist() == [True, False, True]
    assert shares(right) == {"a": 2 / 3, "b": 1 / 3}


def test_the_most_right_may_lead_by_one_node_and_ties_go_to_the_first():
    assert most_right({"a": hits(5, 5), "b": hits(6, 4), "c": hits(6, 4)}) == "b"


@pytest.mark.parametrize("seed", range(10))
def test_one_error_better_against_numpy(seed):
    rng = np.random.default_rng(seed)
    right = {name: rng.random(60) < rate for name, rate in RATES.items()}
    gain = []
    for flags in right.values():
        difference = flags.astype(float) - right["centroid"]
        gain.append(difference.mean() - difference.std(ddof=1) / 60**0.5)
    found = one_error_better({name: torch.from_numpy(flags) for name, flags in right.items()})
    assert found == list(RATES)[int(np.argmax(gain))]


def test_folds_are_stratified_and_disjoint():
    y = torch.tensor([0] * 10 + [1] * 20 + [-1] * 5)
    folds = stratified_folds(y, seed=0)
    assert [torch.bincount(y[fold]).tolist() for fold in folds] == [[2, 4]] * 5
    assert torch.cat(folds).sort().values.tolist() == list(range(30))
    again, other = stratified_folds(y, seed=0), stratified_folds(y, seed=1)
    assert all(torch.equal(a, b) for a, b in zip(folds, again, strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(folds, other, strict=True))


def test_a_class_with_fewer_labels_than_folds_has_no_strata():
    assert stratified_folds(torch.tensor([0] * 5 + [1] * 4), seed=0) is None
    assert len(stratified_folds(torch.tensor([0] * 5 + [1] * 5), seed=0)) == 5


def test_few_labels_are_left_out_one_by_one():
    folds = folds_of_few(torch.tensor([-1, 1, 0, 1, -1, 0]))
    assert [fold.tolist() for fold in folds] == [[2], [5], [1], [3]]


def test_of_many_labels_no_fold_holds_all_of_a_class():
    y = torch.tensor([0] * 299 + [1] * 2)
    folds = folds_of_few(y)
    assert len(folds) == 5
    assert torch.cat(folds).sort().values.tolist() == list(range(301))
    assert max(int((y[fold] == 1).sum()) for fold in folds) == 1


def test_the_margin_is_in_standard_errors():
    challenger = torch.arange(20) < 13  # a lead of 6 with a standard error of 4.5
    incumbent = ~challenger
    assert clearly_better(challenger, incumbent, margin=1)
    assert not clearly_better(challenger, incumbent)
    right = {"attributes": incumbent, "bayes": challenger}
    assert (most_cautious(right, margin=1), most_cautious(right)) == ("bayes", "attributes")
