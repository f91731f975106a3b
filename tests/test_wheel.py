"""What is published installs into an empty environment and works there, without the repository."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CLEAN = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "BRGCL_DATA")}


def run(*command, cwd):
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=CLEAN, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT, cwd=ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel


def environment(folder, *arguments):
    """An empty environment with what pip installs for the arguments; returns its programs."""
    venv.create(folder, with_pip=True)
    programs = folder / "bin"
    run(programs / "pip", "install", "--quiet", *arguments, cwd=folder)
    return programs


@pytest.mark.slow
def test_the_wheel_works_in_an_empty_environment(built, tmp_path):
    pins = ROOT / "constraints.txt"
    programs = environment(tmp_path / "env", "--constraint", pins, f"{built}[report]")
    assert run(programs / "brgcl", "--version", cwd=tmp_path).strip()
    health = json.loads(run(programs / "brgcl", "doctor", "--json", cwd=tmp_path))
    assert health["ok"]
    small = ("--set", "epochs=5", "--set", "warmup_epochs=2")
    run(programs / "brgcl", "demo", "--seeds", "1", *small, "--out", "demo", cwd=tmp_path)
    assert "<html" in (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_lowest_versions_that_are_supported_work(built, tmp_path):
    pins = ROOT / "constraints-lowest.txt"
    programs = environment(tmp_path / "env", "--constraint", pins, f"{built}[report]", "pytest")
    found = run(programs / "pip", "list", "--format", "json", cwd=tmp_path)
    versions = {
        package["name"].lower().replace("_", "-"): package["version"]
        for package in json.loads(found)
    }
    for line in pins.read_text(encoding="utf-8").splitlines():
        name, _, version = line.partition("==")
        if version and not line.startswith("#"):
            assert versions[name.lower().replace("_", "-")].split("+")[0] == version
    for example in ("quickstart", "find_label_errors", "own_graph"):
        run(programs / "python", "-W", "error::FutureWarning",
            ROOT / "examples" / f"{example}.py", cwd=tmp_path)  # fmt: skip


def test_the_lowest_versions_are_those_that_the_package_asks_for():
    from importlib.metadata import requires

    asked = dict(r.split(";")[0].split(">=") for r in requires("brgcl") if "extra" not in r)
    lines = (ROOT / "constraints-lowest.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if "==" in line and not line.startswith("#"))
    for name, version in asked.items():
        if name == "torch":  # older CPU builds are not to be had everywhere; see the file
            continue
        got = pinned[name.replace("-geometric", "_geometric")]
        assert got == version or got.startswith(f"{version}."), f"{name}: {got} is not {version}"
