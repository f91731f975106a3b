"""Names of a package that are loaded when they are first used."""

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make `__getattr__` and `__dir__` of a package (PEP 562) from its modules and their names."""
    home = {name: module for module, names in homes.items() for name in names}

    def load(name: str) -> Any:
        try:
            if name in home:
                return getattr(importlib.import_module(f"{package}.{home[name]}"), name)
            if not name.startswith("_"):
                return importlib.import_module(f"{package}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{package}.{name}":
                raise
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return load, lambda: sorted({*vars(sys.modules[package]), *home})
