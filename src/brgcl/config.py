"""Settings: frozen dataclasses whose types say which values a setting may take."""

import dataclasses
import math
import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from annotated_types import Ge, GroupedMetadata, Gt, Interval, Le, Lt

from brgcl.errors import InputError, unknown_name

T = TypeVar("T")

Count = Annotated[int, Ge(1)]
Whole = Annotated[int, Ge(0)]
Positive = Annotated[float, Gt(0)]
Weight = Annotated[float, Ge(0)]
Share = Annotated[float, Interval(ge=0, lt=1)]
Probability = Annotated[float, Interval(ge=0, le=1)]
Fraction = Annotated[float, Interval(gt=0, le=1)]
Seed = Annotated[int, Interval(ge=0, le=2**32 - 1)]  # the range of NumPy and scikit-learn

Scaling = Literal["l1", "standardize", "none"]
EncoderKind = Literal["gcn", "sage", "gat", "gin", "own"]
Activation = Literal["relu", "prelu", "elu"]
ViewKind = Literal["edges", "nodes", "subgraph", "diffusion"]
Mode = Literal["auto", "full", "sampled", "partitioned"]


@dataclass(frozen=True)
class Settings:
    """Base of every method's settings: each value is checked against the type of its field.

    Example:
        >>> BRGCLConfig(epochs=0)
        Traceback (most recent call last):
        brgcl.errors.InputError: epochs must be an integer of at least 1, got 0
    """

    def __post_init__(self) -> None:
        """Check every field; numpy numbers become plain ones."""
        for name, hint in _hints(type(self)).items():  # type: ignore[arg-type]  # a class is hashable
            object.__setattr__(self, name, check_value(name, hint, getattr(self, name)))

    @classmethod
    def check_names(cls, names: Iterable[str]) -> None:
        """Raise an error for the first name that is not a setting."""
        known = [field.name for field in dataclasses.fields(cls)]
        for name in names:
            if name not in known:
                raise unknown_name("setting", name, known)

    def to_dict(self) -> dict[str, Any]:
        """Return all settings as plain values."""
        return dataclasses.asdict(self)


def setting(default: T, meaning: str) -> T:
    """Declare a field of a `Settings` class by its default and its meaning.

    Example:
        >>> dataclasses.fields(BRGCLConfig)[0].metadata["meaning"]
        'Random seed for weights, views and negatives.'
    """
    declared: Any = dataclasses.field(default=default, metadata={"meaning": meaning})
    return cast(T, declared)


def check_value(name: str, hint: Any, value: Any) -> Any:
    """Return a value, numpy numbers as plain ones, if its type and range are those of the hint.

    Raises:
        InputError: They are not; the message has the name, the rule and the value.

    Example:
        >>> check_value("seed", Seed, 2**32)
        Traceback (most recent call last):
        brgcl.errors.InputError: seed must be an integer in [0, 4294967295], got 4294967296
    """
    if getattr(value, "ndim", None) == 0:
        value = value.item()
    allowed = list(_alternatives(hint))
    if not any(_admits(kind, bounds, value) for kind, bounds in allowed):
        rule = ", or ".join(_describe(kind, bounds) for kind, bounds in allowed)
        raise InputError(f"{name} must be {rule}, got {value!r}")
    return value


def check_seed(seed: Any) -> int:
    """Return a seed that torch, NumPy and scikit-learn all take, or raise an error."""
    return int(check_value("seed", Seed, seed))


def require(config: Any, name: str, holds: bool, rule: str) -> None:
    """Raise an error that names the field, the rule and its value, unless the rule holds."""
    if not holds:
        raise InputError(f"{name} must be {rule}, got {getattr(config, name)!r}")


@cache
def _hints(cls: Any) -> dict[str, Any]:
    hints = get_type_hints(cls, include_extras=True)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}


def _alternatives(hint: Any) -> Iterator[tuple[Any, list[Any]]]:
    """Yield the types that a union is made of, each with its bounds."""
    if get_origin(hint) in (Union, UnionType):
        for part in get_args(hint):
            yield from _alternatives(part)
    elif get_origin(hint) is Annotated:
        kind, *given = get_args(hint)
        groups = [each if isinstance(each, GroupedMetadata) else [each] for each in given]
        yield kind, [bound for group in groups for bound in group]
    else:
        yield hint, []


def _admits(kind: Any, bounds: list[Any], value: Any) -> bool:
    if get_origin(kind) is Literal:
        return any(type(value) is type(word) and value == word for word in get_args(kind))
    if isinstance(value, bool) and kind is not bool:
        return False
    if isinstance(value, float) and not math.isfinite(value):
        return False
    fits = isinstance(value, int | float if kind is float else kind)
    return fits and all(_within(bound, value) for bound in bounds)


def _within(bound: Any, value: Any) -> bool:
    limits = {Ge: "ge", Gt: "gt", Le: "le", Lt: "lt"}
    name = limits[type(bound)]
    return bool(getattr(operator, name)(value, getattr(bound, name)))


def _describe(kind: Any, bounds: list[Any]) -> str:
    """Say what is allowed, as in "a number in [0, 1)"."""
    if get_origin(kind) is Literal:
        words = ", ".join(map(repr, get_args(kind)))
        return words if len(get_args(kind)) == 1 else f"one of {words}"
    kinds = {float: "a number", int: "an integer", str: "a string", bool: "true or false"}
    name = kinds.get(kind, "none")
    match bounds:
        case []:
            return name
        case [Ge(ge=low)]:
            return f"{name} of at least {low}"
        case [Gt(gt=low)]:
            return f"{name} above {low}"
        case [Lt(lt=high)]:
            return f"{name} below {high}"
    low, high = bounds
    left = f"[{low.ge}" if isinstance(low, Ge) else f"({low.gt}"
    right = f"{high.le}]" if isinstance(high, Le) else f"{high.lt})"
    return f"{name} in {left}, {right}"


@dataclass(frozen=True)
class ViewSettings:
    """What one view leaves out.

    Attributes:
        kind: What is dropped.
        drop: Share dropped; for "diffusion" the teleport probability.
        mask: Share of attribute columns masked.
    """

    kind: ViewKind
    drop: float
    mask: float


# The paper as printed, where it differs from the default.
PAPER_LITERAL: dict[str, Any] = {
    "num_layers": 2,
    "node_objective": "abs",
    "positive_twice": True,
    "proto_weight": "1/N",
    "warmup_epochs": 0,
    "num_negatives": None,
    "normalize_prototypes": False,
    "center": False,
    "reported": "prototypes",
}

# xi and gamma0 as printed in the paper's table of selected hyper-parameters.
PAPER_TABLE = {
    "cora": (0.20, 0.3),
    "citeseer": (0.15, 0.5),
    "pubmed": (0.35, 0.7),
    "coauthor-cs": (0.40, 0.4),
    "ogbn-arxiv": (0.25, 0.4),
}

# settings that older files do not have
LATER = ("encoder", "mode", "num_partitions", "batches_per_step", "memory_budget")


@dataclass(frozen=True, kw_only=True)
class BRGCLConfig(Settings):
    """Settings of BRGCL; the string of each field describes it."""

    seed: Seed = setting(0, "Random seed for weights, views and negatives.")
    device: str = setting("cpu", "Torch device on which to train, e.g. cpu or cuda.")
    attributes: Literal["auto"] | Scaling = setting(
        "auto",
        "Scaling of attributes; auto = rows to sum 1 if no value is negative, else standardize.",
    )

    encoder: EncoderKind = setting(
        "gcn", "Layers of the encoder; own = your own module, passed as BRGCL(encoder=module)."
    )
    hidden: Count = setting(512, "Units of every encoder layer except the last.")
    dim: Count = setting(256, "Dimension of the representations.")
    num_layers: Count | Literal["auto"] = setting(
        "auto",
        "Number of graph convolutions: auto = 2, or 1 if that is likely to be better.",
    )
    activation: Activation = setting("relu", "Non-linearity between layers.")
    center: bool = setting(
        True, "Subtract the mean representation of the training graph after training."
    )

    epochs: Count = setting(100, "Training epochs, t_max.")
    warmup_epochs: Whole = setting(
        50, "Epochs with the node loss alone, before prototypes are used."
    )
    lr: Positive = setting(1e-3, "Learning rate of Adam.")
    weight_decay: Weight = setting(0.0, "L2 penalty in Adam.")
    patience: Count | None = setting(
        None,
        "Stop when the loss has not fallen for this many epochs after the warm-up; none = never.",
    )

    view1: ViewKind = setting(
        "edges",
        "What view 1 drops: edges, nodes or all except a subgraph; diffusion drops nothing.",
    )
    view2: ViewKind = setting("edges", "What view 2 drops.")
    drop1: Share = setting(0.2, "Share dropped in view 1 (teleport probability for diffusion).")
    drop2: Share = setting(0.4, "Share dropped in view 2.")
    mask1: Share = setting(0.3, "Share of attribute columns masked in view 1.")
    mask2: Share = setting(0.4, "Share of attribute columns masked in view 2.")

    node_objective: Literal["exp", "abs", "decorrelation"] = setting(
        "exp",
        "Node contrast: exp = InfoNCE on cosines, abs = as printed in the paper, or decorrelation.",
    )
    node_weight: Weight = setting(1.0, "Weight of the node contrast in the loss.")
    tau: Positive = setting(0.4, "Temperature of the node contrast (exp only).")
    tau_degree: Positive | None = setting(
        10.0, "Mean degree above which tau falls like 1 / sqrt(degree); none = never."
    )
    positive_twice: bool = setting(
        False, "Count the positive pair twice in the denominator, as printed in the paper."
    )
    decorrelation_weight: Weight = setting(
        1e-3, "Weight of the decorrelation of dimensions (decorrelation only)."
    )
    num_negatives: Annotated[int, Ge(2)] | Literal["auto"] | None = setting(
        "auto",
        "Sampled negatives per epoch: none = all nodes, auto = all up to 1,000 nodes, then 256.",
    )
    tile_mb: Count = setting(256, "Memory for similarities, in megabytes.")

    proto_weight: Weight | Literal["1/N"] = setting(
        0.3, "Weight of the contrast with prototypes; 1/N = the weight in the paper's formulas."
    )
    proto_tau: Positive = setting(0.4, "Temperature of the contrast with prototypes.")
    prototypes: Literal["confident", "all"] = setting(
        "confident", "Nodes that make up a prototype: the confident ones, or all of the cluster."
    )
    normalize_prototypes: bool = setting(True, "Scale prototypes to unit length.")
    clustering: Literal["dp-means", "kmeans"] = setting("dp-means", "How pseudo labels are found.")
    xi: Positive = setting(
        0.5, "Price of a cluster in DP-means, a squared distance between unit vectors."
    )
    num_prototypes: Count | None = setting(
        None, "Number of clusters for kmeans; none = the number that DP-means finds first."
    )
    max_prototypes: Count = setting(
        64, "Cap on the number of prototypes; at the default xi it is reached on most graphs."
    )
    cluster_rounds: Count = setting(
        5, "Rounds of clustering per epoch, starting from the last epoch's centres."
    )

    reported: Literal["clusters", "prototypes"] = setting(
        "clusters",
        "What pseudo labels refer to: the reported clusters, or the prototypes of the contrast.",
    )

    alpha: Fraction = setting(0.1, "Teleport probability of the propagation of pseudo labels.")
    propagation_steps: Count = setting(10, "Steps T of the propagation (T - 1 updates).")
    gamma0: Share = setting(0.3, "Fall of the confidence threshold over training.")

    mode: Mode = setting(
        "auto",
        "Steps over the whole graph (full, sampled) or over parts (partitioned); auto = what fits.",
    )
    num_partitions: Count | None = setting(
        None,
        "Parts (partitioned only), cut to about 500 nodes each; none = one per 500 nodes.",
    )
    batches_per_step: Count | None = setting(
        None, "Batches per step, shared by ranks (partitioned only); none = 20,000 nodes, or 8."
    )
    memory_budget: Positive | None = setting(
        None, "Memory in addition to the graph, in GB; none = that of the machine, at most 4."
    )

    def __post_init__(self) -> None:
        """Check every field, and what they need of each other."""
        if type(self.device).__module__ == "torch":  # a torch.device; torch is not loaded here
            object.__setattr__(self, "device", str(self.device))
        super().__post_init__()
        for view, drop in (("view1", "drop1"), ("view2", "drop2")):
            teleports = getattr(self, view) != "diffusion" or getattr(self, drop) > 0
            require(self, drop, teleports, f"above 0 if {view} is diffusion")
            edges = self.encoder == "gcn" or getattr(self, view) != "diffusion"
            require(self, view, edges, f"another one, since encoder '{self.encoder}' reads edges")
        if self.mode == "partitioned" and self.encoder != "gcn":
            raise InputError(
                f"training by parts has the encoder 'gcn' only, not '{self.encoder}'; set "
                "encoder='gcn', or mode='sampled' if the graph fits into memory"
            )
        if self.num_prototypes is not None and self.clustering == "dp-means":
            raise InputError(
                "num_prototypes is found by dp-means, not given; set clustering='kmeans' as well"
            )
        if self.mode == "full" and self.num_negatives not in ("auto", None):
            raise InputError(
                f"mode='full' contrasts all pairs of nodes, not {self.num_negatives} negatives; "
                "set mode='sampled'"
            )
        if self.mode in ("sampled", "partitioned") and self.num_negatives is None:
            raise InputError(
                f"mode='{self.mode}' samples negatives; set num_negatives to a number or 'auto'"
            )

    @property
    def views(self) -> tuple[ViewSettings, ViewSettings]:
        """Settings of the two views."""
        return (
            ViewSettings(self.view1, self.drop1, self.mask1),
            ViewSettings(self.view2, self.drop2, self.mask2),
        )

    def identity(self) -> dict[str, Any]:
        """Return what tells this from other settings, for fingerprints.

        Settings in `LATER` count only where they differ from their default, so that fingerprints
        are those of the versions before them.

        Example:
            >>> "mode" in BRGCLConfig().identity(), BRGCLConfig(mode="full").identity()["mode"]
            (False, 'full')
        """
        default = {field.name: field.default for field in dataclasses.fields(self)}
        values = self.to_dict().items()
        return {k: v for k, v in values if k not in LATER or v != default[k]}

    def replace(self, **changes: Any) -> "BRGCLConfig":
        """Return a copy with some fields changed; an unknown name is an error."""
        self.check_names(changes)
        return dataclasses.replace(self, **changes)

    @classmethod
    def preset(cls, name: str = "default", *, dataset: str | None = None) -> "BRGCLConfig":
        """Return named settings.

        Args:
            name: "default", "paper-literal" (the paper as printed), or a public data set, whose
                settings are the default ones.
            dataset: With "paper-literal", whose xi and gamma0 of the paper's table to take.

        Example:
            >>> BRGCLConfig.preset("paper-literal", dataset="citeseer").xi
            0.15
        """
        if name not in ("default", "paper-literal", "demo", *PAPER_TABLE):
            raise unknown_name("preset", name, ["default", "paper-literal"])
        if name == "paper-literal":
            if dataset is not None and dataset not in PAPER_TABLE:
                raise unknown_name("data set of the paper", dataset, PAPER_TABLE)
            xi, gamma0 = PAPER_TABLE[dataset or "cora"]
            return cls(**PAPER_LITERAL, xi=xi, gamma0=gamma0)
        return cls()
