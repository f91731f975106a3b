"""The notebooks run, and what they show is what they give."""

import json
from html.parser import HTMLParser

import pytest

from run_notebooks import NOTEBOOKS, code_cells, run_notebook

FILES = sorted(NOTEBOOKS.glob("*.ipynb"))


def read(file):
    return json.loads(file.read_text(encoding="utf-8"))


def kinds(outputs):
    """What a cell shows: printed lines, values, and the forms of values."""
    return [(o["output_type"], sorted(o.get("data", {}))) for o in outputs]


def num_lines(outputs):
    """How many lines a cell prints; numbers in them differ between processors."""
    return sum(len(o.get("text", [])) for o in outputs)


def test_there_are_notebooks():
    assert {file.stem for file in FILES} == {"quickstart", "find_wrong_labels"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_notebook_shows_what_it_gives(file):
    notebook = read(file)
    for cell, outputs in zip(code_cells(notebook), run_notebook(notebook), strict=True):
        assert kinds(cell["outputs"]) == kinds(outputs), "python benchmarks/run_notebooks.py"
        assert num_lines(cell["outputs"]) == num_lines(outputs)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_notebook_is_valid_and_small(file):
    notebook = read(file)
    pytest.importorskip("nbformat").validate(notebook)
    assert [c["execution_count"] for c in code_cells(notebook)] == list(
        range(1, len(code_cells(notebook)) + 1)
    )
    assert file.stat().st_size < 40_000


class Tags(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.found = set()
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.found.add(tag)


def test_html_in_notebooks_runs_nothing():
    for file in FILES:
        for cell in code_cells(read(file)):
            for output in cell["outputs"]:
                tags = Tags("".join(output.get("data", {}).get("text/html", []))).found
                assert not tags & {"script", "iframe", "img"}


def test_printed_lines_values_and_names_are_kept():
    cells = ["a = 2\nprint('two', a)", "b = a + 1\nb", "b; c = 1"]
    notebook = {"cells": [{"cell_type": "code", "source": [cell]} for cell in cells]}
    first, second, third = run_notebook(notebook)
    assert first == [{"output_type": "stream", "name": "stdout", "text": ["two 2\n"]}]
    assert second[0]["data"] == {"text/plain": ["3"]}
    assert third == []


def test_notebooks_name_files_that_are_there():
    for file in FILES:
        text = "".join("".join(cell["source"]) for cell in read(file)["cells"])
        for word in text.replace("`", " ").split():
            if word.endswith(".ipynb"):
                assert (NOTEBOOKS / word).is_file()
