"""What every method takes and gives back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from torch import Generator, Tensor
from torch_geometric.data import Data

from brgcl.config import Settings
from brgcl.method.dpmeans import Clustering

Reporter = Callable[[int, int, str], None]  # epochs done, epochs in all, a few words
Hook = Reporter | None  # called after each epoch, if there is one


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


Labels = ObservedLabels | None  # None for methods that need no labels


@dataclass(frozen=True)
class Fitted:
    """What a method has learned.

    Attributes:
        representations: One row per node, `(N, D)`.
        probabilities: Class probabilities, `(N, C)`; None for methods that learn without labels.
        clustering: The clusters that the method found itself; None for methods that find none.
        confidence: Confidence of each node in its cluster, `(N,)`; None likewise.
        confident: Mask of the nodes that are confident, `(N,)`; None likewise.
        smooth: Whether K-means averages the representations over the graph first.
        model: An object with `save(folder)`, where the method has one.
        measurements: Numbers about the training, such as its time and memory.
    """

    representations: Tensor
    probabilities: Tensor | None = None
    clustering: Clustering | None = None
    confidence: Tensor | None = None
    confident: Tensor | None = None
    smooth: bool = False
    model: Any = None
    measurements: Mapping[str, Any] = field(default_factory=dict)


class Fit(Protocol):
    """The one function of a method."""

    def __call__(
        self, graph: Data, labels: Labels, config: Any, generator: Generator, report: Hook = None
    ) -> Fitted:
        """Learn from a checked graph and, if the method is supervised, from labels."""


@dataclass(frozen=True, kw_only=True)
class Method:
    """The facts of a method, stated once at the end of its file.

    Attributes:
        name: What `METHODS` and the command line call it.
        fit: The function.
        Config: Its settings.
        kind: "classifier" (learns from labels, predicts) or "representation" (needs no labels).
        citation: Where it comes from.
        cost: How time and memory grow.
        source: Where the defaults of its settings come from.
        sources: The same for single settings that have another source.
        ours: Settings that we chose, and why.
        presets: Settings that differ from those of `Config`, by data set; those under "default"
            hold for every graph.
        reduced: Further settings, by data set, for tables on graphs where the method is expensive.
        space: Values that `brgcl tune --method` may try, by setting; those that its authors tune.
        deviations: What differs from the original, a sentence each.
        oracle: What it must be told that users do not know; empty for most.
        resumable: Whether `fit` takes a file `checkpoint`, from which a training that was stopped
            resumes.
        version: Raised when its results change, so that old records no longer count.
    """

    name: str
    fit: Fit
    Config: type[Settings]
    kind: Literal["classifier", "representation"]
    citation: str
    cost: str
    source: str
    sources: Mapping[str, str] = field(default_factory=dict)
    ours: Mapping[str, str] = field(default_factory=dict)
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    reduced: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    space: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    deviations: Sequence[str] = ()
    oracle: str = ""
    resumable: bool = False
    version: int = 1

    @property
    def uses_labels(self) -> bool:
        """Whether training reads labels."""
        return self.kind == "classifier"

    def config(self, dataset: str | None = None, **changes: Any) -> Any:
        """Return the settings for a data set, or for any other graph.

        Raises:
            InputError: A change has an unknown name or breaks the rule of its setting.
        """
        self.Config.check_names(changes)
        default, known = self.presets.get("default", {}), self.presets.get(dataset or "", {})
        return self.Config(**{**default, **known, **changes})
