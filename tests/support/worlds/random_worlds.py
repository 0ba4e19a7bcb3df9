"""Small random worlds of requests, in which every combination can be decided."""

from __future__ import annotations

import re
from functools import cache
from ipaddress import ip_address, ip_network
from itertools import product
from random import Random
from typing import NamedTuple

from authorizer.analysis.cells.clients import ANY_HOST, HostSet
from authorizer.analysis.cells.names import NamePattern
from authorizer.analysis.cells.sessions import ANYBODY, PrincipalSet, Requests, checked_operations
from authorizer.config import AuthorizerConfig
from authorizer.engine.cache.decision_cache import DecisionContext
from authorizer.engine.index import AclIndex
from authorizer.kafka_version import KafkaVersion
from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType

A, B, ROOT, OTHER = "User:a", "User:b", "User:root", "User:zoe"
PRINCIPALS = (A, B, ROOT, OTHER)
NARROW, WIDE = "10.0.0.0/31", "10.0.0.0/8"
HOSTS = ("*", "*", "*", "10.0.0.1", NARROW, WIDE, "10.9.9.9/8", "0.0.0.0/0", "::/0")
HOSTS += ("2001:db8::/32", "2001:db8:0:0:0:0:0:1", "::1", "broker", "10.0.0.0/33")
CLIENTS = ("10.0.0.0", "10.0.0.1", "10.0.0.2", "10.1.0.5", "9.0.0.1", "200.0.0.1")
CLIENTS += tuple(f"{net}:0:0:0:0:0:{host}" for net in ("2001:db8", "fe80:0") for host in (1, 2))
OPERATIONS = (Operation.READ, Operation.WRITE, Operation.ALL, Operation.DESCRIBE)
OPERATIONS += (Operation.DELETE, Operation.ALTER_CONFIGS, Operation.READ, Operation.ALL)
CHARACTERS = "ab-*"
LEGAL = re.compile("[ab.x-]{1,249}")


def texts(longest: int) -> list[str]:
    lengths = range(1, longest + 1)
    return ["".join(each) for length in lengths for each in product(CHARACTERS, repeat=length)]


class World(NamedTuple):
    """``names`` has one name of each class that the patterns of this world can distinguish."""

    kind: ResourceType
    patterns: list[str]
    names: list[str]
    config: AuthorizerConfig


def world(random: Random, longest: int) -> World:
    kind = random.choice((ResourceType.TOPIC, ResourceType.GROUP))
    names = texts(longest)
    names += [name + "x" for name in ("", *texts(longest - 1))]
    if kind is ResourceType.TOPIC:
        names = [name for name in names if LEGAL.fullmatch(name)]
    config = AuthorizerConfig(
        frozenset({ROOT} if random.random() < 0.3 else ()),
        allow_everyone=random.random() < 0.4,
        kafka_version=random.choice(list(KafkaVersion)),
    )
    patterns = [*texts(longest - 1), *["*"] * 5, *["a", "ab", "b"] * 2]
    return World(kind, patterns, names, config)


def acl(random: Random, small: World) -> Acl:
    return Acl(
        small.kind,
        random.choice(small.patterns),
        random.choice((PatternType.LITERAL, PatternType.PREFIXED)),
        random.choice((A, A, B, ROOT, "User:*", "User:*")),
        random.choice(HOSTS),
        random.choice(OPERATIONS),
        PermissionType.ALLOW if random.random() < 0.7 else PermissionType.DENY,
    )


def acls(random: Random, small: World, most: int = 7) -> list[Acl]:
    return [acl(random, small) for _ in range(random.randint(0, most))]


def requests(random: Random, small: World) -> Requests:
    some = frozenset(random.sample(PRINCIPALS, random.randint(1, 2)))
    hosts = frozenset(random.sample(("10.0.0.1", WIDE, "10.1.0.0/16", "::/0"), 1))
    operations = random.choice((1 << Operation.READ, checked_operations(small.kind)))
    name = random.choice(small.patterns)
    return Requests(
        random.choice((ANYBODY, PrincipalSet(some), PrincipalSet(some, False))),
        random.choice((ANY_HOST, ANY_HOST, HostSet(hosts), HostSet(hosts, False))),
        operations,
        small.kind,
        random.choice((NamePattern(""), NamePattern(name), NamePattern(name, True))),
        random.choice(
            ((), (), (NamePattern(random.choice(small.patterns), random.random() < 0.5),))
        ),
    )


@cache
def is_from(hosts: HostSet, client: str) -> bool:
    address = ip_address(client)
    inside = any(address in ip_network(host) for host in hosts.hosts)
    return inside is not hosts.is_excluded


def is_about(asked: Requests, name: str) -> bool:
    """Whether some of the requests are for a resource with this name."""
    return asked.names.holds(name) and not any(each.holds(name) for each in asked.excluded)


class Answers:
    """The authorizer's answers: by session and name, the allowed operations."""

    def __init__(self, acls: list[Acl], config: AuthorizerConfig) -> None:
        self._context = DecisionContext(AclIndex.of(acls), config, shut_by="")

    def on(self, kind: ResourceType, principal: str, client: str, names: list[str]) -> list[int]:
        scope = self._context.session_cache(kind, (client, principal))
        return [scope.allowed_on(name) for name in names]
