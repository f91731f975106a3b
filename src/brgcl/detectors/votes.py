"""Votes of other nodes for the label of a node."""

import torch
from torch import Tensor

from brgcl.detectors.contract import Detected

PRIOR = 1.0  # votes that the shares of all labels are worth


def judge_by_votes(votes: Tensor, labels: Tensor) -> Detected:
    """Judge each given label by its share of the votes.

    With v_ic votes for class c, n_i votes in all and the share s_c of class c among all labels,

        p_ic = (v_ic + PRIOR s_c) / (n_i + PRIOR),

    so that one vote says less than many, and no vote says nothing. The score is p of the given
    label. It is an error where another class has more votes.

    Args:
        votes: For each labelled node the votes that each class gets, none by the node itself,
            `(L, C)`.
        labels: Given labels, -1 = unlabelled, `(N,)`.
    """
    nodes = (labels >= 0).nonzero().squeeze(1)
    given = labels[nodes]
    share = torch.bincount(given, minlength=votes.shape[1]) / len(given)
    p = (votes + PRIOR * share) / (votes.sum(1, keepdim=True) + PRIOR)
    own = votes.gather(1, given[:, None]).squeeze(1)
    is_error = votes.max(1).values > own
    best = torch.where(votes == votes.max(1, keepdim=True).values, p, -1).argmax(1)
    return Detected(
        nodes,
        score=p.gather(1, given[:, None]).squeeze(1),
        suggested=torch.where(is_error, best, given),
        is_error=is_error,
    )
