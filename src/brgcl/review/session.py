"""One review: the run that is shown and the decisions on it, as the page asks for them."""

import threading
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from brgcl.errors import BrgclError, InputError
from brgcl.review.content import Content, number
from brgcl.review.decisions import Choice, Decisions
from brgcl.review.queue import draw_unflagged, order_queue
from brgcl.review.replay import Event, Kind, State, holds
from brgcl.review.summary import summarise

if TYPE_CHECKING:
    import numpy as np

HISTORY = 40  # requests that the page lists


class Replaced(BrgclError):  # noqa: N818 - reads as what happened
    """The run folder has other suspects than those that the page shows."""


class Session:
    """A run under review by one person.

    Args:
        content: What is shown.
        decisions: Where decisions are kept.
        who: Name of the reviewer.
    """

    def __init__(self, content: Content, decisions: Decisions, who: str) -> None:
        self.content, self.decisions, self.who = content, decisions, who
        self._lock = threading.Lock()
        self._stamp: object = None

    def describe(self) -> dict[str, Any]:
        """Return all that the page needs to begin; JSON-ready.

        `nodes` has columns over all nodes, `suspects` columns over labelled ones, whose `row`
        points into `nodes`; classes are numbers; `queue` lists places in `suspects`.
        """
        content = self.content
        code = {name: number for number, name in enumerate(content.classes)}
        suspects, nodes = content.suspects, content.nodes
        columns: dict[str, Any] = {"id": content.ids}
        columns["given"] = [-1] * len(content.ids)
        for node, label in content.labels.items():
            columns["given"][content.row[node]] = code[label]
        for name, column in (("x", "map_x"), ("y", "map_y"), ("confidence", "confidence")):
            if column in nodes:
                columns[name] = [number(value) for value in nodes[column]]
        if "predicted" in nodes:
            columns["predicted"] = [code.get(str(name), -1) for name in nodes["predicted"]]
        if "cluster" in nodes:
            columns["cluster"] = [int(c) if c == c else -1 for c in nodes["cluster"]]
        return {
            "run": content.path.absolute().name,
            "who": self.who,
            "fingerprint": content.fingerprint,
            "classes": content.classes,
            "transition": self._transition(),
            "nodes": columns,
            "suspects": {
                "row": [int(row) for row in suspects["row"]],
                "given": [code[name] for name in suspects["given"]],
                "suggested": [code[name] for name in suspects["suggested"]],
                "probability": [number(value) for value in suspects["probability"]],
                "score": [number(value) for value in suspects["score"]],
                "flagged": [bool(value) for value in suspects["is_error"]],
            },
            "queue": [int(place) for place in self._queue],
            "drawn": [int(place) for place in self._drawn],
            **self.changes(0),
        }

    def details(self, row: int) -> dict[str, Any]:
        """Return what the page shows about one node."""
        if not 0 <= row < len(self.content.ids):
            raise InputError(f"there is no node number {row}")
        return self.content.details(row)

    def changes(self, after: int) -> dict[str, Any]:
        """Return what was done after an event, and what it all comes to; JSON-ready."""
        with self._lock:
            state = self.decisions.state()
            touched = [node for node in state.touched(after) if node in self.content.place]
            return {
                "last": state.last,
                "states": [self._state_of(node, state) for node in sorted(touched)],
                "history": self._history(state),
                "undoable": state.undoable(self.who),
                "summary": summarise(self.content, state, self._drawn),
            }

    def decide(
        self, request: str, place: int, kind: Kind, label: str | None, version: int
    ) -> list[str]:
        """Decide on one labelled node, or skip it.

        Returns:
            The node, in a list.

        Raises:
            Conflict: Its state is not the one that the page saw.
            NotSaved: The decision could not be written.
        """
        suspect = self._suspect(place)
        if kind == "accept":
            label = suspect["suggested"]
        elif kind == "keep":
            label = suspect["given"]
        elif kind == "choose":
            if label not in self.content.classes:
                raise InputError(f"there is no class '{label}'; choose one from the list")
        elif kind != "skip":
            raise InputError(f"'{kind}' is not a decision; give accept, keep, choose or skip")
        if label == suspect["given"]:
            kind = "keep"
        elif label == suspect["suggested"]:
            kind = "accept"
        label = None if kind == "skip" else label
        reason = suspect["evidence"]
        choice = Choice(suspect["node"], suspect["given"], label, kind, reason, version)
        self._check_folder()
        with self._lock:
            return self.decisions.record(request, self.who, [choice])

    def accept_all(self, request: str, places: list[int]) -> list[str]:
        """Accept the suggestions for many suspects at once; returns the nodes that were changed."""
        chosen = [self._suspect(place) for place in dict.fromkeys(places)]
        if not all(suspect["is_error"] for suspect in chosen):
            raise InputError("only flagged labels can be accepted together")
        choices = [
            Choice(s["node"], s["given"], s["suggested"], "accept", s["evidence"]) for s in chosen
        ]
        self._check_folder()
        with self._lock:
            return self.decisions.record(request, self.who, choices, bulk=True)

    def undo(self, request: str, undoes: str) -> list[str]:
        """Revert the last decision or bulk accept of this reviewer; returns the nodes."""
        with self._lock:
            return self.decisions.undo(request, self.who, undoes)

    def earlier(self) -> dict[Literal["applies", "stale"], int]:
        """Count decisions made on other suspects: those that still apply, and those that do not."""
        events = [e for e in self.decisions.state().decided() if e.run != self.content.fingerprint]
        applies = sum(holds(event, self.content.labels) for event in events)
        return {"applies": applies, "stale": len(events) - applies}

    @cached_property
    def _drawn(self) -> "np.ndarray[Any, Any]":
        return draw_unflagged(self.content.suspects)

    @cached_property
    def _queue(self) -> "np.ndarray[Any, Any]":
        return order_queue(self.content.suspects, self._drawn)

    def _suspect(self, place: int) -> dict[str, Any]:
        if not 0 <= place < len(self.content.suspects):
            raise InputError(f"there is no labelled node number {place}")
        suspect = self.content.suspects.iloc[place]
        return {str(name): suspect[name] for name in suspect.index}

    def _check_folder(self) -> None:
        stamp = self.content.stamp()
        if stamp != self._stamp:  # read the file only when it was touched
            if self.content.replaced():
                raise Replaced(
                    f"'{self.content.path}' has the results of another run by now; "
                    "stop brgcl review and start it again"
                )
            self._stamp = stamp

    def _transition(self) -> list[list[float | None]] | None:
        rows = self.content.findings.get("transition")
        names = self.content.findings.get("class_names", [])
        if not rows or len(rows) != len(self.content.classes) or len(names) != len(rows):
            return None
        return [[number(value) for value in row] for row in rows]

    def _decision(self, node: str, state: State) -> Event | None:
        event = state.decision(node)
        return event if event is not None and holds(event, self.content.labels) else None

    def _state_of(self, node: str, state: State) -> dict[str, Any]:
        event = self._decision(node, state)
        about: dict[str, Any] = {
            "place": self.content.place[node],
            "version": state.version(node),
            "skipped": event is None and state.skipped(node),
        }
        if event is not None:
            about |= {"kind": event.kind, "label": event.label, "who": event.who}
            about |= {"at": event.decided_at, "bulk": event.bulk}
        return about

    def _history(self, state: State) -> list[dict[str, Any]]:
        requests = list(state.requests.items())[-HISTORY:]
        return [
            {
                "request": request,
                "kind": events[0].kind,
                "label": events[0].label,
                "given": events[0].given,
                "node": events[0].node,
                "place": self.content.place.get(events[0].node),
                "count": len(events),
                "bulk": events[0].bulk,
                "who": events[0].who,
                "at": events[0].decided_at,
                "undone": request in state.undone,
            }
            for request, events in reversed(requests)
        ]

    def summary(self) -> dict[str, Any]:
        """Return how far the review is and how many labels are still wrong; JSON-ready."""
        with self._lock:
            return summarise(self.content, self.decisions.state(), self._drawn)
