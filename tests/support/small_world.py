"""Hypothesis strategies for questions and ACLs that often meet: few names, hosts, principals."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product, starmap
from random import Random
from typing import Any

from hypothesis import strategies as st

from authorizer.config import AuthorizerConfig
from authorizer.trace import Question
from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType

MANY = 4_000
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


def _world(seed: int) -> tuple[list[Acl], AuthorizerConfig, Question]:
    random = Random(seed)
    question = random.choice(_QUESTIONS)
    found = random.choices(_ACLS, k=random.randrange(9))
    for number, acl in enumerate(found):
        if random.randrange(2):
            name = question.resource_name[: len(acl.resource_name)]
            found[number] = acl._replace(resource_type=question.resource_type, resource_name=name)
    super_users = random.choice([frozenset[str](), frozenset({"User:b"})])
    return found, AuthorizerConfig(super_users, random.random() < 0.5), question


worlds = st.integers(0, (1 << 64) - 1).map(_world)
"""(ACLs, configuration, question), where most ACLs have something to do with the question."""


def for_many_worlds(law: Callable[[list[Acl], AuthorizerConfig, Question], None]) -> Any:
    """A test that holds ``law`` against thousands of worlds, of which it names the failing one."""

    def test() -> None:
        for seed in range(MANY):
            try:
                law(*_world(seed))
            except AssertionError as failure:
                failure.add_note(f"in _world({seed}) of {__file__}")
                raise

    test.__doc__ = law.__doc__
    return test
