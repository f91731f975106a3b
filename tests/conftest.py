"""Real graphs for tests that are marked `data`, and one thread for all."""

import logging
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NoReturn

import pytest
import torch
from threadpoolctl import threadpool_limits

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", message=".*torch.jit.script.*", category=DeprecationWarning)
    from torch_geometric.data import Data

from brgcl.data import available, load_dataset

ABSENT = "are not on disk; set BRGCL_DATA to their folder"

# On graphs this small threads only wait for each other, above all where the cores are busy.
torch.set_num_threads(1)
threadpool_limits(limits=1)


@pytest.fixture(autouse=True)
def logger_as_before() -> Iterator[None]:
    """`brgcl.cli` takes the logger over; other tests want it back."""
    logger = logging.getLogger("brgcl")
    before = logger.handlers, logger.level, logger.propagate
    yield
    logger.handlers, logger.level, logger.propagate = before


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Data]:
    """A function that loads a public graph from disk, or skips the test when it is not there.

    With BRGCL_REQUIRE_DATA=1 a missing graph fails the test.
    """
    read = cache(load_dataset)

    def load(name: str) -> Data:
        if not available(name):
            skip_or_fail(f"the files of {name} {ABSENT}")
        return read(name)

    return load


@pytest.fixture(scope="session")
def published_numbers() -> Path:
    """The paper's numbers as one table, kept beside the graphs; skips like `real_data`."""
    file = Path(os.environ.get("BRGCL_DATA", "")).parent / "paper" / "published.csv"
    if not file.is_file():
        skip_or_fail(f"the paper's numbers {ABSENT}")
    return file


def skip_or_fail(reason: str) -> NoReturn:
    if os.environ.get("BRGCL_REQUIRE_DATA") == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    count = sum(ABSENT in str(report.longrepr) for report in skipped)
    if count:
        where = os.environ.get("BRGCL_DATA") or "not set"
        terminalreporter.write_line(f"{count} real-data tests skipped: BRGCL_DATA is {where}")


@pytest.fixture
def folds_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels are judged with one choice of folds, not with five: for tests that look elsewhere."""
    monkeypatch.setattr("brgcl.tasks.out_of_fold.REPEATS", ())


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Path]:
    """A function that writes the folder of a run that judged labels, by hand and at once."""
    import json

    import numpy as np
    import pandas as pd

    def make(
        classes: Sequence[str] = ("red", "green", "blue"),
        ids: Sequence[object] | None = None,
        *,
        num_nodes: int = 60,
        without: Sequence[str] = (),
    ) -> Path:
        N, C, names = num_nodes, len(classes), np.array(classes, dtype=object)
        folder, rng = tmp_path / "run", np.random.default_rng(0)
        folder.mkdir()
        truth = np.arange(N) % C
        given = np.where(np.arange(N) % 7 == 5, (truth + 1) % C, truth)
        score = np.where(given == truth, 0.9, 0.05) + rng.uniform(0, 0.05, N)
        turn = 2 * np.pi * truth / C
        nodes = pd.DataFrame(
            {
                "node_id": list(range(N)) if ids is None else list(ids),
                "label_given": names[given],
                "predicted": names[truth],
                "cluster": truth,
                "confidence": rng.random(N),
                "map_x": 9 * np.cos(turn) + rng.normal(size=N),
                "map_y": 9 * np.sin(turn) + rng.normal(size=N),
            }
        )
        nodes.loc[0, ["map_x", "map_y"]] = np.nan  # not placed
        wrong = given != truth
        suspects = pd.DataFrame(
            {
                "node": nodes["node_id"],
                "given": names[given],
                "suggested": names[truth],
                "probability": 1 - score,
                "score": score,
                "is_error": wrong,
                "neighbours_given": np.where(wrong, 0.0, np.nan),
                "neighbours_suggested": 0.5,
                "nearest": [f"{node} (near)" for node in nodes["node_id"]],
                "prototype_confidence": nodes["confidence"],
                "evidence": [f"Neighbours say {name}." for name in names[truth]],
            }
        ).sort_values("score", ignore_index=True)
        counts = suspects[suspects["is_error"]].groupby(["given", "suggested"]).size()
        pairs = [{"given": a, "suggested": b, "count": int(n)} for (a, b), n in counts.items()]
        source = np.arange(N - 1)
        findings = {
            "num_labelled": N, "num_suspects": int(wrong.sum()), "fdr_target": 0.1,
            "estimated_error_rate": 0.17, "error_interval": [0.1, 0.25], "fdr_estimated": 0.05,
            "class_names": list(classes), "transition": (np.eye(C) * 0.7 + 0.3 / C).tolist(),
            "error_rate_by_class": dict.fromkeys(classes, 0.1), "not_judged": [classes[-1]],
            "classes": pairs, "diagnosis": {"sentences": [f"The label {classes[0]} is noisy."]},
            "noise": {"auroc": 0.987},
        }  # fmt: skip
        history = [
            {"epoch": t, "node_loss": 5 - t / 10, "proto_loss": None if t < 3 else 2 - t / 10,
             "num_prototypes": None if t < 3 else 5, "confident_share": None if t < 3 else 0.5,
             "effective_rank": 20.0 + t}
            for t in range(1, 11)
        ]  # fmt: skip
        tables = {
            "nodes.parquet": nodes, "suspects.parquet": suspects,
            "edges.parquet": pd.DataFrame({"source": source, "target": source + 1}, dtype="int32"),
        }  # fmt: skip
        texts = {
            "findings.json": findings, "history.json": history, "metrics.json": {"n": 1},
            "run.json": {
                "brgcl": "0.1.0", "command": ["brgcl", "find-errors"], "files": {},
                "title": f"Labels of {classes[0]}", "settings": {"tau": 0.5},
                "tables": [{"title": "T", "columns": ["a"], "rows": [[classes[0]]], "note": ""}],
            },
        }  # fmt: skip
        for name in tables.keys() - set(without):
            tables[name].to_parquet(folder / name)
        for name in texts.keys() - set(without):
            (folder / name).write_text(json.dumps(texts[name]), encoding="utf-8")
        return folder

    return make
