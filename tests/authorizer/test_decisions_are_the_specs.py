"""Every fast path decides as the linear scan does, with the same rule."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import pytest

from authorizer import (
    Acl,
    Action,
    Operation,
    PatternType,
    PermissionType,
    RequestContext,
    ResourcePattern,
    ResourceType,
    StandardAuthorizer,
)
from authorizer.engine.cache import session_cache
from authorizer.kafka_version import KafkaVersion
from tests.support.worlds import spec

EXAMPLES = 10_000
"""Examples in each of two parts, which run in parallel on several cores."""

ALPHABET = "ab*-"
NAMES = ["".join(letters) for size in range(6) for letters in product(ALPHABET, repeat=size)]
TYPES = (ResourceType.TOPIC, ResourceType.GROUP)
PATTERN_TYPES = (PatternType.LITERAL, PatternType.PREFIXED)
PRINCIPALS = ("User:a", "User:b", "User:*", "Group:a", "a")
CLIENTS = ("1.1.1.1", "2.2.2.2")
BLOCKS = ("1.1.1.1/8", "1.0.0.0/8", "1.1.1.0/31", "0.0.0.0/0", "1.1.1.1/33", "::/0")
HOSTS = ("*", "*", *CLIENTS, *CLIENTS, *BLOCKS)
OPERATIONS = (
    Operation.ALL,
    Operation.READ,
    Operation.WRITE,
    Operation.DESCRIBE,
    Operation.ALTER_CONFIGS,
    Operation.DESCRIBE_CONFIGS,
)
PERMISSIONS = (PermissionType.ALLOW, PermissionType.DENY)

REST_OF_ACLS = list(
    product((*TYPES[:1], *TYPES), PATTERN_TYPES, PRINCIPALS, HOSTS, OPERATIONS, PERMISSIONS)
)
CONTEXTS = [
    RequestContext(principal, host, additional_principals=additional)
    for principal in PRINCIPALS
    for host in CLIENTS
    for additional in ((), ("Group:a",), ("Group:a", "User:b"))
]


class World(NamedTuple):
    """A name, ACLs mostly on its prefixes, on ``*`` or near them, and a client."""

    name: str
    acls: list[Acl]
    context: RequestContext
    default: bool
    kafka: KafkaVersion

    def authorizer(self) -> StandardAuthorizer:
        return StandardAuthorizer.from_acls(
            self.acls, allow_everyone=self.default, kafka_version=self.kafka.value, tolerant=True
        )

    @property
    def who(self) -> tuple[set[str], str]:
        context = self.context
        return {context.principal, *context.additional_principals}, context.host


def _worlds(count: int) -> Iterator[World]:
    """Worlds with up to twelve ACLs, different in each run: pytest-randomly seeds ``random`` for
    each test and prints the seed. That costs a tenth of hypothesis, and there is little to
    shrink."""
    for _ in range(count):
        name = random.choice(NAMES)
        ends = [name[:end] for end in range(len(name) + 1)]
        near = [*ends, *ends, *ends, "*", "**", name + "a", *NAMES[1:5], *NAMES[-3:]]
        acls = {}
        for _ in range(random.randrange(13)):
            kind, *rest = random.choice(REST_OF_ACLS)
            acls[Acl(kind, random.choice(near), *rest)] = None
        context, default = random.choice(CONTEXTS), random.random() < 0.5
        yield World(name, list(acls), context, default, random.choice(list(KafkaVersion)))


def _oddly_coded(acl: Acl) -> Acl:
    return random.choice(
        (
            acl,
            acl._replace(permission_type=random.choice(list(PermissionType))),
            acl._replace(pattern_type=random.choice(list(PatternType))),
            acl._replace(operation=random.choice(list(Operation))),
            acl._replace(resource_type=random.choice(list(ResourceType))),
        )
    )


@pytest.mark.once
@pytest.mark.parametrize("part", range(2))
def test_decision_and_rule_equal_the_specs(part: int) -> None:
    for world in _worlds(EXAMPLES):
        if part:
            world = world._replace(acls=[_oddly_coded(acl) for acl in world.acls])
        name, acls, context, default, kafka = world
        authorizer = world.authorizer()
        for operation in OPERATIONS:
            action = Action(operation, ResourcePattern(TYPES[0], name))
            expected = spec.decide(acls, world.who, operation, TYPES[0], name, default, kafka)
            assert authorizer.decide(context, action) == expected, world
            assert authorizer.is_allowed(context, action) == bool(expected.result), world


@pytest.mark.parametrize("names_before_prefixes", [0, 3])
def test_what_is_remembered_of_one_name_is_right_for_all_others(
    names_before_prefixes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_cache, "PREFIX_LENGTHS", (4, 2, 1, 0))
    monkeypatch.setattr(session_cache, "NAMES_BEFORE_PREFIXES", names_before_prefixes)
    for world in _worlds(300):
        authorizer = world.authorizer()
        others = random.choices(NAMES, k=random.randrange(21))
        for name in (world.name, *others, world.name):
            actions = [
                Action(operation, ResourcePattern(TYPES[0], name)) for operation in OPERATIONS
            ]
            results = [
                spec.decide(
                    world.acls, world.who, op, TYPES[0], name, world.default, world.kafka
                ).result
                for op in OPERATIONS
            ]
            assert list(authorizer.authorize(world.context, actions)) == results, (world, others)


def test_no_prefix_dominates_an_allow_on_the_wildcard() -> None:
    """As in Kafka, the wildcard's ALLOW is looked at before the prefixes' DENYs."""
    literal, prefixed = PATTERN_TYPES
    grant, deny = PERMISSIONS
    allow = Acl(TYPES[0], "*", literal, "User:a", "*", Operation.READ, grant)
    denies = [
        Acl(TYPES[0], name, prefixed, "User:a", "*", Operation.READ, deny) for name in ("hard", "*")
    ]
    context = RequestContext("User:a", "h")
    for acls in ([allow, *denies], denies):
        authorizer = StandardAuthorizer.from_acls(acls, tolerant=True)
        result = authorizer.authorize_by_resource_type(context, Operation.READ, TYPES[0])
        assert bool(result) is (allow in acls)
        who = ({"User:a"}, "h")
        assert bool(result) is spec.is_allowed_by_resource_type(
            acls, who, Operation.READ, TYPES[0], False
        )


@pytest.mark.once
@pytest.mark.parametrize("has_odd_codes", [False, True])
def test_by_resource_type_equals_the_specs(has_odd_codes: bool) -> None:
    for world in _worlds(1_500):
        if has_odd_codes:
            world = world._replace(acls=[_oddly_coded(acl) for acl in world.acls])
        _, acls, context, default, kafka = world
        operation = random.choice(OPERATIONS)
        authorizer = world.authorizer()
        result = authorizer.authorize_by_resource_type(context, operation, TYPES[0])
        expected = spec.is_allowed_by_resource_type(
            acls, world.who, operation, TYPES[0], default, kafka
        )
        assert bool(result) == expected, world
