import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.sparse import csr_matrix
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted
from torch_geometric.data import Data

import brgcl.tasks.choose
from brgcl.data import check_graph
from brgcl.errors import InputError, NotFitted
from brgcl.noise import flip_labels
from brgcl.tasks.classify import NodeClassifier, out_of_fold_probabilities
from brgcl.tasks.rules import AUTO_CANDIDATES, CANDIDATES

RULES = ("bayes-clusters", "centroid", "logistic", "mlp", "probe")


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
    assert classifier.classes_.tolist() == [0, 2, 3]
    assert set(classifier.predict(everywhere).tolist()) == {0, 2, 3}
    assert classifier.predict_proba(everywhere).shape == (500, 3)


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
    assert tuple(classifier.scores_) == (CANDIDATES if choice == "best" else AUTO_CANDIDATES)
    seen = validation if choice == "best" else None  # may it choose an epoch too?
    for rule in classifier.scores_:
        alone = quick(rule).fit(z, train, validation=seen).predict(z)
        agreement = (alone == validation)[validation >= 0].float().mean()
        assert classifier.scores_[rule] == pytest.approx(float(agreement))
    assert classifier.rule_ == "mlp"  # no straight line parts a cross
    alone = quick("mlp").fit(z, train, validation=seen)
    assert torch.equal(classifier.predict_proba(z), alone.predict_proba(z))
    assert float((classifier.predict(z) == test)[test >= 0].float().mean()) > 0.9


def test_validation_labels_rescue_a_draw_that_em_loses_from_the_labels():
    """Half of the few labels are another class's: classes change places, clusters do not."""
    rng = torch.Generator().manual_seed(13)
    y = torch.arange(4).repeat_interleave(100)[torch.randperm(400, generator=rng)]
    centres = F.normalize(torch.randn(4, 6, generator=rng), dim=1)
    z = centres[y] + 0.37 * torch.randn(400, 6, generator=rng)
    given = torch.Generator().manual_seed(13)
    wrong = flip_labels(y, "pair", 0.5, num_classes=4, generator=given).labels
    place = torch.randperm(400, generator=torch.Generator().manual_seed(13))
    labels, validation = torch.full_like(y, -1), torch.full_like(y, -1)
    few, others, test = place[:32], place[32:132], place[132:]
    labels[few], validation[others] = wrong[few], y[others]

    def right(rule, **chosen_by):
        found = quick(rule).fit(z, labels, **chosen_by)
        return float((found.predict(z) == y)[test].float().mean()), found.rule_

    assert right("bayes")[0] < right("bayes-clusters")[0] - 0.2  # else the test would show nothing
    assert right("auto", validation=validation) == right("bayes-clusters")
    assert right("auto") == right("bayes")


def test_other_validation_labels_can_choose_another_rule():
    z, y = crosses()
    train, validation, _ = parts(y)
    centroid = quick("bayes").fit(z, train).predict(z)
    liked = torch.where(validation >= 0, centroid, -1)
    assert quick().fit(z, train, validation=liked).rule_ == "bayes"
    assert quick().fit(z, train, validation=validation).rule_ == "mlp"


@pytest.mark.parametrize("choice", ["auto", "best"])
def test_of_equal_rules_the_most_cautious_is_taken(choice):
    z, y = blobs()
    train, validation, _ = parts(y)
    for given in (None, validation):
        classifier = quick(choice).fit(z, y if given is None else train, validation=given)
        assert set(classifier.scores_.values()) <= {1.0}
        assert classifier.rule_ == ("centroid" if choice == "best" else "bayes")


def test_without_validation_labels_auto_is_bayes():
    z, y = blobs()
    classifier = quick().fit(z, y)
    assert (classifier.rule_, classifier.scores_) == ("bayes", {})
    assert torch.equal(classifier.predict_proba(z), quick("bayes").fit(z, y).predict_proba(z))


def test_predictions_of_all_nodes_are_smoothed_over_the_graph_and_of_some_are_not():
    z, y = blobs(spread=0.8)
    same = (y[:, None] == y[None]).fill_diagonal_(False)
    graph = check_graph(Data(x=z, edge_index=same.nonzero().T, num_nodes=len(z)))
    labels = torch.where(torch.arange(len(z)) % 2 == 0, y, -1)
    plain, smoothed = quick("bayes").fit(z, labels), quick("bayes").fit(z, labels, graph=graph)
    gain = [float((c.predict(z) == y).float().mean()) for c in (plain, smoothed)]
    assert gain[1] > gain[0]
    assert not torch.equal(smoothed.predict_proba(z)[:5], smoothed.predict_proba(z[:5]))


def test_without_validation_labels_best_is_chosen_by_cross_validation():
    z, y = crosses()
    classifier = quick("best").fit(z, y)
    assert classifier.rule_ == "mlp"
    assert classifier.scores_["mlp"] > classifier.scores_["centroid"]
    assert torch.equal(
        classifier.predict_proba(z), quick("mlp").fit(z, y).predict_proba(z)
    )  # the choice made, all labels are used


def test_with_fewer_than_five_labels_in_a_class_the_rule_is_fixed():
    z, y = blobs()
    labels = y.clone()
    labels[4:12] = -1  # class 0 keeps four
    classifier = quick("best").fit(z, labels)
    assert (classifier.rule_, classifier.scores_) == ("centroid", {})
    labels[4] = 0
    assert len(quick("best").fit(z, labels).scores_) == 4


# Out of fold


def fixed_folds(monkeypatch, labels):
    nodes = (labels >= 0).nonzero().squeeze(1)
    folds = [nodes[i::5] for i in range(5)]
    monkeypatch.setattr(brgcl.tasks.choose, "stratified_folds", lambda labels, seed: folds)


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
    (torch.zeros(5, dtype=torch.long), "labels have 5 entries but there are 6 nodes"),
    (torch.full((6,), -1), "no node has a label"),
    (torch.tensor([0, 0, 0, 0, 0, -1]), "all labels are the same"),
    (torch.tensor([0, 0, 0, 0, 0, 1]), "class 1 has a single label"),
    (torch.tensor([0, 0, 0, 1, 1, -2]), "labels must be -1 or more, got -2"),
    (torch.tensor([0.5, 0, 0, 1, 1, 1]), "labels must be integers or names, got 0.5"),
    (torch.tensor([True, False] * 3), "labels must be integers or names, got bool"),
    (["red", "blue", 3] * 2, "labels must be all integers or all names, got '(red|blue)' and 3"),
    ([[0, 1]] * 6, r"labels must be one-dimensional, .* got shape \(6, 2\)"),
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
        np.testing.assert_array_equal(found, expected.numpy())


def test_wrong_representations_are_refused():
    labels = torch.tensor([0, 0, 1, 1])
    bad = F.pad(torch.eye(4), (0, 1))
    bad[2, 1] = float("inf")
    for z, message in (
        (torch.ones(4), r"z must have shape \(N, D\)"),
        (torch.ones(0, 3), r"z must have shape \(N, D\) with N, D > 0"),
        (bad, "z has NaN or infinite values in 1 rows, the first at row 2"),
        ([["a", "b"]] * 4, "z must be a matrix of numbers"),
        (csr_matrix(np.eye(4)), "z must be dense, got a sparse matrix"),
        (torch.eye(4).to_sparse(), "z must be dense, got a sparse matrix"),
    ):
        with pytest.raises(InputError, match=message):
            NodeClassifier().fit(z, labels)


def test_a_graph_or_validation_labels_of_another_size_are_refused():
    z, y = blobs()
    with pytest.raises(InputError, match="the graph has 6 nodes but z has 36 rows"):
        NodeClassifier().fit(z, y, graph=path_graph(6))
    with pytest.raises(InputError, match="validation labels have 5 entries but there are 36 nodes"):
        NodeClassifier().fit(z, y, validation=y[:5])


WRONG_SETTINGS = [
    ({"rule": "logistics"}, r"unknown rule 'logistics'; did you mean 'logistic'\?"),
    ({"rule": 3}, "unknown rule '3'"),
    ({"soft_labels": "normalise"}, "unknown soft_labels 'normalise'; did you mean 'normalize'"),
    ({"hidden": 0}, "hidden must be an integer of at least 1, got 0"),
    ({"epochs": 2.5}, "epochs must be an integer of at least 1, got 2.5"),
    ({"steps": 0}, "steps must be an integer of at least 1, got 0"),
    ({"seed": -1}, "seed must be an integer of at least 0, got -1"),
    ({"seed": None}, "seed must be an integer of at least 0, got None"),
    ({"alpha": 5}, r"alpha must be in \(0, 1\], got 5"),
    ({"alpha": float("nan")}, r"alpha must be in \(0, 1\], got nan"),
    ({"alpha": "a"}, r"alpha must be in \(0, 1\], got 'a'"),
]


@pytest.mark.parametrize(("settings", "message"), WRONG_SETTINGS, ids=str)
def test_wrong_settings_are_refused_by_fit_and_before(settings, message):
    """Defect 27: hidden=0, alpha=5 and steps=0 were accepted."""
    z, y = blobs()
    classifier = NodeClassifier(**settings)
    for call in (lambda: classifier.fit(z, y), classifier.check_settings):
        with pytest.raises(InputError, match=message):
            call()


def test_a_validation_label_of_an_unknown_class_is_refused():
    """Defect 27: it scored 0 silently."""
    z, y = blobs()
    train, validation, _ = parts(y)
    validation[1] = 7
    with pytest.raises(InputError, match="validation labels have the class 7, which no label has"):
        quick("best").fit(z, train, validation=validation)
    names = np.array(["a", "b", "c"])
    with pytest.raises(InputError, match="the class 'd', which no label has"):
        quick().fit(z, names[y], validation=["d"] + [None] * 35)


def test_predict_wants_a_fit_and_the_same_columns():
    z, y = blobs()
    for error in (NotFitted, NotFittedError):
        with pytest.raises(error, match=r"call fit\(z, labels\) first"):
            NodeClassifier().predict(z)
    with pytest.raises(NotFittedError):
        check_is_fitted(NodeClassifier())
    check_is_fitted(NodeClassifier("centroid").fit(z, y))
    classifier = NodeClassifier("centroid").fit(z, y)
    with pytest.raises(InputError, match="z has 2 columns but fit was given 3"):
        classifier.predict(z[:, :2])
