"""Options of the commands, in groups, and what they mean to the library.

Whatever can be checked without loading torch is checked when a group is made.
"""

import dataclasses
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from brgcl.cli.console import say
from brgcl.cli.names import METHODS
from brgcl.cli.run_folder import RunFolder, claim_folder
from brgcl.cli.settings import resolve_config
from brgcl.data.catalogue import DATASETS
from brgcl.errors import InputError, unknown_name
from brgcl.evaluation.names import PROTOCOLS
from brgcl.noise.spec import ATTRIBUTE_NOISE, EDGE_NOISE, LABEL_NOISE, parse_noise
from brgcl.tasks.rules import RULES, SOFT_LABELS

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from brgcl.noise.graph import Noise
    from brgcl.tasks.classify import NodeClassifier

LAST_SEED = 2**32 - 1  # of scikit-learn

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what brgcl wrote there.")]
Root = Annotated[Path | None, typer.Option(help="Folder with the data sets' files.")]
Seed = Annotated[int, typer.Option(min=0, max=LAST_SEED, help="First seed.")]
Seeds = Annotated[int, typer.Option(min=1, help="How many draws to run, each with its own seed.")]


@dataclass(frozen=True)
class GraphOptions:
    """Which graph: a data set by its name, or files."""

    PANEL: ClassVar = "Graph"
    graph: Annotated[
        str | None,
        typer.Argument(help=f"A data set: {', '.join(DATASETS)}; or give --edges."),
    ] = None
    edges: Annotated[Path | None, typer.Option(help="Edges: CSV, TSV or Parquet.")] = None
    features: Annotated[
        Path | None, typer.Option(help="Attributes: CSV, Parquet, NPY or sparse NPZ.")
    ] = None
    labels: Annotated[
        Path | None, typer.Option(help="Labels: CSV or Parquet; missing = unlabelled.")
    ] = None
    source: Annotated[str | None, typer.Option(help="Column of one end of an edge.")] = None
    target: Annotated[str | None, typer.Option(help="Column of the other end.")] = None
    weight: Annotated[str | None, typer.Option(help="Column of edge weights.")] = None
    id: Annotated[str | None, typer.Option(help="Column of ids in attributes and labels.")] = None
    label: Annotated[str | None, typer.Option(help="Column of labels.")] = None
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether edges and labels have a header row."),
    ] = None
    root: Root = None

    def __post_init__(self) -> None:
        files = [file for file in (self.edges, self.features, self.labels) if file is not None]
        if self.graph is not None and files:
            raise InputError(
                f"give either the data set '{self.graph}' or files (--edges ...), not both"
            )
        if self.graph is not None and self.graph not in DATASETS:
            if Path(self.graph).suffix or Path(self.graph).exists():
                raise InputError(f"'{self.graph}' is no data set; to read a file give --edges FILE")
            raise unknown_name("data set", self.graph, DATASETS)
        if self.graph is None and self.edges is None:
            raise InputError(
                "no graph given; name a data set (brgcl datasets) or give --edges FILE"
            )
        if self.graph is not None and self._columns:
            raise InputError(f"columns are named in files, not in the data set '{self.graph}'")
        if self.root is not None and not self.root.is_dir():
            raise InputError(f"--root '{self.root}' is no folder; give that of the data sets")

    @property
    def _columns(self) -> dict[str, Any]:
        names = ("source", "target", "weight", "id", "label", "header")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def open(self, seed: int) -> "Data":
        """Load the data set, or read the files; only a data set may depend on the seed."""
        if self.graph is None:
            return self._own
        from brgcl.data.datasets import load_dataset

        return load_dataset(self.graph, self.root, seed=seed)

    @cached_property
    def _own(self) -> "Data":
        from brgcl.data.files import read_graph

        assert self.edges is not None
        with spelled_as_options():
            return read_graph(self.edges, self.features, self.labels, **self._columns)

    def describe(self, data: "Data") -> dict[str, Any]:
        """Return what was read, with checksums."""
        from brgcl.data.download import file_sha256
        from brgcl.data.fingerprint import fingerprint

        if self.graph is not None:
            return {"dataset": self.graph, "fingerprint": fingerprint(data, data.y, {})}
        files = {"edges": self.edges, "features": self.features, "labels": self.labels}
        return {
            name: {"file": str(file.absolute()), "sha256": file_sha256(file)}
            for name, file in files.items()
            if file is not None
        } | self._columns


@dataclass(frozen=True)
class SettingOptions:
    """Settings of BRGCL."""

    PANEL: ClassVar = "Method"
    method: ClassVar[str] = "brgcl"
    preset: Annotated[str, typer.Option(help="Named settings: default, paper-literal, ...")] = (
        "default"
    )
    file: Annotated[Path | None, typer.Option("--config", help="Settings in a TOML file.")] = None
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="One setting, key=value; may be repeated.")
    ] = None

    def config(self, dataset: str | None) -> Any:
        """Put the settings together, and check that this machine can train with them."""
        from brgcl.method.inputs import check_device

        config = resolve_config(self.method, self.preset, self.file, self.settings, dataset)
        check_device(getattr(config, "device", "cpu"))
        epochs, warmup = getattr(config, "epochs", 1), getattr(config, "warmup_epochs", 0)
        if warmup >= epochs:
            say(f"{epochs} epochs end before the warm-up ({warmup}): prototypes never join.")
        return config


@dataclass(frozen=True)
class MethodOptions(SettingOptions):
    """The method and its settings."""

    method: Annotated[str, typer.Option(help="brgcl methods lists all.")] = "brgcl"  # type: ignore[misc]

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise unknown_name("method", self.method, METHODS, hint="brgcl methods lists all")


@dataclass(frozen=True)
class GraphNoiseOptions:
    """Noise to add to attributes and edges."""

    PANEL: ClassVar = "Noise and protocol"
    attribute_noise: Annotated[
        str | None,
        typer.Option(help=f"E.g. within:0.3 or within:0.3@train; {', '.join(ATTRIBUTE_NOISE)}."),
    ] = None
    edge_noise: Annotated[
        str | None, typer.Option(help=f"E.g. add:0.2; {', '.join(EDGE_NOISE)}.")
    ] = None

    def __post_init__(self) -> None:
        self.specs()

    def specs(self) -> dict[str, Any]:
        """Read the options."""
        return {
            "attributes": parse_noise(self.attribute_noise, ATTRIBUTE_NOISE),
            "edges": parse_noise(self.edge_noise, EDGE_NOISE),
        }

    def noise(self) -> "Noise":
        """Return the noise to draw."""
        from brgcl.noise.graph import Noise

        return Noise(**self.specs())

    def describe(self) -> dict[str, str | None]:
        """Return the noise as it was written."""
        return {what: None if spec is None else str(spec) for what, spec in self.specs().items()}


@dataclass(frozen=True)
class NoiseOptions(GraphNoiseOptions):
    """Noise to add to labels, attributes and edges."""

    label_noise: Annotated[
        str | None, typer.Option(help=f"E.g. symmetric:0.4; {', '.join(LABEL_NOISE)}.")
    ] = None

    def specs(self) -> dict[str, Any]:
        """Read the options."""
        return {"labels": parse_noise(self.label_noise, LABEL_NOISE), **super().specs()}


@dataclass(frozen=True)
class ProtocolOptions(NoiseOptions):
    """Noise, and which labels may choose."""

    protocol: Annotated[str, typer.Option(help=f"One of {', '.join(PROTOCOLS)}.")] = "clean-val"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.protocol not in PROTOCOLS:
            raise unknown_name("protocol", self.protocol, PROTOCOLS)


@dataclass(frozen=True)
class ClassifierOptions:
    """The classifier on top of representations."""

    PANEL: ClassVar = "Classifier"
    rule: Annotated[
        str | None, typer.Option(help=f"{', '.join(RULES)}; default: auto, which chooses.")
    ] = None
    soft_labels: Annotated[
        str | None, typer.Option(help=f"Targets of mlp: {', '.join(SOFT_LABELS)}.")
    ] = None

    def __post_init__(self) -> None:
        for what, value, known in (
            ("rule", self.rule, RULES),
            ("soft_labels", self.soft_labels, SOFT_LABELS),
        ):
            if value is not None and value not in known:
                raise unknown_name(what, value, known)

    def make(self, method: str) -> "NodeClassifier | None":
        """Make the classifier; None for a method that classifies by itself."""
        from brgcl.methods import find_method
        from brgcl.tasks.classify import NodeClassifier

        given = {k: v for k, v in dataclasses.asdict(self).items() if v is not None}
        if find_method(method).kind != "classifier":
            return NodeClassifier(**given)
        if given:
            name = "--" + next(iter(given)).replace("_", "-")
            raise InputError(f"{method} classifies by itself; {name} is for the other methods")
        return None


@dataclass(frozen=True)
class OutputOptions:
    """Where results go."""

    PANEL: ClassVar = "Output"
    out: Annotated[Path | None, typer.Option(help="Folder for tables, model and report.")] = None
    overwrite: Overwrite = False
    json_: Json = False

    def claim(self) -> AbstractContextManager[RunFolder | None]:
        """Take the folder, if there is one, for as long as the command runs."""
        if self.out is None:
            return nullcontext()
        return claim_folder(self.out, overwrite=self.overwrite)


@dataclass(frozen=True)
class EmbedOutput(OutputOptions):
    """Where representations go: always into a folder."""

    out: Annotated[Path | None, typer.Option(help="Folder to write.")] = Path("run")


@contextmanager
def spelled_as_options() -> Iterator[None]:
    """Spell the names of keywords in an error as the options that set them."""
    import re

    try:
        yield
    except InputError as error:
        text = str(error).replace("header=True", "--header").replace("header=False", "--no-header")
        names = r"\b(source|target|weight|id|label)="
        text = re.sub(names, r"--\1", re.sub(names + r"(?=[\w'\"])", r"--\1 ", text))
        raise InputError(text) from error


def check_seeds(seed: int, seeds: int) -> range:
    """Return the seeds of all draws."""
    if seed + seeds - 1 > LAST_SEED:
        raise InputError(f"the last seed must be at most {LAST_SEED}, got {seed + seeds - 1}")
    return range(seed, seed + seeds)


def parse_trials(text: str | None) -> int | Literal["grid"] | None:
    """Read how many settings to try: grid, or a number."""
    if text is None or text == "grid":
        return None if text is None else "grid"
    if not text.isdecimal() or int(text) == 0:
        raise InputError(f"--trials takes grid or a number from 1 on, got '{text}'")
    return int(text)


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
