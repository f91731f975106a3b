"""What a review leaves behind as files: the corrected labels and the audit trail."""

from typing import TYPE_CHECKING

from brgcl.review.content import Content
from brgcl.review.replay import Event, State, holds

if TYPE_CHECKING:
    import pandas as pd


def corrected_labels(content: Content, state: State) -> "pd.DataFrame":
    """Return the labels as they are after the review.

    Returns:
        One row per labelled node, in the order of the graph: node_id, label, label_given, changed
        (the two differ) and decided (somebody has decided on it).
    """
    import pandas as pd

    rows = []
    for node in sorted(content.labels, key=content.row.__getitem__):
        label = given = content.labels[node]
        event = state.decision(node)
        decided = event is not None and holds(event, content.labels)
        if event is not None and decided:  # the run may have taken the decided label over
            label, given = str(event.label), event.given
        rows.append([node, label, given, label != given, decided])
    return pd.DataFrame(rows, columns=["node_id", "label", "label_given", "changed", "decided"])


def audit_trail(state: State) -> "pd.DataFrame":
    """Return everything that was done, in order, undone or not.

    Returns:
        One row per event: node, old and new (the node's label before and after it), kind, who, when
        (UTC), reason (the sentence that was shown), undone, batch (one name for decisions that were
        made together).
    """
    import pandas as pd

    so_far, rows = State(), []
    for request, events in state.requests.items():
        before = [_label(event, so_far) for event in events]
        so_far.apply(events)
        undone = request in state.undone
        rows += [
            [e.node, old, _label(e, so_far), e.kind, e.who, e.decided_at, e.reason, undone, request]
            for e, old in zip(events, before, strict=True)
        ]
    names = ["node", "old", "new", "kind", "who", "when", "reason", "undone", "batch"]
    return pd.DataFrame(rows, columns=names)


def _label(event: Event, state: State) -> str:
    """Return the label that an event's node has in a state."""
    decision = state.decision(event.node)
    return event.given if decision is None else str(decision.label)
