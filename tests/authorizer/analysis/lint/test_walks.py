"""Lint's look-ups of patterns find the same pairs as cells do. Lint checks all ACLs of a set; a
proof for each would take a hundred times as long."""

from __future__ import annotations

from collections.abc import Collection
from random import Random

from authorizer.analysis.cells.difference import SetComparison
from authorizer.analysis.cells.sessions import checked_operations
from authorizer.analysis.lint.unusual import idle, redundant_acls
from authorizer.analysis.lint.without_effect import overridden
from authorizer.config import AuthorizerConfig
from authorizer.kafka_version import KafkaVersion
from authorizer.trace import is_allow
from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from metalog.hosts.host_block import host_block
from tests.support.worlds.random_worlds import acl, world

GROUP, ALLOW = ResourceType.GROUP, PermissionType.ALLOW
EVERYTHING = [
    Acl(GROUP, name, pattern, "User:*", "*", Operation.ALL, ALLOW)
    for name, pattern in (("*", PatternType.LITERAL), ("*", PatternType.PREFIXED))
]


def is_alike(one: Collection[Acl], other: Collection[Acl], kafka: KafkaVersion) -> bool:
    config = AuthorizerConfig(kafka_version=kafka)
    return not any(SetComparison(one, other, config).differences())


def pairs(number: int) -> list[tuple[Acl, Acl]]:
    """Two ACLs that each match some request that Kafka asks for, often of one name."""
    random = Random(17)
    small = world(random, 3)._replace(kind=GROUP)
    asked = checked_operations(GROUP) | 1 << Operation.ALL
    found: list[tuple[Acl, Acl]] = []
    while len(found) < number:
        one, other = acl(random, small), acl(random, small)
        if random.random() < 0.5:
            names = one.resource_name[: random.randint(1, 2)]
            other = other._replace(resource_name=names, principal=one.principal)
        if all(asked >> each.operation & 1 for each in (one, other)):
            found.append((one, other))
    return found


def test_two_acls_are_compared_by_lint_as_by_cells() -> None:
    seen = set()
    for number, (one, other) in enumerate(pairs(900)):
        kafka = list(KafkaVersion)[number % 2]
        allows = [each._replace(permission_type=ALLOW) for each in (one, other)]
        if one == other or any(is_alike([each], [], kafka) for each in allows):
            continue  # a host is of no client
        if is_allow(one) is not is_allow(other):
            allow, deny = (one, other) if is_allow(one) else (other, one)
            is_overridden = any(each == allow for each, _ in overridden((allow, deny), kafka))
            assert is_overridden is is_alike([allow, deny], [], kafka), (allow, deny)
            is_idle = list(idle((allow, deny), kafka)) == [deny]
            assert is_idle is is_alike([allow, deny], [allow], kafka), (allow, deny)
            seen.add((is_overridden, is_idle))
        elif other.operation in (one.operation, Operation.ALL) and not _is_one_block(one, other):
            beside = [] if is_allow(one) else EVERYTHING
            is_covered = any(each == one for each, _ in redundant_acls((one, other), kafka))
            wanted = is_alike([one, other, *beside], [other, *beside], kafka)
            assert is_covered is wanted, (kafka, one, other)
            seen.add((is_allow(one), is_covered, "covered"))
    assert len(seen) == 3 + 4


def _is_one_block(one: Acl, other: Acl) -> bool:
    return host_block(one.host) is not None and host_block(one.host) == host_block(other.host)
