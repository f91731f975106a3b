"""The class of every labelled node as predicted without its own label.

The labelled nodes fall into folds at random, whatever their labels. For a fold f,

    p_i ~ exp(sum_r w_r log p_ir + b n_i)                 for i in f

p_ir are predictions of several classifiers, fitted to labels outside f as far as a label-noise
model believes them, and n_i is the mean belief of the neighbours less that of all nodes. Nothing
that goes into p_i has seen a label of f:

- beliefs of labelled neighbours outside f are q_j ~ p_j T_{., l_j}, where p_j is predicted without
  the labels of f and without those of the fold of j; neighbours in f, and unlabelled ones, count
  with what is predicted for them without f;
- weights w, b and the transition matrix T are those under which the labels outside f, predicted
  in the same way, are most probable: sum_j log (p_j T)[l_j], with priors.

So every pair of folds is held out once: K (K + 1) / 2 fits of each classifier. docs/find-errors.md
gives the reasons.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from brgcl.method.sparse import Matrix
from brgcl.tasks.bayes_rule import fit_logistic, penalty_for, soft_targets
from brgcl.tasks.label_noise import (
    LabelNoiseModel,
    estimated_transition,
    log,
    noise_matrix,
    posterior,
    surroundings,
)

Report = Callable[[int, int, str], None]
FOLDS = 5
PRIOR = 6.0  # labels that the prior of a row of T is worth
STEPS = 30  # of the alternation between weights and transition matrix
SWEEPS = 2  # of the beliefs of neighbours


@dataclass(frozen=True)
class Labelled:
    """What the predictions are made from.

    Attributes:
        z: Representations for the label-noise model, unit rows, `(N, D)`.
        rows: What each classifier is fitted on, unit rows, `(N, D_r)` each.
        labels: Classes in `0..C-1`, -1 = unlabelled, `(N,)`.
        num_classes: C.
        certain: Mask of labels that are known to be right, `(N,)`.
        neighbours: Row-stochastic adjacency without loops, or None.
    """

    z: Tensor
    rows: list[Tensor]
    labels: Tensor
    num_classes: int
    certain: Tensor
    neighbours: Matrix | None = None

    @property
    def nodes(self) -> Tensor:
        """The labelled nodes, `(L,)`."""
        return (self.labels >= 0).nonzero().squeeze(1)


@dataclass(frozen=True)
class OutOfFold:
    """Predictions for the labelled nodes.

    Attributes:
        p: Probabilities of the classes, own labels aside, `(L, C)`.
        posterior: The same given the own labels, `(L, C)`.
    """

    p: Tensor
    posterior: Tensor


def random_folds(nodes: Tensor, num_folds: int, seed: int) -> list[Tensor]:
    """Split nodes at random; labels have no say, or a fold would tell of the label of a node."""
    order = torch.randperm(len(nodes), generator=torch.Generator().manual_seed(seed))
    shuffled = nodes[order.to(nodes.device)]
    return [shuffled[i::num_folds] for i in range(min(num_folds, len(nodes)))]


def predict_out_of_fold(data: Labelled, seed: int, report: Report | None = None) -> OutOfFold:
    """Predict every labelled node without the labels of its fold; see above."""
    N, C, nodes = len(data.labels), data.num_classes, data.nodes
    folds = random_folds(nodes, FOLDS, seed)
    K, done = len(folds), 0

    def fitted() -> None:
        nonlocal done
        done += 1
        if report is not None:
            report(done, K * (K + 1) // 2, "labels held out")

    pairs = {}  # (held out, predicted): log-probabilities of the second fold without both
    for i in range(K):
        for j in range(i + 1, K):
            found = predictions(data, torch.cat([folds[i], folds[j]]))
            pairs[i, j], pairs[j, i] = found[folds[j]], found[folds[i]]
            fitted()
    p = torch.zeros(N, C, dtype=torch.float64, device=data.labels.device)
    q = p.clone()
    for i, fold in enumerate(folds):
        x = predictions(data, fold)
        fitted()
        for j in range(K):
            if j != i:
                x[folds[j]] = pairs[i, j]
        log_p, T = combine(x, data.labels.index_fill(0, fold, -1), data)
        p[fold] = log_p[fold].exp()
        q[fold] = posterior(p[fold], T, data.labels[fold])
    return OutOfFold(p[nodes], q[nodes])


def calibrate(data: Labelled, p: Tensor, seed: int) -> OutOfFold:
    """The same for given probabilities `(N, C)`: only their sharpness and T are estimated."""
    x, nodes = log(p)[:, :, None], data.nodes
    found = torch.zeros_like(p)
    q = found.clone()
    for fold in random_folds(nodes, FOLDS, seed):
        log_p, T = combine(x, data.labels.index_fill(0, fold, -1), data)
        found[fold] = log_p[fold].exp()
        q[fold] = posterior(found[fold], T, data.labels[fold])
    return OutOfFold(found[nodes], q[nodes])


def predictions(data: Labelled, hidden: Tensor) -> Tensor:
    """Log-probabilities of all nodes by each classifier, some labels hidden, `(N, C, R + 1)`."""
    labels = data.labels.index_fill(0, hidden, -1)
    noise = LabelNoiseModel().run_em(data.z, labels, data.num_classes)
    right = data.certain[noise.nodes_]
    one_hot = F.one_hot(noise.given_, data.num_classes).to(noise.posterior_.dtype)
    noise.posterior_ = torch.where(right[:, None], one_hot, noise.posterior_)
    targets, penalty = soft_targets(noise), penalty_for(noise.noise_rate_)
    found = [noise.class_probabilities_]
    for z in data.rows:
        found.append(fit_logistic(z[noise.nodes_], targets, penalty)(z))
    return torch.stack([log(p) for p in found], 2).double()


def combine(x: Tensor, labels: Tensor, data: Labelled) -> tuple[Tensor, Tensor]:
    """Weigh the predictions and the neighbours; log-probabilities of all nodes, and T.

    Args:
        x: Log-probabilities by each classifier, `(N, C, R)`.
        labels: The labels that may be seen, -1 elsewhere, `(N,)`.
        data: Adjacency and which labels are certain.
    """
    nodes = (labels >= 0).nonzero().squeeze(1)
    given, certain = labels[nodes], data.certain[nodes]
    w, T = weights(x[nodes], given, certain)
    log_p = (x @ w).log_softmax(1)
    for _ in range(SWEEPS if data.neighbours is not None else 0):
        beliefs = log_p.exp()
        beliefs[nodes] = believed(beliefs[nodes], T, given, certain)
        around = surroundings(beliefs.float(), data.neighbours).double()
        wide = torch.cat([x, around[:, :, None]], 2)
        w, T = weights(wide[nodes], given, certain, neighbours=True)
        log_p = (wide @ w).log_softmax(1)
    return log_p, T


def believed(p: Tensor, T: Tensor, given: Tensor, certain: Tensor) -> Tensor:
    """Posterior of the true classes; a certain label is the true class, `(L, C)`."""
    one_hot = F.one_hot(given, p.shape[1]).to(p)
    return torch.where(certain[:, None], one_hot, posterior(p, T, given))


def weights(
    x: Tensor, given: Tensor, certain: Tensor, *, neighbours: bool = False
) -> tuple[Tensor, Tensor]:
    """Find w and T that maximise sum_j log (softmax(x_j w) T)[l_j], with priors, by EM.

    Args:
        x: Log-probabilities, and the neighbours last, `(L, C, R)`.
        given: Labels, `(L,)`.
        certain: Mask of labels that are right; T says nothing of them, `(L,)`.
        neighbours: Whether the last feature is that of the neighbours.
    """
    C, R = x.shape[1:]
    own = R - neighbours
    centre = torch.cat([x.new_full((own,), 1 / own), x.new_zeros(R - own)])
    precision = torch.cat([x.new_ones(own), x.new_full((R - own,), 0.25)])
    one_hot = F.one_hot(given, C).to(x)
    w, T = centre.clone(), noise_matrix(0.2, C).to(x)
    for _ in range(STEPS):
        p = (x @ w).softmax(1)
        q = believed(p, T, given, certain)
        T = estimated_transition(q[~certain], one_hot[~certain], PRIOR)
        mean = torch.einsum("lc,lcr->lr", p, x)
        gradient = torch.einsum("lc,lcr->r", q - p, x) - precision * (w - centre)
        curvature = torch.einsum("lc,lcr,lcs->rs", p, x, x) - mean.T @ mean + precision.diag()
        w = w + torch.linalg.solve(curvature, gradient)
    return w, T
