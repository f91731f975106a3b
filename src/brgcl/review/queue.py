"""In which order nodes are shown: most suspicious first, every tenth one drawn at random.

The random ones come from the nodes that were not flagged, in turn from each stratum of their
scores. Only they can tell how many errors the detector missed. They are drawn by a hash of their
ids, so that every page, process and machine draws the same ones.
"""

import hashlib
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from brgcl.review.strata import other_strata, without_gaps

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

EVERY = 10  # the last of so many shown nodes is a random one
AT_LEAST = 50  # random nodes, however few suspects there are


def draw_unflagged(suspects: "pd.DataFrame") -> "np.ndarray[Any, Any]":
    """Draw nodes that were not flagged, without replacement.

    Args:
        suspects: One row per labelled node, with `node` (text), `score` and `is_error`, `(L,)`.

    Returns:
        Their places in `suspects`, in the order in which they are shown.
    """
    import numpy as np

    flagged = suspects["is_error"].to_numpy(dtype=bool)
    size = max(AT_LEAST, -(-int(flagged.sum()) // (EVERY - 1)))
    keys = [_key(node) for node in suspects["node"]]
    strata = other_strata(without_gaps(suspects["score"].to_numpy(dtype=float)), flagged)
    turns = zip_longest(*(sorted(nodes, key=keys.__getitem__) for nodes in strata))
    drawn = [place for turn in turns for place in turn if place is not None]
    return np.array(drawn[:size], dtype=np.int64)


def order_queue(suspects: "pd.DataFrame", drawn: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """Order the nodes to look at: the flagged ones, and the drawn ones among them.

    Args:
        suspects: One row per labelled node, most suspicious first, `(L,)`.
        drawn: Places of the nodes that were drawn at random.

    Returns:
        Places in `suspects`; those that are in neither group are left out.
    """
    import numpy as np

    flagged = np.flatnonzero(suspects["is_error"].to_numpy(dtype=bool))
    behind = np.arange(len(flagged)) // (EVERY - 1) * EVERY + np.arange(len(flagged)) % (EVERY - 1)
    between = EVERY - 1 + EVERY * np.arange(len(drawn))
    shown = np.concatenate([flagged, drawn])
    return shown[np.argsort(np.concatenate([behind, between]), kind="stable")].astype(np.int64)


def _key(node: str) -> bytes:
    return hashlib.blake2b(node.encode("utf-8", "surrogatepass"), digest_size=8).digest()
