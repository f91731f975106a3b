"""Options in groups: a dataclass declares them, a command takes the dataclass."""

import dataclasses
import functools
import inspect
from collections.abc import Callable
from inspect import Parameter
from typing import Annotated, Any

from typer import Option

from brgcl.cli.console import talk

Quiet = Annotated[bool, Option("--quiet", "-q", help="No progress and no messages.")]
Verbose = Annotated[bool, Option("--verbose", "-v", help="Print every step with its time.")]
Debug = Annotated[bool, Option("--debug", help="Print the traceback of an error.")]


def option(default: Any, help: str, *names: str, **rules: Any) -> Any:
    """Declare an option of a group by its default, its help, its names and Typer's rules."""
    info = Option(*names, help=help, **rules)
    return dataclasses.field(default=default, metadata={"option": info})


def flowing(text: str | None) -> str:
    """Let the paragraphs of a docstring flow: Typer breaks all but the first where it does."""
    paragraphs = inspect.cleandoc(text or "").split("\n\n")
    return "\n\n".join(" ".join(each.split()) for each in paragraphs)


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Spread the option dataclasses that a command takes into options of their own.

    A dataclass names the panel of the help in which its options appear (`PANEL`). Every command
    also takes --quiet, --verbose and --debug; the last is read by `main`.
    """
    parameters = inspect.signature(command).parameters.values()
    groups: dict[str, Any] = {
        p.name: p.annotation for p in parameters if dataclasses.is_dataclass(p.annotation)
    }
    spread = [p for p in parameters if p.name not in groups]
    options: list[tuple[str, Any, Any]] = [
        ("quiet", False, Quiet), ("verbose", False, Verbose), ("debug", False, Debug),
    ]  # fmt: skip
    for group in groups.values():
        for field in dataclasses.fields(group):
            kind, info = field.type, field.metadata.get("option")
            if info is not None:
                info.rich_help_panel = group.PANEL
                kind = Annotated[kind, info]
            options.append((field.name, field.default, kind))
    for name, default, kind in options:
        spread.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind))

    @functools.wraps(command)
    def call(quiet: bool, verbose: bool, debug: bool, **values: Any) -> None:
        talk(quiet=quiet, verbose=verbose)
        for name, group in groups.items():
            fields = [field.name for field in dataclasses.fields(group)]
            values[name] = group(**{field: values.pop(field) for field in fields})
        command(**values)

    call.__doc__ = flowing(command.__doc__)
    call.__signature__ = inspect.Signature(spread)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in spread}
    return call
