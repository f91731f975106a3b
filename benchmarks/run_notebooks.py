"""Run the notebooks and keep what they show: python benchmarks/run_notebooks.py.

No kernel is needed: the code cells of a notebook are executed one after the other, and what they
print and the value of their last line become their outputs.
"""

import ast
import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from brgcl.atomic_files import write_text

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"


def run_notebook(notebook: dict[str, Any]) -> Iterator[list[dict[str, Any]]]:
    """Execute the code cells in order; yields the outputs of each."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(code_cells(notebook), 1):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            value = _execute("".join(cell["source"]), scope, f"cell {number}")
        outputs: list[dict[str, Any]] = []
        if printed.getvalue():
            outputs.append(
                {"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())}
            )
        if value is not None:
            shown = {"text/plain": _lines(repr(value))}
            if hasattr(value, "_repr_html_"):  # then few see the text
                shown = {
                    "text/plain": shown["text/plain"][:1],
                    "text/html": _lines(value._repr_html_()),
                }
            outputs.append(
                {
                    "output_type": "execute_result",
                    "execution_count": number,
                    "data": shown,
                    "metadata": {},
                }
            )
        yield outputs


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """The cells with code, in order."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def _execute(code: str, scope: dict[str, Any], name: str) -> Any:
    """Run code; gives the value of its last line if that is an expression."""
    body = ast.parse(code, name).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), name, "exec"), scope)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), name, "eval"), scope)  # type: ignore[attr-defined]


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    for file in sorted(NOTEBOOKS.glob("*.ipynb")):
        notebook = json.loads(file.read_text(encoding="utf-8"))
        found = run_notebook(notebook)
        for number, (cell, outputs) in enumerate(zip(code_cells(notebook), found, strict=True), 1):
            cell["outputs"], cell["execution_count"] = outputs, number
        write_text(file, json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
        print(f"Written: {file}")
