import itertools
import math

import numpy as np
import pytest
import scipy.optimize
import torch
import torch.nn.functional as F
from scipy.stats import beta
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import ThreadpoolController
from torch_geometric.data import Data

import brgcl.tasks.bayes_rule
from brgcl.errors import InputError
from brgcl.noise import flip_labels
from brgcl.tasks.bayes_rule import (
    fit_bayes,
    fit_logistic,
    mean_field,
    penalty_for,
    soft_targets,
)
from brgcl.tasks.checks import transition_of
from brgcl.tasks.label_noise import (
    LabelNoiseModel,
    class_means,
    coupling,
    estimated_transition,
    folds,
    matched_centers,
    noise_interval,
    noise_matrix,
    posterior,
    surroundings,
    without_loops,
)


def blobs(per_class=30, num_classes=3, spread=0.3, dim=8, seed=0):
    """Unit rows around random centres, and their classes in shuffled order."""
    rng = torch.Generator().manual_seed(seed)
    y = torch.arange(num_classes).repeat_interleave(per_class)
    y = y[torch.randperm(len(y), generator=rng)]
    centres = F.normalize(torch.randn(num_classes, dim, generator=rng), dim=1)
    z = centres[y] + spread * torch.randn(len(y), dim, generator=rng) / math.sqrt(dim)
    return F.normalize(z, dim=1), y


def block_graph(y, homophily, degree=6, seed=0):
    """A graph whose edges join nodes of one class with the given probability."""
    rng = np.random.default_rng(seed)
    y, edges = y.numpy(), set()
    for i in range(len(y)):
        for _ in range(degree // 2):
            alike = rng.random() < homophily
            j = int(rng.choice(np.flatnonzero((y == y[i]) == alike)))
            if i != j:
                edges |= {(i, j), (j, i)}
    index = torch.tensor(sorted(edges)).T
    return Data(x=torch.ones(len(y), 1), edge_index=index, num_nodes=len(y))


def flipped(y, rate, num_classes=3, kind="symmetric", seed=0):
    rng = torch.Generator().manual_seed(seed)
    return flip_labels(y, kind, rate, num_classes=num_classes, generator=rng).labels


def accuracy(p, y):
    return float((p.argmax(1) == y).double().mean())


# closed forms


def test_noise_matrix_has_rows_that_sum_to_1():
    T = noise_matrix(0.3, 4)
    assert T.diagonal().tolist() == pytest.approx([0.7] * 4)
    assert T.sum(1).tolist() == pytest.approx([1.0] * 4)


def test_each_class_takes_the_centre_that_most_labels_agree_on():
    rng = torch.Generator().manual_seed(0)
    rows, centers = torch.randn(40, 3, generator=rng), torch.randn(4, 3, generator=rng)
    given = torch.randint(4, (40,), generator=rng)
    centroids = torch.zeros(4, 3)
    cluster = torch.stack([(rows - c).square().sum(1) for c in centers]).argmin(0)

    def agreeing(order):
        return sum(int((cluster[given == c] == k).sum()) for c, k in enumerate(order))

    best = max(itertools.permutations(range(4)), key=agreeing)
    means = matched_centers(centers, rows, given, centroids)
    found = [(centers == mean).all(1).nonzero().item() for mean in means]
    assert agreeing(found) == agreeing(best)
    assert torch.equal(matched_centers(centers.flip(0), rows, given, centroids), means)


def test_a_class_without_a_centre_keeps_the_centroid_of_its_labels():
    rows, centroids = torch.eye(3), torch.full((3, 3), 0.5)
    means = matched_centers(torch.eye(3)[:2], rows, torch.tensor([0, 1, 2]), centroids)
    assert torch.equal(means, torch.cat([torch.eye(3)[:2], centroids[2:]]))


def test_em_may_start_from_centres():
    z, y = blobs()
    labels = flipped(y, 0.3)
    centers = torch.stack([z[y == c].mean(0) for c in (2, 0, 1)])
    model = LabelNoiseModel(centers=centers, rounds=1).fit(z, labels)
    expected = (z @ F.normalize(centers[[1, 2, 0]], dim=1).T / model.tau).softmax(1)
    assert torch.allclose(model.class_probabilities_, expected, atol=1e-5)
    assert torch.allclose(
        model.posterior_, posterior(expected, noise_matrix(0.2, 3), labels), atol=1e-5
    )  # no label vouches for itself: a centre does not know it


def test_posterior_is_bayes_rule():
    T = torch.tensor([[0.9, 0.1], [0.4, 0.6]])
    q = posterior(torch.tensor([[0.5, 0.5], [0.2, 0.8]]), T, torch.tensor([0, 1]))
    assert q[0].tolist() == pytest.approx([0.9 / 1.3, 0.4 / 1.3])
    assert q[1].tolist() == pytest.approx([0.02 / 0.5, 0.48 / 0.5])


def test_transition_counts_posteriors_and_borrows_from_the_prior():
    believed = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    one_hot = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    rate = (1 + 1) / (3 + 5)
    T = estimated_transition(believed, one_hot, prior=6)
    assert T[0].tolist() == pytest.approx([(1 + 6 * (1 - rate)) / 8, (1 + 6 * rate) / 8])
    assert T[1].tolist() == pytest.approx([6 * rate / 7, (1 + 6 * (1 - rate)) / 7])


def test_interval_of_certain_labels_is_the_one_of_a_count():
    right = torch.tensor([1.0] * 30 + [0.0] * 10)
    expected = beta.ppf([0.025, 0.975], 10.5, 30.5)
    assert noise_interval(right) == pytest.approx(tuple(expected))


def test_interval_is_wide_when_posteriors_do_not_tell_labels_apart():
    low, high = noise_interval(torch.full((100,), 0.7))
    assert low < 0.01
    assert high > 0.99


def test_class_means_match_a_slow_reference():
    z, _ = blobs(per_class=4)
    rng = torch.Generator().manual_seed(1)
    q = torch.rand(len(z), 3, generator=rng).softmax(1)
    nodes = torch.tensor([0, 3, 5, 7, 8])
    right = torch.rand(5, generator=rng)
    given = torch.tensor([0, 1, 1, 2, 0])
    means, share = class_means(z, q, nodes, given, right, 5.0)
    for c in range(3):
        every = sum(q[i, c] * z[i] for i in range(len(z))) / q[:, c].sum()
        mine = [(r, z[i]) for r, i, g in zip(right, nodes, given, strict=True) if g == c]
        few = sum(r * row for r, row in mine) / sum(r for r, _ in mine)
        torch.testing.assert_close(means[c], every + 5 * few)
    size = q[:, 0].sum()
    torch.testing.assert_close(share[0], right[0] * (1 / size + 5 / (right[0] + right[4])))


def test_neighbours_are_averaged_without_the_node_itself():
    graph = Data(x=torch.ones(4, 1), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    p = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [1.0, 0.0]])
    n = surroundings(p, without_loops(transition_of(graph, 4)))  # the mean of p is (5/8, 3/8)
    assert n[1].tolist() == pytest.approx([0.75 - 0.625, 0.25 - 0.375])
    assert n[0].tolist() == pytest.approx([-0.625, 0.625])
    assert n[3].tolist() == [0.0, 0.0]  # no neighbours


def test_strong_coupling_does_not_give_all_nodes_to_the_largest_class():
    _, y = blobs(per_class=50)
    graph = block_graph(y, 0.8)
    rng = torch.Generator().manual_seed(0)
    log_p = (F.one_hot(y, 3) + torch.randn(150, 3, generator=rng)).log_softmax(1)
    smooth = mean_field(log_p, without_loops(transition_of(graph, 150)), 10.0)
    assert torch.bincount(smooth.argmax(1), minlength=3).min() > 20
    assert accuracy(smooth, y) > accuracy(log_p, y)


def test_coupling_is_positive_only_where_neighbours_tell_something_new():
    rng = torch.Generator().manual_seed(0)
    y = torch.randint(3, (400,), generator=rng)
    vague = (0.5 * F.one_hot(y, 3) + torch.randn(400, 3, generator=rng)).log_softmax(1)
    helpful = 0.6 * F.one_hot(y, 3) + 0.4 * torch.rand(400, 3, generator=rng)
    assert coupling(vague, helpful, y) > 1
    assert coupling(vague, torch.rand(400, 3, generator=rng), y) < 0.5
    assert coupling(vague, 1 - helpful, y) == 0


def test_overconfident_probabilities_are_no_reason_to_smooth():
    rng = torch.Generator().manual_seed(0)
    y = torch.randint(3, (400,), generator=rng)
    log_p = (8 * (0.5 * F.one_hot(y, 3) + torch.randn(400, 3, generator=rng))).log_softmax(1)
    flat = torch.full((400, 3), 1 / 3)  # a mixture with it would raise the likelihood
    assert coupling(log_p.clamp_min(math.log(1e-4)), flat, y) == 0


def test_mean_field_without_coupling_changes_nothing():
    log_p = torch.randn(5, 2).log_softmax(1)
    graph = Data(x=torch.ones(5, 1), edge_index=torch.tensor([[0, 1], [1, 0]]))
    assert mean_field(log_p, without_loops(transition_of(graph, 5)), 0.0) is log_p


def test_penalty_follows_the_noise():
    assert penalty_for(0.0) == 30
    assert penalty_for(0.1) == pytest.approx(4.5)
    assert penalty_for(0.6) == 1


def test_logistic_regression_on_hard_targets_is_that_of_scikit_learn():
    z, y = blobs(spread=1.0)
    ours = fit_logistic(z, F.one_hot(y, 3).float(), 2.0)(z)
    theirs = LogisticRegression(C=2.0, tol=1e-8, max_iter=1000).fit(z, y).predict_proba(z)
    np.testing.assert_allclose(ours.numpy(), theirs, atol=2e-3)


def test_logistic_regression_computes_with_one_thread(monkeypatch):
    pools = ThreadpoolController()
    seen = []

    def minimize(*arguments, **options):
        seen.extend(pools.info())
        return scipy.optimize.minimize(*arguments, **options)

    monkeypatch.setattr(brgcl.tasks.bayes_rule, "minimize", minimize)
    z, y = blobs(per_class=5)
    with pools.limit(limits=2):
        fit_logistic(z, F.one_hot(y, 3).float(), 2.0)
        after = {pool["num_threads"] for pool in pools.info()}
    assert {pool["num_threads"] for pool in seen} == {1}
    assert after == {2}


def test_logistic_regression_on_soft_targets_is_one_on_weighted_rows():
    z, y = blobs(spread=1.0)
    targets = 0.8 * F.one_hot(y, 3).float() + 0.2 / 3
    rows, label = z.repeat_interleave(3, 0), torch.arange(3).repeat(len(z))
    theirs = LogisticRegression(C=2.0, tol=1e-8, max_iter=1000)
    theirs.fit(rows, label, sample_weight=targets.flatten())
    ours = fit_logistic(z, targets, 2.0)(z)
    np.testing.assert_allclose(ours.numpy(), theirs.predict_proba(z), atol=2e-3)


# the model


def test_posteriors_and_transition_are_distributions():
    z, y = blobs()
    model = LabelNoiseModel().fit(z, flipped(y, 0.3))
    for rows in (model.transition_, model.posterior_, model.class_probabilities_):
        torch.testing.assert_close(rows.sum(1), torch.ones(len(rows)))
    low, high = model.noise_interval_
    assert 0 <= low <= model.noise_rate_ <= high <= 1


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.4])
def test_noise_rate_is_found(rate):
    z, y = blobs(per_class=60)
    labels = flipped(y, rate)
    model = LabelNoiseModel().fit(z, labels)
    low, high = model.noise_interval_
    assert model.noise_rate_ == pytest.approx(rate, abs=0.05)
    assert low - 0.02 <= float((labels != y).double().mean()) <= high
    assert accuracy(model.posterior_, y) > 0.97


def test_direction_of_pair_noise_is_found():
    z, y = blobs(per_class=60)
    model = LabelNoiseModel().fit(z, flipped(y, 0.4, kind="pair"))
    given = noise_matrix(0.0, 3)[(torch.arange(3) + 1) % 3]  # class c becomes c + 1
    ahead = float((model.transition_ * given).sum(1).mean())
    behind = 1 - ahead - float(model.transition_.diagonal().mean())
    assert max(ahead, behind) > 0.3
    assert min(ahead, behind) < 0.05


def test_slow_reference_without_graph():
    """EM written out node by node gives the same posteriors."""
    z, y = blobs(per_class=8, spread=0.8)
    labels = torch.where(torch.arange(24) % 2 == 0, flipped(y, 0.3), -1)
    nodes = [i for i in range(24) if labels[i] >= 0]
    C, tau, T = 3, 0.14, noise_matrix(0.2, 3)
    counts = [sum(int(labels[i]) == c for i in nodes) for c in range(C)]
    means = [sum(z[i] for i in nodes if labels[i] == c) / counts[c] for c in range(C)]
    share = {i: 1 / counts[labels[i]] for i in nodes}
    for step in range(8):
        unit = [m / m.norm() for m in means]
        q = [torch.stack([u @ z[i] for u in unit]).div(tau).softmax(0) for i in range(24)]
        for i in nodes:
            score = torch.stack([u @ z[i] for u in unit])
            rest = means[labels[i]] - share[i] * z[i]
            score[labels[i]] = rest @ z[i] / rest.norm()
            raw = (score / tau).softmax(0) * T[:, labels[i]]
            q[i] = raw / raw.sum()
        if step == 7:
            break
        right = {i: q[i][labels[i]] for i in nodes}
        rate = (float(sum(1 - r for r in right.values())) + 1) / (len(nodes) + 5)
        T = 6 * noise_matrix(rate, C)
        for i in nodes:
            T[:, labels[i]] += q[i]
        T = T / T.sum(1, keepdim=True)
        means = []
        for c in range(C):
            size = sum(row[c] for row in q)
            mine = [i for i in nodes if labels[i] == c]
            trust = sum(right[i] for i in mine)
            means.append(
                sum(row[c] * x for row, x in zip(q, z, strict=True)) / size
                + 5 * sum(right[i] * z[i] for i in mine) / trust
            )
            share |= {i: right[i] * (1 / size + 5 / trust) for i in mine}
    model = LabelNoiseModel().fit(z, labels)
    torch.testing.assert_close(
        model.posterior_, torch.stack([q[i] for i in nodes]), atol=1e-4, rtol=0
    )
    torch.testing.assert_close(model.transition_, T, atol=1e-4, rtol=0)


def test_permuting_nodes_permutes_posteriors():
    z, y = blobs()
    labels = torch.where(torch.arange(len(y)) % 3 > 0, flipped(y, 0.3), -1)
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(3))
    model = LabelNoiseModel().fit(z, labels)
    moved = LabelNoiseModel().fit(z[order], labels[order])
    full = torch.zeros(len(y), 3).index_copy(0, model.nodes_, model.posterior_)
    torch.testing.assert_close(moved.posterior_, full[order][moved.nodes_], atol=1e-4, rtol=0)
    torch.testing.assert_close(moved.transition_, model.transition_, atol=1e-4, rtol=0)


def test_permuting_classes_permutes_posteriors():
    z, y = blobs()
    labels, new = flipped(y, 0.3), torch.tensor([2, 0, 1])
    model, moved = LabelNoiseModel().fit(z, labels), LabelNoiseModel().fit(z, new[labels])
    torch.testing.assert_close(moved.posterior_[:, new], model.posterior_, atol=1e-4, rtol=0)
    torch.testing.assert_close(moved.transition_[new][:, new], model.transition_, atol=1e-4, rtol=0)


def test_inputs_are_left_alone_and_results_repeat():
    z, y = blobs()
    labels, graph = flipped(y, 0.3), block_graph(y, 0.8)
    before = z.clone(), labels.clone(), graph.edge_index.clone()
    first, second = (fit_bayes(z, labels, graph) for _ in range(2))
    for kept, now in zip(before, (z, labels, graph.edge_index), strict=True):
        assert torch.equal(kept, now)
    assert torch.equal(first.predict_proba(z, graph), second.predict_proba(z, graph))


@pytest.mark.parametrize("num_classes", [2, 70])
def test_few_and_many_classes(num_classes):
    z, y = blobs(per_class=8, num_classes=num_classes, dim=64)
    labels = torch.where(torch.arange(len(y)) % 2 == 0, flipped(y, 0.2, num_classes), -1)
    assert accuracy(fit_bayes(z, labels).predict_proba(z), y) > 0.9


def test_one_label_in_a_class_is_enough():
    z, y = blobs(per_class=20)
    seen = torch.zeros(len(y), dtype=torch.bool)
    for c, count in enumerate((8, 8, 1)):
        seen[(y == c).nonzero().squeeze(1)[:count]] = True
    fitted = fit_bayes(z, torch.where(seen, y, -1))
    assert accuracy(fitted.predict_proba(z), y) > 0.9


def test_a_class_number_without_labels_gets_no_probability():
    z, y = blobs()
    labels = torch.where(y == 1, 3, y)
    p = fit_bayes(z, labels).predict_proba(z)
    assert p.shape[1] == 4
    assert float(p[:, 1].max()) == 0


def test_imbalanced_classes_keep_the_small_one():
    z, y = blobs(per_class=100)
    keep = (y != 2) | (torch.cumsum((y == 2).long(), 0) <= 6)
    z, y = z[keep], y[keep]
    fitted = fit_bayes(z, flipped(y, 0.2))
    assert accuracy(fitted.predict_proba(z)[y == 2], y[y == 2]) > 0.8


# the classifier


def test_clean_labels_are_used_as_given():
    z, y = blobs(per_class=60, spread=0.2)
    fitted = fit_bayes(z, y)
    assert fitted.noise.noise_rate_ < 0.02
    torch.testing.assert_close(
        soft_targets(fitted.noise), F.one_hot(y, 3).float(), atol=0.05, rtol=0
    )


def test_pair_noise_costs_less_than_it_costs_logistic_regression():
    z, y = blobs(per_class=60, spread=1.0)
    seen = torch.arange(len(y)) % 2 == 0
    labels = torch.where(seen, flipped(y, 0.4, kind="pair"), -1)
    plain = fit_logistic(z[seen], F.one_hot(labels[seen], 3).float(), 1.0)(z)
    ours = fit_bayes(z, labels).predict_proba(z)
    assert accuracy(ours[~seen], y[~seen]) > accuracy(plain[~seen], y[~seen]) + 0.05


def test_neighbours_of_the_same_class_are_used_and_others_are_not():
    z, y = blobs(per_class=100, spread=1.5)
    labels = torch.where(torch.arange(len(y)) % 3 == 0, flipped(y, 0.2), -1)
    alike, apart = block_graph(y, 0.9), block_graph(y, 0.1)
    helped, unharmed = fit_bayes(z, labels, alike), fit_bayes(z, labels, apart)
    assert helped.coupling > 0.5
    assert accuracy(helped.predict_proba(z, alike), y) > accuracy(helped.predict_proba(z), y) + 0.1
    assert unharmed.coupling == 0
    assert unharmed.noise.coupling_ == 0
    assert torch.equal(unharmed.predict_proba(z, apart), unharmed.predict_proba(z))


def test_model_alone_uses_neighbours_that_help():
    z, y = blobs(per_class=100, spread=1.5)
    labels = torch.where(torch.arange(len(y)) % 3 == 0, flipped(y, 0.2), -1)
    assert LabelNoiseModel().fit(z, labels, block_graph(y, 0.9)).coupling_ > 0.5
    assert LabelNoiseModel().fit(z, labels, block_graph(y, 0.1)).coupling_ == 0


def test_falls_back_where_class_means_say_nothing():
    """Each class lies at both ends of an axis: its mean is 0, and labels look wrong."""
    rng = torch.Generator().manual_seed(0)
    arm = torch.arange(4).repeat(50)
    z = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])[arm]
    z = F.normalize(z + 0.1 * torch.randn(len(arm), 2, generator=rng), dim=1)
    forest = RandomForestClassifier(20, random_state=0)
    fitted = fit_bayes(z, arm // 2, estimator=forest)
    assert fitted.agreement["plain"] >= fitted.agreement["bayes"]
    assert accuracy(fitted.predict_proba(z), arm // 2) > 0.95


def test_any_classifier_with_sample_weight_takes_the_place():
    z, y = blobs(per_class=40)
    labels = flipped(y, 0.3)
    forest = RandomForestClassifier(20, min_samples_leaf=5, random_state=0)
    fitted = fit_bayes(z, labels, estimator=forest)
    p = fitted.predict_proba(z)
    torch.testing.assert_close(p.sum(1), torch.ones(len(p)))
    assert accuracy(p, y) > 0.9
    assert not hasattr(forest, "classes_")


def test_folds_leave_no_class_unseen_and_are_few_where_labels_are_many():
    labels = torch.tensor([0, 1, -1, 0, 1, 2, 2, 1, 0])
    parts = folds(labels)
    assert sorted(torch.cat(parts).tolist()) == [0, 1, 3, 4, 5, 6, 7, 8]
    for part in parts:
        kept = labels.index_fill(0, part, -1)
        assert set(kept[kept >= 0].tolist()) == {0, 1, 2}
    assert len(folds(torch.arange(60_000) % 5)) == 1


def test_cost_is_linear_in_the_labels(monkeypatch):
    """Fits of the regression and rows they read: few, and proportional to the labels."""
    rows = []
    plain_fit = brgcl.tasks.bayes_rule.fit_logistic

    def counted(x, targets, penalty):
        rows.append(len(x))
        return plain_fit(x, targets, penalty)

    monkeypatch.setattr(brgcl.tasks.bayes_rule, "fit_logistic", counted)
    totals = []
    for size in (4000, 8000):
        rows.clear()
        z, y = blobs(per_class=size, num_classes=3)
        fit_bayes(z, y)
        totals.append(sum(rows) / len(z))
    assert totals[1] <= totals[0] <= 12


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (torch.zeros(5, dtype=torch.long), "labels have 5 entries"),
        (torch.full((6,), 0.5), "must be integers"),
        (torch.full((6,), -1), "two classes"),
        (torch.tensor([1, 1, -1, 1, 1, 1]), "two classes"),
        (torch.tensor([1, 0, -2, 1, 1, 1]), "-1 or more"),
        (torch.tensor([1, 0, 10**12, 1, 1, 0]), "labels reach class 1,000,000,000,000"),
    ],
)
def test_wrong_labels_are_refused(labels, message):
    with pytest.raises(InputError, match=message):
        LabelNoiseModel().fit(torch.eye(6), labels)


@pytest.mark.parametrize("setting", [{"tau": 0.0}, {"rounds": 0}, {"prior": -1.0}])
def test_wrong_settings_are_refused(setting):
    with pytest.raises(InputError, match=next(iter(setting))):
        LabelNoiseModel(**setting)
