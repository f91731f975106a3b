"""Classify nodes from their representations and labels that may be wrong.

There are six named classifiers:

    bayes      logistic regression that trusts labels as far as a label-noise model believes them,
               smoothed over the graph if neighbours help (`bayes_rule.py`, docs/label-noise.md)
    bayes-clusters   the same, but the model starts from clusters, each matched with one class
    centroid   nearest class mean by cosine; averages out label noise
    logistic   logistic regression with a strong penalty
    logistic+  logistic regression with a weak penalty
    mlp        the paper's two-layer perceptron, trained on propagated soft labels

`rule="auto"`, the default, uses bayes. If the graph has attributes, it adds them, averaged over
the graph, to the representations. If neighbours turn out to belong to other classes, it may fit
bayes to the attributes of the nodes instead (`own_attributes.py`). If there are validation
labels, it uses bayes-clusters, centroid, logistic, mlp or the attributes if that one is right on
clearly more of them: by at least two standard errors of the paired difference. A tie, or a few
nodes more or less, never changes the choice. Labels used to choose are never fitted.

`rule="best"` uses the one of the last four that agrees best with validation labels, however small
its lead, and lets them choose an epoch of the perceptron too. Without validation labels it uses the
centroid, unless another one agrees better in cross-validation by more than one standard error.

The seventh classifier is the linear probe by which the literature compares representations. It is
never chosen automatically:

    probe      logistic regression with one of 21 penalties, chosen by validation labels
"""

from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn import exceptions
from sklearn.base import BaseEstimator, ClassifierMixin
from torch import Tensor

from brgcl.errors import InputError, NotFitted, unknown_name
from brgcl.tasks import choose, own_attributes
from brgcl.tasks.assortativity import ENOUGH, LOW, assortativity
from brgcl.tasks.attribute_rows import AttributeViews
from brgcl.tasks.checks import (
    check_classes,
    check_labels,
    check_representations,
    encode_classes,
    encode_with,
    is_integer,
    transition_of,
)
from brgcl.tasks.classifiers import (
    LabelledRows,
    Predictor,
    fit_centroid,
    fit_logistic,
    fit_perceptron,
    fit_probe,
    soft_targets,
)
from brgcl.tasks.rules import (
    AUTO_CANDIDATES,
    CANDIDATES,
    CHOICES,
    FIXED_RULE,
    RULES,
    SOFT_LABELS,
    Rule,
    SoftLabels,
)

if TYPE_CHECKING:
    from torch_geometric.data import Data

PENALTIES = {"logistic": 1.0, "logistic+": 0.03}
Chosen = tuple[str, dict[str, float], Predictor]  # its name, the score of each candidate, itself


class NotFittedError(NotFitted, exceptions.NotFittedError):  # type: ignore[misc]  # sklearn is untyped
    """The errors that brgcl and scikit-learn raise before `fit`, in one class."""


class NodeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # sklearn is untyped
    """Predict the classes of nodes from representations and partly wrong labels.

    This is a scikit-learn classifier that accepts unlabelled rows. It can be cloned, pickled, used
    in a search over settings, and put at the end of a pipeline. `predict` and `predict_proba`
    return a tensor if `z` is a tensor, otherwise an array.

    Args:
        rule: "bayes", "bayes-clusters", "centroid", "logistic", "logistic+" or "mlp"; "auto" or
            "best" to choose among them; "probe" for the linear probe.
        soft_labels: Targets of the perceptron: labels propagated over the graph and scaled to row
            sums of 1 ("normalize"), their softmax as in the paper ("softmax"), or the labels as
            given ("hard"). Without a graph, the labels as given are used.
        hidden: Units of the perceptron.
        epochs: Training epochs of the perceptron.
        alpha: Teleport probability of the propagation.
        steps: Steps T of the propagation (T - 1 updates).
        seed: Seed of the perceptron and of the folds.

    Attributes:
        classes_: The classes that have labels, sorted, `(C,)`.
        num_classes_: Number of classes, C.
        n_features_in_: Number of columns of `z`.
        rule_: Name of the chosen classifier.
        scores_: Agreement of each candidate with the labels that chose; empty if nothing was
            chosen.

    Example:
        >>> z = torch.tensor([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.8]])
        >>> NodeClassifier().fit(z, torch.tensor([0, 0, 1, 1])).predict(z).tolist()
        [0, 0, 1, 1]
        >>> NodeClassifier().fit(z.numpy(), ["red", "red", "blue", "blue"]).predict(z.numpy())
        array(['red', 'red', 'blue', 'blue'], dtype=object)
    """

    def __init__(
        self,
        rule: Rule = "auto",
        *,
        soft_labels: SoftLabels = "normalize",
        hidden: int = 128,
        epochs: int = 200,
        alpha: float = 0.1,
        steps: int = 10,
        seed: int = 0,
    ) -> None:
        self.rule, self.soft_labels, self.seed = rule, soft_labels, seed
        self.hidden, self.epochs, self.alpha, self.steps = hidden, epochs, alpha, steps

    def check_settings(self) -> None:
        """Raise an `InputError` unless all parameters are in range; `fit` does so first."""
        for name, known in (("rule", RULES), ("soft_labels", SOFT_LABELS)):
            if getattr(self, name) not in known:
                raise unknown_name(name, str(getattr(self, name)), known)
        for name, least in (("hidden", 1), ("epochs", 1), ("steps", 1), ("seed", 0)):
            value = getattr(self, name)
            if not is_integer(value) or value < least:
                raise InputError(f"{name} must be an integer of at least {least}, got {value!r}")
        alpha: Any = self.alpha
        if not isinstance(alpha, Real) or not 0 < float(alpha) <= 1:
            raise InputError(f"alpha must be in (0, 1], got {self.alpha!r}")

    def fit(
        self, z: Any, labels: Any, *, graph: "Data | None" = None, validation: Any = None
    ) -> "NodeClassifier":
        """Fit on the labelled nodes.

        Args:
            z: Representations: a tensor, an array or a DataFrame, `(N, D)`.
            labels: Observed labels, integers or names, `(N,)`; unlabelled are -1 and missing
                values (None, NaN, "").
            graph: The graph.
            validation: Labels that only choose the classifier (and its epoch under "best" and
                "mlp", and its penalty under "probe"), -1 = none, `(N,)`.

        Raises:
            InputError: A parameter, `z` or the labels are invalid; the message says how.
        """
        self.check_settings()
        rows = check_representations(z)
        N, device = len(rows), rows.device
        classes, codes = check_classes(labels, N, graph)
        transition = None if graph is None else transition_of(graph, N)
        known = None
        if validation is not None:
            held = encode_with(classes, validation, N, "validation labels")
            known = torch.from_numpy(held).to(device) if (held >= 0).any() else None
        given = torch.from_numpy(codes).to(device)
        self._scaling, views = None, None
        if self.rule == "auto" and graph is not None and transition is not None:
            self._scaling = own_attributes.scaling_of(graph)
            x = own_attributes.of_graph(graph, self._scaling)
            views = None if x is None else AttributeViews(x, transition)
        labelled = LabelledRows(rows, given, len(classes), transition, known, views)
        self.classes_, self.num_classes_, self.n_features_in_ = classes, len(classes), rows.shape[1]
        self.rule_, self.scores_, self._predictor = self._choose(labelled)
        return self

    def predict_proba(self, z: Any) -> Any:
        """Return the probability of each class in `classes_`, `(N, C)`."""
        proba = self._probabilities(z)
        return proba if isinstance(z, Tensor) else proba.cpu().numpy()

    def predict(self, z: Any) -> Any:
        """Return the most probable class of each node, `(N,)`; class names are always an array."""
        codes = self._probabilities(z).argmax(1)
        if isinstance(z, Tensor) and self.classes_.dtype.kind in "iu":
            return torch.from_numpy(self.classes_).long().to(codes.device)[codes]
        return self.classes_[codes.cpu().numpy()]

    def score(self, z: Any, labels: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on the labelled nodes."""
        predicted = self._probabilities(z).argmax(1).cpu().numpy()
        classes, codes = encode_classes(labels, len(predicted))
        known = codes >= 0
        if not known.any():
            raise InputError("no node has a label; a score needs some")
        weight = None if sample_weight is None else np.asarray(sample_weight)[known]
        right = self.classes_[predicted[known]] == classes[codes[known]]
        return float(np.average(right, weights=weight))

    def _probabilities(self, z: Any) -> Tensor:
        if not hasattr(self, "_predictor"):
            raise NotFittedError("this NodeClassifier is not fitted yet; call fit(z, labels) first")
        rows, expected = check_representations(z), self.n_features_in_
        if rows.shape[1] != expected:
            raise InputError(f"z has {rows.shape[1]} columns but fit was given {expected}")
        return self._predictor(rows)

    def _choose(self, rows: LabelledRows) -> Chosen:
        if self.rule not in CHOICES:
            return self.rule, {}, self._fit_rule(self.rule, rows)
        if (validation := rows.validation) is not None:
            if self.rule == "auto":  # they choose the classifier, but no epoch
                rows = replace(rows, validation=None)
            names = AUTO_CANDIDATES if self.rule == "auto" else CANDIDATES
            fitted: dict[str, Predictor] = {name: self._fit_rule(name, rows) for name in names}
            if self.rule == "auto":
                fitted |= own_attributes.fit_attributes(rows, fitted["bayes"])
            right = choose.right_nodes({name: f(rows.z) for name, f in fitted.items()}, validation)
            name = choose.most_cautious(right) if self.rule == "auto" else choose.most_right(right)
            return name, choose.shares(right), fitted[name]
        if self.rule == "auto":  # it has a check of its own, by labels that are held out
            return self._choose_rows(rows)
        folds = choose.stratified_folds(rows.labels, self.seed)
        if folds is None:
            return FIXED_RULE, {}, self._fit_rule(FIXED_RULE, rows)
        right = choose.right_nodes(self._held_out(rows, folds), rows.labels)
        name = self._choose_held_out(right)
        return name, choose.shares(right), self._fit_rule(name, rows)

    def _choose_rows(self, rows: LabelledRows) -> Chosen:
        """Take representations, or where edges say little what is better by labels held out.

        All have predicted the same labels without having seen them.
        """
        by_rows = own_attributes.fit_joined(rows)
        found = assortativity(rows)
        if found >= ENOUGH:
            return "bayes", {}, by_rows
        by_attributes = own_attributes.fit_attributes(rows, by_rows)
        fitted = {"bayes": by_rows, **by_attributes}
        right = {name: fit.right for name, fit in fitted.items()}
        if found >= LOW:
            name = choose.most_cautious(right)
        else:
            name = choose.most_cautious({k: right[k] for k in (*by_attributes, "bayes")}, margin=1)
        return name, choose.shares(right), fitted[name]

    def _choose_held_out(self, right: dict[str, Tensor]) -> str:
        return (
            choose.one_error_better(right) if self.rule == "best" else choose.most_cautious(right)
        )

    def _held_out(self, rows: LabelledRows, folds: list[Tensor]) -> dict[str, Tensor]:
        """Let each candidate predict the labelled nodes whose labels it did not see, `(N, C)`."""
        names = CANDIDATES if self.rule in CHOICES else (self.rule,)
        shape = (len(rows.z), rows.num_classes)
        held_out: dict[str, Tensor] = {name: rows.z.new_zeros(shape) for name in names}
        for nodes in folds:
            kept = rows.without(nodes)
            for name, proba in held_out.items():
                proba[nodes] = self._fit_rule(name, kept)(rows.z)[nodes]
        return held_out

    def _fit_rule(self, name: str, rows: LabelledRows) -> Predictor:
        if name in ("bayes", "bayes-clusters"):
            return own_attributes.fit_joined(rows, clusters=name == "bayes-clusters")
        if name == "centroid":
            return fit_centroid(rows)
        if name in PENALTIES:
            return fit_logistic(rows, PENALTIES[name])
        if name == "probe":
            return fit_probe(rows)
        targets = soft_targets(
            rows.labels, rows.num_classes, rows.transition, self.soft_labels, self.alpha, self.steps
        )
        return fit_perceptron(rows, targets, hidden=self.hidden, epochs=self.epochs, seed=self.seed)


def out_of_fold_probabilities(
    z: Any, labels: Any, *, graph: "Data | None" = None, rule: Rule = "auto", seed: int = 0
) -> tuple[Tensor, str]:
    """Predict every labelled node by a classifier that did not see its label.

    The arguments are those of `NodeClassifier`, with labels in `0..C-1`. "auto" and "best" choose
    among centroid, logistic, logistic+ and mlp by the held-out predictions: "best" as
    `NodeClassifier` does without validation labels, "auto" by a margin of two standard errors.

    Returns:
        Probabilities, `(N, C)`, zero for unlabelled nodes, and the name of the classifier.
    """
    z = check_representations(z)
    labels = check_labels(labels, len(z), graph)
    transition = None if graph is None else transition_of(graph, len(z))
    folds = choose.stratified_folds(labels, seed)
    if folds is None:  # too few per class to choose by, and to leave a fifth out
        rule = FIXED_RULE if rule in CHOICES else rule
        folds = choose.folds_of_few(labels)
    classifier = NodeClassifier(rule, seed=seed)
    rows = LabelledRows(z, labels, int(labels.max()) + 1, transition)
    held_out = classifier._held_out(rows, folds)
    name = classifier._choose_held_out(choose.right_nodes(held_out, labels))
    return held_out[name], name
