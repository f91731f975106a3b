"""A search that was stopped is resumed from its journal."""

import logging
import sys

import pytest

from brgcl.errors import InputError
from brgcl.tune import search, tune
from brgcl.tune.journal import open_study

optuna = pytest.importorskip("optuna")


class KilledError(Exception):
    pass


def killed_after(epochs):
    left = iter(range(epochs))

    def report(done, total, text):
        if next(left, None) is None:
            raise KilledError

    return report


@pytest.mark.parametrize("trials", ["grid", 4])
def test_a_killed_search_is_resumed(
    data, labels, tmp_path, monkeypatch, trials, tiny, grid, scores
):
    arguments = {"config": tiny, "trials": trials, "storage": tmp_path / "a" / "journal", **grid}
    with pytest.raises(KilledError):
        tune(data, labels, report=killed_after(8), **arguments)  # two trainings and some epochs
    trained = []
    train = search.train_and_score
    monkeypatch.setattr(
        search, "train_and_score", lambda task, p, **kw: trained.append(p) or train(task, p, **kw)
    )
    resumed = tune(data, labels, **arguments)
    assert len(trained) == resumed.wanted - 2
    monkeypatch.undo()
    whole = tune(data, labels, **{**arguments, "storage": None})
    assert scores(resumed) == scores(whole)


def test_a_finished_study_is_not_repeated(data, labels, tmp_path, monkeypatch, tiny, grid):
    arguments = {"config": tiny, "storage": tmp_path / "journal", **grid}
    first = tune(data, labels, **arguments)
    monkeypatch.setattr(search, "train_and_score", None)  # whoever calls it fails
    assert tune(data, labels, **arguments) == first


def test_another_graph_or_seed_is_another_study(data, labels, tmp_path, tiny, grid):
    arguments = {"config": tiny, "trials": 1, "storage": tmp_path / "journal", **grid}
    tune(data, labels, **arguments)
    other = labels.clone()
    other[labels == 0] = 1
    tune(data, other, **arguments)
    tune(data, labels, seed=1, **arguments)
    storage = open_study(tmp_path / "journal", "none")._storage
    assert len(storage.get_all_studies()) == 4


def test_a_torn_last_line_is_dropped(data, labels, tmp_path, tiny, grid):
    file = tmp_path / "journal"
    arguments = {"config": tiny, "trials": 2, "storage": file, **grid}
    first = tune(data, labels, **arguments)
    with file.open("ab") as journal:
        journal.write(b'{"op_code": 4, "trial')
    assert tune(data, labels, **arguments) == first
    assert tune(data, labels, **{**arguments, "trials": 3}).wanted == 3


@pytest.mark.parametrize("content", ["something else\n", "no newline", '{"a": 1}\n', "[1]\n"])
def test_a_file_that_is_no_journal_is_refused(data, labels, tmp_path, content, tiny, grid):
    (tmp_path / "notes").write_text(content)
    with pytest.raises(InputError, match="is not a journal of brgcl tune"):
        tune(data, labels, config=tiny, storage=tmp_path / "notes", **grid)
    assert (tmp_path / "notes").read_text() == content


def test_a_folder_is_no_storage(data, labels, tmp_path, tiny, grid):
    with pytest.raises(InputError, match="cannot use"):
        tune(data, labels, config=tiny, storage=tmp_path, **grid)


def test_optuna_is_asked_for_by_name(data, labels, monkeypatch, tiny):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(InputError, match=r"pip install 'brgcl\[tune\]'"):
        tune(data, labels, config=tiny)


def test_optuna_speaks_as_before_afterwards(data, labels, tiny, grid):
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    tune(data, labels, config=tiny, trials=1, **grid)
    assert optuna.logging.get_verbosity() == optuna.logging.WARNING == logging.WARNING
