"""The tree is the architecture: imports point one way, module by module."""

import ast
from pathlib import Path

import pytest

from import_graph import SOURCE, import_graph, imported_names, imports_of, layers, modules
from write_architecture import MAP, draw_map

GRAPH = import_graph()
MODULES = modules()
DOCS = Path(__file__).parent.parent / "docs"

GROUND = ("errors", "lazy", "config", "atomic_files", "machine", "progress", "notebook")
PIECES = (*GROUND, "method", "data", "noise", "tasks", "contract")
METHODS = (
    *PIECES,
    "model",
    "model_files",
    "notices",
    "checkpoint",
    "scale",
    "baselines",
    "methods",
)
# Module or package -> what it may import besides itself; the longest name that fits decides.
ARROWS = {
    "errors": (),
    "lazy": (),
    "machine": ("errors",),
    "progress": ("errors",),
    "notebook": (),
    "config": ("errors",),
    "atomic_files": ("errors",),
    "pictures": ("errors", "atomic_files"),
    "method": ("config", "errors"),
    "contract": ("config", "errors", "method.dpmeans"),
    "noise": ("config", "errors", "lazy", "method"),
    "data": (*GROUND, "method"),
    "tasks": (*GROUND, "method", "data"),
    "checkpoint": (*GROUND, "method"),
    "track": ("errors", "method"),
    "scale": (*GROUND, "method", "data"),
    "notices": ("config", "errors", "method"),
    "model_files": (*GROUND, "method", "tasks", "checkpoint"),
    "model": (*GROUND, "method", "data", "tasks", "checkpoint", "scale", "model_files", "notices"),
    "baselines": (*PIECES, "model", "scale"),
    "baselines.shared": (*GROUND, "method", "contract", "tasks", "data"),
    "methods": (*GROUND, "contract", "baselines"),
    "detectors": METHODS,
    "detectors.names": (),
    "evaluation": (*METHODS, "detectors"),
    "evaluation.paired": ("errors",),
    "report": (*METHODS, "detectors", "evaluation"),
    "benchmark": (*METHODS, "detectors", "evaluation"),
    "benchmark.run_spec": (*METHODS, "detectors", "evaluation"),
    "benchmark.experiment": (*METHODS, "detectors", "evaluation", "benchmark.run_spec"),
    "benchmark.records": (*METHODS, "detectors", "evaluation", "benchmark.run_spec"),
    "benchmark.show": (
        *PIECES, "pictures", "methods", "evaluation.paired", "evaluation.protocol",
        "benchmark.run_spec", "benchmark.experiment", "benchmark.records", "benchmark.schedule",
    ),
    "tune": (*METHODS, "detectors", "evaluation", "pictures"),
    "tune.equal": (*METHODS, "detectors", "evaluation", "benchmark"),
    "review": GROUND,
    "cli": (
        *METHODS, "detectors", "evaluation", "benchmark", "tune", "report", "review", "pictures",
        "__init__",
    ),
    "__main__": ("cli",),
    "distributed": ("cli", "scale"),
    "__init__": (*METHODS, "track"),
}  # fmt: skip
HOMELESS = {"utils", "util", "helpers", "base", "misc", "common"}
RETIRED = {"forms", "looks", "maps", "plan", "watch", "suite", "runs", "storage", "trial", "peers"}


def rule(module):
    """The entry of the table that decides for a module."""
    parts = module.split(".")
    names = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((name for name in names if name in ARROWS), None)


def inside(module, package):
    return module == package or module.startswith(f"{package}.")


def turned_arrows(module, targets):
    """Modules that a module imports although the table does not let it."""
    own = rule(module)
    allowed = (own, *ARROWS[own])
    return sorted(t for t in targets if not any(inside(t, package) for package in allowed))


@pytest.mark.parametrize("module", sorted(GRAPH))
def test_imports_point_one_way(module):
    assert rule(module) is not None, f"{module} is not in the table"
    assert turned_arrows(module, GRAPH[module]) == []


def test_every_arrow_of_the_table_is_a_module():
    named = {name for arrows in ARROWS.values() for name in arrows} | ARROWS.keys()
    assert sorted(name for name in named if name not in MODULES) == []


def test_no_two_modules_import_each_other():
    assert sum(map(len, layers(GRAPH))) == len(MODULES)


@pytest.mark.parametrize(
    "line",
    [
        "from brgcl.data.graphs import check_graph",
        "import brgcl.data.graphs",
        "from ..data import graphs",
        "def f():\n    from brgcl.data import graphs",
    ],
)
def test_a_turned_arrow_is_noticed(line, tmp_path, monkeypatch):
    monkeypatch.setattr("import_graph.SOURCE", tmp_path)
    file = tmp_path / "method" / "train.py"
    file.parent.mkdir()
    file.write_text(line, encoding="utf-8")
    targets = imports_of("method.train", file, MODULES)
    assert turned_arrows("method.train", targets) == ["data.graphs"]
    assert turned_arrows("cli.main", targets) == []


def test_imports_for_type_checkers_do_not_count():
    source = "if TYPE_CHECKING:\n    from brgcl.data import graphs\nimport brgcl.errors"
    assert list(imported_names(source, ("brgcl",))) == ["brgcl.errors"]


def test_no_baseline_imports_another():
    methods = {name for name in GRAPH if name.startswith("baselines.") and name.count(".") == 1}
    methods = {name for name in methods if "METHOD" in MODULES[name].read_text(encoding="utf-8")}
    assert methods
    for name in methods:
        assert not GRAPH[name] & (methods - {name}), name


def test_no_module_is_a_drawer():
    names = {part for module in MODULES for part in module.split(".")}
    assert not names & (HOMELESS | RETIRED)


def test_only_the_command_line_prints():
    for name, path in MODULES.items():
        if inside(name, "cli"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            printing = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            assert not (printing and node.func.id == "print"), f"{path}:{node.lineno}"


def test_pickle_is_read_only_by_a_restricted_unpickler():
    """A file that imports pickle is in `data`, overrides `find_class`, and never calls load."""
    for name, path in MODULES.items():
        source = path.read_text(encoding="utf-8")
        names = {dotted.split(".")[0] for dotted in imported_names(source, ("brgcl",))}
        if not names & {"pickle", "cloudpickle", "dill", "_pickle"}:
            continue
        tree = ast.parse(source)
        assert inside(name, "data"), path
        methods = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        assert "find_class" in methods, path
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert (node.value.id, node.attr) not in {("pickle", "load"), ("pickle", "loads")}


def test_the_method_does_no_input_or_output():
    forbidden = {"json", "logging", "os", "pathlib", "sys", "typer", "rich", "pandas", "numpy"}
    for path in (SOURCE / "method").glob("*.py"):
        source = path.read_text(encoding="utf-8")
        names = {dotted.split(".")[0] for dotted in imported_names(source, ("brgcl", "method"))}
        assert not names & forbidden, path.name


def test_the_map_is_made_from_the_imports():
    assert MAP.read_text(encoding="utf-8") == draw_map(), "make architecture writes it anew"
