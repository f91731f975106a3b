"""How far a review is, and how many labels are still wrong."""

from typing import TYPE_CHECKING, Any

from brgcl.review.content import Content
from brgcl.review.estimate import ErrorLeft, error_left
from brgcl.review.replay import Event, State, holds
from brgcl.review.strata import without_gaps

if TYPE_CHECKING:
    import numpy as np


def summarise(content: Content, state: State, drawn: "np.ndarray[Any, Any]") -> dict[str, Any]:
    """Count what was decided and estimate what is left; JSON-ready.

    Args:
        content: What is reviewed.
        state: What was decided.
        drawn: Places in `content.suspects` of the nodes that were drawn at random.
    """
    flagged = content.suspects["is_error"].to_numpy(dtype=bool)
    events = {
        content.place[event.node]: event
        for event in state.decided()
        if holds(event, content.labels)
    }
    return {
        "num_labelled": len(content.suspects),
        "num_suspects": int(flagged.sum()),
        "num_decided": len(events),
        "num_suspects_decided": int(flagged[list(events)].sum()) if events else 0,
        "num_changed": sum(event.label != event.given for event in events.values()),
        "num_drawn": len(drawn),
        "error_left": _error_left(content, events, drawn).to_dict(),
    }


def _error_left(
    content: Content, events: dict[int, Event], drawn: "np.ndarray[Any, Any]"
) -> ErrorLeft:
    """Estimate the share of wrong labels from what was decided, `events[place]`."""
    import numpy as np

    suspects, run = content.suspects, content.fingerprint
    suggested = suspects["suggested"].to_numpy()
    masks = {
        name: np.zeros(len(suspects), dtype=bool)
        for name in ("looked_at", "bulk", "label_wrong", "suggestion_wrong", "decided")
    }
    for place, event in events.items():
        masks["bulk"][place] = event.bulk and event.run == run
        masks["decided"][place] = not masks["bulk"][place]
        masks["looked_at"][place] = not event.bulk and event.run == run
        masks["label_wrong"][place] = event.label != event.given
        masks["suggestion_wrong"][place] = event.label != suggested[place]
    is_drawn = np.zeros(len(suspects), dtype=bool)
    is_drawn[drawn] = True
    score = without_gaps(suspects["score"].to_numpy(dtype=float))
    probability = suspects["probability"].to_numpy(dtype=float)
    # where none is given: a suggestion is right if the label that it replaces is wrong
    at_best = np.where(suggested == suspects["given"].to_numpy(), score, 1 - score)
    return error_left(
        score,
        np.where(np.isnan(probability), at_best, probability),
        suspects["is_error"].to_numpy(dtype=bool),
        is_drawn,
        looked_at=masks["looked_at"],
        bulk=masks["bulk"],
        label_wrong=masks["label_wrong"],
        suggestion_wrong=masks["suggestion_wrong"],
        decided=masks["decided"],
    )
