"""The errors that brgcl raises on purpose.

All of them are a `BrgclError`. An `InputError` is one that the user can fix; its message names the
problem, its place and the remedy in one line.
"""

from collections.abc import Collection, Iterable
from difflib import get_close_matches


class BrgclError(Exception):
    """Base of all errors that brgcl raises on purpose."""


class InputError(BrgclError, ValueError):
    """The input is wrong: a file, an argument or a graph that breaks a stated rule."""


class DataNotFound(BrgclError, FileNotFoundError):  # noqa: N818 - reads as what happened
    """A public data set is neither on disk nor downloadable."""

    def __str__(self) -> str:
        """Return the message alone: `FileNotFoundError` would print an errno tuple."""
        return str(self.args[0]) if self.args else ""


class NotFitted(BrgclError, AttributeError):  # noqa: N818 - reads as what happened
    """A learned attribute was asked for before `fit`."""


def unknown_name(what: str, name: str, known: Iterable[str], hint: str = "") -> InputError:
    """Build the error for a name that is not in a list, with the nearest one as a suggestion.

    Example:
        >>> str(unknown_name("method", "gnc", ["gcn", "brgcl"]))
        "unknown method 'gnc'; did you mean 'gcn'? Known: gcn, brgcl"
    """
    names = list(known)
    close = get_close_matches(name, names, n=1, cutoff=0.5)
    guess = f"; did you mean '{close[0]}'?" if close else "" if hint else "."
    tail = f" ({hint})" if hint else f" Known: {', '.join(names)}"
    return InputError(f"unknown {what} '{name}'{guess}{tail}")


def check_name(what: str, name: str | None, known: Collection[str], hint: str = "") -> None:
    """Raise the error of `unknown_name` for a name that is given but not known."""
    if not isinstance(name, str | None):
        raise InputError(f"{what} must be a name, got {type(name).__name__}")
    if name is not None and name not in known:
        raise unknown_name(what, name, known, hint)
