"""What brgcl says about a graph: tables and pictures in one HTML file that needs nothing else."""

import base64
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from brgcl.atomic_files import write_text
from brgcl.errors import InputError


@dataclass(frozen=True)
class Table:
    """A table of a report."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True)
class Picture:
    """A picture of a report, as PNG bytes."""

    title: str
    png: bytes
    note: str = ""


@dataclass(frozen=True)
class Report:
    """All that a report shows.

    Attributes:
        title: Its heading.
        summary: Sentences that say what came out.
        tables: Tables, in order.
        pictures: Pictures, in order.
        settings: Settings of the method.
    """

    title: str
    summary: Sequence[str]
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


def write_report(path: Path, report: Report, version: str) -> None:
    """Write a report as one HTML file; every text in it is escaped."""
    jinja2 = import_extra("jinja2")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True)
    template = resources.files("brgcl.report").joinpath("template.html").read_text("utf-8")
    page = environment.from_string(template).render(
        report=report, version=version, encode=lambda png: base64.b64encode(png).decode()
    )
    write_text(path, page)


def has_report_extra() -> bool:
    """Whether the packages that reports need are installed."""
    try:
        check_report_extra()
    except InputError:
        return False
    return True


def check_report_extra() -> None:
    """Raise an error unless the packages that reports need are installed."""
    for name in ("jinja2", "matplotlib", "openTSNE"):
        import_extra(name)


def import_extra(name: str) -> Any:
    """Import a package of the `report` extra, or say how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(f"reports need {name}; pip install 'brgcl[report]'") from error
