"""The class of every labelled node as predicted without its own label.

The labelled nodes fall into folds at random, whatever their labels. For a fold f,

    p_i ~ exp(sum_r w_r log p_ir + b n_i + c m_i)                 for i in f

p_ir are predictions of several classifiers, fitted to labels outside f as far as a label-noise
model believes them and, where labels are many, to the labels as given, too. n_i is the mean belief
of the neighbours, where one with a label outside f is believed as far as its label and its
prediction agree; m_i is the mean of these labels as given.
Nothing that goes into p_i has seen a label of f: not the classifiers, not the beliefs, and neither
w, b, c nor the transition matrix T. These maximise sum_j log (p_j T)[l_j] over the labels outside
f, where p_j is predicted without the labels of f and those of the fold of j. So every pair of folds
is held out once. All is repeated with other folds, and the predictions are averaged.

With few labels, some would be called wrong even if all were right: p is surer than it should be,
and what it misses is taken for noise. How many is found by a parametric bootstrap: labels are drawn
from p, without any noise, and judged in the same way.

docs/find-errors.md gives the reasons.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from brgcl.method.sparse import Matrix
from brgcl.tasks.bayes_rule import PLAIN_PENALTY, fit_logistic, penalty_for, soft_targets
from brgcl.tasks.label_noise import (
    LabelNoiseModel,
    estimated_transition,
    log,
    noise_matrix,
    posterior,
    surroundings,
)
from brgcl.tasks.label_transition import (
    anchored_transition,
    evened,
    evenness,
    mostly_right,
    transition_prior,
    unexplained_errors,
    with_rates,
)

Report = Callable[[int, int, str], None]

FOLDS = 5
REPEATS = ((1_000, 5), (10_000, 3))  # up to so many labels, so many times; else once
STEPS = 300  # of EM for the weights and the transition matrix, at most
FIRST = 10  # of them that change the weights alone
SETTLED = 1e-4  # the largest change of T in the last step
UNEXPLAINED = 0.05  # labels of clearest class that are wrong beyond what T says, as a share
CONTRADICTION = 0.2  # the same where T is not to be trusted at all
ANCHORED = 3, 60  # times that T follows labels of clearest class, and steps for w after each
TOLERANCE = 1e-5  # of the classifiers, of which there are many
FEW = 1_000  # labels up to which the share called wrong by chance is simulated, and beyond which
# they tell how evenly wrong labels spread over the other classes
MANY = 10_000  # labels from which on classifiers are fitted to the labels as given, too
SIMULATIONS = 2  # for each choice of folds


@dataclass(frozen=True)
class Labelled:
    """What the predictions are made from.

    Attributes:
        z: Representations for the label-noise model, unit rows, `(N, D)`.
        rows: What each classifier is fitted on, unit rows, `(N, D_r)` each.
        labels: Classes in `0..C-1`, -1 = unlabelled, `(N,)`.
        num_classes: C; a class may be without a label.
        certain: Mask of labels that are known to be right, `(N,)`.
        neighbours: Row-stochastic adjacency without loops, or None.
        before: Labels before somebody decided on the certain ones, -1 = unknown, `(N,)`; None if
            they are unknown. The pairs of both tell how labels are confused; without them, the
            clearest errors are missing from that estimate as soon as they are reviewed.
    """

    z: Tensor
    rows: list[Tensor]
    labels: Tensor
    num_classes: int
    certain: Tensor
    neighbours: Matrix | None = None
    before: Tensor | None = None

    @property
    def observed(self) -> Tensor:
        """Labels as they were given, -1 = unknown, `(N,)`: they went through the noise."""
        return self.labels.masked_fill(self.certain, -1) if self.before is None else self.before

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
        chance: Share of the labels that would be called wrong if all of them were right.
    """

    p: Tensor
    posterior: Tensor
    chance: float = 0.0


def predict_out_of_fold(data: Labelled, seed: int, report: Report | None = None) -> OutOfFold:
    """Predict every labelled node without the labels of its fold, several times; see above."""
    repeats = num_repeats(len(data.nodes))
    found = []
    for i in range(repeats):
        found.append(predict_once(data, seed + i))
        if report is not None:
            report(i + 1, repeats, "labels held out")
    return average(found)


def predict_once(data: Labelled, seed: int) -> OutOfFold:
    """The same with one choice of folds."""
    folds = random_folds(data.nodes, FOLDS, seed)
    pairs = {}  # (held out, predicted): the predictors of the second fold without both
    for i in range(len(folds)):
        for j in range(i + 1, len(folds)):
            found = predictors(data, torch.cat([folds[i], folds[j]]))
            pairs[i, j], pairs[j, i] = found[folds[j]], found[folds[i]]

    def visible(i: int) -> Tensor:
        x = predictors(data, folds[i])
        for j, fold in enumerate(folds):
            if j != i:
                x[fold] = pairs[i, j]
        return x

    return judge_folds(data, folds, visible, seed)


def calibrate(data: Labelled, p: Tensor, seed: int) -> OutOfFold:
    """Take given probabilities `(N, C)`; only their sharpness and T are estimated.

    Neighbours do not count: whether the given probabilities of a neighbour have seen the label of
    a node is not known.
    """
    x = log(p)[:, :, None]
    seeds = range(seed, seed + num_repeats(len(data.nodes)))
    folds = [random_folds(data.nodes, FOLDS, one) for one in seeds]
    return average(
        [judge_folds(data, each, lambda _: x, one) for each, one in zip(folds, seeds, strict=True)]
    )


def judge_folds(
    data: Labelled,
    folds: list[Tensor],
    predictors_without: Callable[[int], Tensor],
    seed: int = 0,
) -> OutOfFold:
    """Weigh the predictors of each fold by the labels outside it, and add the own labels last.

    Args:
        data: Labels and which of them are certain.
        folds: The folds.
        predictors_without: Number of a fold -> predictors of all nodes, `(N, C, R)`, none of which
            has seen a label of the fold or, of another labelled node, a label of its fold.
        seed: Seed of the labels that are simulated where labels are few.
    """
    nodes = data.nodes
    fold_of = torch.full_like(data.labels, -1)
    for i, fold in enumerate(folds):
        fold_of[fold] = i
    given, certain, observed = data.labels[nodes], data.certain[nodes], data.observed[nodes]
    around = 0 if data.neighbours is None else 2
    few = len(nodes) <= FEW
    kept: dict[int, Tensor] = {}

    def rows(i: int) -> Tensor:
        if i in kept:
            return kept[i]
        x = predictors_without(i)[nodes]
        if few:  # they are needed again
            kept[i] = x
        return x

    def judge(given: Tensor, observed: Tensor) -> tuple[Tensor, Tensor]:
        p = torch.zeros(len(nodes), data.num_classes, dtype=torch.float64, device=given.device)
        q = p.clone()
        for i in range(len(folds)):
            x, held = rows(i), fold_of[nodes] == i
            w, T = weights(
                x[~held], given[~held], certain[~held], observed=observed[~held], neighbours=around
            )
            p[held] = (x[held] @ w).softmax(1)
            q[held] = believed(p[held], T, given[held], certain[held])
        return p, q

    p, q = judge(given, observed)
    if not few or bool(certain.all()):
        return OutOfFold(p, q)
    generator = torch.Generator(given.device).manual_seed(seed)
    shares = []
    for _ in range(SIMULATIONS):
        drawn = torch.multinomial(p, 1, generator=generator).squeeze(1)
        right = torch.where(certain, given, drawn)
        _, believed_right = judge(right, torch.where(observed >= 0, right, observed))
        own = believed_right.gather(1, right[:, None]).squeeze(1)
        shares.append(1 - float(own[~certain].mean()))
    return OutOfFold(p, q, sum(shares) / len(shares))


def predictors(data: Labelled, hidden: Tensor) -> Tensor:
    """What can be said of all nodes with some labels hidden, `(N, C, R)`.

    The log-probabilities by the label-noise model and by a logistic regression on each of
    `data.rows`; where labels are many, by further ones that take the labels as given; and last, of
    the neighbours, the beliefs and the labels as given.
    """
    labels = data.labels.index_fill(0, hidden, -1)
    noise = LabelNoiseModel().run_em(data.z, labels, data.num_classes)
    nodes, given, certain = noise.nodes_, noise.given_, data.certain[noise.nodes_]
    one_hot = F.one_hot(given, data.num_classes).to(noise.posterior_)
    noise.posterior_ = torch.where(certain[:, None], one_hot, noise.posterior_)
    targets, penalty = soft_targets(noise), penalty_for(noise.noise_rate_)
    x = [log(noise.class_probabilities_)]
    for rows in data.rows:
        x.append(log(fit_logistic(rows[nodes], targets, penalty, tolerance=TOLERANCE)(rows)))
    p = torch.stack(x).mean(0).softmax(1)
    if len(data.nodes) > MANY:
        for rows in data.rows:
            fit = fit_logistic(rows[nodes], one_hot, PLAIN_PENALTY, tolerance=TOLERANCE)
            x.append(log(fit(rows)))
    if data.neighbours is not None:
        own = believed(p[nodes], noise.transition_, given, certain)
        x.append(surroundings(p.index_copy(0, nodes, own), data.neighbours))
        centred = torch.zeros_like(p).index_copy(0, nodes, one_hot - one_hot.mean(0))
        x.append(data.neighbours @ centred)
    return torch.stack(x, 2).double()


def weights(
    x: Tensor,
    given: Tensor,
    certain: Tensor,
    *,
    observed: Tensor | None = None,
    neighbours: int = 0,
) -> tuple[Tensor, Tensor]:
    """Find w and T that maximise sum_j log (softmax(x_j w) T)[l_j], with priors, by EM.

    w_r ~ N(1 / R, .1) for the R predictions, and N(0, 4) for the neighbours. The step for w is
    that of Newton's method. With more than `FEW` labels, T then spreads wrong labels over the other
    classes as evenly as they turn out to be spread (`evenness`). Where labels are many and
    contradict T (`unexplained_errors`), the labels where a class is clearest say how often a label
    is wrong; if the contradiction is large, all of T is taken from them.

    Args:
        x: Log-probabilities, and last what neighbours say, `(L, C, R)`.
        given: Labels, `(L,)`.
        certain: Mask of labels that are right, `(L,)`.
        observed: Labels that T speaks of, -1 = none, `(L,)`: in the place of a label that is right,
            the one that stood there before; default: T says nothing of labels that are right.
        neighbours: How many of the predictors are those of neighbours.
    """
    C, R = x.shape[1:]
    own = R - neighbours
    centre = torch.cat([x.new_full((own,), 1 / own), x.new_zeros(R - own)])
    precision = torch.cat([x.new_full((own,), 10.0), x.new_full((R - own,), 0.25)])
    observed = given.masked_fill(certain, -1) if observed is None else observed
    known = observed >= 0
    one_hot = F.one_hot(observed[known], C).to(x)
    prior = transition_prior(len(given), C)

    def settle(
        w: Tensor, T: Tensor, estimate: Callable[[Tensor], Tensor], first: int
    ) -> tuple[Tensor, Tensor]:
        for step in range(STEPS):
            before, p = T, (x @ w).softmax(1)
            q = believed(p, T, given, certain)
            if step >= first:
                T = mostly_right(estimate(q[known]))
            w = w + newton_step(x, p, q, w, centre, precision)
            if step > first and float((T - before).abs().max()) < SETTLED:
                break
        return w, T

    def alone(q: Tensor) -> Tensor:
        return estimated_transition(q, one_hot, prior)

    w, T = settle(centre.clone(), noise_matrix(0.2, C).to(x), alone, FIRST)
    if len(given) > FEW:
        q = believed((x @ w).softmax(1), T, given, certain)[known]
        worth = evenness(q.T @ one_hot)
        w, T = settle(w, T, lambda q: evened(alone(q), q.T @ one_hot, worth), 0)
    p = (x @ w).softmax(1)
    beyond = unexplained_errors(p[known], T, observed[known])
    if beyond <= UNEXPLAINED:
        return w, T
    for _ in range(ANCHORED[0]):
        anchored = mostly_right(anchored_transition(p[known], observed[known]))
        if beyond > CONTRADICTION:
            T = anchored
        else:
            T = mostly_right(with_rates(T, 1 - anchored.diagonal()))
        for _ in range(ANCHORED[1]):
            p = (x @ w).softmax(1)
            w = w + newton_step(x, p, believed(p, T, given, certain), w, centre, precision)
        p = (x @ w).softmax(1)
    return w, T


def newton_step(
    x: Tensor, p: Tensor, q: Tensor, w: Tensor, centre: Tensor, precision: Tensor
) -> Tensor:
    """Step of Newton's method for sum_j sum_c q_jc log p_jc with p = softmax(x w), `(R,)`."""
    mean = torch.einsum("lc,lcr->lr", p, x)
    gradient = torch.einsum("lc,lcr->r", q - p, x) - precision * (w - centre)
    curvature = torch.einsum("lcr,lcs->rs", p[:, :, None] * x, x) - mean.T @ mean
    step: Tensor = torch.linalg.solve(curvature + precision.diag(), gradient)
    return step


def believed(p: Tensor, T: Tensor, given: Tensor, certain: Tensor) -> Tensor:
    """Posterior of the true classes; a certain label is the true class, `(L, C)`."""
    one_hot = F.one_hot(given, p.shape[1]).to(p)
    return torch.where(certain[:, None], one_hot, posterior(p, T, given))


def random_folds(nodes: Tensor, num_folds: int, seed: int) -> list[Tensor]:
    """Split nodes at random; labels have no say, or a fold would tell of the label of a node."""
    order = torch.randperm(len(nodes), generator=torch.Generator().manual_seed(seed))
    shuffled = nodes[order.to(nodes.device)]
    return [shuffled[i::num_folds] for i in range(min(num_folds, len(nodes)))]


def num_repeats(num_labels: int) -> int:
    """How often the folds are drawn; the fewer labels, the more their choice matters."""
    return next((times for most, times in REPEATS if num_labels <= most), 1)


def average(found: list[OutOfFold]) -> OutOfFold:
    """Geometric means, rows summing to 1."""
    columns = ([one.p for one in found], [one.posterior for one in found])
    p, q = (torch.stack(c).clamp_min(1e-9).log().mean(0).softmax(1) for c in columns)
    return OutOfFold(p, q, sum(one.chance for one in found) / len(found))
