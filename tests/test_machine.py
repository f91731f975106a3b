"""What brgcl asks of the machine."""

import os
import subprocess
import sys
from functools import cache
from importlib.metadata import version

import pytest
import torch

from brgcl import InputError, machine, make_graph
from brgcl.machine import keep_freed_memory
from brgcl.methods import METHODS, ObservedLabels

GRAPH = make_graph(60, num_classes=3, num_features=20)

PROGRAM = """
import resource, sys
from brgcl.machine import keep_freed_memory
if sys.argv[1] == "keep":
    keep_freed_memory()
import torch
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    torch.ones(10_000_000)  # until the heap has its size
before = faults()
for _ in range(5):
    torch.ones(10_000_000)  # 40 MB each, freed at once
print(faults() - before)
"""


@cache
def faults(mode, huge_pages):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, mode],
        text=True,
        capture_output=True,
        check=True,
        env=os.environ | {"THP_MEM_ALLOC_ENABLE": huge_pages},
    )
    return int(done.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there is no glibc to tell")
@pytest.mark.parametrize("huge_pages", ["0", "1"])
def test_a_freed_tensor_costs_no_page_faults_again(huge_pages):
    assert faults("keep", huge_pages) < 0.3 * faults("plain", "0")


def test_it_says_whether_it_could():
    assert keep_freed_memory() == sys.platform.startswith("linux")


@pytest.mark.parametrize(("given", "expected"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_waiting_threads_sleep_unless_the_user_says_otherwise(given, expected):
    environment = {k: v for k, v in os.environ.items() if k != "OMP_WAIT_POLICY"}
    if given is not None:
        environment["OMP_WAIT_POLICY"] = given
    program = """
import sys
from importlib.metadata import version
sys.modules["torch"] = None  # importing it would raise: the policy must be set before
try:
    import brgcl
except ImportError:
    pass
import os
print(os.environ["OMP_WAIT_POLICY"])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], text=True, capture_output=True, check=True, env=environment
    )
    assert done.stdout.strip() == expected


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("brgcl", {"hidden": 100_000_000}),
        ("gcn", {"hidden": 10**9}),
        ("gae", {"hidden": 10**9}),
        ("dgi", {"dim": 10**7}),
        ("grace", {"dim": 10**7}),
        ("bgrl", {"hidden": 10**9}),
        ("arga", {"hidden": 10**9}),
        ("cca-ssg", {"hidden": 10**9}),
    ],
)
def test_widths_beyond_the_memory_are_refused_before_training(method, settings, monkeypatch):
    """Defect 50: hidden=100000000 ended a process at 23 GB."""
    monkeypatch.setattr(machine, "memory", lambda: 8 * 10**9)
    config = METHODS[method].config(**settings)
    labels = ObservedLabels(GRAPH.y, None, 3)
    with pytest.raises(InputError, match=r"units need about .* GB on this graph, and this machine"):
        METHODS[method].fit(GRAPH, labels, config, torch.Generator())


def test_usual_widths_fit():
    machine.check_width(2708, 1433, 512, 256)


def test_source_outside_git_is_named_by_its_version(monkeypatch):
    def no_git(*arguments):
        raise FileNotFoundError("git")

    monkeypatch.setattr(machine, "_git", no_git)
    machine.source_commit.cache_clear()
    assert machine.source_commit() == version("brgcl")
    machine.source_commit.cache_clear()
