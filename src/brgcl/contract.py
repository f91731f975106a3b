"""What every method takes and gives back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import torch
from torch import Tensor
from torch_geometric.data import Data

from brgcl.config import Settings
from brgcl.method.dpmeans import Clustering

Reporter = Callable[[int, int, str], None]  # epochs done, epochs in all, a few words


@dataclass(frozen=True)
class ObservedLabels:
    """The labels that a method may see.

    Attributes:
        train: Labels to learn from, as noisy as they are, -1 = none, `(N,)`.
        validation: Labels that may only choose (an epoch, a classifier), -1 = none, `(N,)`; None
            where the protocol has none.
        num_classes: C.
    """

    train: Tensor
    validation: Tensor | None
    num_classes: int


@dataclass(frozen=True)
class Fitted:
    """What a method has learned.

    Attributes:
        representations: One row per node, `(N, D)`.
        probabilities: Class probabilities, `(N, C)`; None for methods that learn without labels.
        clustering: The clusters that the method found itself; None for methods that find none.
        confidence: Confidence of each node in its cluster, `(N,)`; None likewise.
        confident: Mask of the nodes that are confident, `(N,)`; None likewise.
        model: An object with `save(folder)`, where the method has one.
        measurements: Numbers about the training, such as its time and memory.
    """

    representations: Tensor
    probabilities: Tensor | None = None
    clustering: Clustering | None = None
    confidence: Tensor | None = None
    confident: Tensor | None = None
    model: Any = None
    measurements: Mapping[str, Any] = field(default_factory=dict)


class Fit(Protocol):
    """The one function of a method."""

    def __call__(
        self,
        graph: Data,
        labels: ObservedLabels | None,
        config: Any,
        generator: torch.Generator,
        report: Reporter | None = None,
    ) -> Fitted:
        """Learn from a checked graph and, if the method is supervised, from labels."""


@dataclass(frozen=True)
class Method:
    """One entry of `METHODS`.

    Attributes:
        fit: The function.
        Config: Its settings, a frozen dataclass.
        kind: "classifier" (learns from labels, predicts) or "representation" (needs no labels).
        citation: Where it comes from.
        uses_labels: Whether training reads labels.
        oracle: What it must be told that users do not know; empty for most.
        cost: How time and memory grow.
        resumable: Whether `fit` takes a file `checkpoint`, from which a training that was stopped
            goes on.
        presets: Settings that differ from those of `Config`, by data set; those under "default"
            hold for every graph.
    """

    fit: Fit
    Config: type[Settings]
    kind: Literal["classifier", "representation"]
    citation: str
    uses_labels: bool
    oracle: str
    cost: str
    resumable: bool = False
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def config(self, dataset: str | None = None, **changes: Any) -> Any:
        """Return the settings for a data set, or for any other graph."""
        self.Config.check_names(changes)
        known = self.presets.get("default", {}), self.presets.get(dataset or "", {})
        return self.Config(**{**known[0], **known[1], **changes})
