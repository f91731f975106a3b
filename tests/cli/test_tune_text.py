"""What `brgcl tune` prints and writes of a search."""

import dataclasses
import tomllib

import pytest
import torch

from brgcl import BRGCLConfig, make_graph
from brgcl.cli import tune_text
from brgcl.cli.settings import resolve_config
from brgcl.tune import tune

pytest.importorskip("optuna")


@pytest.fixture(scope="module")
def tuned():
    data = make_graph(120, num_classes=3, num_features=30, labels_per_class=8)
    config = BRGCLConfig(hidden=16, dim=8, epochs=4, warmup_epochs=1)
    labels = torch.where(data.train_mask, data.y, -1)
    return tune(data, labels, config=config, xi=(0.1, 0.3, 0.5), gamma0=(0.3, 0.6))


def test_the_preset_is_what_config_reads(tuned, tmp_path):
    base = BRGCLConfig()
    text = tune_text.preset_text(tuned, base, ["why"])
    assert text.startswith("# why\n")
    assert {"xi", "gamma0", "hidden", "dim", "epochs"} < set(tomllib.loads(text))
    (tmp_path / "preset.toml").write_text(text)
    found = resolve_config("brgcl", "default", tmp_path / "preset.toml", None)
    assert found == tuned.config


def test_the_table_names_choice_and_default(tuned):
    rows = tune_text.table_rows(tuned)
    assert all(len(row) == len(tune_text.COLUMNS) for row in rows)
    assert sum("default" in row[0] for row in rows) == 1
    assert sum("choice" in row[0] for row in rows) == 1


def test_the_sentences_say_what_was_chosen_and_why(tuned):
    text = " ".join(tune_text.lines(tuned))
    assert "Tried 6 of 6 settings of the grid" in text
    assert "Choice:" in text
    assert "standard error" in text
    cut = dataclasses.replace(tuned, cut=True, tried=tuned.tried[:2])
    assert "The budget ended the search" in " ".join(tune_text.lines(cut))
