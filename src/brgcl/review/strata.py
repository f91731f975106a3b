r"""Groups of nodes with similar scores, within which rates are estimated and nodes are drawn.

Flagged nodes are divided by score into groups of equal size. The others are divided so that each
group has the same sum of sqrt(p (1 - p)), where p = 1 - score is the chance of an error: with
equally many nodes drawn from each group, that makes the error of the estimate small.

References:
    T. Dalenius and J. L. Hodges, Minimum variance stratification, Journal of the American
    Statistical Association 54(285), 1959.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

NUM_FLAGGED, NUM_OTHERS = 5, 3  # at most so many groups
SMALLEST = 20  # nodes that a group of them should have at least


def flagged_strata(
    score: "np.ndarray[Any, Any]", flagged: "np.ndarray[Any, Any]"
) -> "list[np.ndarray[Any, Any]]":
    """Divide the flagged nodes by score.

    Args:
        score: Probability that the given label is right, `(L,)`.
        flagged: Mask of suspects, `(L,)`.

    Returns:
        Places of the nodes of each group, lowest scores first; none is empty.
    """
    import numpy as np

    nodes = _by_score(score, flagged)
    number = int(np.clip(len(nodes) // SMALLEST, 1, NUM_FLAGGED))
    return [group for group in np.array_split(nodes, number) if len(group)]


def other_strata(
    score: "np.ndarray[Any, Any]", flagged: "np.ndarray[Any, Any]"
) -> "list[np.ndarray[Any, Any]]":
    """Divide the nodes that are not flagged by score; arguments and result as above."""
    import numpy as np

    nodes = _by_score(score, ~flagged)
    number = int(np.clip(len(nodes) // SMALLEST, 1, NUM_OTHERS))
    chance = np.clip(1 - score[nodes], 1e-6, 1)
    spread = np.cumsum(np.sqrt(chance * (1 - chance) + 1e-6))
    group = np.searchsorted(spread[-1:] * np.arange(1, number) / number, spread)
    return [nodes[group == i] for i in range(number) if (group == i).any()]


def without_gaps(score: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """Take a label that was not judged, NaN, to be as likely right as those that were, `(L,)`."""
    import numpy as np

    judged = ~np.isnan(score)
    return np.where(judged, score, score[judged].mean() if judged.any() else 0.5)


def _by_score(
    score: "np.ndarray[Any, Any]", mask: "np.ndarray[Any, Any]"
) -> "np.ndarray[Any, Any]":
    import numpy as np

    nodes = np.flatnonzero(mask)
    return nodes[np.argsort(score[nodes], kind="stable")]
