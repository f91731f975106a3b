"""The tree is the architecture: imports point one way."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "brgcl"

# Part -> the parts it may import besides itself. A part is a file or folder right under brgcl.
GROUND = {"errors", "config", "atomic_files", "machine"}
METHOD = GROUND | {"method", "progress"}
PIECES = METHOD | {"data", "noise", "tasks", "model"}
METHODS = PIECES | {"baselines", "contract", "methods"}
ARROWS = {
    "errors": set(),
    "config": {"errors"},
    "atomic_files": {"errors"},
    "machine": set(),
    "pictures": {"errors", "atomic_files"},
    "contract": {"method"},
    "method": {"config", "errors"},
    "progress": {"method", "errors"},
    "noise": {"method", "config", "errors"},
    "data": {"method", "config", "errors", "atomic_files"},
    "tasks": {"method", "config", "errors", "data"},
    "checkpoint": METHOD,
    "model": METHOD | {"checkpoint", "data", "tasks"},
    "distributed": PIECES,
    "baselines": PIECES | {"contract"},
    "methods": PIECES | {"baselines", "contract"},
    "evaluate": METHODS,
    "report": METHODS | {"evaluate"},
    "benchmark": METHODS | {"evaluate", "report", "pictures"},
    "tune": METHODS | {"evaluate", "pictures"},
    "cli": METHODS | {"evaluate", "benchmark", "tune", "report", "pictures"},
    "__main__": {"cli"},
    "__init__": PIECES,
}
HOMELESS = {"utils", "util", "helpers", "base", "misc", "common"}


def modules():
    return sorted(SOURCE.rglob("*.py"))


def part(path):
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


def imported_modules(tree, package):
    """Dotted names of all imports, wherever they stand; relative ones made absolute."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            # `from brgcl import model` names the part only in the alias
            yield from (f"{name}.{alias.name}" for alias in node.names)


def turned_arrows(source, path):
    """Parts of brgcl that a file imports although the table does not let it."""
    package = ["brgcl", *path.relative_to(SOURCE).parts[:-1]]
    own = part(path)
    names = [name.split(".") for name in imported_modules(ast.parse(source), package)]
    targets = {name[1] for name in names if name[0] == "brgcl" and len(name) > 1}
    return sorted(target for target in targets - ARROWS[own] - {own, "__version__"})


def test_every_part_is_in_the_table():
    assert {part(path) for path in modules()} <= set(ARROWS)


@pytest.mark.parametrize("name", sorted(ARROWS))
def test_imports_point_one_way(name):
    for path in modules():
        if part(path) == name:
            found = turned_arrows(path.read_text(encoding="utf-8"), path)
            assert not found, f"{path.relative_to(SOURCE)} imports brgcl.{found}"


@pytest.mark.parametrize(
    "line",
    [
        "from brgcl.data.graphs import check_graph",
        "import brgcl.data",
        "from brgcl import data",
        "from ..data import graphs",
        "def f():\n    from brgcl.data import graphs",
    ],
)
def test_a_turned_arrow_is_noticed(line):
    assert turned_arrows(line, SOURCE / "method" / "train.py") == ["data"]
    assert turned_arrows(line, SOURCE / "cli" / "main.py") == []


def test_the_table_has_no_cycle():
    """Each part may be taken away once all that it imports is gone."""
    left = dict(ARROWS)
    while left:
        free = [name for name, arrows in left.items() if not arrows & left.keys()]
        assert free, f"cycle among {sorted(left)}"
        for name in free:
            del left[name]


def test_no_baseline_imports_another():
    """A baseline is a module of `baselines` with a function `fit`."""
    folder = SOURCE / "baselines"
    trees = {
        path.stem: ast.parse(path.read_text(encoding="utf-8"))
        for path in folder.glob("*.py")
        if path.stem != "__init__"
    }
    methods = {
        name
        for name, tree in trees.items()
        if any(isinstance(node, ast.FunctionDef) and node.name == "fit" for node in tree.body)
    }
    assert methods
    for name in methods:
        imported = imported_modules(trees[name], ["brgcl", "baselines"])
        others = {
            target.split(".")[2] for target in imported if target.startswith("brgcl.baselines.")
        }
        assert not others & (methods - {name}), name


def test_no_module_is_a_drawer():
    names = {path.stem for path in modules()} | {path.parent.name for path in modules()}
    assert not names & HOMELESS


def test_only_the_command_line_prints():
    for path in modules():
        if part(path) == "cli":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            printing = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            assert not (printing and node.func.id == "print"), f"{path}:{node.lineno}"


def test_pickle_is_read_only_by_a_restricted_unpickler():
    """A file that imports pickle is in `data`, overrides `find_class`, and never calls load."""
    for path in modules():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {name.split(".")[0] for name in imported_modules(tree, ["brgcl"])}
        if not names & {"pickle", "cloudpickle", "dill", "_pickle"}:
            continue
        assert part(path) == "data", path
        methods = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        assert "find_class" in methods, path
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert (node.value.id, node.attr) not in {("pickle", "load"), ("pickle", "loads")}


def test_the_method_does_no_input_or_output():
    forbidden = {"json", "logging", "os", "pathlib", "sys", "typer", "rich", "pandas", "numpy"}
    for path in (SOURCE / "method").glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {name.split(".")[0] for name in imported_modules(tree, ["brgcl", "method"])}
        assert not names & forbidden, path.name
