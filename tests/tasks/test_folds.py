import torch

from brgcl.tasks.folds import folds_of_few, stratified_folds


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
