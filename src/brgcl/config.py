"""Settings of the method: one frozen dataclass, checked when it is made."""

import dataclasses
import math
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from brgcl.errors import InputError, unknown_name

Scaling = Literal["l1", "standardize", "none"]
Activation = Literal["relu", "prelu", "elu"]
ViewKind = Literal["edges", "nodes", "subgraph", "diffusion"]


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


# Settings per data set that differ from the default.
PRESETS: dict[str, dict[str, Any]] = {
    "cora": {"xi": 0.1, "gamma0": 0.2},
    "citeseer": {},
    "pubmed": {},
    "coauthor-cs": {"xi": 0.1, "gamma0": 0.5},
    "ogbn-arxiv": {},
    "demo": {},
}

# xi and gamma0 as printed in the paper's table of selected hyper-parameters.
PAPER_TABLE = {
    "cora": (0.20, 0.3),
    "citeseer": (0.15, 0.5),
    "pubmed": (0.35, 0.7),
    "coauthor-cs": (0.40, 0.4),
    "ogbn-arxiv": (0.25, 0.4),
}


@dataclass(frozen=True, kw_only=True)
class BRGCLConfig:
    """Settings of BRGCL; the string under each field says what it means."""

    seed: int = 0
    """Seed of everything random: weights, views, negatives."""
    device: str = "cpu"
    """Torch device on which to train, e.g. cpu or cuda."""
    attributes: Literal["auto"] | Scaling = "auto"
    """Scaling of attributes: auto = rows to sum 1 if none is negative, else standardize columns."""

    hidden: int = 512
    """Units of every encoder layer but the last."""
    dim: int = 256
    """Dimension of the representations."""
    num_layers: int = 2
    """Graph convolutions in the encoder."""
    activation: Activation = "relu"
    """Non-linearity between layers."""

    epochs: int = 100
    """Training epochs, t_max."""
    warmup_epochs: int = 50
    """Epochs with the node loss alone, before prototypes join."""
    lr: float = 1e-3
    """Learning rate of Adam."""
    weight_decay: float = 0.0
    """L2 penalty in Adam."""
    patience: int | None = None
    """Stop when the loss has not fallen for so many epochs after the warm-up; none = never."""

    view1: ViewKind = "edges"
    """What view 1 drops: edges, nodes, all but a subgraph, or nothing but by diffusion."""
    view2: ViewKind = "edges"
    """What view 2 drops."""
    drop1: float = 0.2
    """Share dropped in view 1 (teleport probability for diffusion)."""
    drop2: float = 0.4
    """Share dropped in view 2."""
    mask1: float = 0.3
    """Share of attribute columns masked in view 1."""
    mask2: float = 0.4
    """Share of attribute columns masked in view 2."""

    node_objective: Literal["exp", "abs", "decorrelation"] = "exp"
    """Node contrast: exp = InfoNCE on cosines, abs = as printed in the paper, or decorrelation."""
    node_weight: float = 1.0
    """Weight of the node contrast in the loss."""
    tau: float = 0.4
    """Temperature of the node contrast (exp only)."""
    positive_twice: bool = False
    """Count the positive pair twice in the denominator, as printed in the paper."""
    decorrelation_weight: float = 1e-3
    """Weight of the decorrelation of dimensions (decorrelation only)."""
    num_negatives: int | Literal["auto"] | None = "auto"
    """Sampled negatives per epoch: none = all nodes, auto = all up to 1,000 nodes, then 256."""
    tile_mb: int = 256
    """Memory that similarities may take, in megabytes."""

    proto_weight: float | Literal["1/N"] = 0.3
    """Weight of the contrast to prototypes; 1/N = as the paper's sum and mean weigh them."""
    proto_tau: float = 0.4
    """Temperature of the contrast to prototypes."""
    prototypes: Literal["confident", "all"] = "confident"
    """Nodes that make up a prototype: the confident ones, or all of the cluster."""
    normalize_prototypes: bool = True
    """Give prototypes unit length before the contrast."""
    clustering: Literal["dp-means", "kmeans"] = "dp-means"
    """How pseudo labels are found."""
    xi: float = 0.5
    """Price of a cluster in DP-means, a squared distance between unit vectors."""
    num_prototypes: int | None = None
    """Number of clusters for kmeans; none = as many as DP-means finds first."""
    max_prototypes: int = 64
    """Cap on the number of prototypes."""
    cluster_rounds: int = 5
    """Rounds of clustering per epoch, each started from the last epoch's centres."""

    alpha: float = 0.1
    """Teleport probability of the propagation of pseudo labels."""
    propagation_steps: int = 10
    """Steps T of the propagation (T - 1 updates)."""
    gamma0: float = 0.3
    """Fall of the confidence threshold over training."""

    def __post_init__(self) -> None:
        """Check every field; the error names the field, the rule and what came."""
        check_types(self)
        for name in (
            "hidden",
            "dim",
            "num_layers",
            "epochs",
            "max_prototypes",
            "cluster_rounds",
            "propagation_steps",
            "tile_mb",
        ):
            require(self, name, getattr(self, name) >= 1, "at least 1")
        for name in ("lr", "tau", "proto_tau", "xi"):
            require(self, name, getattr(self, name) > 0, "above 0")
        for name in (
            "seed",
            "warmup_epochs",
            "weight_decay",
            "node_weight",
            "decorrelation_weight",
        ):
            require(self, name, getattr(self, name) >= 0, "0 or more")
        if not isinstance(self.proto_weight, str):
            require(self, "proto_weight", self.proto_weight >= 0, "0 or more, or 1/N")
        for name in ("drop1", "drop2", "mask1", "mask2", "gamma0"):
            require(self, name, 0 <= getattr(self, name) < 1, "in [0, 1)")
        require(self, "alpha", 0 < self.alpha <= 1, "in (0, 1]")
        for name in ("patience", "num_prototypes"):
            value = getattr(self, name)
            require(self, name, value is None or value >= 1, "at least 1, or none")
        for view, drop in (("view1", "drop1"), ("view2", "drop2")):
            teleports = getattr(self, view) != "diffusion" or getattr(self, drop) > 0
            require(self, drop, teleports, f"above 0 where {view} is diffusion")
        if isinstance(self.num_negatives, int):
            require(self, "num_negatives", self.num_negatives >= 2, "at least 2, auto or none")
        if self.num_prototypes is not None and self.clustering == "dp-means":
            raise InputError(
                "num_prototypes is found by dp-means, not given; set clustering='kmeans' as well"
            )

    @property
    def views(self) -> tuple[ViewSettings, ViewSettings]:
        """Settings of the two views."""
        return (
            ViewSettings(self.view1, self.drop1, self.mask1),
            ViewSettings(self.view2, self.drop2, self.mask2),
        )

    def replace(self, **changes: Any) -> "BRGCLConfig":
        """Return a copy with some fields changed; an unknown name is an error."""
        check_names(changes)
        return dataclasses.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Return all settings as plain values."""
        return dataclasses.asdict(self)

    @classmethod
    def preset(cls, name: str = "default", *, dataset: str | None = None) -> "BRGCLConfig":
        """Return named settings.

        Args:
            name: "default", "paper-literal" (the paper as printed), or the name of a data set.
            dataset: With "paper-literal", whose xi and gamma0 of the paper's table to take.

        Example:
            >>> BRGCLConfig.preset("paper-literal", dataset="citeseer").xi
            0.15
        """
        known = ["default", "paper-literal", *PRESETS]
        if name not in known:
            raise unknown_name("preset", name, known)
        if name == "paper-literal":
            if dataset is not None and dataset not in PAPER_TABLE:
                raise unknown_name("data set of the paper", dataset, PAPER_TABLE)
            xi, gamma0 = PAPER_TABLE[dataset or "cora"]
            return cls(
                node_objective="abs",
                positive_twice=True,
                proto_weight="1/N",
                warmup_epochs=0,
                num_negatives=None,
                normalize_prototypes=False,
                xi=xi,
                gamma0=gamma0,
            )
        return cls(**PRESETS.get(name, {}))


def check_names(names: Any) -> None:
    """Raise an error for the first name that is not a setting."""
    known = [field.name for field in dataclasses.fields(BRGCLConfig)]
    for name in names:
        if name not in known:
            raise unknown_name("setting", name, known)


def check_types(config: Any) -> None:
    """Check every field of a frozen dataclass against its type; numpy numbers become plain."""
    hints = _type_hints(type(config))  # type: ignore[arg-type]  # a class is hashable
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if hasattr(value, "item"):  # a numpy number, as from a parameter grid
            value = value.item()
            object.__setattr__(config, field.name, value)
        if not _fits(hints[field.name], value):
            raise InputError(f"{field.name} must be {_describe(hints[field.name])}, got {value!r}")


@cache
def _type_hints(cls: Any) -> dict[str, Any]:
    return get_type_hints(cls)


def require(config: Any, name: str, holds: bool, rule: str) -> None:
    """Raise an error that names the field, the rule and what came, unless the rule holds."""
    if not holds:
        raise InputError(f"{name} must be {rule}, got {getattr(config, name)!r}")


def _fits(hint: Any, value: Any) -> bool:
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_args(hint):
        return any(_fits(part, value) for part in get_args(hint))
    if hint is float:
        return (
            isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        )
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, hint)


def _describe(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(map(repr, get_args(hint)))
    if get_args(hint):
        return " or ".join(_describe(part) for part in get_args(hint))
    return {float: "a number", int: "an integer", str: "a string", bool: "true or false"}.get(
        hint, "none"
    )
