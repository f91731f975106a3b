import torch

from brgcl.data import check_graph, make_graph
from brgcl.detectors.out_of_fold import FOLDS, deal_folds, out_of_fold, train_on_folds
from brgcl.methods import METHODS

LABELS = torch.tensor([0] * 23 + [1] * 11 + [-1] * 5 + [2])


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_folds_part_the_labelled_nodes_evenly_and_by_class():
    fold = deal_folds(LABELS, seeded())
    assert ((fold >= 0) == (LABELS >= 0)).all()
    sizes = torch.bincount(fold[fold >= 0], minlength=FOLDS)
    assert int(sizes.max() - sizes.min()) <= 1
    for c in range(3):
        counts = torch.bincount(fold[c == LABELS], minlength=FOLDS)
        assert int(counts.max() - counts.min()) <= 1


def test_another_seed_deals_other_folds():
    assert not torch.equal(deal_folds(LABELS, seeded()), deal_folds(LABELS, seeded(1)))


def test_no_node_is_predicted_with_its_own_label():
    hidden = []

    def fit_predict(kept, fold):
        hidden.append(kept == -1)
        return torch.nn.functional.one_hot(kept.clamp_min(0), 3) * (kept >= 0)[:, None].float()

    proba = out_of_fold(LABELS, fit_predict, seeded())
    assert float(proba.abs().sum()) == 0  # each row comes from where its label was hidden
    assert len(hidden) == FOLDS
    times = torch.stack(hidden).sum(0)
    assert (times[LABELS >= 0] == 1).all()


def test_flipping_one_label_leaves_its_own_prediction(monkeypatch):
    graph = check_graph(make_graph(80, num_classes=2, num_features=30))
    config = METHODS["gcn"].config(epochs=5)
    dealt = deal_folds(graph.y, seeded())
    monkeypatch.setattr("brgcl.detectors.out_of_fold.deal_folds", lambda *_: dealt)

    def predict(labels):
        generator = seeded()
        return out_of_fold(labels, train_on_folds("gcn", graph, 2, config, generator), generator)

    flipped = graph.y.clone()
    flipped[7] = 1 - flipped[7]
    before, after = predict(graph.y), predict(flipped)
    assert torch.equal(after[7], before[7])
    assert not torch.equal(after, before)


def test_progress_is_counted_over_all_trainings():
    graph = check_graph(make_graph(40, num_classes=2, num_features=20))
    seen = []
    config = METHODS["gcn"].config(epochs=2)
    train = train_on_folds("gcn", graph, 2, config, seeded(), lambda *told: seen.append(told[:2]))
    out_of_fold(graph.y, train, seeded())
    assert seen == [(i, 10) for i in range(1, 11)]
