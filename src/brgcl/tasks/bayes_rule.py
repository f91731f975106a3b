"""Classify nodes by labels as far as a label-noise model believes them.

A classifier is fitted to soft targets, beta one_hot(l_i) + (1 - beta) q_i, where q_i is the
posterior of the true class (`label_noise.py`) and beta = (1 - e)² falls with the share e of wrong
labels. The penalty of the logistic regression grows with e. Labels held out in turn say two
things: whether the plain classifier, fitted to the labels as given, is clearly better, and how far
neighbours help to predict. docs/label-noise.md gives the reasons.
"""

import copy
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.base import clone
from threadpoolctl import ThreadpoolController
from torch import Tensor
from torch_geometric.data import Data

from brgcl.method.sparse import Matrix
from brgcl.tasks.checks import check_labels, check_representations, transition_of
from brgcl.tasks.choose import clearly_better
from brgcl.tasks.classifiers import Predictor
from brgcl.tasks.label_noise import (
    LabelNoiseModel,
    coupling,
    folds,
    log,
    surroundings,
    without_loops,
)

Target = Literal["bayes", "plain"]
TARGETS: tuple[Target, Target] = ("bayes", "plain")
MEAN_FIELD_STEPS = 5
PLAIN_PENALTY = 10.0  # C of logistic regression on the labels as given


@dataclass(frozen=True)
class BayesFit:
    """A classifier that was fitted to believed labels.

    Attributes:
        noise: The label-noise model.
        target: "bayes", or "plain" where the labels as given clearly do better.
        coupling: How far predictions are smoothed over the graph; 0 = not at all.
        held_out: Number of labels that were predicted without having been seen.
        agreement: How many of them each target predicts as given.
        right: Which of them the target that was taken predicts as given.
        predictor: Rows to probabilities, before smoothing.
        neighbours: Row-stochastic adjacency of the nodes it was fitted on, without loops, or None.
    """

    noise: LabelNoiseModel
    target: Target
    coupling: float
    held_out: int
    agreement: dict[Target, int]
    right: Tensor
    predictor: Predictor
    neighbours: Matrix | None

    def __call__(self, z: Tensor) -> Tensor:
        """Return class probabilities of unit rows, `(N, C)`.

        They are smoothed over the graph if there is one row for each of its nodes.
        """
        whole = self.neighbours is not None and self.neighbours.data.shape[0] == len(z)
        return self._smooth(self.predictor(z), self.neighbours if whole else None)

    def predict_proba(self, z: Tensor, graph: Data | None = None) -> Tensor:
        """Return class probabilities, `(N, C)`; smoothed if the graph of the rows is given."""
        z = check_representations(z)
        neighbours = None if graph is None else without_loops(transition_of(graph, len(z)))
        return self._smooth(self.predictor(z), neighbours)

    def _smooth(self, p: Tensor, neighbours: Matrix | None) -> Tensor:
        if neighbours is None or self.coupling == 0:
            return p
        return mean_field(log(p), neighbours, self.coupling).exp()


def fit_bayes(
    z: Tensor,
    labels: Tensor,
    graph: Data | None = None,
    *,
    estimator: Any = None,
    noise: LabelNoiseModel | None = None,
) -> BayesFit:
    """Fit a classifier to labels that may be wrong.

    Args:
        z: Representations, `(N, D)`, best centred.
        labels: Given labels in `0..C-1`, -1 = unlabelled, `(N,)`. A class may have a single label.
        graph: The graph.
        estimator: A scikit-learn classifier that takes `sample_weight` and has `predict_proba`;
            None for logistic regression.
        noise: Settings of the label-noise model; it is not changed.
    """
    z, labels = check_representations(z), check_labels(labels, len(z), least=1)
    transition = None if graph is None else transition_of(graph, len(z))
    return believe(z, labels, int(labels.max()) + 1, transition, estimator=estimator, noise=noise)


def believe(
    z: Tensor,
    labels: Tensor,
    num_classes: int,
    transition: Matrix | None,
    *,
    estimator: Any = None,
    noise: LabelNoiseModel | None = None,
) -> BayesFit:
    """Fit as `fit_bayes` does; inputs are not checked, and `z` has unit rows.

    Args:
        z: Unit rows, `(N, D)`.
        labels: Given labels in `0..C-1`, -1 = unlabelled, `(N,)`.
        num_classes: C; a class may be without a label.
        transition: Row-stochastic adjacency, or None.
        estimator: As in `fit_bayes`.
        noise: As in `fit_bayes`.
    """
    neighbours = None if transition is None else without_loops(transition)
    noise, C = copy.copy(noise or LabelNoiseModel()), num_classes
    given, found = held_out_predictions(z, labels, C, neighbours, noise, estimator)
    right = {name: found[name][0].argmax(1) == given for name in TARGETS}
    target = TARGETS[clearly_better(right["plain"], right["bayes"], errors="observed")]
    kappa = {name: 0.0 if neighbours is None else coupling(*p, given) for name, p in found.items()}
    noise.run_em(z, labels, C, neighbours, kappa["noise"])
    agreement = {name: int(right[name].sum()) for name in TARGETS}
    predictor = fit_target(target, z, noise, estimator)
    return BayesFit(
        noise, target, kappa[target], len(given), agreement, right[target], predictor, neighbours
    )


def held_out_predictions(
    z: Tensor,
    labels: Tensor,
    num_classes: int,
    neighbours: Matrix | None,
    noise: LabelNoiseModel,
    estimator: Any,
) -> tuple[Tensor, dict[str, tuple[Tensor, Tensor]]]:
    """Predict labels by models that have not seen them.

    Returns:
        The labels, `(n,)`, and for the label-noise model ("noise") and each target the
        log-probabilities of their nodes and the `surroundings` of these, both `(n, C)`.
    """
    given, found = [], {name: ([], []) for name in ("noise", *TARGETS)}  # type: ignore[var-annotated]
    for nodes in folds(labels):
        given.append(labels[nodes])
        model = copy.copy(noise).run_em(z, labels.index_fill(0, nodes, -1), num_classes)
        for name, (log_p, around) in found.items():
            if name == "noise":
                p = model.class_probabilities_
            else:
                p = fit_target("plain" if name == "plain" else "bayes", z, model, estimator)(z)
            log_p.append(log(p[nodes]))
            around.append((p if neighbours is None else surroundings(p, neighbours))[nodes])
    return torch.cat(given), {
        name: (torch.cat(log_p), torch.cat(around)) for name, (log_p, around) in found.items()
    }


def mean_field(log_p: Tensor, neighbours: Matrix, kappa: float) -> Tensor:
    """Repeat p_i ~ exp(log p_i of the start + kappa n_i), where n = `surroundings` of p."""
    start = log_p
    for _ in range(MEAN_FIELD_STEPS if kappa > 0 else 0):
        log_p = (start + kappa * surroundings(log_p.exp(), neighbours)).log_softmax(1)
    return log_p


def penalty_for(noise_rate: float) -> float:
    """C of the logistic regression, 1 / (2 e) - 1/2 cut to [1, 30]: the less noise, the freer."""
    return min(max(0.5 / max(noise_rate, 1e-9) - 0.5, 1.0), 30.0)


def soft_targets(model: LabelNoiseModel) -> Tensor:
    """Targets of the labelled nodes, beta one_hot(l_i) + (1 - beta) q_i with beta = (1 - e)²."""
    beta = (1 - model.noise_rate_) ** 2
    one_hot = F.one_hot(model.given_, model.posterior_.shape[1]).to(model.posterior_.dtype)
    return beta * one_hot + (1 - beta) * model.posterior_


def fit_target(target: Target, z: Tensor, model: LabelNoiseModel, estimator: Any) -> Predictor:
    """Fit the classifier to soft targets ("bayes") or to the labels as given ("plain")."""
    if target == "bayes":
        targets, penalty = soft_targets(model), penalty_for(model.noise_rate_)
    else:
        targets, penalty = F.one_hot(model.given_, model.posterior_.shape[1]).to(z), PLAIN_PENALTY
    if estimator is not None:
        return fit_weighted_rows(estimator, z[model.nodes_], targets)
    return fit_logistic(z[model.nodes_], targets, penalty)


def fit_logistic(
    x: Tensor, targets: Tensor, penalty: float, *, tolerance: float = 1e-9
) -> Predictor:
    """Fit logistic regression to soft targets.

    W, b minimise sum_i sum_c -t_ic log softmax(W x_i + b)_c + |W|² / (2 penalty).

    Args:
        x: Rows, `(L, D)`.
        targets: Target distributions t, `(L, C)`; a class that has none gets probability 0.
        penalty: scikit-learn's C.
        tolerance: Relative gain below which the optimiser stops.
    """
    present = (targets.sum(0) > 0).nonzero().squeeze(1)
    a, t = x.double().cpu().numpy(), targets[:, present].double().cpu().numpy()
    (L, D), C = a.shape, t.shape[1]

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weight = flat.reshape(D + 1, C)
        score = a @ weight[:D] + weight[D]
        log_p = score - logsumexp(score, axis=1, keepdims=True)
        residual = (np.exp(log_p) - t) / L
        ridge = weight[:D] / (penalty * L)
        gradient = np.vstack([a.T @ residual + ridge, residual.sum(0)])
        return float(-(t * log_p).sum() / L + (ridge * weight[:D]).sum() / 2), gradient.ravel()

    options = {"maxiter": 200, "gtol": 1e-5, "ftol": tolerance}
    with thread_pools().limit(limits=1):
        start = np.zeros((D + 1) * C)
        found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
    weight = torch.from_numpy(found.x.reshape(D + 1, C)).to(x)

    return partial(linear_probabilities, weight, present, targets.shape[1])


@cache
def thread_pools() -> ThreadpoolController:
    """Return the libraries that compute in threads; finding them costs more than a small fit."""
    return ThreadpoolController()


def linear_probabilities(weight: Tensor, present: Tensor, num_classes: int, z: Tensor) -> Tensor:
    """Class probabilities by the weights of the classes that are present, `(N, C)`."""
    p = (z @ weight[:-1] + weight[-1]).softmax(1)
    return z.new_zeros(len(z), num_classes).index_copy(1, present, p)


def fit_weighted_rows(estimator: Any, x: Tensor, targets: Tensor) -> Predictor:
    """Fit a scikit-learn classifier to soft targets: one row per class, its target the weight.

    Targets below a hundredth of the largest one of their row are left out.
    """
    node, label = (targets >= 0.01 * targets.max(1, keepdim=True).values).nonzero(as_tuple=True)
    weight = targets[node, label].cpu().numpy()
    fitted = clone(estimator).fit(x[node].cpu().numpy(), label.cpu().numpy(), sample_weight=weight)
    return partial(_estimated_probabilities, fitted, targets.shape[1])


def _estimated_probabilities(fitted: Any, num_classes: int, z: Tensor) -> Tensor:
    p = torch.as_tensor(fitted.predict_proba(z.cpu().numpy())).to(z)
    classes = torch.as_tensor(fitted.classes_, device=z.device)
    return z.new_zeros(len(z), num_classes).index_copy(1, classes, p)
