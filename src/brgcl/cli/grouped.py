"""Options in groups: a dataclass declares them, a command takes the dataclass."""

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_args

import typer
from typer.models import OptionInfo

from brgcl.cli.console import be_quiet

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no messages.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error arose.")]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Spread the option dataclasses that a command takes into options of their own.

    A dataclass names the panel of the help in which its options appear (`PANEL`). Every command
    also takes --quiet and --debug; the latter is read by `main`.
    """
    spread: dict[str, inspect.Parameter] = {}
    groups: dict[str, Any] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        group = parameter.annotation
        if not dataclasses.is_dataclass(group):
            spread[name] = parameter
            continue
        groups[name] = group
        for field in dataclasses.fields(group):
            info = get_args(field.type)[1]
            if isinstance(info, OptionInfo):
                info.rich_help_panel = groups[name].PANEL
            spread[field.name] = inspect.Parameter(
                field.name, parameter.KEYWORD_ONLY, default=field.default, annotation=field.type
            )
    for name, kind in (("quiet", Quiet), ("debug", Debug)):
        spread[name] = inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind
        )

    @functools.wraps(command)
    def call(quiet: bool, debug: bool, **values: Any) -> None:
        be_quiet(quiet)
        for name, group in groups.items():
            fields = [field.name for field in dataclasses.fields(group)]
            values[name] = group(**{field: values.pop(field) for field in fields})
        command(**values)

    parameters = sorted(spread.values(), key=lambda parameter: parameter.kind)
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call
