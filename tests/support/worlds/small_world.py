"""Hypothesis strategies for questions and ACLs that often match: few names, hosts, principals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product, starmap
from random import Random
from typing import Any, TypeVar

from hypothesis import strategies as st

from authorizer.config import AuthorizerConfig
from authorizer.kafka_version import KafkaVersion
from authorizer.trace import Question
from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from metalog.hosts.host_block import client_address, host_block

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
CLIENTS = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.9.9.9", "0:0:0:0:0:0:0:1", "0:0:0:0:0:0:0:2"]
BLOCKS = ["10.0.0.0/8", "10.7.7.7/8", "10.0.0.2/31", "0.0.0.0/0", "::/127", "10.0.0.0/33"]
HOSTS = ["*", "*", "10.0.0.1", "10.0.0.2", "0:0:0:0:0:0:0:1", "::1", *BLOCKS]
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
            [None, *CLIENTS, "::1"],
        ),
    )
)

acls = st.sampled_from(_ACLS)
questions = st.sampled_from(_QUESTIONS)
configs = st.builds(
    AuthorizerConfig,
    st.sampled_from([frozenset(), frozenset({"User:b"})]),
    st.booleans(),
    kafka_version=st.sampled_from(KafkaVersion),
)


def random_acl(random: Random) -> Acl:
    return random.choice(_ACLS)


def random_question(random: Random) -> Question:
    return random.choice(_QUESTIONS)


def _world(seed: int) -> tuple[list[Acl], AuthorizerConfig, Question]:
    random = Random(seed)
    question = random.choice(_QUESTIONS)
    found = random.choices(_ACLS, k=random.randrange(9))
    for number, acl in enumerate(found):
        if random.randrange(2):
            name = question.resource_name[: len(acl.resource_name)]
            found[number] = acl._replace(resource_type=question.resource_type, resource_name=name)
    super_users = random.choice([frozenset[str](), frozenset({"User:b"})])
    kafka = random.choice(list(KafkaVersion))
    return (
        found,
        AuthorizerConfig(super_users, random.random() < 0.5, kafka_version=kafka),
        question,
    )


Value = TypeVar("Value")


def from_there(by_host: Mapping[str, Value], client: str) -> Value | None:
    """The value for a client's host, or else for the narrowest CIDR block that contains the
    host."""
    if client in by_host:
        return by_host[client]
    address = client_address(client)
    blocks = [(block, host) for host in by_host if (block := host_block(host)) is not None]
    around = [pair for pair in blocks if address is not None and pair[0].contains(address)]
    return by_host[max(around)[1]] if around else None


worlds = st.integers(0, (1 << 64) - 1).map(_world)
"""(ACLs, configuration, question); most ACLs are related to the question."""


def for_many_worlds(law: Callable[[list[Acl], AuthorizerConfig, Question], None]) -> Any:
    """A test that checks ``law`` in thousands of worlds, and names the world that fails."""

    def test() -> None:
        for seed in range(MANY):
            try:
                law(*_world(seed))
            except AssertionError as failure:
                failure.add_note(f"in _world({seed}) of {__file__}")
                raise

    test.__doc__ = law.__doc__
    return test
