"""A model of wrong labels: which ones are wrong, and how many.

Node i with unit row z_i has a true class y_i and, if it is labelled, a given label l_i:

    P(y_i = c | z, classes of the neighbours) ~ exp(mu_c' z_i / tau + kappa n_ic)
    P(l_i = d | y_i = c) = T_cd

n_ic is the share of the neighbours of i in class c, less the share of all nodes. The class means mu
and the transition matrix T are found by EM with priors, the coupling kappa by labels that are held
out. The result is the posterior of y_i given l_i, and with it the share e of wrong labels.
docs/label-noise.md derives every formula.
"""

import copy
import math

import torch
import torch.nn.functional as F
from scipy.optimize import linear_sum_assignment
from scipy.stats import beta
from torch import Tensor
from torch_geometric.data import Data

from brgcl.errors import InputError
from brgcl.machine import memory
from brgcl.method.sparse import Matrix, csr_tensor
from brgcl.tasks.checks import check_labels, check_representations, transition_of

FOLDS = 5
ENOUGH_HELD_OUT = 2000  # labels after which no further fold is held out
MAX_COUPLING = 10.0  # neighbours that all agree are worth at most a factor of exp(10)
LEAST = 1e-4  # probabilities below it are raised to it before a logarithm is taken


class LabelNoiseModel:
    """Find the posterior of the true class of every labelled node.

    Args:
        tau: Temperature of the cosines between nodes and class means.
        rounds: Rounds of EM.
        prior: Number of labels that the prior of a row of T is worth.
        labelled_weight: Weight of the labelled nodes in the class means; that of all nodes is 1.
        centers: Centres of clusters to start from, `(K, D)`, each matched with one class; None
            starts from the centroids of the given labels.

    Attributes:
        nodes_: Labelled nodes, `(L,)`.
        given_: Their given labels, `(L,)`.
        posterior_: Posterior of their true classes, `(L, C)`.
        class_probabilities_: Class probabilities of all nodes without their own labels, `(N, C)`.
        transition_: T, row = true class, column = given label, `(C, C)`.
        noise_rate_: Estimated share e of wrong labels.
        noise_interval_: Its 95 % interval.
        coupling_: kappa; 0 if neighbours do not help.

    Example:
        >>> z = torch.tensor([[1, 0.1], [1, 0], [0.9, 0.1], [0, 1], [0.1, 1], [1, 0.2]])
        >>> model = LabelNoiseModel().fit(z, torch.tensor([0, 0, 0, 1, 1, 1]))
        >>> model.posterior_.argmax(1).tolist()
        [0, 0, 0, 1, 1, 0]
    """

    nodes_: Tensor
    given_: Tensor
    posterior_: Tensor
    class_probabilities_: Tensor
    transition_: Tensor
    noise_rate_: float
    noise_interval_: tuple[float, float]
    coupling_: float

    def __init__(
        self,
        *,
        tau: float = 0.14,
        rounds: int = 8,
        prior: float = 6.0,
        labelled_weight: float = 5.0,
        centers: Tensor | None = None,
    ) -> None:
        for name, value in (("tau", tau), ("prior", prior), ("labelled_weight", labelled_weight)):
            if not value > 0:
                raise InputError(f"{name} must be above 0, got {value}")
        if rounds < 1:
            raise InputError(f"rounds must be at least 1, got {rounds}")
        self.tau, self.rounds = tau, rounds
        self.prior, self.labelled_weight, self.centers = prior, labelled_weight, centers

    def fit(self, z: Tensor, labels: Tensor, graph: Data | None = None) -> "LabelNoiseModel":
        """Fit the model to representations and given labels.

        Args:
            z: Representations, `(N, D)`, preferably centred.
            labels: Given labels in `0..C-1`, -1 = unlabelled, `(N,)`. A class may have a single
                label.
            graph: The graph. Neighbours are used as far as they help to predict held-out labels.
        """
        z, labels = check_representations(z), check_labels(labels, len(z), least=1)
        neighbours = None if graph is None else without_loops(transition_of(graph, len(z)))
        C, kappa = int(labels.max()) + 1, 0.0
        available = memory()
        if available is not None and 8 * C * (len(z) + C) > available:
            raise InputError(
                f"labels reach class {C - 1:,}, and there is not enough memory for so many; number "
                "the classes, e.g. with numpy.unique(labels, return_inverse=True)"
            )
        if neighbours is not None:
            log_p, around, given = [], [], []
            for held_out in folds(labels):
                model = copy.copy(self).run_em(z, labels.index_fill(0, held_out, -1), C)
                p = model.class_probabilities_
                log_p.append(log(p[held_out]))
                around.append(surroundings(p, neighbours)[held_out])
                given.append(labels[held_out])
            kappa = coupling(torch.cat(log_p), torch.cat(around), torch.cat(given))
        return self.run_em(z, labels, C, neighbours, kappa)

    def run_em(
        self,
        z: Tensor,
        labels: Tensor,
        num_classes: int,
        neighbours: Matrix | None = None,
        kappa: float = 0.0,
    ) -> "LabelNoiseModel":
        """Fit the model with a known coupling; inputs are not checked.

        Args:
            z: Unit rows, `(N, D)`.
            labels: Given labels, -1 = unlabelled, `(N,)`; a class without any gets probability 0.
            num_classes: C.
            neighbours: Row-stochastic adjacency without loops, `(N, N)`; needed if kappa > 0.
            kappa: The coupling.
        """
        nodes = (labels >= 0).nonzero().squeeze(1)
        given, rows = labels[nodes], z[nodes]
        one_hot = F.one_hot(given, num_classes).to(z.dtype)
        count = one_hot.sum(0)
        absent = torch.where(count > 0, 0.0, -torch.inf)
        means = one_hot.T @ rows / count.clamp_min(1)[:, None]
        share = 1 / count[given]  # weight of a node in the mean of its given class
        if self.centers is not None:
            means = matched_centers(self.centers.to(z), rows, given, means)
            share = torch.zeros_like(share)  # the label of a node has moved no centre
        T = noise_matrix(0.2, num_classes).to(z)
        for left in reversed(range(self.rounds)):
            unit = F.normalize(means, dim=1)
            score = z @ unit.T / self.tau + absent
            log_p = score.log_softmax(1)
            without = F.normalize(means[given] - share[:, None] * rows, dim=1)
            cosine = (rows * without).sum(1, keepdim=True)
            own = score[nodes].scatter(1, given[:, None], cosine / self.tau)
            if neighbours is not None and kappa > 0:
                around = kappa * surroundings(log_p.exp(), neighbours)
                log_p, own = (log_p + around).log_softmax(1), own + around[nodes]
            believed = posterior(own.softmax(1), T, given)
            right = believed.gather(1, given[:, None]).squeeze(1)
            if left:
                T = estimated_transition(believed, one_hot, self.prior)
                q = log_p.exp().index_copy(0, nodes, believed)
                means, share = class_means(z, q, nodes, given, right, self.labelled_weight)
        self.nodes_, self.given_, self.posterior_ = nodes, given, believed
        self.class_probabilities_, self.transition_, self.coupling_ = log_p.exp(), T, kappa
        self.noise_rate_ = 1 - float(right.double().mean())
        self.noise_interval_ = noise_interval(right)
        return self


def matched_centers(centers: Tensor, rows: Tensor, given: Tensor, centroids: Tensor) -> Tensor:
    """Give each class the centre of one cluster, so that most labels agree with their cluster.

    A class that gets none keeps the centroid of its labels.

    Args:
        centers: Centres of clusters, `(K, D)`.
        rows: Rows of the labelled nodes, `(L, D)`.
        given: Their given labels, `(L,)`.
        centroids: Centroids of the labels, `(C, D)`.

    Example:
        >>> centers = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
        >>> rows = torch.tensor([[1.0, 0.1], [0.9, 0.0], [0.1, 1.0]])
        >>> matched_centers(centers, rows, torch.tensor([0, 0, 1]), torch.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """
    cluster = torch.cdist(rows, centers).argmin(1)
    counts = centers.new_zeros(len(centroids), len(centers))
    counts.index_put_((given, cluster), centers.new_ones(len(given)), accumulate=True)
    class_, matched = linear_sum_assignment(counts.cpu().numpy(), maximize=True)
    means = centroids.clone()
    means[torch.from_numpy(class_)] = centers[torch.from_numpy(matched)]
    return means


def class_means(
    z: Tensor, q: Tensor, nodes: Tensor, given: Tensor, right: Tensor, weight: float
) -> tuple[Tensor, Tensor]:
    """Mean of all nodes by q plus, weighted, the mean of the labelled nodes that are believed.

    m_c = sum_i q_ic z_i / sum_i q_ic + w sum_{l_i = c} r_i z_i / sum_{l_i = c} r_i, where r_i is
    the posterior of the given label.

    Args:
        z: Unit rows, `(N, D)`.
        q: Class probabilities of all nodes, `(N, C)`.
        nodes: Labelled nodes, `(L,)`.
        given: Their given labels, `(L,)`.
        right: r, `(L,)`.
        weight: w.

    Returns:
        The means, `(C, D)`, and the weight of each labelled node in that of its given class.
    """
    size = q.sum(0).clamp_min(1e-9)
    believed = torch.zeros_like(size).index_add_(0, given, right).clamp_min(1e-9)
    total = z.new_zeros(len(size), z.shape[1]).index_add_(0, given, right[:, None] * z[nodes])
    means = q.T @ z / size[:, None] + weight * total / believed[:, None]
    return means, right * (1 / size + weight / believed)[given]


def noise_matrix(rate: float, num_classes: int) -> Tensor:
    """T of symmetric noise: 1 - rate on the diagonal, rate / (C - 1) elsewhere, `(C, C)`."""
    T = torch.full((num_classes, num_classes), rate / max(num_classes - 1, 1))
    return T.fill_diagonal_(1 - rate)


def estimated_transition(believed: Tensor, one_hot: Tensor, prior: float) -> Tensor:
    """T_cd ~ sum_{l_i = d} q_ic + prior S_cd, rows summing to 1, `(C, C)`.

    S is symmetric noise at the rate (sum_i (1 - r_i) + 1) / (L + 5), the posterior mean of the
    rate under Beta(1, 4), so that a class with few labels borrows from the others.

    Args:
        believed: Posteriors q of the labelled nodes, `(L, C)`.
        one_hot: Their given labels, `(L, C)`.
        prior: Labels that S is worth in each row.
    """
    L, C = believed.shape
    wrong = L - float((believed * one_hot).double().sum())
    T = believed.T @ one_hot + prior * noise_matrix((wrong + 1) / (L + 5), C).to(believed)
    return T / T.sum(1, keepdim=True)


def posterior(p: Tensor, T: Tensor, given: Tensor) -> Tensor:
    """q_ic ~ p_ic T_{c, l_i}, rows summing to 1, `(L, C)`."""
    q = p * T[:, given].T
    return q / q.sum(1, keepdim=True).clamp_min(1e-30)


def noise_interval(right: Tensor) -> tuple[float, float]:
    """95 % interval of the share of wrong labels.

    Quantiles of Beta(e m + 1/2, (1 - e) m + 1/2), where e = mean(1 - r), and
    m = sum (r - mean r)² / (e (1 - e)) is the number of labels known for certain to be right or
    wrong that would tell as much: L if every r is 0 or 1, and 0 if all r are the same.

    Args:
        right: Posterior r of each given label, `(L,)`.
    """
    r = right.double()
    e = float(1 - r.mean())
    spread = e * (1 - e)
    m = float((r - r.mean()).square().sum()) / spread if spread > 1e-9 else float(len(r))
    low, high = beta.ppf([0.025, 0.975], e * m + 0.5, (1 - e) * m + 0.5)
    return min(float(low), e), max(float(high), e)


def surroundings(p: Tensor, neighbours: Matrix) -> Tensor:
    """Mean of p over the neighbours of each node less its mean over all nodes, `(N, C)`.

    Less that mean, a class that is frequent everywhere does not win by being around everywhere.
    Rows of nodes without neighbours are 0.
    """
    return neighbours @ (p - p.mean(0))


def coupling(log_p: Tensor, around: Tensor, given: Tensor) -> float:
    """What neighbours tell beyond the node itself, kappa = max(0, b - s) / a.

    a and b maximise sum_i log softmax(a log p_i + b n_i)[l_i] - (a - 1)²/2 - b²/8, and s is the
    standard error of b. Wrong labels shrink a and b alike and leave their ratio; a makes up for
    probabilities that are too sure of themselves, so that smoothing does not have to.

    Args:
        log_p: Log-probabilities of nodes whose labels were held out, `(L, C)`.
        around: Their `surroundings` n, `(L, C)`.
        given: The labels that were held out, `(L,)`.
    """
    x = torch.stack([log_p, around], 2).double()  # (L, C, 2)
    own = x[torch.arange(len(x)), given]
    centre, precision = x.new_tensor([1.0, 0.0]), x.new_tensor([1.0, 0.25])

    def objective(ab: Tensor) -> float:
        fit = (own @ ab - (x @ ab).logsumexp(1)).sum()
        return float(fit - (precision * (ab - centre).square()).sum() / 2)

    ab = centre.clone()
    for _ in range(30):  # Newton's method; the objective is concave
        p = (x @ ab).softmax(1)
        mean = torch.einsum("lc,lck->lk", p, x)
        gradient = (own - mean).sum(0) - precision * (ab - centre)
        curvature = torch.einsum("lc,lcj,lck->jk", p, x, x) - mean.T @ mean + precision.diag()
        step = torch.linalg.solve(curvature, gradient)
        while float(step.abs().max()) > 1e-6 and objective(ab + step) < objective(ab):
            step = step / 2
        ab = ab + step
        if float(step.abs().max()) <= 1e-6:
            break
    error = math.sqrt(float(torch.linalg.inv(curvature)[1, 1]))
    return min(max(0.0, float(ab[1]) - error) / max(float(ab[0]), 0.05), MAX_COUPLING)


def folds(labels: Tensor) -> list[Tensor]:
    """Fifths of the labelled nodes with like classes; fewer of them where labels are many."""
    nodes = (labels >= 0).nonzero().squeeze(1)
    nodes = nodes[torch.argsort(labels[nodes], stable=True)]
    parts = [nodes[i::FOLDS] for i in range(min(FOLDS, len(nodes)))]
    return parts[: math.ceil(ENOUGH_HELD_OUT / len(parts[0]))]


def log(p: Tensor) -> Tensor:
    """Logarithm of probabilities of at least `LEAST`."""
    return p.clamp_min(LEAST).log()


def without_loops(transition: Matrix) -> Matrix:
    """Row-stochastic adjacency without self-loops; the row of an isolated node is 0, `(N, N)`."""
    data, num_nodes = transition.data, transition.data.shape[0]
    crow, col, value = data.crow_indices(), data.col_indices(), data.values().clone()
    row = torch.repeat_interleave(crow.diff())
    value[row == col] = 0
    total = value.new_zeros(num_nodes).index_add_(0, row, value).clamp_min(1e-12)
    return Matrix(csr_tensor(crow, col, value / total[row], (num_nodes, num_nodes)))
