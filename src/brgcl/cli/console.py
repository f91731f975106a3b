"""What commands print: results on stdout, everything else on stderr."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

stderr = Console(stderr=True, markup=False)  # names and paths may contain brackets
stdout = Console(markup=False)


def finish(metrics: dict[str, Any], as_json: bool, out: Path | None, written: list[str]) -> None:
    """Print what a command found and where it put it."""
    if as_json:
        print_json(metrics)
        return
    rows = [[name, show(value)] for name, value in metrics.items()]
    show_table("", ["figure", "value"], rows)
    if out is not None:
        stdout.print(f"Written to {out}: {', '.join(written)}", highlight=False)


def show(value: Any) -> str:
    """Show a figure to four digits."""
    if isinstance(value, list):
        return ", ".join(map(show, value))
    return (
        f"{value:.4f}" if isinstance(value, float) else "unknown" if value is None else str(value)
    )


def show_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table on stdout."""
    table = Table(title=title or None, title_justify="left")
    for number, name in enumerate(columns):
        first = number == 0  # names stay whole, whatever the width of the terminal
        table.add_column(name, justify="left" if first else "right", overflow="fold", no_wrap=first)
    for row in rows:
        table.add_row(*row)
    stdout.print(table)


def print_json(value: dict[str, Any]) -> None:
    """Print JSON on stdout."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def say(text: str) -> None:
    """Tell the user something on stderr."""
    stderr.print(text, highlight=False)
