"""Hypothesis strategies for questions and ACLs that often meet: few names, hosts, principals.

Each is drawn whole from the list of all, which costs hypothesis one choice instead of seven.
"""

from __future__ import annotations

from itertools import product, starmap

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
NAMES = ["a", "ab", "abb", "abba", "A", "a*", "a-", "aab-", "b", "*", "*a", "**"]
PRINCIPALS = ["User:a", "User:b", "User:*", "Group:a"]
HOSTS = ["*", "10.0.0.1", "10.0.0.2", "0:0:0:0:0:0:0:1", "::1"]
TYPES = [ResourceType.TOPIC, ResourceType.GROUP]
PATTERN_TYPES = [PatternType.LITERAL, PatternType.PREFIXED]
PERMISSIONS = [PermissionType.ALLOW, PermissionType.DENY]

_ACLS = list(
    starmap(Acl, product(TYPES, NAMES, PATTERN_TYPES, PRINCIPALS, HOSTS, OPERATIONS, PERMISSIONS))
)
_QUESTIONS = list(
    starmap(
        Question,
        product(
            [each for each in PRINCIPALS if each != "User:*"],
            [each for each in OPERATIONS if each is not Operation.ALL],
            TYPES,
            NAMES,
            [None, *(each for each in HOSTS if each != "*")],
        ),
    )
)

acls = st.sampled_from(_ACLS)
questions = st.sampled_from(_QUESTIONS)
configs = st.builds(
    AuthorizerConfig, st.sampled_from([frozenset(), frozenset({"User:b"})]), st.booleans()
)


def _sharing(question: Question) -> st.SearchStrategy[Acl]:
    """ACLs of the question's resource type and of a name that begins like its own."""
    return acls.map(
        lambda acl: acl._replace(
            resource_type=question.resource_type,
            resource_name=question.resource_name[: len(acl.resource_name)],
        )
    )


worlds = questions.flatmap(
    lambda question: st.tuples(
        st.lists(acls | _sharing(question), max_size=8), configs, st.just(question)
    )
)
"""(ACLs, configuration, question), where most ACLs have something to do with the question."""
