"""ACLs of KIP-11's kind, few words in many combinations, and an authorizer with them.

This module must not know what a test claims.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from hypothesis import strategies as st

from authorizer.compat.kip11 import (
    Acl,
    Operation,
    PatternType,
    PermissionType,
    Resource,
    ResourceType,
    SimpleAclAuthorizer,
)
from authorizer.compat.kip11.model import entries_of
from metalog import Replica
from metalog.ids import Uuid
from metalog.log.memory import WritableMemoryLog

PRINCIPALS = ("User:a", "User:b", "User:*")
HOSTS = ("10.0.0.1", "10.0.0.2", "*")
OPERATIONS = (*list(Operation)[2:9], Operation.CLUSTER_ACTION)
NAMES = ("", "*", "p", "pa", "pay", "pay-eu", "q")

acls = st.builds(
    Acl,
    st.sets(st.sampled_from(PRINCIPALS), min_size=1),
    st.sampled_from([PermissionType.ALLOW, PermissionType.ALLOW, PermissionType.DENY]),
    st.sets(st.sampled_from(HOSTS), min_size=1),
    st.sets(st.sampled_from(OPERATIONS), min_size=1),
)
resources = st.builds(
    Resource,
    st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP]),
    st.sampled_from(NAMES[1:]),
    st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
)
Attached = list[tuple[Acl, Resource]]
attached = st.lists(st.tuples(acls, resources), max_size=6)


def having(
    given: Iterable[tuple[Acl, Resource]], config: Mapping[str, object] | None = None
) -> SimpleAclAuthorizer:
    """A ready authorizer with these ACLs and without a log."""
    authorizer = SimpleAclAuthorizer()
    authorizer.initialize(config or {})
    entries = dict.fromkeys(
        entry for acl, resource in given for entry in entries_of([acl], resource)
    )
    authorizer.standard.load_snapshot(
        {Uuid(number.to_bytes(16, "big")): entry for number, entry in enumerate(entries, 1)}
    )
    authorizer.complete_initial_load()
    return authorizer


@contextmanager
def on_a_log(config: Mapping[str, object] | None = None) -> Iterator[SimpleAclAuthorizer]:
    """A ready authorizer on a log that it can change."""
    authorizer = SimpleAclAuthorizer()
    authorizer.initialize(config or {})
    opened = authorizer.as_todays().start({"CLIENT": ""})["CLIENT"]
    with Replica(WritableMemoryLog(), publishers=[authorizer]):
        opened.result(60)
        yield authorizer
