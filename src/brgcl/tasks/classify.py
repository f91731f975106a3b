"""Classify nodes from their representations and labels that may be wrong.

Four named classifiers, from the most cautious to the most flexible:

    centroid   nearest class mean by cosine; averages label noise away
    logistic   logistic regression with a strong penalty
    logistic+  logistic regression with a weak penalty
    mlp        the paper's two-layer perceptron, trained on propagated soft labels

`rule="auto"` goes through them in this order and moves on to a more flexible one only if it is
right on clearly more nodes: by at least two standard errors of the paired difference. The counts
are those of validation labels or, without them, of the given labels in cross-validation. A tie, or
a few nodes more or less, never changes the choice. Labels used to choose are never fitted.

`rule="best"` takes the one that agrees best with validation labels, however small its lead, and
lets them choose an epoch of the perceptron too; without them it takes the centroid unless another
one agrees better in cross-validation by more than one standard error.

A fifth, never chosen, is the linear probe by which representations are compared in the
literature:

    probe      logistic regression, its penalty one of 21 that validation labels choose
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits
from torch import Tensor, nn
from torch_geometric.data import Data

from brgcl.errors import InputError, NotFitted, unknown_name
from brgcl.method.confidence import propagate_from
from brgcl.method.sparse import Matrix
from brgcl.tasks.checks import check_labels, check_representations, transition_of
from brgcl.tasks.folds import folds_of_few, stratified_folds
from brgcl.tasks.rules import FIXED_RULE, RULES, SOFT_LABELS, Rule, SoftLabels

PROBE_PENALTIES = tuple(2.0**power for power in range(10, -11, -1))  # the most cautious first
CENTROID_TEMPERATURE = 0.1  # turns cosines into probabilities; does not change the prediction


@dataclass(frozen=True)
class Task:
    """What a classifier is fitted on.

    Attributes:
        z: Unit-length representations of all nodes, `(N, D)`.
        nodes: Labelled nodes, `(L,)`.
        labels: Their labels in `0..C-1`, `(L,)`.
        targets: Their soft labels, `(L, C)`.
        validation: Labels of other nodes that may choose an epoch, `(N,)` with -1 elsewhere.
    """

    z: Tensor
    nodes: Tensor
    labels: Tensor
    targets: Tensor
    validation: Tensor | None


Predictor = Callable[[Tensor], Tensor]  # unit-length rows (N, D) -> probabilities (N, C)


class NodeClassifier:
    """Predict the classes of nodes from representations and partly wrong labels.

    Args:
        rule: "centroid", "logistic", "logistic+", "mlp", or how to choose among them: "auto" or
            "best"; "probe" for the linear probe.
        soft_labels: Targets of the perceptron: labels propagated over the graph with rows summing
            to 1 ("normalize"), the paper's softmax of them ("softmax"), or the labels as given
            ("hard"). Without a graph they are as given.
        hidden: Units of the perceptron.
        epochs: Training epochs of the perceptron.
        alpha: Teleport probability of the propagation.
        steps: Steps T of the propagation (T - 1 updates).
        seed: Seed of the perceptron and of the folds.

    Attributes:
        rule_: Name of the classifier that was taken.
        scores_: Agreement of each candidate with the labels it was chosen by; empty if none was.
        num_classes_: C.

    Example:
        >>> z = torch.tensor([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.8]])
        >>> NodeClassifier().fit(z, torch.tensor([0, 0, 1, 1])).predict(z).tolist()
        [0, 0, 1, 1]
    """

    rule_: str
    scores_: dict[str, float]
    num_classes_: int

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
        for what, value, known in (
            ("rule", rule, RULES),
            ("soft_labels", soft_labels, SOFT_LABELS),
        ):
            if value not in known:
                raise unknown_name(what, value, known)
        self.rule, self.soft_labels = rule, soft_labels
        self.hidden, self.epochs = hidden, epochs
        self.alpha, self.steps, self.seed = alpha, steps, seed

    def fit(
        self,
        z: Tensor,
        labels: Tensor,
        *,
        graph: Data | None = None,
        validation: Tensor | None = None,
    ) -> "NodeClassifier":
        """Fit on the labelled nodes.

        Args:
            z: Representations, `(N, D)`.
            labels: Observed labels in `0..C-1`, -1 = unlabelled, `(N,)`.
            graph: The graph, for soft labels.
            validation: Labels that only choose the classifier and its epoch, -1 = none, `(N,)`.
        """
        z, labels = check_representations(z), check_labels(labels, len(z), graph)
        C = int(labels.max()) + 1
        if validation is not None:
            validation = torch.as_tensor(validation)
            if len(validation) != len(z):
                raise InputError(
                    f"validation has {len(validation)} entries but z has {len(z)} rows; "
                    "use -1 where there is no label"
                )
            if bool((validation < 0).all()):
                validation = None
        transition = None if graph is None else transition_of(graph, len(z))
        candidates = self._candidates()
        self.num_classes_, self.scores_, self._dim = C, {}, z.shape[1]
        # under "auto" validation labels choose the classifier only, not an epoch
        seen = None if self.rule == "auto" else validation
        task = self._task(z, labels, C, transition, seen)
        if len(candidates) == 1:
            self.rule_ = next(iter(candidates))
        elif validation is not None:
            fitted = {name: fit(task) for name, fit in candidates.items()}
            self.rule_, self.scores_ = self._choose(
                {name: f(z) for name, f in fitted.items()}, validation, by_validation=True
            )
            self._predictor = fitted[self.rule_]
            return self
        else:
            folds = stratified_folds(labels, self.seed)
            if folds is not None:
                held_out = self._held_out(z, labels, C, transition, folds)
                self.rule_, self.scores_ = self._choose(held_out, labels)
            else:
                self.rule_ = FIXED_RULE
        self._predictor = candidates[self.rule_](task)
        return self

    def predict_proba(self, z: Tensor) -> Tensor:
        """Return class probabilities, `(N, C)`."""
        if not hasattr(self, "_predictor"):
            raise NotFitted("this NodeClassifier is not fitted yet; call fit(z, labels) first")
        z = check_representations(z)
        if z.shape[1] != self._dim:
            raise InputError(f"z has {z.shape[1]} columns but fit was given {self._dim}")
        return self._predictor(z)

    def predict(self, z: Tensor) -> Tensor:
        """Return the most probable class of each node, `(N,)`."""
        return self.predict_proba(z).argmax(1)

    def _candidates(self) -> dict[str, Callable[[Task], Predictor]]:
        every: dict[str, Callable[[Task], Predictor]] = {
            "centroid": _fit_centroid,
            "logistic": lambda task: _fit_logistic(task, penalty=1.0),
            "logistic+": lambda task: _fit_logistic(task, penalty=0.03),
            "mlp": self._fit_mlp,
        }
        if self.rule in ("auto", "best"):
            return every
        return {self.rule: (every | {"probe": _fit_probe})[self.rule]}

    def _choose(
        self, probabilities: dict[str, Tensor], labels: Tensor, *, by_validation: bool = False
    ) -> tuple[str, dict[str, float]]:
        """Name the classifier to take and say how far each agrees with the labels."""
        right = right_nodes(probabilities, labels)
        scores = {name: int(hits.sum()) / len(hits) for name, hits in right.items()}
        if self.rule == "auto":
            return clearly_better(right), scores
        return (_best(scores) if by_validation else _cautious_choice(right)), scores

    def _task(
        self,
        z: Tensor,
        labels: Tensor,
        num_classes: int,
        transition: Matrix | None,
        validation: Tensor | None,
    ) -> Task:
        nodes = (labels >= 0).nonzero().squeeze(1)
        targets = soft_targets(
            labels, num_classes, transition, self.soft_labels, self.alpha, self.steps
        )
        return Task(z, nodes, labels[nodes], targets[nodes], validation)

    def _held_out(
        self,
        z: Tensor,
        labels: Tensor,
        num_classes: int,
        transition: Matrix | None,
        folds: list[Tensor],
    ) -> dict[str, Tensor]:
        """Let each candidate predict the labelled nodes whose labels it did not see, `(N, C)`."""
        candidates = self._candidates()
        found = {name: z.new_zeros(len(z), num_classes) for name in candidates}
        for nodes in folds:
            kept = labels.clone()
            kept[nodes] = -1
            task = self._task(z, kept, num_classes, transition, None)
            for name, fit in candidates.items():
                found[name][nodes] = fit(task)(z[nodes])
        return found

    def _fit_mlp(self, task: Task) -> Predictor:
        """Train the paper's two-layer perceptron on soft labels.

        It is small, so one thread does the work: several would mostly wait for each other.
        """
        with threadpool_limits(limits=1):
            return self._train_mlp(task)

    def _train_mlp(self, task: Task) -> Predictor:
        generator = torch.Generator().manual_seed(self.seed)
        D, C = task.z.shape[1], task.targets.shape[1]
        layers = [nn.Linear(D, self.hidden), nn.Linear(self.hidden, C)]
        for layer in layers:
            bound = (6 / (layer.in_features + layer.out_features)) ** 0.5
            layer.weight.data.uniform_(-bound, bound, generator=generator)
            layer.bias.data.zero_()
        network = nn.Sequential(layers[0], nn.ReLU(), layers[1]).to(task.z.device)
        optimizer = torch.optim.Adam(network.parameters(), lr=1e-2, weight_decay=5e-4)
        inputs = task.z[task.nodes]
        best, kept = -1.0, network.state_dict()
        for _ in range(self.epochs):
            optimizer.zero_grad(set_to_none=True)
            F.cross_entropy(network(inputs), task.targets).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            if task.validation is not None:
                with torch.no_grad():
                    score = _agreement(network(task.z), task.validation)
                if score > best:
                    best, kept = score, {k: v.clone() for k, v in network.state_dict().items()}
        if task.validation is not None:
            network.load_state_dict(kept)
        network.requires_grad_(False)
        return lambda z: network(z).softmax(1)


def soft_targets(
    labels: Tensor,
    num_classes: int,
    transition: Matrix | None,
    mode: SoftLabels,
    alpha: float,
    steps: int,
) -> Tensor:
    """Spread observed labels over the graph, as the paper's appendix does.

    Y⁽⁰⁾ is one-hot on labelled nodes and zero elsewhere, and is propagated like pseudo labels.

    Args:
        labels: Labels, -1 = unlabelled, `(N,)`.
        num_classes: C.
        transition: Row-stochastic adjacency, or None to keep labels as given.
        mode: What to make of the propagated rows.
        alpha: Teleport probability.
        steps: T, of which the first is the start.

    Returns:
        Targets, `(N, C)`; every row that is reached by a label sums to 1.
    """
    known = (labels >= 0).nonzero().squeeze(1)
    one_hot = torch.zeros(len(labels), num_classes, device=labels.device)
    one_hot[known, labels[known]] = 1
    if transition is None or mode == "hard":
        return one_hot
    spread = propagate_from(one_hot, transition, alpha, steps)
    if mode == "softmax":
        return spread.softmax(1)
    return spread / spread.sum(1, keepdim=True).clamp_min(1e-12)


def out_of_fold_probabilities(
    z: Tensor, labels: Tensor, *, graph: Data | None = None, rule: Rule = "auto", seed: int = 0
) -> tuple[Tensor, str]:
    """Predict every labelled node by a classifier that did not see its label.

    Args:
        z: Representations, `(N, D)`.
        labels: Observed labels, -1 = unlabelled, `(N,)`.
        graph: The graph, for soft labels.
        rule: The classifier; "auto" chooses as `NodeClassifier` does without validation labels.
        seed: Seed of the folds.

    Returns:
        Probabilities, `(N, C)`, zero for unlabelled nodes, and the name of the classifier.
    """
    z, labels = check_representations(z), check_labels(labels, len(z), graph)
    transition = None if graph is None else transition_of(graph, len(z))
    folds = stratified_folds(labels, seed)
    if folds is None:  # too few per class to choose by, and to leave a fifth out
        rule = FIXED_RULE if rule in ("auto", "best") else rule
        folds = folds_of_few(labels)
    classifier = NodeClassifier(rule, seed=seed)
    held_out = classifier._held_out(z, labels, int(labels.max()) + 1, transition, folds)
    name, _ = classifier._choose(held_out, labels)
    return held_out[name], name


def clearly_better(right: dict[str, Tensor]) -> str:
    """Name the most cautious classifier that no more flexible one clearly beats.

    A classifier replaces the one before it if it is right on more nodes by at least two standard
    errors. With b nodes that only the new one has right and c that only the old one has right, the
    lead is b - c and its standard error sqrt(b + c) (McNemar). All are whole numbers, so rounding
    of probabilities matters only where it changes a prediction, and a changed prediction only where
    the lead is just at the margin.

    Args:
        right: Which nodes each classifier has right, `(n,)` each, the most cautious first.

    Example:
        >>> yes, no = torch.tensor([True] * 6), torch.tensor([False] * 6)
        >>> clearly_better({"a": torch.cat([yes, no]), "b": torch.cat([no, yes])})
        'a'
        >>> clearly_better({"a": torch.cat([yes, no]), "b": torch.cat([yes, yes])})
        'b'
    """
    taken, *others = right
    for name in others:
        gained = int((right[name] & ~right[taken]).sum())
        lost = int((right[taken] & ~right[name]).sum())
        if gained > lost and (gained - lost) ** 2 >= 4 * (gained + lost):
            taken = name
    return taken


def _best(scores: dict[str, float]) -> str:
    """Name of the highest score; of equal ones the first, which is the most cautious."""
    return max(scores, key=lambda name: scores[name])


def right_nodes(probabilities: dict[str, Tensor], labels: Tensor) -> dict[str, Tensor]:
    """Which of the nodes with a label each classifier predicts as labelled, `(n,)` each."""
    known = labels >= 0
    return {name: proba[known].argmax(1) == labels[known] for name, proba in probabilities.items()}


def _cautious_choice(right: dict[str, Tensor]) -> str:
    """Take the first classifier unless another agrees better by more than a standard error."""
    first = next(iter(right))
    gain = {}
    for name in right:
        difference = right[name].double() - right[first].double()
        error = difference.std() / len(difference) ** 0.5
        gain[name] = float(difference.mean() - error)
    return _best(gain)


def _agreement(scores: Tensor, labels: Tensor) -> float:
    known = labels >= 0
    return float((scores[known].argmax(1) == labels[known]).float().mean())


def _fit_centroid(task: Task) -> Predictor:
    C = task.targets.shape[1]
    sums = torch.zeros(C, task.z.shape[1], device=task.z.device)
    sums.index_add_(0, task.labels, task.z[task.nodes])
    means = F.normalize(sums, dim=1)
    absent = torch.bincount(task.labels, minlength=C) == 0

    def predict(z: Tensor) -> Tensor:
        cosine = z @ means.T
        cosine[:, absent] = -torch.inf
        return (cosine / CENTROID_TEMPERATURE).softmax(1)

    return predict


def _fit_logistic(task: Task, penalty: float) -> Predictor:
    model = LogisticRegression(C=1 / penalty, max_iter=500)
    with threadpool_limits(limits=1):
        model.fit(task.z[task.nodes].cpu().numpy(), task.labels.cpu().numpy())

    def predict(z: Tensor) -> Tensor:
        found = np.zeros((len(z), task.targets.shape[1]), dtype=np.float32)
        found[:, model.classes_] = model.predict_proba(z.cpu().numpy())
        return torch.from_numpy(found).to(z.device)

    return predict


def _fit_probe(task: Task) -> Predictor:
    """Take the penalty that validation labels like best, of equal ones the strongest; else 1."""
    if task.validation is None:
        return _fit_logistic(task, penalty=1.0)
    fitted = [_fit_logistic(task, penalty) for penalty in PROBE_PENALTIES]
    known = (task.validation >= 0).nonzero().squeeze(1)
    z, labels = task.z[known], task.validation[known]
    return max(fitted, key=lambda predict: _agreement(predict(z), labels))
