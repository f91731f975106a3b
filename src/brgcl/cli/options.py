"""Options of the commands, in groups, and what they mean to the library.

Whatever can be checked without loading torch is checked when a group is made.
"""

import dataclasses
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from typer import Argument, Option

from brgcl.cli.console import say
from brgcl.cli.grouped import option
from brgcl.cli.names import METHODS
from brgcl.cli.pipes import DASH, read_stdin
from brgcl.cli.run_folder import FILES, RunFolder, claim_folder
from brgcl.cli.settings import resolve_config
from brgcl.data.catalogue import DATASETS, GRAPH_FILE
from brgcl.errors import InputError, check_name
from brgcl.evaluation.names import PROTOCOLS
from brgcl.noise.spec import ATTRIBUTE_NOISE, EDGE_NOISE, LABEL_NOISE, parse_noise
from brgcl.tasks.rules import RULES, SOFT_LABELS

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from brgcl.noise.graph import Noise
    from brgcl.tasks.classify import NodeClassifier

LAST_SEED = 2**32 - 1  # of scikit-learn

Json = Annotated[bool, Option("--json", help="Print JSON.", rich_help_panel="Output")]
Overwrite = Annotated[
    bool,
    Option(
        "--overwrite",
        help="Replace the file, or brgcl's files in the folder.",
        rich_help_panel="Output",
    ),
]
Root = Annotated[
    Path | None, Option(help="Folder with the files of the data sets.", rich_help_panel="Graph")
]
Seed = Annotated[int, Option(min=0, max=LAST_SEED, help="First seed.")]
Seeds = Annotated[int, Option(min=1, help="Number of draws to run, each with its own seed.")]


@dataclass(frozen=True)
class GraphOptions:
    """Which graph: a data set by its name, a graph folder by its path, or files."""

    PANEL: ClassVar = "Graph"
    graph: Annotated[
        str | None,
        Argument(help=f"A data set ({', '.join(DATASETS)}) or a graph folder; --edges for files."),
    ] = None
    edges: Path | None = option(None, "File of edges: CSV, TSV or Parquet; - = stdin.")
    features: Path | None = option(None, "File of attributes: CSV, Parquet, NPY or sparse NPZ.")
    labels: Path | None = option(
        None, "File of labels: CSV or Parquet; nodes that are not listed are unlabelled."
    )
    source: str | None = option(None, "Column with one end of each edge.")
    target: str | None = option(None, "Column with the other end of each edge.")
    weight: str | None = option(None, "Column with the weights of edges.")
    id: str | None = option(None, "Column with the ids in the files of attributes and labels.")
    label: str | None = option(None, "Column with the labels.")
    header: bool | None = option(
        None, "Whether the files of edges and labels have a header row.", "--header/--no-header"
    )
    root: Root = None

    def __post_init__(self) -> None:
        name = self.graph
        if name is None and self.edges is None:
            raise InputError(
                "no graph given; name a data set (brgcl datasets) or a graph folder, or use "
                "--edges FILE"
            )
        if name is not None:
            if self.files:
                raise InputError(f"give either '{name}' or files (--edges ...), not both")
            if name not in DATASETS:
                self._check_path(Path(name))
            if self.columns:
                raise InputError(f"columns can be named for files only, not for '{name}'")
        for field, file in self._stdin.items():
            object.__setattr__(self, field, file)
        if self.root is not None and not self.root.is_dir():
            raise InputError(
                f"--root '{self.root}' is not a folder; give the folder of the data sets"
            )

    @cached_property
    def _stdin(self) -> dict[str, Path]:
        """The file that came through stdin, by its option."""
        return read_stdin(self.files)

    def _check_path(self, path: Path) -> None:
        """Check that what is no data set is a graph folder."""
        if path.is_dir():
            if not (path / GRAPH_FILE).is_file():
                raise InputError(
                    f"'{path}' has no {GRAPH_FILE}; brgcl convert makes a graph folder"
                )
        elif path.suffix or path.exists():
            raise InputError(f"'{path}' is not a data set; to read a file, use --edges FILE")
        else:
            check_name("data set", str(path), DATASETS)

    @property
    def dataset(self) -> str | None:
        """The name of the data set; None for a graph of the user."""
        return self.graph if self.graph in DATASETS else None

    def _given(self, *names: str) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    @property
    def files(self) -> dict[str, Any]:
        """The files that were given, by option."""
        return self._given("edges", "features", "labels")

    @property
    def columns(self) -> dict[str, Any]:
        """The columns that were named, by option."""
        return self._given("source", "target", "weight", "id", "label", "header")

    def check_kept(self, file: Path, option: str) -> None:
        """Check that a file that an option writes is none of those that are read."""
        for name, source in self.files.items():
            if file.exists() and source.exists() and file.samefile(source):
                raise InputError(
                    f"{option} would replace '{file}', which --{name} reads; give another name"
                )

    def check_outside(self, run: Path) -> None:
        """Check that the files that are read are none of those that a run replaces."""
        for name, source in self.files.items():
            places = (run / file for file in FILES)
            if any(file.exists() and source.exists() and file.samefile(source) for file in places):
                raise InputError(
                    f"--out would replace '{source}', which --{name} reads; give another --out"
                )

    def open(self, seed: int) -> "Data":
        """Load the data set, or read the files; only a data set may depend on the seed."""
        if self.dataset is None:
            return self._own
        from brgcl.data.datasets import load_dataset

        return load_dataset(self.dataset, self.root, seed=seed)

    @cached_property
    def _own(self) -> "Data":
        from brgcl.data.files import read_graph
        from brgcl.data.graph_folder import open_graph

        if self.graph is not None:
            return open_graph(self.graph)
        with spelled_as_options():
            return read_graph(**self.files, **self.columns)

    def describe(self, data: "Data") -> dict[str, Any]:
        """Return what was read, with checksums."""
        from brgcl.data.download import file_sha256
        from brgcl.data.fingerprint import fingerprint

        if self.dataset is not None:
            return {"dataset": self.dataset, "fingerprint": fingerprint(data, data.y, {})}
        if self.graph is not None:  # which has the checksums of the other files
            file = Path(self.graph).absolute() / GRAPH_FILE
            return {"graph": {"file": str(file), "sha256": file_sha256(file)}}
        files = {
            name: {
                "file": "-" if name in self._stdin else str(file.absolute()),
                "sha256": file_sha256(file),
            }
            for name, file in self.files.items()
        }
        return files | self.columns


@contextmanager
def spelled_as_options() -> Iterator[None]:
    """Spell keywords in an error as the options that set them."""
    try:
        yield
    except InputError as error:
        text = re.sub(r"[^\s']*/(stdin\.)", r"\1", str(error))
        text = text.replace("header=True", "--header").replace("header=False", "--no-header")
        names = r"\b(source|target|weight|id|label)="
        text = re.sub(names, r"--\1", re.sub(names + r"(?=[\w'\"])", r"--\1 ", text))
        raise InputError(text) from error


@dataclass(frozen=True)
class SettingOptions:
    """Settings of BRGCL."""

    PANEL: ClassVar = "Method"
    method: ClassVar[str] = "brgcl"
    preset: str = option("default", "Named settings: default, paper-literal, ...")
    encoder: str | None = option(None, "Layers of the encoder: gcn (default), sage, gat or gin.")
    file: Path | None = option(None, "TOML file with settings.", "--config")
    settings: list[str] | None = option(
        None, "A single setting, key=value; can be repeated.", "--set"
    )

    def config(self, dataset: str | None) -> Any:
        """Put the settings together, and check that this machine can train with them."""
        from brgcl.method.inputs import check_device

        settings = list(self.settings or [])
        if self.encoder is not None:
            settings.append(f"encoder={self.encoder}")
        config = resolve_config(self.method, self.preset, self.file, settings, dataset)
        check_device(getattr(config, "device", "cpu"))
        epochs, warmup = getattr(config, "epochs", 1), getattr(config, "warmup_epochs", 0)
        if warmup >= epochs:
            say(f"{epochs} epochs end before the warm-up ({warmup}): prototypes are not used.")
        return config


@dataclass(frozen=True)
class MethodOptions(SettingOptions):
    """The method and its settings."""

    method: str = option("brgcl", "Method; brgcl methods lists all.")  # type: ignore[misc]

    def __post_init__(self) -> None:
        check_name("method", self.method, METHODS, hint="brgcl methods lists all")


@dataclass(frozen=True)
class GraphNoiseOptions:
    """Noise to add to attributes and edges."""

    PANEL: ClassVar = "Noise and protocol"
    attribute_noise: str | None = option(
        None,
        f"Noise to add, e.g. within:0.3 or within:0.3@train; kinds: {', '.join(ATTRIBUTE_NOISE)}.",
    )
    edge_noise: str | None = option(
        None, f"Noise to add, e.g. add:0.2; kinds: {', '.join(EDGE_NOISE)}."
    )

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

    label_noise: str | None = option(
        None, f"Noise to add, e.g. symmetric:0.4; kinds: {', '.join(LABEL_NOISE)}."
    )

    def specs(self) -> dict[str, Any]:
        """Read the options."""
        return {"labels": parse_noise(self.label_noise, LABEL_NOISE), **super().specs()}


@dataclass(frozen=True)
class ProtocolOptions(NoiseOptions):
    """Noise, and which labels may choose."""

    protocol: str = option("clean-val", f"Validation labels to use: {', '.join(PROTOCOLS)}.")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name("protocol", self.protocol, PROTOCOLS)


@dataclass(frozen=True)
class ClassifierOptions:
    """The classifier on top of representations."""

    PANEL: ClassVar = "Classifier"
    rule: str | None = option(None, f"One of {', '.join(RULES)}; default: auto.")
    soft_labels: str | None = option(None, f"Targets of --rule mlp: {', '.join(SOFT_LABELS)}.")

    def __post_init__(self) -> None:
        check_name("rule", self.rule, RULES)
        check_name("soft_labels", self.soft_labels, SOFT_LABELS)

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
    out: Path | None = option(None, "Folder for tables, model and report; - = CSV to stdout.")
    overwrite: Overwrite = False
    json_: Json = False

    def __post_init__(self) -> None:
        if self.to_stdout and self.json_:
            raise InputError("--out - and --json both write to stdout; give one of them")

    @property
    def to_stdout(self) -> bool:
        """Whether the table of results goes to stdout, and all else to stderr."""
        return self.out == DASH

    def claim(
        self, graph: GraphOptions, *, reviewed: Path | None = None
    ) -> AbstractContextManager[RunFolder | None]:
        """Take the folder, if there is one, for as long as the command runs.

        It must not have the files of the graph among those that are replaced, and a review that is
        in it has to be the one that the command reads.
        """
        if self.out is None or self.to_stdout:
            return nullcontext()
        graph.check_outside(self.out)
        same = reviewed is not None and reviewed.resolve() == self.out.resolve()
        return claim_folder(self.out, overwrite=self.overwrite, reviewed=same)


@dataclass(frozen=True)
class EmbedOutput(OutputOptions):
    """Where representations go: always into a folder."""

    out: Path | None = option(Path("run"), "Folder to write; - = CSV to stdout.")


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
        raise InputError(f"--trials must be 'grid' or a number of at least 1, got '{text}'")
    return int(text)


def parse_names(text: str | None) -> list[str] | None:
    """Read names that are separated by commas."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def parse_levels(text: str | None) -> list[float] | None:
    """Read noise levels that are separated by commas."""
    try:
        return None if text is None else [float(level) for level in text.split(",")]
    except ValueError:
        raise InputError(f"levels must be numbers such as 0,0.2,0.4, got '{text}'") from None


def parse_size(text: str) -> int:
    """Read a size such as 500MB or 2GB as bytes.

    Example:
        >>> parse_size("0.5GB")
        536870912
    """
    with suppress(ValueError, KeyError):
        size = int(float(text[:-2]) * {"MB": 2**20, "GB": 2**30}[text[-2:].upper()])
        if size > 0:
            return size
    raise InputError(f"'{text}' is not a size; write e.g. 500MB or 2GB")


def parse_duration(text: str) -> float:
    """Read a time such as 90s, 5m or 2h as seconds.

    Example:
        >>> parse_duration("1.5h")
        5400.0
    """
    with suppress(ValueError, KeyError):
        seconds = float(text[:-1]) * {"s": 1, "m": 60, "h": 3600}[text[-1:]]
        if seconds > 0:
            return seconds
    raise InputError(f"'{text}' is not a time; write e.g. 90s, 5m or 2h")
