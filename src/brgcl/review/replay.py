"""What holds after a list of events: the decision on each node, and what may be undone.

Events are never changed or removed. The decision on a node is its last `accept`, `keep` or
`choose` that was not undone; a `skip` decides nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["accept", "keep", "choose", "skip", "undo"]
DECISIONS = ("accept", "keep", "choose")


@dataclass(frozen=True)
class Event:
    """One thing a reviewer did to one node.

    Attributes:
        id: Its place in the order of all events.
        request: Name that the page gave to the request; a bulk accept is one request, many events.
        bulk: Whether it was accepted together with others, without being looked at.
        node: Id of the node, as text.
        given: The label that the node had in the run.
        label: The label decided on; None for a skip or an undo.
        kind: What was done.
        who: The reviewer.
        decided_at: When, UTC, ISO 8601.
        reason: The sentence that the page showed.
        run: Fingerprint of the suspects that were shown.
        undoes: The request that an undo reverts.
    """

    id: int
    request: str
    bulk: bool
    node: str
    given: str
    label: str | None
    kind: Kind
    who: str
    decided_at: str
    reason: str
    run: str
    undoes: str | None


@dataclass
class State:
    """What a list of events comes to; `apply` takes them one by one, in order.

    Attributes:
        last: Id of the last event.
        versions: Id of the last event of each node; what a page saw is this number, 0 = nothing.
        requests: Events of each request, in order.
        undone: Requests that were undone.
    """

    last: int = 0
    versions: dict[str, int] = field(default_factory=dict)
    requests: dict[str, list[Event]] = field(default_factory=dict)
    undone: set[str] = field(default_factory=set)
    _of_node: dict[str, list[Event]] = field(default_factory=dict)

    def apply(self, events: Iterable[Event]) -> None:
        """Take further events."""
        for event in events:
            self.last = event.id
            self.versions[event.node] = event.id
            self.requests.setdefault(event.request, []).append(event)
            if event.undoes is not None:
                self.undone.add(event.undoes)
            else:
                self._of_node.setdefault(event.node, []).append(event)

    def version(self, node: str) -> int:
        """Return the version of a node's state, 0 if nothing was done to it."""
        return self.versions.get(node, 0)

    def decision(self, node: str) -> Event | None:
        """Return the decision on a node that holds now."""
        return next((e for e in self._standing(node) if e.kind in DECISIONS), None)

    def skipped(self, node: str) -> bool:
        """Whether the last thing that was done to a node is a skip."""
        last = next(iter(self._standing(node)), None)
        return last is not None and last.kind == "skip"

    def decided(self) -> list[Event]:
        """Return all decisions that hold now."""
        found = (self.decision(node) for node in self._of_node)
        return [event for event in found if event is not None]

    def undoable(self, who: str) -> str | None:
        """Return the last request of a reviewer that was not undone."""
        for request, events in reversed(self.requests.items()):
            first = events[0]
            if first.who == who and first.kind != "undo" and request not in self.undone:
                return request
        return None

    def touched(self, after: int) -> set[str]:
        """Return the nodes to which something was done after an event."""
        return {node for node, version in self.versions.items() if version > after}

    def _standing(self, node: str) -> Iterable[Event]:
        return (e for e in reversed(self._of_node.get(node, [])) if e.request not in self.undone)


def holds(event: Event, labels: dict[str, str]) -> bool:
    """Whether a decision says something about the label that its node has now."""
    return labels.get(event.node) in (event.given, event.label)
