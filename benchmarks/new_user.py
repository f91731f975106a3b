"""Time the path of a new user: clone, install, demonstration, then README's commands on own files.

python benchmarks/new_user.py

Everything happens in a temporary folder, with the commands that README prints and nothing else;
--write puts the seconds into docs/quickstart.md.
"""

import argparse
import csv
import os
import platform
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "quickstart.md"
BEGIN, END = "<!-- new user -->", "<!-- end of new user -->"
NODES, CLASSES, WORDS = 600, ("red", "green", "blue"), 60


def write_graph(folder: Path, seed: int = 0) -> set[str]:
    """Write edges.csv, attributes.csv and labels.csv of a small graph, with the standard library.

    Members of a class are mostly linked with each other and share some words; every tenth label is
    made wrong.

    Returns:
        The nodes whose label is wrong.
    """
    draw = random.Random(seed)
    kind = {f"user{number}": draw.randrange(len(CLASSES)) for number in range(NODES)}
    names = list(kind)
    groups = [[name for name in names if kind[name] == k] for k in range(len(CLASSES))]
    edges = set()
    for name in names:
        for _ in range(3):
            other = draw.choice(groups[kind[name]] if draw.random() < 0.8 else names)
            if other != name:
                edges.add((min(name, other), max(name, other)))
    wrong = set(names[::10])
    given = {n: CLASSES[(k + (n in wrong)) % len(CLASSES)] for n, k in kind.items()}
    words = [f"word{number}" for number in range(WORDS)]
    rows = [
        [n, *(int(draw.random() < (0.3 if w % len(CLASSES) == k else 0.1)) for w in range(WORDS))]
        for n, k in kind.items()
    ]
    for file, header, table in (
        ("edges.csv", ["source", "target"], sorted(edges)),
        ("attributes.csv", ["id", *words], rows),
        ("labels.csv", ["id", "label"], list(given.items())),
    ):
        with (folder / file).open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows([header, *table])
    return wrong


def readme_commands(readme: str) -> list[str]:
    """README's commands for files of one's own, in its order, without those of a review."""
    shown = re.findall(r"```sh\n(.*?)```", readme, flags=re.DOTALL)
    lines = [line for block in shown for line in block.splitlines() if "--edges" in line]
    return [line for line in lines if "--reviewed" not in line]


def follow(clone: Path) -> Iterator[tuple[str, str, float]]:
    """Go README's way; yields each step in words, its command, and the seconds it took."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}

    def run(command: str, folder: Path) -> float:
        start = time.perf_counter()
        done = subprocess.run(
            command, shell=True, cwd=folder, env=environment, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        if done.returncode != 0:
            sys.exit(f"{command} ended with {done.returncode}:\n{done.stderr[-2000:]}")
        return time.perf_counter() - start

    yield "Clone", "git clone", run(f"git clone --quiet {ROOT} {clone.name}", clone.parent)
    installed = run("make .venv/demo.done", clone)
    yield "Install, the first time only", "make demo", installed
    yield "Demonstration", "make demo", run("make demo", clone)
    environment["PATH"] = f"{clone / '.venv' / 'bin'}{os.pathsep}{environment['PATH']}"
    write_graph(clone)
    for line in readme_commands((clone / "README.md").read_text(encoding="utf-8")):
        what = "Classes" if " classify " in line else "Wrong labels"
        yield f"{what} of a graph of {NODES} nodes", line, run(line, clone)


def table(steps: list[tuple[str, str, float]], machine: str) -> str:
    """The steps as a table of Markdown."""
    lines = [f"| {what} | `{command}` | {seconds:.0f} s |" for what, command, seconds in steps]
    total = sum(seconds for *_, seconds in steps)
    return "\n".join(
        [
            f"Measured on {machine}:",
            "",
            "| Step | Command | Time |",
            "|---|---|---|",
            *lines,
            f"| Together | | {total:.0f} s |",
        ]
    )


def machine() -> str:
    """This machine in general terms."""
    return f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def main() -> None:
    """Follow the path and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="Write the table into the page.")
    arguments = parser.parse_args()
    steps = []
    with tempfile.TemporaryDirectory() as folder:
        for step in follow(Path(folder) / "brgcl"):
            print("{}: {}: {:.1f} s".format(*step), flush=True)
            steps.append(step)
    text = table(steps, machine())
    print(text)
    if arguments.write:
        page = PAGE.read_text(encoding="utf-8")
        before, after = page.partition(BEGIN)[0], page.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
