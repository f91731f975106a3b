import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.linear_model import LogisticRegression
from torch_geometric.data import Data

import brgcl.tasks.classify
from brgcl.errors import InputError, NotFitted
from brgcl.method.graph import adjacency_from_edges
from brgcl.tasks.classify import (
    NodeClassifier,
    clearly_better,
    out_of_fold_probabilities,
    right_nodes,
    soft_targets,
)
from brgcl.tasks.rules import CANDIDATES

RULES = ("centroid", "logistic", "mlp", "probe")


def path_graph(num_nodes: int) -> Data:
    ends = torch.arange(num_nodes - 1)
    edges = torch.cat([torch.stack([ends, ends + 1]), torch.stack([ends + 1, ends])], dim=1)
    return Data(x=torch.ones(num_nodes, 1), edge_index=edges)


def blobs(per_class=12, num_classes=3, spread=0.1, seed=0):
    """Classes around the axes, with `per_class` nodes each."""
    rng = torch.Generator().manual_seed(seed)
    y = torch.arange(num_classes).repeat_interleave(per_class)
    return torch.eye(num_classes)[y] + spread * torch.randn(len(y), num_classes, generator=rng), y


def crosses(per_arm=15, seed=0):
    """Class 0 on both ends of one axis, class 1 on those of the other: not linearly separable."""
    rng = torch.Generator().manual_seed(seed)
    arms = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    arm = torch.arange(4).repeat(per_arm)
    return arms[arm] + 0.1 * torch.randn(len(arm), 2, generator=rng), arm // 2


def parts(y):
    """Labels of every third node, from the first, second or third on, -1 elsewhere."""
    place = torch.arange(len(y)) % 3
    return [torch.where(place == i, y, -1) for i in range(3)]


def quick(rule="auto", **settings) -> NodeClassifier:
    return NodeClassifier(rule, **({"epochs": 40, "hidden": 16} | settings))


# The rules


@pytest.mark.parametrize("rule", [*RULES, "auto", "best"])
def test_separable_classes_are_told_apart(rule):
    z, y = blobs()
    train, _, _ = parts(y)
    classifier = quick(rule).fit(z, train)
    assert torch.equal(classifier.predict(z), y)
    assert classifier.num_classes_ == 3


@pytest.mark.parametrize("rule", RULES)
def test_a_named_rule_is_taken_without_choosing(rule):
    z, y = blobs()
    classifier = quick(rule).fit(z, y)
    assert (classifier.rule_, classifier.scores_) == (rule, {})


@pytest.mark.parametrize("rule", [*RULES, "auto", "best"])
def test_probabilities_are_distributions(rule):
    z, y = blobs(spread=0.8)
    proba = quick(rule).fit(z, y).predict_proba(z)
    assert proba.shape == (36, 3)
    assert float(proba.min()) >= 0
    assert torch.allclose(proba.sum(1), torch.ones(36), atol=1e-5)
    assert torch.equal(quick(rule).fit(z, y).predict(z), proba.argmax(1))


def test_centroid_by_hand():
    z = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 2.0], [3.0, 3.0], [0.0, 5.0]])
    labels = torch.tensor([0, 0, 1, 1, -1])
    # unit rows, then unit means: class 0 at 45 degrees, class 1 at 67.5 degrees
    angles = torch.tensor([[45.0, 67.5], [45, 22.5], [45, 22.5], [0, 22.5], [45, 22.5]])
    expected = (angles.deg2rad().cos() / 0.1).softmax(1)
    found = NodeClassifier("centroid").fit(z, labels).predict_proba(z)
    assert torch.allclose(found, expected, atol=1e-5)


def test_the_length_of_representations_does_not_matter():
    z, y = blobs()
    longer = z * torch.linspace(0.5, 20, len(z))[:, None]
    for rule in RULES:
        one, other = (quick(rule).fit(rows, y).predict_proba(rows) for rows in (z, longer))
        assert torch.allclose(one, other, atol=1e-4), rule


def test_centroid_averages_wrong_labels_away():
    z, y = blobs(per_class=20)
    noisy = y.clone()
    noisy[::3] = (y[::3] + 1) % 3
    assert torch.equal(NodeClassifier("centroid").fit(z, noisy).predict(z), y)


@pytest.mark.parametrize("soft_labels", ["normalize", "softmax", "hard"])
@pytest.mark.parametrize("rule", [*RULES, "auto", "best"])
def test_a_class_without_labels_is_never_predicted(rule, soft_labels):
    z, y = blobs(num_classes=4)
    labels = torch.where((y == 1) | (torch.arange(len(y)) % 2 == 1), -1, y)
    classifier = quick(rule, soft_labels=soft_labels).fit(z, labels, graph=path_graph(len(z)))
    everywhere = torch.randn(500, 4, generator=torch.Generator().manual_seed(1))
    assert classifier.num_classes_ == 4
    assert set(classifier.predict(everywhere).tolist()) == {0, 2, 3}
    assert float(classifier.predict_proba(everywhere)[:, 1].max()) < 0.25


@pytest.mark.parametrize("rule", [*RULES, "auto", "best"])
def test_the_same_input_gives_the_same_bits(rule):
    z, y = blobs(spread=0.6)
    train, _, _ = parts(y)
    graph = path_graph(len(z))
    one, two = (quick(rule).fit(z, train, graph=graph).predict_proba(z) for _ in range(2))
    assert torch.equal(one, two)


@pytest.mark.parametrize("rule", [*RULES, "auto", "best"])
def test_input_is_left_as_it_was(rule):
    z, y = blobs()
    train, validation, _ = parts(y)
    graph = path_graph(len(z))
    before = [t.clone() for t in (z, train, validation, graph.edge_index)]
    quick(rule).fit(z, train, graph=graph, validation=validation).predict(z)
    after = (z, train, validation, graph.edge_index)
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


def test_the_seed_is_that_of_the_perceptron():
    z, y = blobs(spread=0.6)
    one, two = (quick("mlp", seed=seed).fit(z, y).predict_proba(z) for seed in (0, 1))
    assert not torch.equal(one, two)


# The linear probe


def uneven(seed=0):
    """Two classes of 3 to 1 in ten dimensions, a fifth of the first third's labels wrong."""
    rng = torch.Generator().manual_seed(seed)
    y = (torch.arange(120) % 4 == 0).long()
    z = torch.randn(120, 10, generator=rng)
    z[:, 0] += 3.0 * y
    train, validation, _ = parts(y)
    wrong = torch.arange(120) % 15 == 0
    return z, torch.where(wrong & (train >= 0), 1 - y, train), validation


def test_the_probe_takes_the_penalty_that_validation_labels_like_best():
    z, train, validation = uneven()
    unit = F.normalize(z, dim=1).numpy()
    scores, found = [], []
    for power in range(10, -11, -1):
        model = LogisticRegression(C=2.0**-power, max_iter=500)
        model.fit(unit[train >= 0], train[train >= 0])
        found.append(torch.from_numpy(model.predict_proba(unit)).float())
        scores.append(float((found[-1].argmax(1) == validation)[validation >= 0].float().mean()))
    best = scores.index(max(scores))  # of equals the strongest penalty
    assert scores[0] < max(scores) > scores[-1]  # neither end of the range
    assert scores.count(max(scores)) > 1
    classifier = quick("probe").fit(z, train, validation=validation)
    assert torch.allclose(classifier.predict_proba(z), found[best], atol=1e-5)
    assert (classifier.rule_, classifier.scores_) == ("probe", {})


def test_without_validation_labels_the_probe_has_a_penalty_of_one():
    z, train, _ = uneven()
    one, other = (quick(rule).fit(z, train).predict_proba(z) for rule in ("probe", "logistic"))
    assert torch.equal(one, other)


# Soft labels

LABELS = torch.tensor([0, -1, 1, -1, -1, 1])
# one update with alpha 0.1 on the path 0-1-2-3-4-5: 0.9 * mean over neighbours and self + 0.1 * own
SPREAD = torch.tensor(
    [
        [0.9 / 2 + 0.1, 0],
        [0.9 / 3, 0.9 / 3],
        [0, 0.9 / 3 + 0.1],
        [0, 0.9 / 3],
        [0, 0.9 / 3],
        [0, 0.9 / 2 + 0.1],
    ]
)


def path_transition():
    return adjacency_from_edges(path_graph(6).edge_index, 6).transition


def test_hard_targets_are_the_labels():
    found = soft_targets(LABELS, 2, path_transition(), "hard", 0.1, 2)
    expected = torch.tensor([[1.0, 0], [0, 0], [0, 1], [0, 0], [0, 0], [0, 1]])
    assert torch.equal(found, expected)
    assert torch.equal(soft_targets(LABELS, 2, None, "normalize", 0.1, 2), expected)


def test_normalized_targets_by_hand():
    found = soft_targets(LABELS, 2, path_transition(), "normalize", 0.1, 2)
    expected = torch.tensor([[1.0, 0], [0.5, 0.5], [0, 1], [0, 1], [0, 1], [0, 1]])
    assert torch.allclose(found, expected)


def test_softmax_targets_by_hand_are_nearly_flat():
    found = soft_targets(LABELS, 2, path_transition(), "softmax", 0.1, 2)
    assert torch.allclose(found, SPREAD.softmax(1))
    assert found[0].tolist() == pytest.approx([0.6341, 0.3659], abs=1e-4)
    many = soft_targets(LABELS, 7, path_transition(), "softmax", 0.1, 10)
    assert float(many.max()) < 0.25  # of seven classes; hard labels have 1
    assert float(many.min()) > 0.1


@pytest.mark.parametrize("mode", ["normalize", "softmax"])
def test_ten_steps_against_a_dense_reference(mode):
    T = np.zeros((6, 6))
    for i in range(6):
        near = [j for j in (i - 1, i, i + 1) if 0 <= j < 6]
        T[i, near] = 1 / len(near)
    start = np.zeros((6, 2))
    start[[0, 2, 5], [0, 1, 1]] = 1
    soft = start.copy()
    for _ in range(9):
        soft = 0.8 * T @ soft + 0.2 * start
    if mode == "softmax":
        soft = np.exp(soft)
    expected = soft / soft.sum(1, keepdims=True)
    found = soft_targets(LABELS, 2, path_transition(), mode, 0.2, 10)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-6)


def test_nodes_that_no_label_reaches_keep_a_row_of_zeros():
    apart = adjacency_from_edges(torch.empty(2, 0, dtype=torch.long), 3).transition
    found = soft_targets(torch.tensor([0, 1, -1]), 2, apart, "normalize", 0.1, 10)
    assert found.tolist() == [[1, 0], [0, 1], [0, 0]]


def test_only_the_perceptron_reads_soft_labels():
    z, y = blobs(spread=0.6)
    noisy = y.clone()
    noisy[::4] = (y[::4] + 1) % 3
    graph = path_graph(len(z))
    for rule in RULES:
        hard, soft = (
            quick(rule, soft_labels=mode).fit(z, noisy, graph=graph).predict_proba(z)
            for mode in ("hard", "normalize")
        )
        assert torch.equal(hard, soft) == (rule != "mlp")


# Validation labels choose, and do nothing else


@pytest.mark.parametrize("rule", ["centroid", "logistic"])
def test_validation_labels_do_not_touch_a_rule_without_epochs(rule):
    z, y = blobs(spread=0.6)
    train, validation, _ = parts(y)
    wrong = torch.where(validation >= 0, (validation + 1) % 3, -1)
    found = [
        quick(rule).fit(z, train, validation=given).predict_proba(z)
        for given in (None, validation, wrong)
    ]
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


def test_validation_labels_do_not_touch_the_steps_of_the_perceptron():
    z, y = blobs(spread=0.6)
    train, validation, _ = parts(y)
    wrong = torch.where(validation >= 0, (validation + 1) % 3, -1)
    found = [
        quick("mlp", epochs=1).fit(z, train, validation=given).predict_proba(z)
        for given in (None, validation, wrong)
    ]
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


def test_the_perceptron_keeps_the_epoch_that_validation_labels_like_best():
    z, y = blobs(spread=0.8, per_class=20)
    train, validation, _ = parts(y)
    known = validation >= 0
    stages = [quick("mlp", epochs=e).fit(z, train).predict_proba(z) for e in range(1, 41)]
    scores = [float((p.argmax(1) == y)[known].float().mean()) for p in stages]
    best = scores.index(max(scores))
    assert 0 < best < 39  # else the test would show nothing
    found = quick("mlp").fit(z, train, validation=validation).predict_proba(z)
    assert torch.equal(found, stages[best])


def test_without_validation_labels_the_perceptron_keeps_the_last_epoch():
    z, y = blobs(spread=0.8)
    train, _, _ = parts(y)
    nothing = torch.full_like(y, -1)
    one, two = (
        quick("mlp").fit(z, train, validation=given).predict_proba(z) for given in (None, nothing)
    )
    assert torch.equal(one, two)


@pytest.mark.parametrize("choice", ["auto", "best"])
def test_a_clearly_better_rule_is_chosen_by_validation_labels(choice):
    z, y = crosses()
    train, validation, test = parts(y)
    classifier = quick(choice).fit(z, train, validation=validation)
    assert tuple(classifier.scores_) == CANDIDATES
    seen = validation if choice == "best" else None  # may it choose an epoch too?
    for rule in classifier.scores_:
        alone = quick(rule).fit(z, train, validation=seen).predict(z)
        agreement = (alone == validation)[validation >= 0].float().mean()
        assert classifier.scores_[rule] == pytest.approx(float(agreement))
    assert classifier.rule_ == "mlp"  # no straight line parts a cross
    alone = quick("mlp").fit(z, train, validation=seen)
    assert torch.equal(classifier.predict_proba(z), alone.predict_proba(z))
    assert float((classifier.predict(z) == test)[test >= 0].float().mean()) > 0.9


def test_other_validation_labels_can_choose_another_rule():
    z, y = crosses()
    train, validation, _ = parts(y)
    centroid = quick("centroid").fit(z, train).predict(z)
    liked = torch.where(validation >= 0, centroid, -1)
    assert quick().fit(z, train, validation=liked).rule_ == "centroid"
    assert quick().fit(z, train, validation=validation).rule_ == "mlp"


@pytest.mark.parametrize("choice", ["auto", "best"])
def test_of_equal_rules_the_most_cautious_is_taken(choice):
    z, y = blobs()
    train, validation, _ = parts(y)
    for given in (None, validation):
        classifier = quick(choice).fit(z, y if given is None else train, validation=given)
        assert set(classifier.scores_.values()) == {1.0}
        assert classifier.rule_ == "centroid"


@pytest.mark.parametrize("choice", ["auto", "best"])
def test_without_validation_labels_the_rule_is_chosen_by_cross_validation(choice):
    z, y = crosses()
    classifier = quick(choice).fit(z, y)
    assert classifier.rule_ == "mlp"
    assert classifier.scores_["mlp"] > classifier.scores_["centroid"]
    assert torch.equal(
        classifier.predict_proba(z), quick("mlp").fit(z, y).predict_proba(z)
    )  # the choice made, all labels are used


def test_with_fewer_than_five_labels_in_a_class_the_rule_is_fixed():
    z, y = blobs()
    labels = y.clone()
    labels[4:12] = -1  # class 0 keeps four
    classifier = quick().fit(z, labels)
    assert (classifier.rule_, classifier.scores_) == ("centroid", {})
    labels[4] = 0
    assert len(quick().fit(z, labels).scores_) == 4


# A choice that does not hang on rounding


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
    assert clearly_better({"centroid": centroid, "logistic": logistic}) == (
        "logistic" if moves else "centroid"
    )


def test_a_choice_by_counts_compares_with_the_rule_taken_so_far():
    steps = {"centroid": hits(100, 20), "logistic": hits(110, 10), "mlp": hits(113, 7)}
    assert clearly_better(steps) == "logistic"  # mlp is clearly better than the centroid only
    assert clearly_better({name: steps[name] for name in ("centroid", "mlp")}) == "mlp"


@pytest.mark.parametrize("seed", range(20))
def test_a_choice_by_counts_is_that_of_mcnemars_statistic(seed):
    rng = np.random.default_rng(seed)
    right = {name: torch.from_numpy(rng.random(60) < rate) for name, rate in RATES.items()}
    taken = "centroid"
    for name in list(RATES)[1:]:
        d = right[name].double() - right[taken].double()
        if d.sum() > 0 and float(d.sum() / d.square().sum().sqrt()) >= 2 - 1e-12:
            taken = name
    assert clearly_better(right) == taken


RATES = {"centroid": 0.5, "logistic": 0.6, "logistic+": 0.7, "mlp": 0.75}


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
        assert clearly_better(right) == "centroid"
    assert counts == {(373, 373), (373, 374)}  # the highest count alone would choose both


# Out of fold


def fixed_folds(monkeypatch, labels):
    nodes = (labels >= 0).nonzero().squeeze(1)
    folds = [nodes[i::5] for i in range(5)]
    monkeypatch.setattr(brgcl.tasks.classify, "stratified_folds", lambda labels, seed: folds)


@pytest.mark.parametrize("rule", RULES)
def test_a_nodes_own_label_does_not_reach_its_out_of_fold_prediction(rule, monkeypatch):
    z, y = blobs(spread=0.8)
    graph = path_graph(len(z))
    fixed_folds(monkeypatch, y)
    honest, name = out_of_fold_probabilities(z, y, graph=graph, rule=rule)
    assert name == rule
    for node in (0, 17, 34):
        flipped = y.clone()
        flipped[node] = (y[node] + 1) % 3
        found, _ = out_of_fold_probabilities(z, flipped, graph=graph, rule=rule)
        assert torch.equal(found[node], honest[node])
        other = node + 1  # in another fold, so there the label was seen
        assert not torch.equal(found[other], honest[other])


@pytest.mark.parametrize("rule", RULES)
def test_the_same_holds_where_each_node_is_left_out_alone(rule):
    z, y = blobs(spread=0.8, per_class=4)  # too few per class for five folds
    honest, _ = out_of_fold_probabilities(z, y, rule=rule)
    flipped = y.clone()
    flipped[0] = 1
    found, _ = out_of_fold_probabilities(z, flipped, rule=rule)
    assert torch.equal(found[0], honest[0])
    assert not torch.equal(found[5], honest[5])


def test_out_of_fold_predictions_cover_the_labelled_nodes_and_no_others():
    z, y = blobs()
    train, _, _ = parts(y)
    proba, _ = out_of_fold_probabilities(z, torch.where(y == 0, y, train), rule="centroid")
    unlabelled = (y != 0) & (train < 0)
    assert torch.equal(proba.sum(1) == 0, unlabelled)
    assert torch.equal(proba.argmax(1)[~unlabelled], y[~unlabelled])


def test_auto_out_of_fold_takes_the_best_rule():
    z, y = crosses()
    proba, name = out_of_fold_probabilities(z, y)
    assert name == "mlp"
    assert float((proba.argmax(1) == y).float().mean()) > 0.9


@pytest.mark.parametrize("rule", ["auto", "logistic"])
def test_a_rare_class_never_vanishes_from_what_is_learned(rule):
    # 300 labels are too many to leave each out alone, and class 1 has too few for strata
    z = torch.cat([blobs(150, 2, seed=0)[0][:, [0, 0, 1]], torch.eye(3)[[2, 2, 2]] * -1])
    y = torch.tensor([0] * 300 + [1] * 3)
    proba, _ = out_of_fold_probabilities(z, y, rule=rule)
    assert float(proba[300:, 1].min()) > 0


# Wrong input

WRONG_LABELS = [
    (torch.zeros(5, dtype=torch.long), "labels have 5 entries but the graph has 6 nodes"),
    (torch.full((6,), -1), "no node has a label"),
    (torch.tensor([0, 0, 0, 0, 0, -1]), "all labels are the same"),
    (torch.tensor([0, 0, 0, 0, 0, 1]), "class 1 has a single label"),
    (torch.tensor([0, 0, 0, 1, 1, -2]), "labels must be -1 or more, got -2"),
    (torch.tensor([0.0, 0, 0, 1, 1, 1]), "labels must be integers, got torch.float32"),
    (torch.tensor([True, False] * 3), "labels must be integers, got torch.bool"),
    (["red", "blue"] * 3, "labels must be integers; number the classes"),
]


@pytest.mark.parametrize(("labels", "message"), WRONG_LABELS, ids=[m for _, m in WRONG_LABELS])
def test_wrong_labels_are_refused(labels, message):
    z = torch.eye(6)
    for call in (
        lambda: NodeClassifier().fit(z, labels),
        lambda: out_of_fold_probabilities(z, labels),
    ):
        with pytest.raises(InputError, match=message):
            call()


def test_labels_may_be_a_list_or_an_array():
    z, y = blobs()
    expected = NodeClassifier("centroid").fit(z, y).predict_proba(z)
    for given in (y.tolist(), y.numpy(), y.to(torch.int16)):
        found = NodeClassifier("centroid").fit(z.numpy(), given).predict_proba(z.numpy())
        assert torch.equal(found, expected)


def test_wrong_representations_are_refused():
    labels = torch.tensor([0, 0, 1, 1])
    bad = F.pad(torch.eye(4), (0, 1))
    bad[2, 1] = float("inf")
    for z, message in (
        (torch.ones(4), r"z must have shape \(N, D\)"),
        (torch.ones(0, 3), r"z must have shape \(N, D\) with N > 0"),
        (bad, "z has a value that is not finite in row 2"),
    ):
        with pytest.raises(InputError, match=message):
            NodeClassifier().fit(z, labels)


def test_a_graph_or_validation_labels_of_another_size_are_refused():
    z, y = blobs()
    with pytest.raises(InputError, match="the graph has 6 nodes but z has 36 rows"):
        NodeClassifier().fit(z, y, graph=path_graph(6))
    with pytest.raises(InputError, match="validation has 5 entries but z has 36 rows"):
        NodeClassifier().fit(z, y, validation=y[:5])


def test_an_unknown_rule_or_soft_label_suggests_the_nearest():
    with pytest.raises(InputError, match=r"unknown rule 'logistics'; did you mean 'logistic'\?"):
        NodeClassifier("logistics")
    with pytest.raises(InputError, match="unknown soft_labels 'normalise'; did you mean 'normal"):
        NodeClassifier(soft_labels="normalise")


def test_predict_wants_a_fit_and_the_same_columns():
    z, y = blobs()
    with pytest.raises(NotFitted, match=r"call fit\(z, labels\) first"):
        NodeClassifier().predict(z)
    classifier = NodeClassifier("centroid").fit(z, y)
    with pytest.raises(InputError, match="z has 2 columns but fit was given 3"):
        classifier.predict(z[:, :2])
