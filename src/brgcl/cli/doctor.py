"""The command `brgcl doctor`: what is installed, what is missing, and how to fix it."""

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Literal

from typer import Exit

from brgcl.cli.console import print_json, print_line, show_table
from brgcl.cli.grouped import grouped
from brgcl.cli.options import Json, Root

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "firefox", "msedge", "open")
EXTRAS = {
    "report": "HTML reports with a map of the nodes",
    "review": "review of suspicious labels in a browser",
    "tune": "search for settings",
    "interop": "NetworkX, igraph and cleanlab",
    "scale": "partitions of large graphs",
    "cluster": "benchmarks on a Dask cluster",
    "track": "TensorBoard and MLflow",
}


@dataclass(frozen=True)
class Check:
    """The result of one check, with a remedy unless all is well."""

    what: str
    state: Literal["ok", "missing", "broken"]
    found: str
    remedy: str = ""


@grouped
def doctor(root: Root = None, json_: Json = False) -> None:
    """Check the installation, and say how to fix it.

    The exit code is 1 if something that every command needs is broken.
    """
    checks = [*check_packages(), *check_extras(), *check_data(root), check_threads(), check_disk()]
    checks.append(check_browser())
    broken = any(check.state == "broken" for check in checks)
    if json_:
        print_json({"ok": not broken, "checks": [asdict(check) for check in checks]})
    else:
        rows = [[check.what, check.state, check.found, check.remedy] for check in checks]
        show_table("", ["what", "state", "found", "remedy"], rows, words=True)
        print_line(
            "Something that every command needs is broken; see the remedies."
            if broken
            else "Everything that brgcl always needs is installed. Missing parts are only needed "
            "for the purpose in their row."
        )
    if broken:
        raise Exit(1)


def check_packages() -> list[Check]:
    """Required packages: are they there, and can torch compute?"""
    missing = [name for name in needed("") if _version(name) is None]
    if missing:
        remedy = "pip install --constraint constraints.txt brgcl"
        return [Check("packages", "broken", f"no {', '.join(missing)}", remedy)]
    found = f"{len(needed(''))} packages, torch {_version('torch')}"
    try:
        import torch

        assert float(torch.eye(2).sum()) == 2
    except Exception as error:  # whatever a broken build raises
        return [Check("packages", "broken", f"torch: {error}", "pip install --force torch")]
    return [Check("packages", "ok", found)]


def check_extras() -> Iterator[Check]:
    """Packages that single uses need."""
    for extra, use in EXTRAS.items():
        missing = [name for name in needed(extra) if _version(name) is None]
        if missing:
            remedy = f"pip install 'brgcl[{extra}]'"
            yield Check(extra, "missing", f"no {', '.join(missing)}: {use}", remedy)
        else:
            yield Check(extra, "ok", use)


def check_data(root: Path | None) -> Iterator[Check]:
    """Files of the public graphs."""
    from brgcl.data.datasets import dataset_status

    listed = [status for status in dataset_status(root) if status.name != "demo"]
    here = [status.name for status in listed if status.available]
    away = [status.name for status in listed if not status.available]
    folder = os.environ.get("BRGCL_DATA")
    if folder and not Path(folder).is_dir():
        yield Check("BRGCL_DATA", "broken", f"no folder '{folder}'", "unset BRGCL_DATA, or make it")
    remedy = "downloaded when first used; BRGCL_DATA names a folder that has them" if away else ""
    found = f"here: {', '.join(here) or 'none'}" + (f"; not here: {', '.join(away)}" * bool(away))
    yield Check("public graphs", "missing" if away else "ok", found, remedy)


def check_threads() -> Check:
    """Threads that torch computes with, against the cores of the machine."""
    import torch

    threads = torch.get_num_threads()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    found = f"{threads} of {cores} cores"
    if threads > (cores or threads):
        return Check("threads", "missing", found, f"set OMP_NUM_THREADS={cores}: fewer wait less")
    return Check("threads", "ok", found)


def check_disk() -> Check:
    """Room for results where the command was started."""
    free = shutil.disk_usage(Path.cwd()).free / 1e9
    if free < 1:
        return Check("disk", "missing", f"{free:.1f} GB free here", "make room, or --out elsewhere")
    return Check("disk", "ok", f"{free:,.0f} GB free here")


def check_browser() -> Check:
    """A browser for reports and the review."""
    found = next((name for name in BROWSERS if shutil.which(name)), None)
    if found is None:
        remedy = "open report.html on a machine that has one"
        return Check("browser", "missing", "none found", remedy)
    return Check("browser", "ok", found)


def needed(extra: str) -> list[str]:
    """Names of the packages that brgcl requires, or that one of its extras does."""
    names = []
    for requirement in requires("brgcl") or []:
        package, _, condition = requirement.partition(";")
        match = re.search(r"extra\s*==\s*['\"]([^'\"]+)['\"]", condition)
        if (match[1] if match else "") == extra:
            names.append(re.split(r"[\s<>=!~\[(]", package.strip(), maxsplit=1)[0])
    return names


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
