"""The facts of each method, from its `METHOD`, for docs/methods.md.

`put_facts(text)` writes the table of all methods between the marks `<!-- methods -->` and
`<!-- end of methods -->`, and the facts of each method between `<!-- facts: NAME -->` and
`<!-- end of facts -->` in its section. `python benchmarks/method_facts.py` rewrites the page.
"""

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from brgcl.config import BRGCLConfig
from brgcl.contract import Method
from brgcl.errors import InputError
from brgcl.methods import METHODS

PAGE = Path(__file__).parent.parent / "docs" / "methods.md"


def put_facts(text: str) -> str:
    """Write the table of methods and the facts of each into the text of the page.

    Raises:
        InputError: A pair of marks is missing, or there more than once.
    """
    text = _between(text, "<!-- methods -->", "<!-- end of methods -->", method_table())
    for name, method in METHODS.items():
        begin, end = f"<!-- facts: {name} -->", "<!-- end of facts -->"
        text = _between(text, begin, end, method_facts(method))
    return text


def method_table() -> str:
    """One line for each method."""
    rows = ["| Method | Kind | Reads labels | Needs to know | Source |", "|---|---|---|---|---|"]
    rows += [
        f"| `{name}` | {method.kind} | {'yes' if method.uses_labels else 'no'} | "
        f"{method.oracle or 'nothing'} | {method.citation} |"
        for name, method in METHODS.items()
    ]
    return "\n".join(rows)


def method_facts(method: Method) -> str:
    """Citation, settings with their sources, presets, deviations and cost."""
    module = method.fit.__module__.removeprefix("brgcl.").replace(".", "/")  # type: ignore[attr-defined]
    file = f"{module}.py"
    differences = " ".join(method.deviations) or "None that we know of."
    parts = [
        f"{method.citation}. Code: [{Path(file).name}](../src/brgcl/{file}).",
        _settings(method),
        _presets("Presets", method.presets),
        _presets('For tables on expensive graphs (`preset = "reduced"`)', method.reduced),
        _space(method),
        f"**Differences from the source.** {differences}",
        f"**Cost.** {method.cost[0].upper()}{method.cost[1:]}.",
    ]
    return "\n\n".join(filter(None, parts))


def _settings(method: Method) -> str:
    fields = list(dataclasses.fields(method.Config))
    title = "**Settings.**"
    if issubclass(method.Config, BRGCLConfig):
        inherited = {field.name for field in dataclasses.fields(BRGCLConfig)}
        fields = [field for field in fields if field.name not in inherited]
        title += " The [settings of BRGCL](parameters.md)"
        title += ", and:" if fields else "."
    if not fields:
        return title
    rows = [f"| `{f.name}` | `{f.default!r}` | {_source(method, f.name)} |" for f in fields]
    return "\n".join([title, "", "| Setting | Default | Source |", "|---|---|---|", *rows])


def _source(method: Method, setting: str) -> str:
    if setting in method.ours:
        return f"Ours: {method.ours[setting]}"
    return method.sources.get(setting, method.source)


def _presets(title: str, presets: Mapping[str, Mapping[str, Any]]) -> str:
    lines = [
        f"- `{name}`: `{', '.join(f'{key}={value!r}' for key, value in settings.items())}`"
        for name, settings in presets.items()
    ]
    return "\n".join([f"{title}:", "", *lines]) if lines else ""


def _space(method: Method) -> str:
    values = (
        f"`{name}` {', '.join(f'{value:g}' for value in tried)}"
        for name, tried in method.space.items()
    )
    told = "; ".join(values)
    return f"**Tuned** by `brgcl tune --method {method.name}`: {told}." if told else ""


def _between(text: str, begin: str, end: str, body: str) -> str:
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", flags=re.DOTALL)
    before, *after = pattern.split(text)
    if len(after) != 1:
        raise InputError(f"the page needs '{begin}' and '{end}' once")
    return f"{before}{begin}\n\n{body}\n\n{end}{after[0]}"


if __name__ == "__main__":
    PAGE.write_text(put_facts(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
