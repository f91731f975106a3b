"""Real graphs for tests that are marked `data`, and one thread for all."""

import logging
import os
import warnings
from collections.abc import Callable, Iterator
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
