"""Evaluate a method on several draws of noise, for `classify`, `cluster` and the demo."""

import contextlib
import copy
import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import repeat
from numbers import Integral
from pathlib import Path
from statistics import mean, median_low, stdev
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import torch
from torch import Tensor
from torch_geometric.data import Data

from brgcl.baselines.brgcl import represent
from brgcl.config import check_seed
from brgcl.contract import Fitted, Method, Reporter
from brgcl.data import check_graph, load_dataset
from brgcl.errors import InputError, unknown_name
from brgcl.evaluation.names import TASKS
from brgcl.evaluation.protocol import NoisyGraph, draw_noisy_graph
from brgcl.evaluation.score import (
    Classified,
    Clustered,
    classify_one,
    cluster_one,
    count_classes,
    fit_one,
)
from brgcl.methods import find_method
from brgcl.noise.graph import Noise
from brgcl.noise.spec import LABEL_NOISE, parse_noise
from brgcl.notebook import evaluation_html
from brgcl.tasks.agreement import Agreement, cross_validated_agreement
from brgcl.tasks.checks import check_labels, check_num_clusters, class_name
from brgcl.tasks.classify import NodeClassifier
from brgcl.tasks.own_attributes import rows_of_rule
from brgcl.tasks.rules import SEES_ATTRIBUTES

if TYPE_CHECKING:
    import pandas as pd

    from brgcl.model import BRGCL

GraphSource: TypeAlias = Data | str | Callable[[int], Data]
Progress = Callable[[str], AbstractContextManager[Reporter]]


@dataclass(frozen=True)
class Run:
    """A method on one draw.

    If nodes were classified and the true classes are unknown, `agreement` is the agreement of
    held-out predictions with the given labels. It is None for a method that learns from labels,
    because its representations have seen the held-out labels.
    """

    seed: int  # of the draw and of the training
    graph: Data  # before noise
    noisy: NoisyGraph
    fitted: Fitted
    outcome: Classified | Clustered
    seconds: float  # of training and of classifying or clustering
    agreement: Agreement | None = None


@dataclass(frozen=True)
class Evaluation:
    """A method with its settings on several draws, one `Run` per draw."""

    method: str
    dataset: str
    task: str
    protocol: str
    noise: Noise
    config: Any
    runs: Sequence[Run]

    def summary(self) -> dict[str, Any]:
        """Means and standard deviations over the draws, by the names that `--json` prints.

        Scores are None if the true classes are unknown, and standard deviations are None for a
        single draw. A realised noise rate is None on a graph without true classes, unless the
        noise was injected here.
        """
        scores = self._classification() if self.task == "classify" else self._clustering()
        return {
            "method": self.method,
            "dataset": self.dataset,
            **scores,
            "n": len(self.runs),
            **self._realised_noise(),
            "seconds_mean": mean(run.seconds for run in self.runs),
        }

    def nodes(self, draw: int = 0) -> "pd.DataFrame":
        """Return one row per node, for the draw at this position in `runs`.

        Returns:
            `node_id`; `label_given`, the label that the method could see, including noise;
            `label_true`, if known; `predicted` and its `probability`, or `cluster`. For a method
            that finds clusters itself also these clusters (`cluster`, or `pseudo_label` beside the
            requested clusters), `confidence` and `confident`. Labels are class names, and None for
            unlabelled nodes.
        """
        import pandas as pd

        run = self.runs[draw]
        observed, outcome, fitted = run.noisy.labels, run.outcome, run.fitted
        given = observed.train
        if observed.validation is not None:
            given = torch.where(given >= 0, given, observed.validation)
        columns: dict[str, Any] = {
            "node_id": list(run.graph.node_ids),
            "label_given": _class_names(given, run.graph),
        }
        if _has_truth(run) or self.noise.labels is not None:
            columns["label_true"] = _class_names(run.graph.y, run.graph)
        if isinstance(outcome, Classified):
            best = outcome.probabilities.max(1)
            columns["predicted"] = _class_names(best.indices, run.graph)
            columns["probability"] = best.values.numpy()
        else:
            columns["cluster"] = outcome.assignment.numpy()
        clusters = "pseudo_label" if "cluster" in columns else "cluster"
        own = {
            clusters: None if fitted.clustering is None else fitted.clustering.assignment,
            "confidence": fitted.confidence,
            "confident": fitted.confident,
        }
        columns |= {name: column.numpy() for name, column in own.items() if column is not None}
        return pd.DataFrame(columns)

    def _repr_html_(self) -> str:
        return evaluation_html(self)

    def _classification(self) -> dict[str, Any]:
        outcomes = [run.outcome for run in self.runs]
        accuracy, macro_f1 = _known(outcomes, "accuracy"), _known(outcomes, "macro_f1")
        scores: dict[str, Any] = {"accuracy": None} | self._agreement()
        if accuracy:
            scores = {
                "accuracy_mean": mean(accuracy),
                "accuracy_std": _deviation(accuracy),
                "macro_f1_mean": mean(macro_f1),
            }
        return scores | {"rules": [getattr(outcome, "rule", None) for outcome in outcomes]}

    def _agreement(self) -> dict[str, float | None]:
        """Means over the draws of the agreement with the given labels."""
        names = [field.name for field in dataclasses.fields(Agreement)]
        known = {name: _known((run.agreement for run in self.runs), name) for name in names}
        return {name: mean(values) if values else None for name, values in known.items()}

    def _clustering(self) -> dict[str, Any]:
        outcomes = [run.outcome for run in self.runs if isinstance(run.outcome, Clustered)]
        nulls = _known(outcomes, "num_clusters_null")
        scores: dict[str, Any] = {}
        for name in ("acc", "nmi", "ari"):
            known = _known(outcomes, name)
            scores[f"{name}_mean"] = mean(known) if known else None
            scores[f"{name}_std"] = _deviation(known)
        return scores | {
            "num_clusters": median_low(outcome.num_clusters for outcome in outcomes),
            "num_clusters_null": median_low(nulls) if nulls else None,
            "capped": any(outcome.capped for outcome in outcomes),
        }

    def _realised_noise(self) -> dict[str, float | None]:
        truth = _has_truth(self.runs[0])
        return {
            name: mean(getattr(run.noisy, rate) for run in self.runs)
            if truth or asked is not None
            else None
            for name, rate, asked in (
                ("noise_realised", "label_noise", self.noise.labels),
                ("attribute_noise_realised", "attribute_noise", self.noise.attributes),
                ("edge_noise_realised", "edge_noise", self.noise.edges),
            )
        }


def evaluate(
    graph: GraphSource,
    method: str = "brgcl",
    *,
    task: str = "classify",
    config: Any = None,
    noise: Noise | str | None = None,
    protocol: str = "clean-val",
    classifier: NodeClassifier | None = None,
    num_clusters: int | None = None,
    seeds: int | Sequence[int] = 1,
    root: Path | None = None,
    scored_on: str = "test",
    progress: Progress | None = None,
    model: "BRGCL | None" = None,
) -> Evaluation:
    """Train a method on one or more draws of noise, and classify or cluster the nodes.

    A graph with a split is scored on its test nodes. A graph without a split has no true classes to
    score against: all its labels are training labels, and the agreement of held-out predictions
    with these labels is reported. All arguments are checked before the first training.

    Args:
        graph: A graph, the name of a data set, or a function that returns the graph for a seed.
        method: A name from `METHODS`.
        task: "classify" or "cluster".
        config: Settings of the method; None for its defaults, including its preset for a named
            data set.
        noise: Noise to add. A string such as "symmetric:0.4" is label noise. None adds no noise.
        protocol: Which validation labels there are, a name from `PROTOCOLS`.
        classifier: Classifier for the representations; None chooses one.
        num_clusters: Number of clusters. None takes the number of classes, or infers the number
            if the graph has no labels.
        seeds: The seeds of the draws, or the number of draws (seeds 0, 1, ...).
        root: Folder with the data sets, if it is not the default one.
        scored_on: Nodes to score, "test" or "validation".
        progress: Called with a title for each training; returns a context with a progress
            callback, such as `brgcl.progress.progress_bar`.
        model: A fitted model of the method brgcl that represents the nodes; no representations
            are trained.

    Raises:
        InputError: An argument, the graph or its labels are invalid.

    Example:
        >>> from brgcl.data import make_graph
        >>> ran = evaluate(make_graph(200, num_classes=3, labels_per_class=10), "kmeans", seeds=2)
        >>> ran.summary()["n"], list(ran.nodes().columns[:3])
        (2, ['node_id', 'label_given', 'label_true'])
    """
    if task not in TASKS:
        raise unknown_name("task", task, TASKS)
    entry = find_method(method)
    if not isinstance(noise, Noise | str | None):
        raise InputError(f"noise must be a text such as 'symmetric:0.4', or a Noise, got {noise!r}")
    if not isinstance(noise, Noise):
        noise = Noise(labels=parse_noise(noise, LABEL_NOISE))
    if model is not None:
        if method != "brgcl" or config is not None:
            raise InputError("a fitted model has its own method and settings; remove yours")
        config = model.config_
    if config is None:
        config = entry.config(graph if isinstance(graph, str) else None)
    elif not isinstance(config, entry.Config):
        raise InputError(
            f"config of {method} must be a {entry.Config.__name__}, got {type(config).__name__}"
        )
    if not isinstance(classifier, NodeClassifier | None):
        raise InputError(
            "classifier must be a NodeClassifier, such as NodeClassifier('bayes'), "
            f"got {classifier!r}"
        )
    if classifier is not None:
        classifier.check_settings()
    draws = []
    seeds = _checked_seeds(seeds)
    for seed, data in zip(seeds, _graphs(graph, seeds, root), strict=True):
        noisy = draw_noisy_graph(
            data, noise=noise, protocol=protocol, seed=seed, scored_on=scored_on
        )
        _check_task(noisy, task, entry, num_clusters)
        draws.append((seed, data, noisy))
    runs = []
    for seed, data, noisy in draws:
        start = time.perf_counter()
        with progress(f"{method}, seed {seed}") if progress else contextlib.nullcontext() as report:
            if model is None:
                fitted = fit_one(noisy, method, config, seed, report)
            else:
                fitted = represent(noisy.graph, model)
            outcome: Classified | Clustered
            if task == "cluster":
                outcome = cluster_one(noisy, fitted, num_clusters, seed)
            else:
                own = copy.copy(classifier)  # the caller's is left as it was
                if own is not None:
                    own.seed = seed
                outcome = classify_one(noisy, fitted, own, seed)
            seconds = time.perf_counter() - start
            agreement = _agreement(noisy, fitted, outcome, seed)
        runs.append(Run(seed, data, noisy, fitted, outcome, seconds, agreement))
    return Evaluation(method, runs[0].graph.name, task, protocol, noise, config, runs)


def _checked_seeds(seeds: Any) -> Sequence[int]:
    if isinstance(seeds, Integral):
        if seeds < 1:
            raise InputError(f"seeds must be 1 draw or more, got {seeds}")
        return range(int(seeds))
    if not isinstance(seeds, Iterable):
        raise InputError(f"seeds must be a number of draws or a list of seeds, got {seeds!r}")
    checked = [check_seed(seed) for seed in seeds]
    if not checked:
        raise InputError("seeds must name 1 seed or more, got none")
    twice = next((seed for seed in checked if checked.count(seed) > 1), None)
    if twice is not None:
        raise InputError(f"seeds has {twice} more than once; name each draw once")
    return checked


def _graphs(graph: GraphSource, seeds: Sequence[int], root: Path | None) -> Iterator[Data]:
    """The checked graph of each seed."""
    if isinstance(graph, str):
        yield from (load_dataset(graph, root, seed=seed) for seed in seeds)
    elif isinstance(graph, Data) or not callable(graph):  # a Data is callable, too
        yield from repeat(check_graph(graph), len(seeds))
    else:
        yield from (check_graph(graph(seed)) for seed in seeds)


def _check_task(noisy: NoisyGraph, task: str, method: Method, num_clusters: int | None) -> None:
    """Check that there is something to learn from, or enough nodes for the clusters."""
    labels, graph = noisy.labels, noisy.graph
    # a classifier method can do with a single label of a class; those on top of others cannot
    if task == "classify" and (not method.uses_labels or count_classes(labels.train) < 2):
        check_labels(labels.train, graph.num_nodes, graph, labels.validation)
    if num_clusters is not None:
        check_num_clusters(num_clusters, graph.num_nodes)


def _agreement(
    noisy: NoisyGraph, fitted: Fitted, outcome: Classified | Clustered, seed: int
) -> Agreement | None:
    if not isinstance(outcome, Classified) or outcome.accuracy is not None or outcome.rule == "own":
        return None
    z, labels, rule = fitted.representations, noisy.labels.train, cast(Any, outcome.rule)
    if outcome.classifier and outcome.classifier.rule == "auto" and rule in SEES_ATTRIBUTES:
        z, rule = rows_of_rule(rule, z, noisy.graph), "bayes"
    return cross_validated_agreement(z, labels, graph=noisy.graph, rule=rule, seed=seed)


def _has_truth(run: Run) -> bool:
    return bool((run.noisy.truth.y >= 0).any())


def _class_names(labels: Tensor, graph: Data) -> list[str | None]:
    """Class names as text; -1 becomes None."""
    return [None if label < 0 else str(class_name(label, graph)) for label in labels.tolist()]


def _known(outcomes: Iterable[Any], name: str) -> list[float]:
    values = (getattr(outcome, name, None) for outcome in outcomes)
    return [value for value in values if value is not None]


def _deviation(values: list[float]) -> float | None:
    return stdev(values) if len(values) > 1 else None
