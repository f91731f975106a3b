"""What docs/ and CONTRIBUTING.md say is what the code does: settings, links, code, commands."""

import ast
import dataclasses
import importlib.util
import inspect
import re
import shlex
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

import pytest
import torch
import typer

import brgcl
from brgcl import BRGCLConfig, NodeClassifier
from brgcl.cli.app import app
from brgcl.cli.options import NoiseOptions
from brgcl.cli.settings import resolve_config
from brgcl.config import PAPER_TABLE
from brgcl.evaluation.protocol import PROTOCOLS, draw_noisy_graph
from brgcl.method.train import num_negatives
from brgcl.methods import METHODS
from brgcl.noise import ATTRIBUTE_NOISE, EDGE_NOISE, LABEL_NOISE, NoiseSpec
from brgcl.noise.graph import Noise
from method_facts import put_facts

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.glob("*.md")), ROOT / "CONTRIBUTING.md"]
FENCE = re.compile(r"^```(\S*)[ ]?([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def read(page):
    return (DOCS / page).read_text(encoding="utf-8")


def section(text, heading):
    """The text below a heading, up to the next one of the same or a higher rank."""
    rank = re.match(r"#+", heading)[0]
    found = re.search(rf"(?ms)^{re.escape(heading)}\n(.*?)(?=^#{{1,{len(rank)}}} |\Z)", text)
    assert found, f"no heading {heading!r}"
    return found[1]


def rows(text, columns):
    """Cells of the table rows with so many columns; headers and rules left out."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
        if len(cells) == columns and cells[0].startswith("`"):
            yield cells


def stated(text, columns):
    """Setting -> the value in its second column, read as Python."""
    found = [(cells[0].strip("`"), cells[1].strip("`")) for cells in rows(text, columns)]
    names = [name for name, _ in found]
    assert len(names) == len(set(names)), "a setting stands twice"
    return {name: ast.literal_eval(value) for name, value in found}


def shown(settings):
    """Settings in order, with types told apart: 1 is not 1.0."""
    return [f"{name}={value!r}" for name, value in settings.items()]


def choices(hint):
    """The words that a setting may be."""
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    return [word for part in get_args(hint) for word in choices(part)]


def code_blocks(page, *languages):
    text = page.read_text(encoding="utf-8")
    return [(title, body) for language, title, body in FENCE.findall(text) if language in languages]


# Settings


def test_parameters_lists_every_setting_with_its_default_in_the_order_of_the_code():
    expected = {field.name: field.default for field in dataclasses.fields(BRGCLConfig)}
    found = stated(read("parameters.md"), 6)
    assert set(found) == set(expected)
    assert shown(found) == shown(expected)


def test_parameters_says_something_in_every_cell():
    for cells in rows(read("parameters.md"), 6):
        assert all(cells), cells[0]


def test_parameters_names_every_choice_of_a_setting():
    hints = get_type_hints(BRGCLConfig)
    for name, _, *texts in rows(read("parameters.md"), 6):
        for choice in choices(hints[name.strip("`")]):
            told = f'"{choice}"' in " ".join(texts) or name == "`view2`"  # as for view1
            assert told, f"{name}: {choice}"


def test_parameters_tells_when_negatives_are_sampled():
    text = next(cells[2] for cells in rows(read("parameters.md"), 6) if "negatives" in cells[0])
    limit, sample = (
        int(number.replace(",", ""))
        for number in re.search(r"all up to ([\d,]+) nodes, else ([\d,]+)", text).groups()
    )
    assert num_negatives(BRGCLConfig(), limit) is None
    assert num_negatives(BRGCLConfig(), limit + 1) == sample


def test_parameters_lists_what_the_paper_literal_preset_changes():
    text = section(read("parameters.md"), "## Presets")
    default, literal = BRGCLConfig(), BRGCLConfig.preset("paper-literal")
    listed = {
        cells[0].strip("`"): ast.literal_eval(cells[1].strip("`"))
        for cells in rows(text, 3)
        if cells[1].startswith("`") and cells[0] != "`xi`, `gamma0`"
    }
    changed = {
        name: value
        for name, value in literal.to_dict().items()
        if value != getattr(default, name) and name not in ("xi", "gamma0")
    }
    assert listed == changed
    table = re.findall(r"^\| ([\w-]+) \| ([\d.]+) \| ([\d.]+) \|$", text, flags=re.MULTILINE)
    assert {name: (float(xi), float(gamma0)) for name, xi, gamma0 in table} == PAPER_TABLE


def test_parameters_lists_the_settings_of_the_classifier():
    found = stated(section(read("parameters.md"), "## The classifier"), 3)
    signature = inspect.signature(NodeClassifier)
    assert shown(found) == shown({name: p.default for name, p in signature.parameters.items()})


# Methods


def test_the_facts_of_methods_are_those_of_the_code():
    text = read("methods.md")
    assert put_facts(text) == text, "python benchmarks/method_facts.py writes them anew"


def test_adding_a_method_names_every_list_of_methods():
    source, page = ROOT / "src" / "brgcl", read("adding-a-method.md")
    lists = [
        file.relative_to(source).as_posix()
        for file in source.rglob("*.py")
        if file.parent.name != "baselines"
        and re.search(r'"bgrl"|\bbgrl\.METHOD', file.read_text(encoding="utf-8"))
    ]
    assert sorted(lists) == ["cli/names.py", "methods.py"]
    assert all(f"(../src/brgcl/{name})" in page for name in lists)


def test_every_method_has_a_section_with_its_idea():
    for name in METHODS:
        assert "**Idea.**" in section(read("methods.md"), f"## {name}"), name


# Benchmark


def test_benchmark_lists_protocols_and_kinds_of_noise():
    text = read("benchmark.md")
    assert [cells[0].strip("`") for cells in rows(section(text, "## Protocols"), 4)] == list(
        PROTOCOLS
    )
    for heading, kinds in (
        ("### Labels", LABEL_NOISE),
        ("### Attributes", ATTRIBUTE_NOISE),
        ("### Edges", EDGE_NOISE),
    ):
        listed = [cells[0].strip("`") for cells in rows(section(text, heading), 2)]
        assert listed == list(kinds)


def trial(data, protocol="clean-val", level=0.3, kind="symmetric", **noise):
    noise = Noise(labels=NoiseSpec(kind, level), **noise)
    return draw_noisy_graph(data, noise=noise, protocol=protocol, seed=3)


@pytest.mark.parametrize("kind", LABEL_NOISE)
def test_draws_depend_on_the_seed_as_benchmark_says(kind):
    data = brgcl.make_graph(num_nodes=120, num_classes=3, num_features=30)
    first = trial(data, kind=kind).labels.train
    for protocol in PROTOCOLS:
        assert torch.equal(trial(data, protocol, kind=kind).labels.train, first)
    more = trial(data, kind=kind, attributes=NoiseSpec("cell", 0.2), edges=NoiseSpec("rewire", 0.2))
    assert torch.equal(more.labels.train, first)
    higher = trial(data, kind=kind, level=0.6).labels.train
    wrong, wrong_higher = (
        labels != torch.where(data.train_mask, data.y, -1) for labels in (first, higher)
    )
    assert bool(wrong.any())
    assert bool((wrong <= wrong_higher).all())


# Links and paths


def anchors(text):
    """Anchors of the headings, as code forges make them."""
    for heading in re.findall(r"^#+ (.*)$", FENCE.sub("", text), flags=re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_paths_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        path = page.parent / file if file else page
        assert path.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors(path.read_text(encoding="utf-8")), f"{page.name}: {target}"
    for path in re.findall(r"`(src/[\w./-]+)`", text):
        assert (ROOT / path).exists(), f"{page.name}: {path}"


def test_every_page_can_be_reached():
    linked = {
        Path(target.partition("#")[0]).name
        for page in [*PAGES, ROOT / "README.md"]
        for target in re.findall(r"\]\(([^)\s]+\.md[^)\s]*)\)", page.read_text(encoding="utf-8"))
    }
    assert {page.name for page in DOCS.glob("*.md")} - {"index.md"} <= linked


# Code


WITH_CODE = [page for page in PAGES if code_blocks(page, "python")]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.name)
@pytest.mark.usefixtures("folds_once")
def test_python_blocks_run_in_order(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for title, body in code_blocks(page, "csv"):
        (tmp_path / title.removeprefix("title=")).write_text(body, encoding="utf-8")
    scope = {"__name__": "__main__"}
    for number, (_, body) in enumerate(code_blocks(page, "python"), 1):
        exec(compile(body, f"{page.name} block {number}", "exec"), scope)  # the page's own code
    capsys.readouterr()


# Commands

COMMANDS = [
    (page.name, line)
    for page in PAGES
    for _, body in code_blocks(page, "sh", "shell")
    for line in body.splitlines()
    if line.startswith("brgcl")
]


@pytest.mark.parametrize(("page", "line"), COMMANDS)
def test_commands_parse(page, line):
    """The command and its options exist, and their values mean something; nothing is run."""
    words = shlex.split(line, comments=True)[1:]
    command = typer.main.get_command(app)
    while hasattr(command, "commands"):
        assert words, f"{page}: {line} names no command"
        assert words[0] in command.commands, f"{page}: no command {words[0]}"
        command = command.commands[words.pop(0)]
    given = command.make_context(command.name, words).params
    if given.get("method") is not None:
        resolve_config(
            given["method"], given["preset"], given["file"], given["settings"], given["graph"]
        )
    if "attribute_noise" in given:
        names = ("attribute_noise", "edge_noise", "label_noise")
        NoiseOptions(**{name: given.get(name) for name in names})
    assert given.get("protocol", PROTOCOLS[0]) in PROTOCOLS


def test_other_shell_lines_are_make_targets_or_scripts():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert set(re.findall(r"(?:^|`)make ([\w-]+)", text, re.MULTILINE)) <= targets, page.name
        for _, body in code_blocks(page, "sh", "shell"):
            for line in filter(None, body.splitlines()):
                command, first = line.split()[:2]
                is_script = command == "python" and (ROOT / first).is_file()
                assert is_script or command in ("brgcl", "make"), f"{page.name}: {line}"


def test_the_table_of_large_graphs_is_made_from_its_records(monkeypatch):
    name = ROOT / "benchmarks" / "scale.py"
    spec = importlib.util.spec_from_file_location("scale", name)
    scale = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scale)
    table = scale.table(ROOT / "benchmarks" / "records" / "scale.jsonl")
    assert table in (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    monkeypatch.setattr(scale, "METHODS", [*scale.METHODS, "new"])  # which was not measured yet
    assert scale.table(ROOT / "benchmarks" / "records" / "scale.jsonl") == table
