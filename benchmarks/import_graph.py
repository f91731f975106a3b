"""Who imports whom: read from the source with `ast`, nothing is executed."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "brgcl"


def module_name(path: Path) -> str:
    """Dotted name of a file below `brgcl`; a package's `__init__` has the package's name."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def modules() -> dict[str, Path]:
    """Every module of brgcl by its name."""
    return {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


def imported_names(source: str, package: tuple[str, ...]) -> Iterator[str]:
    """Dotted names of all imports, wherever they stand; relative ones made absolute.

    Imports for type checkers alone do not count. `from brgcl import model` names the module only
    in the alias, so each name is given with its alias.
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{name}.{alias.name}" for alias in node.names)


def imports_of(name: str, path: Path, known: Mapping[str, Path]) -> set[str]:
    """Modules of brgcl that a module imports, itself excepted."""
    package = ("brgcl", *path.relative_to(SOURCE).parts[:-1])
    targets = set()
    for dotted in imported_names(path.read_text(encoding="utf-8"), package):
        parts = dotted.split(".")
        if parts[0] != "brgcl":
            continue
        inside = parts[1:]
        while inside and ".".join(inside) not in known:
            inside.pop()  # the last part is a name in a module
        targets.add(".".join(inside) or "__init__")
    return targets - {name}


def import_graph() -> dict[str, set[str]]:
    """For every module of brgcl, the modules of brgcl that it imports."""
    known = modules()
    return {name: imports_of(name, path, known) for name, path in known.items()}


def package_of(module: str) -> str:
    """The package of a module: the file or folder right under `brgcl`."""
    return module.split(".")[0]


def packages(graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """For every package, the other packages that it imports."""
    found: dict[str, set[str]] = {}
    for module, targets in graph.items():
        package = package_of(module)
        found.setdefault(package, set()).update(package_of(target) for target in targets)
    return {package: targets - {package} for package, targets in found.items()}


def layers(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Packages by level: a package is one level above the highest that it imports.

    Raises:
        ValueError: Some packages import each other.
    """
    left = {package: set(targets) for package, targets in graph.items()}
    levels = []
    while left:
        free = sorted(package for package, targets in left.items() if not targets & left.keys())
        if not free:
            raise ValueError(f"these import each other: {', '.join(sorted(left))}")
        levels.append(free)
        for package in free:
            del left[package]
    return levels


def shortest_arrows(graph: Mapping[str, set[str]]) -> list[tuple[str, str]]:
    """Arrows that no longer way replaces (the transitive reduction)."""
    reach: dict[str, set[str]] = {}
    for level in layers(graph):
        for package in level:
            reach[package] = set(graph[package]).union(
                *(reach[target] for target in graph[package])
            )
    return sorted(
        (package, target)
        for package, targets in graph.items()
        for target in targets
        if not any(target in reach[other] for other in targets)
    )
