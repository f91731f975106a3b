"""How many of the things observed are mere chance, and which: a mixture with one known part.

What is observed, say the edges, is a mixture of right ones and of ones that chance made:

    f(s) = (1 - share) f_right(s) + share f_chance(s)

Chance can be sampled (pairs of random nodes), so f_chance is known and f_right is not needed. A
classifier that tells observed from sampled gives the ratio f_chance / f, and with it

    P(chance | s) = share f_chance(s) / f(s)

The share is at most F(c) / F_chance(c) for every cut c, with F the distribution functions of the
classifier's score. It is estimated where the upper limit of this quotient is smallest (the best bin
of Garg, Wu, Smola, Balakrishnan & Lipton 2021, "Mixture proportion estimation and PU learning").
Right ones that look like chance count as chance: the share is, if anything, too high.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from brgcl.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[Any]
FEWEST = 50  # things observed, below which no share is estimated
HOPELESS = 0.9  # a share as high as this means that the score tells nothing
MOST_FOR_TRAINING = 50_000  # rows of each kind on which a classifier is trained
FOLDS = 5
SMALLEST_CUT = 0.1  # share of the sampled ones below a cut, lest the minimum follow noise
NORMAL = 1.96  # 95 % intervals
LOOKALIKES = 0.02
"""Share of right ones that may look like chance. They make the estimate too high, never too low, so
that only the lower limit of an interval allows for them. On clean graphs they came to as much."""


class TooFew(InputError):  # noqa: N818 - reads as what happened
    """There is too little to compare with chance."""


@dataclass(frozen=True)
class Share:
    """Share of what is observed that chance made, with a 95 % interval of the sampling error."""

    rate: float
    low: float
    high: float

    @property
    def judged(self) -> bool:
        """Whether the score tells right from chance at all."""
        return self.high < HOPELESS


def log_ratios(observed: Array, *sampled: Array, rng: np.random.Generator) -> list[Array]:
    """Log of f_chance / f at every row, out of fold.

    The classifier is a logistic regression on the features, their squares and products, and never
    saw the row it judges.

    Args:
        observed: Features of what is observed, `(M, D)`.
        sampled: For each kind of chance, features of what was sampled from it, `(M_k, D)`.
        rng: Deals the folds.

    Returns:
        For `observed` and each of `sampled` an array `(rows, K)`: one column per kind of chance.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    parts = (observed, *sampled)
    rows = np.concatenate(parts)
    kind = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    fold = rng.permutation(len(rows)) % FOLDS
    log_ratio = np.empty((len(rows), len(sampled)))
    for held_out in range(FOLDS):
        train = np.concatenate(
            [_some((kind == k) & (fold != held_out), rng) for k in range(len(parts))]
        )
        model = make_pipeline(
            PolynomialFeatures(2, include_bias=False),
            StandardScaler(),
            LogisticRegression(C=1.0, max_iter=500),
        ).fit(rows[train], kind[train])
        counts = np.bincount(kind[train], minlength=len(parts))
        judged = np.flatnonzero(fold == held_out)
        for chunk in np.array_split(judged, len(judged) // MOST_FOR_TRAINING + 1):
            if len(chunk):
                log = model.predict_log_proba(rows[chunk]) - np.log(counts)
                log_ratio[chunk] = log[:, 1:] - log[:, :1]
    return np.split(log_ratio, np.cumsum([len(part) for part in parts])[:-1])


def estimate_share(observed: Array, sampled: Array) -> Share:
    """Estimate which share of what is observed chance made.

    Args:
        observed: Score of what is observed, high = like chance, `(M,)`.
        sampled: Score of what was sampled from chance, `(M_chance,)`.
    """
    at_least = np.linspace(SMALLEST_CUT, 1, 91)
    cuts = np.quantile(-sampled, at_least)
    above = np.searchsorted(np.sort(-observed), cuts, side="right") / len(observed)
    chance = np.searchsorted(np.sort(-sampled), cuts, side="right") / len(sampled)
    rate = above / chance
    # half an observation more, so that a share of none has an error too
    smooth = (above * len(observed) + 0.5) / (len(observed) + 1)
    variance = smooth * (1 - smooth) / len(observed)
    variance += rate**2 * chance * (1 - chance) / len(sampled)
    error = NORMAL * np.sqrt(variance) / chance
    best = int(np.argmin(rate + error))
    low, high = rate[best] - error[best], rate[best] + error[best]
    return Share(min(float(rate[best]), 1.0), max(float(low), 0.0), min(float(high), 1.0))


def flag(score: Array, fdr: float) -> Array:
    """Mask of the largest set of lowest scores whose mean is at most `fdr`, `(M,)`.

    With `score` the probability of being right, the mean is the expected share of false alarms.
    What is more likely right than wrong is never flagged.
    """
    order = np.argsort(score, kind="stable")
    mean = np.cumsum(score[order]) / np.arange(1, len(score) + 1)
    count = int(((mean <= fdr) & (score[order] < 0.5)).sum())  # both ascend
    flagged = np.zeros(len(score), dtype=bool)
    flagged[order[:count]] = True
    return flagged


def check_fdr(fdr: Any) -> None:
    """Raise an `InputError` unless `fdr` is a number in (0, 1)."""
    if not isinstance(fdr, int | float) or not 0 < fdr < 1:
        raise InputError(f"fdr must be a number between 0 and 1, got {fdr!r}")


def probability_right(log_ratio: Array, *shares: Share) -> Array:
    """Probability of being right, `(M,)`; NaN if no kind of chance can be judged.

    Args:
        log_ratio: Log of f_chance / f, one column per kind of chance, `(M, K)`.
        shares: The share of each kind; one that cannot be judged is left out.
    """
    wrong = np.zeros(len(log_ratio))
    for column, share in zip(log_ratio.T, shares, strict=True):
        if share.judged:
            wrong += share.rate * np.exp(np.minimum(column, 50))
    judged = any(share.judged for share in shares)
    return 1 - np.clip(wrong, 0, 1) if judged else np.full(len(wrong), np.nan)


def summary(share: Share, frame: "pd.DataFrame", fdr: float) -> dict[str, Any]:
    """What is estimated over all rows of a frame of suspects, ready for JSON.

    The lower limit of the interval allows for right ones that look like chance.
    """
    suspects = frame[frame["is_error"]]
    return {
        "judged": share.judged,
        "num_judged": len(frame),
        "num_suspects": len(suspects),
        "estimated_rate": share.rate if share.judged else None,
        "interval": [max(share.low - LOOKALIKES, 0.0), share.high] if share.judged else None,
        "fdr_target": fdr,
        "fdr_estimated": float(suspects["score"].mean()) if len(suspects) else None,
    }


def _some(mask: Array, rng: np.random.Generator) -> Array:
    rows = np.flatnonzero(mask)
    return rows if len(rows) <= MOST_FOR_TRAINING else rng.choice(rows, MOST_FOR_TRAINING, False)
