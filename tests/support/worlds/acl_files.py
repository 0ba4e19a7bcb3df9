"""Hypothesis strategies for the content of an ACL file: ACLs with odd names, notes, owns.

Kafka would create every one of these ACLs.
"""

from __future__ import annotations

from hypothesis import strategies as st

from metalog.acl import CLUSTER_NAME, Acl, Operation, PatternType, PermissionType, ResourceType
from metalog.scram import ScramCredential, ScramMechanism
from metalog_sources.formats.document import AclEntry, AclNotes, Document, Own, ScramUser

ODD = ["*", "no", "Yes", "~", "null", "007", "1e3", "a b", " a", "a:", "- x", "#x", "'", '"', "$x"]
names = st.one_of(
    st.sampled_from(["payments", "payments-eu", "a.b", *ODD]),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6),
)
plain_names = st.sampled_from(["a", "a-b", "a.b", "z9", "alice"])
RESOURCE_TYPES = [each for each in ResourceType if each > ResourceType.ANY]
OPERATIONS = [each for each in Operation if each > Operation.ANY]
PATTERN_TYPES = [PatternType.LITERAL, PatternType.PREFIXED]
PERMISSIONS = [PermissionType.ALLOW, PermissionType.DENY]


def _on_cluster(acl: Acl) -> Acl:
    if acl.resource_type is not ResourceType.CLUSTER:
        return acl
    return acl._replace(resource_name=CLUSTER_NAME)


principals = st.builds("{}:{}".format, st.sampled_from(["User", "Group"]), names)
acls = st.builds(
    Acl,
    st.sampled_from(RESOURCE_TYPES),
    names,
    st.sampled_from(PATTERN_TYPES),
    principals,
    st.sampled_from(["*", "10.0.0.1", "::1"]),
    st.sampled_from(OPERATIONS),
    st.sampled_from(PERMISSIONS),
).map(_on_cluster)
"""ACLs of which few share anything."""

similar_acls = st.builds(
    Acl,
    st.sampled_from([ResourceType.TOPIC, ResourceType.CLUSTER]),
    plain_names,
    st.sampled_from(PATTERN_TYPES),
    st.sampled_from(["User:a", "User:CN=b"]),
    st.sampled_from(["*", "10.0.0.1"]),
    st.sampled_from([Operation.READ, Operation.WRITE, Operation.ALL]),
    st.sampled_from(PERMISSIONS),
).map(_on_cluster)
"""ACLs that can be said to every tool, and that often regroup."""

notes = st.builds(
    AclNotes,
    st.none() | names,
    st.none() | names,
    st.none() | names,
    st.sampled_from([None, "2026-12-31", "2026-12-31T10:00:00Z"]),
)
entries = st.lists(
    st.builds(AclEntry, acls | similar_acls, notes | st.just(AclNotes()), st.none()), max_size=12
)
owns = st.builds(
    Own,
    st.sampled_from([ResourceType.ANY, *RESOURCE_TYPES]),
    names,
    st.sampled_from(PATTERN_TYPES),
    st.none() | principals,
) | st.builds(Own, st.sampled_from(RESOURCE_TYPES), st.none(), st.just(PatternType.LITERAL))
credentials = st.builds(
    ScramCredential,
    st.binary(min_size=1, max_size=8),
    st.binary(min_size=1, max_size=8),
    st.binary(min_size=1, max_size=8),
    st.integers(4096, 16384),
) | st.builds(ScramCredential, st.just(b""), st.just(b""), st.just(b""), st.integers(4096, 16384))
users = st.builds(ScramUser, names, st.sampled_from(ScramMechanism), credentials)
documents = st.builds(
    Document,
    entries.map(tuple),
    st.lists(owns, max_size=3, unique=True).map(tuple),
    st.lists(users, max_size=3, unique_by=lambda each: each[:2]).map(tuple),
)


def meant(document: Document) -> tuple[object, ...]:
    """The document's meaning, without its order and positions: an ACL's first notes count."""
    first: dict[Acl, AclNotes] = {}
    for acl, said, _ in document.entries:
        first.setdefault(acl, said)
    return first, frozenset(document.owns), frozenset(document.users)
