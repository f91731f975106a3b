"""What can be written on the command line, and what it means to the library."""

import dataclasses
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints

import typer
from torch_geometric.data import Data

from brgcl.config import BRGCLConfig
from brgcl.data import DATASETS, load_dataset, read_graph
from brgcl.errors import InputError, unknown_name
from brgcl.evaluate.names import PROTOCOLS
from brgcl.methods import METHODS
from brgcl.noise import ATTRIBUTE_NOISE, EDGE_NOISE, LABEL_NOISE, parse_noise
from brgcl.noise.graph import Noise
from brgcl.tasks.rules import RULES

GRAPH, HOW, NOISE, OUT = "Graph", "Method", "Noise and protocol", "Output"

Name = Annotated[
    str | None, typer.Argument(help=f"A data set: {', '.join(DATASETS)}; or give --edges.")
]
Edges = Annotated[
    Path | None, typer.Option(help="Edge list: CSV, TSV or Parquet.", rich_help_panel=GRAPH)
]
Features = Annotated[
    Path | None,
    typer.Option(help="Attributes: CSV, Parquet, NPY or sparse NPZ.", rich_help_panel=GRAPH),
]
Labels = Annotated[
    Path | None,
    typer.Option(help="Labels: CSV or Parquet; missing = unlabelled.", rich_help_panel=GRAPH),
]
Root = Annotated[
    Path | None, typer.Option(help="Folder with the data sets' files.", rich_help_panel=GRAPH)
]
MethodName = Annotated[
    str, typer.Option("--method", help="brgcl methods lists all.", rich_help_panel=HOW)
]
Preset = Annotated[
    str, typer.Option(help="Named settings: default, paper-literal, ...", rich_help_panel=HOW)
]
ConfigFile = Annotated[
    Path | None, typer.Option("--config", help="Settings in a TOML file.", rich_help_panel=HOW)
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="One setting, key=value; may be repeated.", rich_help_panel=HOW),
]
Seed = Annotated[int, typer.Option(min=0, help="First seed.", rich_help_panel=HOW)]
Seeds = Annotated[int, typer.Option(min=1, help="How many seeds to run.", rich_help_panel=HOW)]
LabelNoise = Annotated[
    str | None,
    typer.Option(help=f"E.g. symmetric:0.4; {', '.join(LABEL_NOISE)}.", rich_help_panel=NOISE),
]
AttributeNoise = Annotated[
    str | None,
    typer.Option(
        help=f"E.g. within:0.3 or within:0.3@train; {', '.join(ATTRIBUTE_NOISE)}.",
        rich_help_panel=NOISE,
    ),
]
EdgeNoise = Annotated[
    str | None,
    typer.Option(help=f"E.g. add:0.2; {', '.join(EDGE_NOISE)}.", rich_help_panel=NOISE),
]
Protocol = Annotated[
    str, typer.Option(help=f"One of {', '.join(PROTOCOLS)}.", rich_help_panel=NOISE)
]
Out = Annotated[
    Path | None, typer.Option(help="Folder for tables, model, report.", rich_help_panel=OUT)
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Write into a folder with files.", rich_help_panel=OUT)
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.", rich_help_panel=OUT)]
ClassifierRule = Annotated[
    str,
    typer.Option("--rule", help=f"Classifier: {', '.join(RULES)}.", rich_help_panel=HOW),
]
Targets = Annotated[
    str,
    typer.Option(
        "--soft-labels", help="Targets of mlp: normalize, softmax, hard.", rich_help_panel=HOW
    ),
]


def open_graph(
    name: str | None,
    edges: Path | None,
    features: Path | None,
    labels: Path | None,
    root: Path | None,
    seed: int,
) -> Data:
    """Load a named data set or read a user's files, whichever was asked for."""
    if name is not None and any(file is not None for file in (edges, features, labels)):
        raise InputError(f"give either the data set '{name}' or files (--edges ...), not both")
    if name is not None:
        return load_dataset(name, root, seed=seed)
    if edges is None:
        raise InputError("no graph given; name a data set (brgcl datasets) or give --edges FILE")
    return read_graph(edges, features, labels)


def resolve_config(
    method: str,
    preset: str,
    file: Path | None,
    settings: list[str] | None,
    dataset: str | None = None,
) -> Any:
    """Put settings together: the preset, then the file, then each key=value."""
    if method not in METHODS:
        raise unknown_name("method", method, METHODS, hint="brgcl methods lists all")
    cls = METHODS[method].Config
    if preset == "default":
        base = METHODS[method].config(dataset)
    elif method == "brgcl":
        base = BRGCLConfig.preset(preset, dataset=dataset if preset == "paper-literal" else None)
    else:
        raise InputError(f"presets belong to brgcl; {method} has settings (--set) only")
    changes: dict[str, Any] = {}
    if file is not None:
        changes |= read_toml(file)
    for text in settings or []:
        key, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"--set takes key=value, got '{text}'")
        changes[key.strip()] = parse_value(value.strip())
    hints = get_type_hints(cls)
    for key, value in changes.items():
        if key == "seed":
            raise InputError("the seed is not a setting here; use --seed")
        if key not in hints:
            raise unknown_name("setting", key, [f.name for f in dataclasses.fields(cls)])
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


def parse_trials(text: str | None) -> int | Literal["grid"] | None:
    """Read how many settings to try: grid, or a number."""
    if text is None or text == "grid":
        return None if text is None else "grid"
    if not text.isdecimal() or int(text) == 0:
        raise InputError(f"--trials takes grid or a number from 1 on, got '{text}'")
    return int(text)


def parse_noises(labels: str | None, attributes: str | None, edges: str | None) -> Noise:
    """Read the three noise options."""
    return Noise(
        parse_noise(labels, LABEL_NOISE),
        parse_noise(attributes, ATTRIBUTE_NOISE),
        parse_noise(edges, EDGE_NOISE),
    )


def parse_names(text: str | None) -> list[str] | None:
    """Read names that are separated by commas."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def parse_levels(text: str | None) -> list[float] | None:
    """Read noise levels that are separated by commas."""
    try:
        return None if text is None else [float(level) for level in text.split(",")]
    except ValueError:
        raise InputError(f"'{text}' are not levels; write e.g. 0,0.2,0.4") from None


def parse_duration(text: str) -> float:
    """Read a time such as 90s, 5m or 2h as seconds.

    Example:
        >>> parse_duration("1.5h")
        5400.0
    """
    units = {"s": 1, "m": 60, "h": 3600}
    try:
        number = float(text[:-1])
        if number > 0 and text[-1:] in units:
            return number * units[text[-1]]
    except ValueError:
        pass
    raise InputError(f"'{text}' is not a time; write e.g. 90s, 5m or 2h")
