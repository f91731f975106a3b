"""What commands print: results on stdout, everything else on stderr."""

import codecs
import json
import logging
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from brgcl.errors import InputError
from brgcl.progress import be_verbose, stderr

if TYPE_CHECKING:
    from rich.console import Console

ASCII = {
    "±": "+-", "≥": ">=", "Δ": "d", "²": "^2", "…": "...", "·": "*", "\xd7": "x", "\u2013": "-",
}  # fmt: skip


def prepare_streams() -> None:
    """Let stdout and stderr take any text, whatever their encoding."""

    def spell(error: UnicodeError) -> tuple[str, int]:
        assert isinstance(error, UnicodeEncodeError)
        text = error.object[error.start : error.end]
        return "".join(ASCII.get(letter, "?") for letter in text), error.end

    codecs.register_error("spell", spell)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a test may have put another kind of stream there
            stream.reconfigure(errors="spell")


def prepare_logging() -> None:
    """Print each message of the library once, on stderr, above the progress bar."""
    seen: set[str] = set()

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            text = record.getMessage()
            if text not in seen:
                seen.add(text)
                say(text)

    logger = logging.getLogger("brgcl")
    logger.handlers = [Handler()]
    logger.setLevel(logging.INFO)
    logger.propagate = False


def talk(*, quiet: bool, verbose: bool) -> None:
    """Set how much is told on stderr: nothing but errors, the usual, or every step.

    Raises:
        InputError: Both are wanted.
    """
    if quiet and verbose:
        raise InputError("--quiet and --verbose contradict each other; give one of them")
    stderr().quiet = quiet
    be_verbose(verbose)
    logging.getLogger("brgcl").setLevel(logging.DEBUG if verbose else logging.INFO)


def stdout() -> "Console":
    """Return a console on stdout; what is not a terminal is as wide as the text."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else 10_000
    return Console(markup=False, highlight=False, emoji=False, soft_wrap=True, width=width)


def print_metrics(metrics: Mapping[str, Any]) -> None:
    """Print numbers and their names."""
    rows = [[name, show(value)] for name, value in metrics.items() if name != "capped"]
    if metrics.get("capped"):  # the number of clusters is a lower bound
        rows = [[n, f">= {v} (cap reached)" if n == "num_clusters" else v] for n, v in rows]
    show_table("", ["name", "value"], rows)


def show(value: Any) -> str:
    """Show a number to four digits."""
    if isinstance(value, list):
        return ", ".join(map(show, value))
    if value is None:
        return "unknown"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def show_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, words: bool = False
) -> None:
    """Print a table on stdout, of numbers or of words."""
    from rich.table import Table

    table = Table(title=title or None, title_justify="left")
    for number, name in enumerate(columns):
        first = number == 0  # names stay whole, whatever the width of the terminal
        side: Literal["left", "right"] = "left" if first or words else "right"
        table.add_column(name, justify=side, overflow="fold", no_wrap=first)
    for row in rows:
        table.add_row(*row)
    stdout().print(table, soft_wrap=False)


def print_line(text: str) -> None:
    """Print a line on stdout."""
    stdout().print(text)


def print_sentence(text: str) -> None:
    """Print text on stdout; a terminal wraps it between words."""
    stdout().print(text, soft_wrap=False)


def print_json(value: Mapping[str, Any]) -> None:
    """Print JSON on stdout."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def say(text: str) -> None:
    """Tell the user something on stderr."""
    stderr().print(text)
