"""Hypothesis strategies for questions and ACLs that often meet: few names, hosts, principals."""

from __future__ import annotations

from hypothesis import strategies as st

from authorizer.config import AuthorizerConfig
from authorizer.trace import Question
from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType

OPERATIONS = [
    Operation.ALL,
    Operation.READ,
    Operation.WRITE,
    Operation.DESCRIBE,
    Operation.ALTER_CONFIGS,
    Operation.DESCRIBE_CONFIGS,
]
NAMES = st.text("ab*-", min_size=1, max_size=5)
PRINCIPALS = ["User:a", "User:b", "User:*", "Group:a"]
HOSTS = ["*", "10.0.0.1", "10.0.0.2", "0:0:0:0:0:0:0:1", "::1"]
TYPES = [ResourceType.TOPIC, ResourceType.GROUP]

acls = st.builds(
    Acl,
    st.sampled_from(TYPES),
    NAMES | st.just("*"),
    st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    st.sampled_from(PRINCIPALS),
    st.sampled_from(HOSTS),
    st.sampled_from(OPERATIONS),
    st.sampled_from([PermissionType.ALLOW, PermissionType.DENY]),
)
acl_sets = st.lists(acls, max_size=12)
questions = st.builds(
    Question,
    st.sampled_from([each for each in PRINCIPALS if each != "User:*"]),
    st.sampled_from([each for each in OPERATIONS if each is not Operation.ALL]),
    st.sampled_from(TYPES),
    NAMES,
    st.sampled_from([None, *(each for each in HOSTS if each != "*")]),
)
configs = st.builds(
    AuthorizerConfig, st.sampled_from([frozenset(), frozenset({"User:b"})]), st.booleans()
)
