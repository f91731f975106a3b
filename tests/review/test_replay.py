import itertools

from hypothesis import given
from hypothesis import strategies as st

from brgcl.review.replay import DECISIONS, Event, State


def event(number, request, node, kind, label=None, who="ann", undoes=None):
    return Event(number, request, False, node, "old", label, kind, who, "", "", "run", undoes)


def test_the_last_decision_that_was_not_undone_holds():
    state = State()
    state.apply([event(1, "r1", "a", "accept", "x"), event(2, "r2", "a", "choose", "y")])
    assert state.decision("a").label == "y"
    state.apply([event(3, "r3", "a", "undo", undoes="r2")])
    assert state.decision("a").label == "x"
    assert state.version("a") == 3
    state.apply([event(4, "r4", "a", "undo", undoes="r1")])
    assert state.decision("a") is None


def test_a_skip_decides_nothing_and_takes_nothing_back():
    state = State()
    state.apply([event(1, "r1", "a", "skip")])
    assert state.decision("a") is None
    assert state.skipped("a")
    state.apply([event(2, "r2", "a", "keep", "old"), event(3, "r3", "a", "skip")])
    assert state.decision("a").label == "old"


def test_a_reviewer_undoes_only_what_is_theirs():
    state = State()
    state.apply([event(1, "r1", "a", "accept", "x"), event(2, "r2", "b", "keep", "old", who="bob")])
    assert state.undoable("ann") == "r1"
    assert state.undoable("bob") == "r2"
    state.apply([event(3, "r3", "a", "undo", undoes="r1")])
    assert state.undoable("ann") is None
    assert state.undoable("carl") is None


actions = st.lists(
    st.tuples(
        st.sampled_from([*DECISIONS, "skip", "undo"]),
        st.sampled_from("abc"),
        st.sampled_from(["ann", "bob"]),
    ),
    max_size=30,
)


@given(actions)
def test_replaying_equals_a_stack_that_is_kept_by_hand(steps):
    """Slow reference: the list of requests that stand, searched from its end."""
    state, standing, number = State(), [], itertools.count(1)
    for kind, node, who in steps:
        identity = next(number)
        request = f"r{identity}"
        if kind == "undo":
            mine = [entry for entry in standing if entry[3] == who]
            assert state.undoable(who) == (mine[-1][0] if mine else None)
            if mine:
                standing.remove(mine[-1])
                undone = mine[-1]
                state.apply(
                    [event(identity, request, undone[1], "undo", who=who, undoes=undone[0])]
                )
            continue
        label = None if kind == "skip" else request
        state.apply([event(identity, request, node, kind, label, who)])
        standing.append((request, node, kind, who))
    for node in "abc":
        mine = [e for e in standing if e[1] == node]
        decided = [e[0] for e in mine if e[2] != "skip"]
        found = state.decision(node)
        assert (found.label if found else None) == (decided[-1] if decided else None)
        assert state.skipped(node) == (bool(mine) and mine[-1][2] == "skip")
    assert {e.node for e in state.decided()} == {e[1] for e in standing if e[2] != "skip"}
