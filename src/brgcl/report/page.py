"""The page of a run: one HTML file that works offline and asks nothing of the network.

Its policy allows the scripts and styles that are in it, by their checksums, and nothing else.
"""

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import pandas as pd

from brgcl.atomic_files import write_text
from brgcl.report.extra import import_extra
from brgcl.report.page_data import MOST_ROWS, page_data, to_script
from brgcl.report.run import Run, read_run
from brgcl.report.sentences import headlines, percent

STYLES = ("page.css", "report.css")
SCRIPTS = (
    "palette.js", "points.js", "map_picture.js", "map_legend.js", "map_input.js", "map.js",
    "table.js", "charts.js", "data.js", "search.js", "report.js", "cards.js", "start.js",
)  # fmt: skip
PRINTED_ROWS = 50  # of the table of suspects, on paper
NO_NUMBER = "\u2013"


def write_page(run: Path, out: Path | None = None) -> Path:
    """Write the page of a run folder.

    Args:
        run: The folder.
        out: Where the page goes; default: `report.html` in the folder.

    Returns:
        The path of the page.

    Raises:
        InputError: The folder holds no run, a file of it is damaged, or a package is missing.
    """
    environment = import_extra("jinja2").Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    read = read_run(run)
    styles, scripts = ([read_static(name) for name in names] for names in (STYLES, SCRIPTS))
    template = environment.from_string(_read("page.html"))
    page = template.render(
        run=read,
        headlines=headlines(read),
        about=about_line(read),
        policy=security_policy(scripts, styles),
        styles=[import_extra("markupsafe").Markup(style) for style in styles],
        scripts=[import_extra("markupsafe").Markup(script) for script in scripts],
        data=import_extra("markupsafe").Markup(to_script(page_data(read))),
        tables=read.about.get("tables") or [],
        diagnosis=(read.findings.get("diagnosis") or {}).get("sentences") or [],
        not_judged=[str(name) for name in read.findings.get("not_judged") or []],
        metrics=results(read.metrics),
        found=results(
            {
                name: value
                for name, value in (read.findings.get("noise") or {}).items()
                if name not in read.metrics
            }
        ),
        settings=list(flat(read.about.get("settings") or {})),
        versions=list(flat(made_by(read))),
        printed=printed_rows(read),
        most_rows=MOST_ROWS,
        version=read.about.get("brgcl") or "",
    )
    path = run / "report.html" if out is None else out
    write_text(path, page)
    return path


def security_policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    """The content security policy of a page that holds these scripts and styles alone."""
    allow = {
        "default-src": ["'none'"],
        "connect-src": ["'none'"],
        "script-src": [_checksum(script) for script in scripts],
        "style-src": [_checksum(style) for style in styles],
        "img-src": ["data:", "blob:"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
    }
    return "; ".join(f"{name} {' '.join(sources)}" for name, sources in allow.items())


def read_static(name: str) -> str:
    """Read a script or a style that pages share."""
    return _read(f"static/{name}")


def about_line(run: Run) -> list[str]:
    """What the page says below its heading: graph, size, method, day."""
    labels = run.nodes.get("label_given")
    parts = [
        run.dataset,
        f"{len(run.nodes):,} nodes",
        None if run.edges is None else f"{len(run.edges):,} edges",
        f"{int(labels.notna().sum()):,} labels"
        if labels is not None and labels.notna().any()
        else None,
        run.about.get("method") or run.metrics.get("method"),
        str(run.about.get("started") or "")[:10],
    ]
    return [str(part) for part in parts if part]


def made_by(run: Run) -> dict[str, Any]:
    """How the run was made, without its settings and files."""
    left_out = {"settings", "files", "tables", "title", "state", "command"}
    command = {"command": " ".join(map(str, run.about.get("command") or []))}
    return command | {key: value for key, value in run.about.items() if key not in left_out}


def results(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and texts of the results that there are, for a list that people read."""
    rows = [(name.replace("_", " "), text) for name, text in flat(values)]
    return [(name, text) for name, text in rows if text != NO_NUMBER]


def flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Names and texts of nested values, for a list that people read.

    Example:
        >>> list(flat({"a": 0.123456, "b": {"c": [1, None]}}))
        [('a', '0.1235'), ('b: c', '1, \u2013')]
    """
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{before}{name}: ")
        else:
            yield f"{before}{name}", _text(value)


def printed_rows(run: Run) -> list[dict[str, str]]:
    """The first suspects as text, for paper."""
    if run.suspects is None:
        return []
    shown = run.suspects[run.suspects["is_error"].astype(bool)][:PRINTED_ROWS]
    return [
        {
            "node": str(row["node"]),
            "given": _text(row["given"]),
            "suggested": _text(row["suggested"]),
            "score": percent(row["score"]),
            "evidence": _text(row.get("evidence")),
        }
        for row in shown.to_dict("records")
    ]


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    if value is None or value is pd.NA or (isinstance(value, float) and value != value):
        return NO_NUMBER
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {text}" for name, text in flat(value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _checksum(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _read(name: str) -> str:
    return resources.files("brgcl.report").joinpath(name).read_text("utf-8")
