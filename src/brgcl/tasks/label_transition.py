"""What the transition matrix of labels is taken to be, where EM alone cannot tell.

T_cd is the probability that a label of class c is given as d. A prior, how evenly wrong labels
spread over the other classes, and the labels whose class is clearest (anchor points) keep it from
explaining classes that overlap.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

CLEAREST = 20  # a twentieth of the labels, split over the classes, are those of clearest class
LEAST_CLEAREST = 30  # of each class; of fewer nothing is concluded
EVENNESS = [2.0**k for k in range(-1, 11)]  # wrong labels that an even spread may be worth


def transition_prior(num_labels: int, num_classes: int) -> float:
    """Number of labels that the prior of a row of T is worth: 6 and a twentieth of a class.

    Classes that overlap look like a T with some large entries. The prior, symmetric noise, keeps
    that small where labels are many.
    """
    return 6 + 0.05 * num_labels / num_classes


def mostly_right(T: Tensor) -> Tensor:
    """Raise the diagonal to the largest entry of each row, rows summing to 1.

    A class is given its own label at least as often as any other. Without that, classes under
    other names explain the labels just as well.
    """
    T = T.clone()
    T.diagonal().copy_(T.max(1).values)
    return T / T.sum(1, keepdim=True)


def evenness(counts: Tensor) -> float:
    """How many wrong labels of a class an even spread over the other classes is worth.

    The shares in which the wrong labels of a class name the others have a symmetric Dirichlet
    prior. Its size is the one that makes the counts most probable (empirical Bayes): small if each
    class is mistaken for one other, large if it is mistaken for all of them alike.

    Args:
        counts: Expected number of labels, row = true class, column = given label, `(C, C)`.

    Example:
        >>> evenness(torch.tensor([[90.0, 20, 0], [0, 90, 20], [20, 0, 90]]))
        0.5
        >>> evenness(torch.tensor([[90.0, 10, 10], [10, 90, 10], [10, 10, 90]]))
        1024.0
    """
    C = len(counts)
    other = ~torch.eye(C, dtype=torch.bool, device=counts.device)
    wrong = counts[other].reshape(C, C - 1).double()
    size = wrong.new_tensor(EVENNESS)[:, None]  # (A, 1)
    cell = size / (C - 1)
    total = torch.lgamma(size) - torch.lgamma(size + wrong.sum(1))  # (A, C)
    each = torch.lgamma(cell[:, :, None] + wrong) - torch.lgamma(cell)[:, :, None]
    return EVENNESS[int((total + each.sum(2)).sum(1).argmax())]


def evened(T: Tensor, counts: Tensor, worth: float) -> Tensor:
    """T with wrong labels spread as counted plus `worth` of them evenly; the diagonal stays.

    Args:
        T: Transition matrix, `(C, C)`.
        counts: Expected number of labels, row = true class, column = given label, `(C, C)`.
        worth: Wrong labels of each class to add, in equal shares.
    """
    wrong = counts + worth / (len(T) - 1)
    wrong.fill_diagonal_(0)
    return with_rates(wrong, 1 - T.diagonal())


def with_rates(T: Tensor, rates: Tensor) -> Tensor:
    """Matrix with given error rates `(C,)`, whose wrong labels spread as those of T, `(C, C)`."""
    wrong = T.clone()
    wrong.fill_diagonal_(0)
    wrong = wrong / wrong.sum(1, keepdim=True).clamp_min(1e-30) * rates[:, None]
    return wrong + torch.diag(1 - wrong.sum(1))


def unexplained_errors(p: Tensor, T: Tensor, given: Tensor) -> float:
    """Share of wrong labels where a class is clearest, beyond the share that T expects.

    There the share of labels that name the class should be T_cc. It is far below if wrong labels
    were taken for classes that overlap: T = I, and probabilities that follow the wrong labels,
    explain labels about as well as the right T does.

    Args:
        p: Class probabilities of the labelled nodes without their own labels, `(L, C)`.
        T: Transition matrix, `(C, C)`.
        given: Given labels, `(L,)`.

    Returns:
        T_cc less the share of labels that name c, mean over classes; 0 where labels are too few to
        tell, less than thirty of each class.
    """
    if len(clearest_nodes(p)) == 0:
        return 0.0
    return float((T.diagonal() - anchored_transition(p, given).diagonal()).mean())


def anchored_transition(p: Tensor, given: Tensor) -> Tensor:
    """T from the labels where a class is clearest, its anchor points (Liu & Tao 2016), `(C, C)`."""
    return F.one_hot(given[clearest_nodes(p)], p.shape[1]).to(p).mean(0)


def clearest_nodes(p: Tensor) -> Tensor:
    """For each class the nodes where it is most probable, `(n, C)`; none if labels are few."""
    number = len(p) // (CLEAREST * p.shape[1])
    return p.topk(number if number >= LEAST_CLEAREST else 0, dim=0).indices
