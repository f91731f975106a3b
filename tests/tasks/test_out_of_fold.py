import pytest
import torch
import torch.nn.functional as F
from scipy.optimize import check_grad

import brgcl
from brgcl.noise import flip_labels
from brgcl.tasks import out_of_fold
from brgcl.tasks.checks import transition_of
from brgcl.tasks.label_noise import noise_matrix, without_loops
from brgcl.tasks.out_of_fold import (
    FOLDS,
    Labelled,
    OutOfFold,
    average,
    believed,
    calibrate,
    num_repeats,
    predict_once,
    predict_out_of_fold,
    predictors,
    random_folds,
    weights,
)


def noisy_graph(num_classes=3, labelled=1.0, num_nodes=90, level=0.2):
    """A generated graph, and what predictions are made from."""
    data = brgcl.make_graph(
        num_nodes=num_nodes, num_classes=num_classes, num_features=30, labels_per_class=2, seed=1
    )
    generator = torch.Generator().manual_seed(0)
    seen = torch.rand(num_nodes, generator=generator) < labelled
    truth = torch.where(seen, data.y, -1)
    noisy = flip_labels(truth, "symmetric", level, num_classes=num_classes, generator=generator)
    z = F.normalize(torch.eye(num_classes)[data.y] + torch.randn(
        num_nodes, num_classes, generator=generator) / 2, dim=1)  # fmt: skip
    x = data.x.to_dense() if data.x.layout != torch.strided else data.x
    return Labelled(
        z, [z, F.normalize(x, dim=1)], noisy.labels, num_classes,
        torch.zeros(num_nodes, dtype=torch.bool), without_loops(transition_of(data, num_nodes)),
    )  # fmt: skip


def with_label(data, node, label):
    labels = data.labels.clone()
    labels[node] = label
    return Labelled(data.z, data.rows, labels, data.num_classes, data.certain, data.neighbours)


def row_of(data, found, node):
    return found.p[int((data.nodes == node).nonzero())]


def other_label(data, node):
    return (int(data.labels[node]) + 1) % data.num_classes


def best_connected(data, count):
    """Labelled nodes with the most neighbours, through which a label could come back."""
    degree = data.neighbours.data.crow_indices().diff()[data.nodes]
    return data.nodes[degree.argsort(descending=True)[:count]].tolist()


# A label does not help to judge itself


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize(("num_classes", "labelled"), [(3, 1.0), (3, 0.3), (2, 1.0), (2, 0.3)])
def test_the_row_of_a_node_does_not_depend_on_its_own_label(
    num_classes, labelled, many, monkeypatch
):
    if many:  # what is done with many labels is done with few
        monkeypatch.setattr(out_of_fold, "FEW", 5)
        monkeypatch.setattr(out_of_fold, "MANY", 5)
    data = noisy_graph(num_classes, labelled)
    before = predict_once(data, seed=0)
    for node in best_connected(data, 2):
        flipped = with_label(data, node, other_label(data, node))
        after = predict_once(flipped, seed=0)
        assert torch.equal(row_of(data, before, node), row_of(flipped, after, node))
        assert not torch.equal(before.p, after.p)  # other nodes do learn from it


def test_the_row_does_not_depend_on_the_own_label_without_a_graph_and_after_averaging(monkeypatch):
    monkeypatch.setattr(out_of_fold, "REPEATS", ((1000, 2),))
    data = noisy_graph(labelled=0.5)
    data = Labelled(data.z, data.rows[:1], data.labels, 3, data.certain)
    node = int(data.nodes[0])
    flipped = with_label(data, node, other_label(data, node))
    rows = [row_of(one, predict_out_of_fold(one, seed=0), node) for one in (data, flipped)]
    assert torch.equal(*rows)


def leaks(data, nodes):
    """Whether the own label of any of these nodes changes its row."""
    before = predict_once(data, seed=0)
    changed = []
    for node in nodes:
        flipped = with_label(data, node, other_label(data, node))
        after = predict_once(flipped, seed=0)
        changed.append(not torch.equal(row_of(data, before, node), row_of(flipped, after, node)))
    return any(changed)


def test_stratified_folds_would_leak(monkeypatch):
    """The check above notices folds that are made with the labels."""
    data = noisy_graph()

    def stratified(nodes, num_folds, seed):
        labels = current["labels"][nodes]
        return [nodes[labels.argsort(stable=True)][i::num_folds] for i in range(num_folds)]

    current = {"labels": data.labels}
    whole = out_of_fold.predict_once

    def once(one, seed):
        current["labels"] = one.labels
        return whole(one, seed)

    monkeypatch.setattr(out_of_fold, "random_folds", stratified)
    monkeypatch.setitem(globals(), "predict_once", once)
    assert leaks(data, data.nodes[:2].tolist())


def test_beliefs_that_have_seen_the_label_would_leak(monkeypatch):
    """The check above notices a label that comes back from a neighbour."""
    data = noisy_graph()
    honest = out_of_fold.predictors

    def propagated(one, hidden):
        x = honest(one, hidden)
        labels = F.one_hot(one.labels.clamp_min(0), one.num_classes).float()
        x[:, :, -1] = one.neighbours @ (one.neighbours @ labels)  # two hops and back
        return x

    monkeypatch.setattr(out_of_fold, "predictors", propagated)
    assert leaks(data, best_connected(data, 1))


def test_hidden_labels_have_no_say_in_any_predictor():
    data = noisy_graph()
    hidden = data.nodes[::3]
    changed = data
    for node in hidden.tolist():
        changed = with_label(changed, node, other_label(data, node))
    assert torch.equal(predictors(data, hidden), predictors(changed, hidden))


def test_folds_are_a_partition_and_of_like_size():
    nodes = torch.arange(3, 50, 2)
    folds = random_folds(nodes, FOLDS, seed=4)
    assert torch.cat(folds).sort().values.tolist() == nodes.tolist()
    assert {len(fold) for fold in folds} <= {len(nodes) // FOLDS, len(nodes) // FOLDS + 1}
    assert len(random_folds(nodes[:3], FOLDS, seed=0)) == 3
    assert not torch.equal(random_folds(nodes, FOLDS, 0)[0], random_folds(nodes, FOLDS, 1)[0])


# Weights and transition matrix


def drawn(T, num=4000, sharpness=2.0, seed=0):
    """Calibrated probabilities, and labels drawn from the classes they give by T."""
    generator = torch.Generator().manual_seed(seed)
    C = len(T)
    p = (sharpness * torch.randn(num, C, generator=generator)).softmax(1).double()
    y = torch.multinomial(p, 1, generator=generator).squeeze(1)
    return p, torch.multinomial(T[y], 1, generator=generator).squeeze(1)


def test_weights_and_transition_matrix_are_recovered():
    T = torch.tensor([[0.9, 0.1, 0.0], [0.0, 0.7, 0.3], [0.1, 0.1, 0.8]]).double()
    p, given = drawn(T, num=20_000, sharpness=4.0)
    nobody = torch.zeros(len(given), dtype=torch.bool)
    w, found = weights(2 * p.log()[:, :, None], given, nobody)  # twice as sure as it should be
    assert float(w) == pytest.approx(0.5, abs=0.05)
    assert torch.allclose(found, T, atol=0.05)


def test_a_predictor_that_knows_nothing_gets_no_weight():
    p, given = drawn(noise_matrix(0.1, 3).double())
    generator = torch.Generator().manual_seed(1)
    useless = torch.randn(p.shape, generator=generator).double()
    x = torch.stack([p.log(), useless], 2)
    w, _ = weights(x, given, torch.zeros(len(given), dtype=torch.bool))
    assert abs(float(w[1])) < 0.1 < float(w[0])


def test_the_step_of_the_weights_follows_the_gradient_of_the_likelihood():
    """sum_j (q_j - p_j)' x_j is the derivative of sum_j log (softmax(x_j w) T)[l_j]."""
    T = noise_matrix(0.2, 3).double()
    p, given = drawn(T, num=50)
    x = torch.stack([p.log(), p], 2)
    nobody = torch.zeros(50, dtype=torch.bool)

    def likelihood(w):
        rows = (x @ torch.from_numpy(w)).softmax(1)
        return float((rows @ T)[torch.arange(50), given].log().sum())

    def gradient(w):
        rows = (x @ torch.from_numpy(w)).softmax(1)
        q = believed(rows, T, given, nobody)
        return torch.einsum("lc,lcr->r", q - rows, x).numpy()

    assert check_grad(likelihood, gradient, torch.tensor([0.7, 0.4]).double().numpy()) < 1e-4


def test_certain_labels_say_nothing_of_the_noise():
    T = noise_matrix(0.3, 3).double()
    p, given = drawn(T)
    certain = torch.zeros(len(given), dtype=torch.bool)
    certain[::2] = True
    truth = torch.multinomial(p, 1, generator=torch.Generator().manual_seed(9)).squeeze(1)
    given = torch.where(certain, truth, given)
    _, found = weights(p.log()[:, :, None], given, certain)
    assert float(found.diagonal().mean()) == pytest.approx(0.7, abs=0.06)


def test_reviewing_the_clearest_errors_does_not_hide_the_noise():
    """Without the labels that stood there before, T knows only of errors that are hard to see."""
    T = noise_matrix(0.3, 3).double()
    generator = torch.Generator().manual_seed(0)
    p = (4 * torch.randn(3000, 3, generator=generator)).softmax(1).double()
    truth = torch.multinomial(p, 1, generator=generator).squeeze(1)
    given = torch.multinomial(T[truth], 1, generator=generator).squeeze(1)
    suspicion = 1 - p.gather(1, given[:, None]).squeeze(1)
    certain = torch.zeros(3000, dtype=torch.bool).index_fill(0, suspicion.topk(600).indices, True)
    decided = torch.where(certain, truth, given)
    x = p.log()[:, :, None]
    _, kept = weights(x, decided, certain, observed=given)
    _, lost = weights(x, decided, certain)
    assert float(kept.diagonal().mean()) == pytest.approx(0.7, abs=0.04)
    assert float(lost.diagonal().mean()) > 0.8


def test_classes_do_not_change_their_names():
    """A predictor that is always wrong is no reason to believe that all labels are."""
    p, given = drawn(noise_matrix(0.1, 2).double(), num=300)
    _, T = weights(-p.log()[:, :, None], given, torch.zeros(300, dtype=torch.bool))
    assert (T.diagonal() >= 0.5).all()


def test_how_evenly_wrong_labels_spread_is_learned_from_many():
    """The other class of pair noise is found, and chance is not taken for one in even noise."""
    even = noise_matrix(0.2, 5).double()
    pair = 0.8 * torch.eye(5) + 0.2 * torch.eye(5).roll(1, 1)
    for T in (even, pair.double()):
        p, given = drawn(T, num=3000)
        _, found = weights(p.log()[:, :, None], given, torch.zeros(3000, dtype=torch.bool))
        assert float((found - T).abs().max()) < 0.05


def test_a_certain_label_is_the_true_class():
    q = believed(
        torch.tensor([[0.9, 0.1], [0.9, 0.1]]).double(), noise_matrix(0.2, 2).double(),
        torch.tensor([1, 1]), torch.tensor([True, False]),
    )  # fmt: skip
    assert q[0].tolist() == [0, 1]
    assert q[1].tolist() == pytest.approx([0.9 * 0.2 / 0.26, 0.1 * 0.8 / 0.26])


# Given probabilities, repeats


def test_given_probabilities_are_calibrated_by_labels_outside_the_fold():
    p, given = drawn(noise_matrix(0.2, 3).double(), num=600, sharpness=4.0)
    nobody = torch.zeros(600, dtype=torch.bool)
    data = Labelled(torch.ones(600, 1), [], given, 3, nobody)
    found = calibrate(data, p, seed=0)
    assert torch.allclose(found.p, p, atol=0.1)
    flipped = with_label(data, 5, (int(given[5]) + 1) % 3)
    assert torch.equal(calibrate(flipped, p, seed=0).p[5], found.p[5])


def test_average_is_the_geometric_mean():
    one, two = torch.tensor([[0.8, 0.2]]).double(), torch.tensor([[0.2, 0.8]]).double()
    found = average([OutOfFold(one, two), OutOfFold(two, two)])
    assert found.p.tolist() == [pytest.approx([0.5, 0.5])]
    assert found.posterior.tolist() == [pytest.approx([0.2, 0.8])]


def test_the_fewer_labels_the_more_repeats():
    counts = [num_repeats(number) for number in (10, 1_000, 1_001, 10_000, 10_001, 10**6)]
    assert counts == [5, 5, 3, 3, 1, 1]


def test_progress_is_reported(monkeypatch):
    monkeypatch.setattr(out_of_fold, "REPEATS", ((1000, 2),))
    data, said = noisy_graph(num_nodes=40), []
    predict_out_of_fold(data, 0, lambda *words: said.append(words))
    assert said == [(1, 2, "labels held out"), (2, 2, "labels held out")]


def test_pair_noise_that_looks_like_overlap_is_found_by_anchor_points():
    """Predictions that follow the wrong labels, as those of a classifier fitted to many of them."""
    rng = torch.Generator().manual_seed(0)
    truth = torch.arange(6000) % 3
    flipped = torch.rand(6000, generator=rng) < 0.4
    given = torch.where(flipped, (truth + 1) % 3, truth)
    sure = 0.5 + 0.2 * torch.rand(6000, generator=rng)  # of the true class, never more than .7
    p = torch.full((6000, 3), 0.02)
    p[torch.arange(6000), (truth + 1) % 3] = 0.98 - sure
    p[torch.arange(6000), truth] = sure
    x = p.log()[:, :, None].double()
    certain = torch.zeros(6000, dtype=torch.bool)
    _, T = weights(x, given, certain)
    wanted = 0.6 * torch.eye(3) + 0.4 * torch.eye(3).roll(1, 1)
    assert float((T - wanted).abs().max()) < 0.1


def test_anchor_points_correct_rates_that_are_somewhat_too_low(monkeypatch):
    """A moderate contradiction moves the diagonal; wrong labels spread as they did."""
    T = 0.8 * torch.eye(3) + 0.2 * torch.eye(3).roll(1, 1)
    p, given = drawn(T.double(), num=6000)
    x, certain = p.log()[:, :, None], torch.zeros(6000, dtype=torch.bool)
    monkeypatch.setattr(out_of_fold, "unexplained_errors", lambda *_: 0.1)
    anchored = 0.7 * torch.eye(3) + 0.3 / 2 * (1 - torch.eye(3))
    monkeypatch.setattr(out_of_fold, "anchored_transition", lambda *_: anchored.double())
    _, found = weights(x, given, certain)
    assert found.diagonal().tolist() == pytest.approx([0.7] * 3)
    assert float(found[0, 1]) > 0.25


def test_many_labels_are_also_taken_as_given(monkeypatch):
    data = noisy_graph()
    few = predictors(data, data.nodes[:10])
    monkeypatch.setattr(out_of_fold, "MANY", 50)
    many = predictors(data, data.nodes[:10])
    R = len(data.rows)
    assert many.shape[2] == few.shape[2] + R
    assert torch.equal(many[:, :, : R + 1], few[:, :, : R + 1])
    assert torch.equal(many[:, :, -2:], few[:, :, -2:])  # neighbours
