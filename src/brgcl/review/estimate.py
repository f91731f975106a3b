r"""The share of labels that are still wrong after a review.

Labelled nodes are divided into strata by score (`strata.py`). A stratum b has two unknown rates:
\theta_b, how many of its given labels are wrong, and \phi_b, how many of its suggestions are. The
detector's own probabilities are the prior, with the weight of n_0 = 5 decisions, and what people
decided one by one is the evidence:

    \theta_b ~ Beta(n_0 m_b + k_b, n_0 (1 - m_b) + n_b - k_b),

where m_b is the mean of 1 - score over the undecided nodes of b, and k_b of n_b given labels that
were looked at were wrong; \phi_b likewise, with 1 - probability of the suggestion. Then

    errors left = sum_b  Binomial(undecided nodes of b, \theta_b)
                       + Binomial(nodes of b that were accepted in bulk, \phi_b);

labels that a person looked at count as right. The rate is the mean of this sum, divided by the
number of labelled nodes. The interval takes quantiles of simulated sums. For its upper end half a
decision that found an error is added to each stratum, for its lower end half a decision that found
none: the ends then lie as Jeffreys' interval does between the exact and the plain ones, and no
error among few decisions does not mean that there is none.

Among flagged nodes the decisions are taken as typical of their stratum. Among the others people
look where they suspect something, so that only the nodes that were drawn at random count as
evidence. Without them, a detector that misses errors would be believed whatever it misses.

References:
    L. D. Brown, T. T. Cai and A. DasGupta, Interval estimation for a binomial proportion,
    Statistical Science 16(2), 2001.
"""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from brgcl.review.strata import flagged_strata, other_strata

if TYPE_CHECKING:
    import numpy as np

PRIOR = 5.0  # decisions that the detector's own probabilities are worth
NUM_DRAWS, LEVEL, TINY = 4000, 0.95, 1e-6


@dataclass(frozen=True)
class ErrorLeft:
    """How many labels are wrong after the review.

    Attributes:
        rate: Expected share of the labelled nodes whose label is still wrong.
        low: Lower end of the interval.
        high: Upper end.
        num_labelled: Number of labelled nodes.
        num_checked: Randomly drawn nodes that somebody looked at.
    """

    rate: float
    low: float
    high: float
    num_labelled: int
    num_checked: int

    def to_dict(self) -> dict[str, Any]:
        """Return the fields; JSON-ready."""
        return asdict(self)


def error_left(
    score: "np.ndarray[Any, Any]",
    probability: "np.ndarray[Any, Any]",
    flagged: "np.ndarray[Any, Any]",
    drawn: "np.ndarray[Any, Any]",
    *,
    looked_at: "np.ndarray[Any, Any]",
    bulk: "np.ndarray[Any, Any]",
    label_wrong: "np.ndarray[Any, Any]",
    suggestion_wrong: "np.ndarray[Any, Any]",
    decided: "np.ndarray[Any, Any] | None" = None,
    seed: int = 0,
) -> ErrorLeft:
    """Estimate the share of labels that are still wrong.

    Args:
        score: Probability that the given label is right, `(L,)`.
        probability: Probability that the suggestion is right, `(L,)`.
        flagged: Mask of suspects, `(L,)`.
        drawn: Mask of unflagged nodes that were drawn at random, `(L,)`.
        looked_at: Mask of nodes that a person decided one by one in this run, `(L,)`.
        bulk: Mask of nodes whose suggestion was accepted in bulk, `(L,)`.
        label_wrong: Whether the given label was found wrong; read where `looked_at`, `(L,)`.
        suggestion_wrong: Whether the suggestion was found wrong; read where `looked_at`, `(L,)`.
        decided: Mask of nodes decided one by one in this run or before, `(L,)`; None = `looked_at`.
        seed: Of the simulated sums.

    Returns:
        The estimate; all 0 where there is no labelled node.
    """
    import numpy as np

    counted = looked_at & (flagged | drawn)
    open_ = ~(looked_at if decided is None else decided) & ~bulk
    generator, mean = np.random.default_rng(seed), 0.0
    lower, upper = np.zeros(NUM_DRAWS), np.zeros(NUM_DRAWS)
    for nodes in (*flagged_strata(score, flagged), *other_strata(score, flagged)):
        seen = nodes[counted[nodes]]
        for left, wrong, doubt in (
            (open_, label_wrong, 1 - score),
            (bulk, suggestion_wrong, 1 - probability),
        ):
            rest = nodes[left[nodes]]
            size = len(rest)
            if size:
                expected = float(np.clip(doubt[rest], 0, 1).mean())
                found = float(wrong[seen].sum())
                a = PRIOR * expected + found
                b = PRIOR * (1 - expected) + len(seen) - found
                mean += size * a / (a + b)
                a, b = max(a, TINY), max(b, TINY)
                lower += generator.binomial(size, generator.beta(a, b + 0.5, NUM_DRAWS))
                upper += generator.binomial(size, generator.beta(a + 0.5, b, NUM_DRAWS))
    labelled = max(len(score), 1)
    low = min(float(np.quantile(lower, (1 - LEVEL) / 2)), mean)
    high = max(float(np.quantile(upper, (1 + LEVEL) / 2)), mean)
    checked = int((looked_at & drawn).sum())
    return ErrorLeft(mean / labelled, low / labelled, high / labelled, len(score), checked)
