"""docs/equations.md, docs/symbols.md and docs/deviations.md say what the code says."""

import ast
import dataclasses
import re
from pathlib import Path

import pytest

from brgcl.config import BRGCLConfig

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "brgcl"
MODEL_ONLY = 3  # a model, whose limit is computed; it has no function


def rows(page, columns):
    """Cells of the table rows with so many columns, header and rule left out."""
    for line in (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
        if len(cells) == columns and not set(cells[0]) <= set("-"):
            yield cells


def documented(path):
    """Docstrings of all functions and classes in a file, by name."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        node.name: ast.get_docstring(node) or ""
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


def equation_map():
    """Number -> (file, function) of the first table."""
    return {
        int(cells[0].strip("()")): (cells[2].strip("`"), cells[3].strip("`"))
        for cells in rows("equations.md", 4)
        if re.fullmatch(r"\(\d+\)", cells[0])
    }


def test_the_map_lists_equations_1_to_8():
    assert list(equation_map()) == list(range(1, 9))


@pytest.mark.parametrize("number", [1, 2, 4, 5, 6, 7, 8])
def test_the_function_of_an_equation_exists_and_says_so(number):
    file, function = equation_map()[number]
    first_line = documented(ROOT / file)[function].splitlines()[0]
    assert first_line.endswith(f", Eq. ({number}).")


def test_the_model_has_a_file_and_a_sampler_in_the_tests_but_no_function():
    file, function = equation_map()[MODEL_ONLY]
    assert "dp_means" in documented(ROOT / file)
    assert function == "—"
    assert (ROOT / "tests" / "method" / "test_gibbs.py").exists()


def test_each_equation_is_found_in_exactly_one_place_of_the_source():
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for number in re.findall(r"Eq\. \((\d+)\)", path.read_text(encoding="utf-8")):
            found.setdefault(int(number), []).append(path.relative_to(ROOT).as_posix())
    expected = {n: [file] for n, (file, _) in equation_map().items() if n != MODEL_ONLY}
    assert found == expected


def test_no_docstring_spells_an_equation_another_way():
    other = re.compile(r"\b(?:[Ee]qs?\.?|[Ee]quations?)[ ~]?\(?\d+\)?")
    for path in sorted((SOURCE / "method").glob("*.py")):
        text = re.sub(r"Eq\. \(\d+\)", "", path.read_text(encoding="utf-8"))
        assert not other.search(text), path.name


def test_the_unnumbered_steps_exist():
    steps = [cells for cells in rows("equations.md", 3) if cells[0] != "Step"]
    assert len(steps) >= 6
    for _, file, function in steps:
        assert function.strip("`") in documented(ROOT / file.strip("`")), function


# Deviations


def deviations():
    return [cells for cells in rows("deviations.md", 5) if cells[0] != "Place"]


def deviating_docstrings():
    """(file, function) of every `Deviation:` paragraph that belongs to docs/deviations.md."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        file = path.relative_to(SOURCE).as_posix()
        for name, text in documented(path).items():
            ours = file.startswith("method/") or "docs/deviations.md" in text
            if "Deviation:" in text and ours:
                found.append((file, name))
    return found


def test_every_deviation_paragraph_has_a_line_in_the_page():
    listed = [cells[4] for cells in deviations()]
    assert deviating_docstrings()
    for file, name in deviating_docstrings():
        assert f"`{file}` `{name}`" in listed, f"{file}: {name}"


def test_every_deviation_of_the_method_names_code_that_exists():
    for place, *_, code in deviations():
        file, *name = re.findall(r"`([^`]+)`", code)
        if file.startswith("method/"):
            assert name[0] in documented(SOURCE / file), place


def test_every_switch_of_the_method_is_a_setting():
    fields = {field.name for field in dataclasses.fields(BRGCLConfig)}
    for place, _, _, switch, code in deviations():
        if code.startswith("`method/") and switch != "none":
            names = re.findall(r"`([^`]+)`", switch)
            assert names, place
            assert set(names) <= fields, place


def test_every_difference_between_the_presets_has_a_line():
    literal, default = BRGCLConfig.preset("paper-literal"), BRGCLConfig()
    changed = {
        field.name
        for field in dataclasses.fields(BRGCLConfig)
        if getattr(literal, field.name) != getattr(default, field.name)
    }
    switches = {name for cells in deviations() for name in re.findall(r"`([^`]+)`", cells[3])}
    assert changed <= switches


# Symbols


def test_every_name_in_the_symbols_occurs_in_the_source():
    source = "\n".join(
        path.read_text(encoding="utf-8")
        for path in [*(SOURCE / "method").glob("*.py"), SOURCE / "config.py"]
    )
    listed = [cells for cells in rows("symbols.md", 4) if cells[0] != "Paper"]
    assert len(listed) > 20
    for _, code, _, _ in listed:
        for word in re.findall(r"[A-Za-z]\w*", " ".join(re.findall(r"`([^`]+)`", code))):
            assert re.search(rf"\b{word.rstrip('_')}\b", source), word
