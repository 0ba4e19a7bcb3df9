"""The report of an upgrade equals our own authorizer's answers under both versions."""

from __future__ import annotations

import random
from itertools import product

from authorizer.analysis.changes.upgrade import upgrade
from authorizer.config import AuthorizerConfig
from authorizer.engine.bulk import BulkDecider, RequestColumns
from authorizer.engine.index import AclIndex
from authorizer.kafka_version import KafkaVersion
from metalog.acl import (
    SUPPORTED_OPERATIONS,
    Acl,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from tests.support.worlds.small_world import BLOCKS, CLIENTS, HOSTS, NAMES, OPERATIONS, PRINCIPALS

GROUP = ResourceType.GROUP
WORLDS = 60
ASKED = list(
    product(
        ["User:a", "User:b", "User:zoe"],
        CLIENTS,
        [each.name for each in OPERATIONS if each in SUPPORTED_OPERATIONS[GROUP]],
        [GROUP.name],
        [*NAMES, "z"],
    )
)


def _acls() -> list[Acl]:
    return [
        Acl(
            GROUP,
            random.choice(NAMES),
            random.choice((PatternType.LITERAL, PatternType.PREFIXED)),
            random.choice(PRINCIPALS),
            random.choice((*HOSTS, *BLOCKS)),
            random.choice(OPERATIONS),
            random.choice((PermissionType.ALLOW, PermissionType.ALLOW, PermissionType.DENY)),
        )
        for _ in range(random.randrange(6))
    ]


def _answers(acls: list[Acl], config: AuthorizerConfig, asked: list[tuple[str, ...]]) -> list[bool]:
    columns = RequestColumns(*map(list, zip(*asked, strict=True)))
    return BulkDecider(AclIndex.of(acls), config).allowed(columns)


def test_each_witness_turns_and_what_turns_has_one() -> None:
    for _ in range(WORLDS):
        acls, to = _acls(), random.choice(list(KafkaVersion))
        config = AuthorizerConfig(frozenset({"User:b"}), random.random() < 0.3)
        before, after = (config._replace(kafka_version=each) for each in (to.other, to))
        found = upgrade(acls, config, to)
        assert found.is_whole
        effects = [each for answers in found.effects.values() for each in answers]
        for each in effects:
            who, _, _, name, host, _ = each.witness
            assert host is not None
            asked = [
                (who, host, operation.name, GROUP.name, name)
                for operation in sorted(each.gains | each.loses)
            ]
            gained = [operation in each.gains for operation in sorted(each.gains | each.loses)]
            assert _answers(acls, after, asked) == gained
            assert _answers(acls, before, asked) == [not each for each in gained]
        pairs = zip(ASKED, _answers(acls, before, ASKED), _answers(acls, after, ASKED), strict=True)
        changed = {row[2] for row, was, will in pairs if was is not will}
        said = {each.name for one in effects for each in one.gains | one.loses}
        assert changed <= said


def test_a_set_that_would_take_too_many_requests_is_not_called_whole() -> None:
    acls = [
        Acl(GROUP, "a", PatternType.LITERAL, who, host, Operation.READ, PermissionType.ALLOW)
        for who, host in product(PRINCIPALS, BLOCKS)
    ]
    assert upgrade(acls, AuthorizerConfig(), KafkaVersion.V4_4).is_whole
    assert not upgrade(acls, AuthorizerConfig(), KafkaVersion.V4_4, most_cells=3).is_whole
