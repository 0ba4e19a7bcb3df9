"""Hypothesis strategies for histories in which a few ACLs are added, removed and bound again."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from authorizer.history.timeline import TimelineChange
from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from metalog.ids import Uuid

START = 5
NAMES = ["a", "ab", "abb", "b", "*", "*a"]
PRINCIPALS = ["User:a", "User:b", "User:*", "Group:a"]
HOSTS = ["*", "*", "10.0.0.1", "10.0.0.0/8", "10.9.9.9/8", "10.0.0.2/31"]
OPERATIONS = [Operation.ALL, Operation.READ, Operation.WRITE, Operation.DESCRIBE]
small_acls = st.builds(
    Acl,
    st.sampled_from([ResourceType.TOPIC] * 5 + [ResourceType.GROUP]),
    st.sampled_from(NAMES),
    st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    st.sampled_from(PRINCIPALS),
    st.sampled_from(HOSTS),
    st.sampled_from(OPERATIONS),
    st.sampled_from([PermissionType.ALLOW, PermissionType.ALLOW, PermissionType.DENY]),
)
ids = st.integers(0, 4).map(lambda number: Uuid(number.to_bytes(16, "big")))
bases = st.dictionaries(ids, small_acls, max_size=3)


@st.composite
def histories(draw: st.DrawFn) -> list[TimelineChange]:
    """Changes at increasing offsets and times; some take effect together, by a transaction."""
    changes: list[TimelineChange] = []
    offset, time = START, 100
    for size in draw(st.lists(st.integers(1, 3), max_size=5)):
        time += draw(st.integers(0, 2))
        pairs = draw(st.lists(st.tuples(ids, st.none() | small_acls), min_size=size, max_size=size))
        end = None if size == 1 else offset + size
        changes += [TimelineChange(offset + i, *pair, time, end) for i, pair in enumerate(pairs)]
        offset += size + 2
    return changes


def replayed(base: Mapping[Uuid, Acl], changes: list[TimelineChange]) -> dict[Uuid, Acl]:
    state = dict(base)
    for change in changes:
        state.pop(change.id, None)
        if change.acl is not None:
            state[change.id] = change.acl
    return state


def at_offset(
    base: Mapping[Uuid, Acl], changes: list[TimelineChange], offset: int
) -> dict[Uuid, Acl]:
    return replayed(base, [each for each in changes if each.at <= offset])
