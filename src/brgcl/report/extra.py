"""The packages that pages and maps need, beyond those that brgcl always has."""

import importlib
from typing import Any

from brgcl.errors import InputError


def has_report_extra() -> bool:
    """Whether the packages that reports need are installed."""
    try:
        check_report_extra()
    except InputError:
        return False
    return True


def check_report_extra() -> None:
    """Raise an error unless the packages that reports need are installed."""
    for name in ("jinja2", "openTSNE"):
        import_extra(name)


def import_extra(name: str) -> Any:
    """Import a package of the `report` extra, or say how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(f"reports need {name}; pip install 'brgcl[report]'") from error
