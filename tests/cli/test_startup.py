"""What is imported before there is anything to compute."""

import contextlib
import json
import os
import re
import subprocess
import sys

import pytest

import brgcl
from brgcl.cli import names
from brgcl.methods import METHODS

HEAVY = {"torch", "torch_geometric", "sklearn", "scipy", "pandas", "numpy", "pyarrow"}

# Prints the exit code and all modules at the end of each command, one after the other.
PROGRAM = """
import json, sys
found = []
for arguments in json.loads(sys.argv[1]):
    code, sys.argv[1:] = 0, arguments
    try:
        {statement}
    except SystemExit as error:
        code = error.code
    found.append([code, sorted(sys.modules)])
sys.stdout.flush()
sys.stderr.write("\\n" + json.dumps(found))
"""
COMMAND = "from brgcl.cli.main import main; main()"


def modules(*commands, statement=COMMAND, **environment):
    """Exit code and modules after each command; those of a command include those before it."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(statement=statement), json.dumps(commands)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | environment,
    )
    return [(code, set(found)) for code, found in json.loads(done.stderr.splitlines()[-1])]


def test_importing_brgcl_loads_nothing_heavy():
    """Defect 51: `import brgcl` took seconds."""
    ((_, found),) = modules([], statement="import brgcl")
    assert not found & HEAVY
    assert len(found) < 150


LIGHT = [
    (0, "--help"),
    (0, "classify --help"),
    (0, "bench --help"),
    (0, "bench run --help"),
    (0, "find-errors --help"),
    (0, "tune --help"),
    (0, "version"),
    (0, "--version"),
    (2, ""),
    (2, "clasify"),
    (2, "classify --sed 3"),
    (2, "classify demo --seed x"),
    (2, "classify demo --seed 4294967296"),
    (2, "classify citeser"),
    (2, "classify demo --method gnc"),
    (2, "classify demo --protocol noisyval"),
    (2, "classify demo --rule centroids"),
    (2, "classify demo --label-noise symetric:0.4"),
    (2, "find-errors demo --detector brgl"),
    (2, "find-errors demo --fdr 1"),
    (2, "find-errors demo --labelled some"),
    (2, "embed"),
    (2, "embed demo --root /nope"),
    (2, "tune demo --trials some"),
]


@pytest.fixture(scope="module")
def ended():
    """What each of these lines gives in one process; the first to load much is to be blamed."""
    lines = [line for _, line in LIGHT]
    return dict(zip(lines, modules(*(line.split() for line in lines)), strict=True))


@pytest.mark.parametrize(("code", "line"), LIGHT)
def test_help_and_usage_errors_load_nothing_heavy(ended, code, line):
    """Defect 51: `brgcl --help` imported 4,210 modules."""
    given, found = ended[line]
    assert (given or 0) == code
    assert not found & HEAVY
    assert len(found) < 500


def test_completion_loads_nothing_heavy():
    words = {"COMP_WORDS": "brgcl cl", "COMP_CWORD": "1"}
    ((_, found),) = modules([], _BRGCL_COMPLETE="complete_bash", **words)
    assert not found & HEAVY


def test_names_of_methods_are_those_of_the_registry():
    assert list(METHODS) == list(names.METHODS)


def test_every_public_name_is_listed_and_loads():
    listed = {
        "BRGCL",
        "BRGCLConfig",
        "NodeClassifier",
        "find_label_errors",
        "InputError",
    }
    assert listed < set(dir(brgcl))
    assert all(getattr(brgcl, name) is not None for name in dir(brgcl))
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        brgcl.nope  # noqa: B018


def test_names_for_checkers_are_those_that_load():
    """The imports under TYPE_CHECKING and the table of lazy names say the same."""
    import ast
    from pathlib import Path

    tree = ast.parse(Path(brgcl.__file__).read_text(encoding="utf-8"))
    branch = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {
        (node.module.removeprefix("brgcl."), alias.name)
        for node in branch.body
        for alias in node.names
    }
    table = ast.literal_eval(branch.orelse[0].value.args[1])
    assert typed == {(module, name) for module, group in table.items() for name in group}


COLOUR = re.compile(rb"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7])")


def on_a_terminal(*arguments, **variables):
    """What a command writes to a terminal."""
    pty = pytest.importorskip("pty", reason="no pseudo terminals here")
    ours, theirs = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    command = [sys.executable, "-m", "brgcl", *arguments]
    with subprocess.Popen(
        command, stdout=theirs, stderr=theirs, env=environment | {"TERM": "xterm"} | variables
    ) as process:
        os.close(theirs)
        written = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while part := os.read(ours, 65536):
                written += part
    os.close(ours)
    assert process.returncode == 0
    return written


def test_colours_are_for_terminals_and_for_those_who_want_them():
    assert COLOUR.search(on_a_terminal("--help"))
    assert not COLOUR.search(on_a_terminal("--help", NO_COLOR="1"))
    piped = subprocess.run(
        [sys.executable, "-m", "brgcl", "--help"], capture_output=True, check=True
    )
    assert b"\x1b" not in piped.stdout + piped.stderr
