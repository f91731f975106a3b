"""Settings from the command line: a preset, a TOML file, and single values."""

import dataclasses
import tomllib
from pathlib import Path
from typing import Any, get_args, get_type_hints

from brgcl.config import BRGCLConfig
from brgcl.errors import InputError


def resolve_config(
    method: str,
    preset: str,
    file: Path | None,
    settings: list[str] | None,
    dataset: str | None = None,
) -> Any:
    """Put settings together: the preset, then the file, then each key=value."""
    from brgcl.methods import find_method

    entry = find_method(method)
    if preset == "default":
        base = entry.config(dataset)
    elif method == "brgcl":
        base = BRGCLConfig.preset(preset, dataset=dataset if preset == "paper-literal" else None)
    else:
        raise InputError(f"presets belong to brgcl; {method} has settings (--set) only")
    changes = {} if file is None else read_toml(file)
    for text in settings or []:
        key, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"--set takes key=value, got '{text}'")
        changes[key.strip()] = parse_value(value.strip())
    if "seed" in changes:
        raise InputError("the seed is not a setting here; use --seed")
    entry.Config.check_names(changes)
    hints = get_type_hints(entry.Config)
    for key, value in changes.items():
        if value == "none" and type(None) in get_args(hints[key]):
            changes[key] = None
    return dataclasses.replace(base, **changes)


def read_toml(file: Path) -> dict[str, Any]:
    """Read settings from a TOML file."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read '{file}': {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"'{file}' is not UTF-8 text") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"'{file}' is not valid TOML: {error}") from error


def parse_value(text: str) -> Any:
    """Read a value as TOML does, and anything else as a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
