"""What every detector takes and gives back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from torch import Generator, Tensor
from torch_geometric.data import Data

from brgcl.config import Settings
from brgcl.contract import Fitted, Hook, Method
from brgcl.methods import find_method
from brgcl.noise.graph import generator_for


@dataclass(frozen=True)
class Detected:
    """What a detector says of the labelled nodes, in the order of the nodes.

    Attributes:
        nodes: The labelled nodes, `(L,)`.
        score: Low where the given label is suspicious, in [0, 1], `(L,)`.
        suggested: The class that the detector would give instead, or the given one, `(L,)`.
        is_error: Whether it takes the given label to be wrong, `(L,)`.
        error_rate: Its estimate of the share of wrong labels; None where it makes none.
    """

    nodes: Tensor
    score: Tensor
    suggested: Tensor
    is_error: Tensor
    error_rate: float | None = None


class Detect(Protocol):
    """The one function of a detector."""

    def __call__(
        self,
        graph: Data,
        labels: Tensor,
        config: Any,
        generator: Generator,
        fitted: Fitted | None = None,
        report: Hook = None,
    ) -> Detected:
        """Judge given labels.

        Args:
            graph: A checked graph; labels that it carries are not read.
            labels: Given labels in `0..C-1`, -1 = unlabelled, `(N,)`.
            config: Settings of the detector's method.
            generator: Source of randomness.
            fitted: What the method has learned without labels, for detectors that read it.
            report: Called now and then.
        """


@dataclass(frozen=True)
class NoSettings(Settings):
    """The settings of a detector that has none."""


@dataclass(frozen=True, kw_only=True)
class Detector:
    """The facts of a detector, stated once at the end of its file.

    Attributes:
        name: What the command line calls it.
        detect: The function.
        kind: "representation" (reads what its method learned without labels), "classifier" (trains
            its method on the given labels) or "labels" (reads labels and edges alone).
        method: The method, a name from `METHODS`; empty for the last kind.
        settings: Settings of the method that differ from its own for the data set.
        citation: Where it comes from.
        cost: How time grows.
        is_probability: Whether its score is meant as the probability that a label is right.
        extra: The extra of brgcl that it needs; empty for most.
        deviations: What differs from the original, a sentence each.
        revision: Raised when its results change, so that old records no longer count.
    """

    name: str
    detect: Detect
    kind: Literal["representation", "classifier", "labels"]
    citation: str
    cost: str
    method: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    is_probability: bool = True
    extra: str = ""
    deviations: Sequence[str] = ()
    revision: int = 0

    @property
    def trained(self) -> Method | None:
        """The method that it trains, or whose representations it reads."""
        return find_method(self.method) if self.method else None

    @property
    def uses_labels(self) -> bool:
        """Whether labels decide all that it computes, so that draws of them share nothing."""
        return self.kind != "representation"

    @property
    def version(self) -> int:
        """Rises when its own results change or those of its method do."""
        return self.revision + (self.trained.version if self.trained else 1)

    @property
    def Config(self) -> type[Settings]:  # noqa: N802 - as `Method` has it
        """The settings, which are those of its method."""
        return self.trained.Config if self.trained else NoSettings

    @property
    def reduced(self) -> Mapping[str, Mapping[str, Any]]:
        """Further settings, by data set, where the method is expensive."""
        return self.trained.reduced if self.trained else {}

    def config(self, dataset: str | None = None, **changes: Any) -> Any:
        """Return the settings for a data set, or for any other graph."""
        if self.trained:
            return self.trained.config(dataset, **{**self.settings, **changes})
        NoSettings.check_names(changes)
        return NoSettings()

    def run(
        self,
        graph: Data,
        labels: Tensor,
        *,
        seed: int = 0,
        config: Any = None,
        fitted: Fitted | None = None,
        report: Hook = None,
    ) -> Detected:
        """Judge given labels; the arguments are those of `Detect`.

        Where the detector reads representations and none are given, its method is trained first.
        All detectors have the same random numbers, and with them the same folds.
        """
        config = self.config() if config is None else config
        if self.kind == "representation" and fitted is None and self.trained is not None:
            fitted = self.trained.fit(graph, None, config, generator_for(seed, "training"), report)
        return self.detect(graph, labels, config, generator_for(seed, "detection"), fitted, report)
