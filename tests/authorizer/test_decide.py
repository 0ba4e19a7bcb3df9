"""The parts of a decision, each by itself: hosts, the default rule, and the order of ACLs."""

from __future__ import annotations

import pytest

from authorizer import Acl, Operation
from authorizer.engine.decide import (
    ALLOWED_BY_DEFAULT,
    DENIED_BY_DEFAULT,
    decide,
    order_in_pattern,
    sorted_in_pattern,
    subject,
)
from authorizer.kafka_version import KafkaVersion
from tests.support.worlds.small_acls import allow


def _acl(principal: str, host: str = "*") -> Acl:
    return allow("pay", principal=principal, host=host)


@pytest.mark.parametrize(
    ("host", "in_4_3", "in_4_4"),
    [
        ("*", True, True),
        ("10.0.0.7", True, True),
        ("10.0.0.8", False, False),
        ("10.0.0.0/24", False, True),
        ("10.0.1.0/24", False, False),
        ("10.0.0.0/33", False, False),
        ("no/block", False, False),
    ],
)
def test_only_kafka_4_4_matches_a_client_with_a_block(
    host: str, in_4_3: bool, in_4_4: bool
) -> None:
    found = [
        subject("10.0.0.7", "User:a", kafka=kafka).comes_from(host)
        for kafka in (KafkaVersion.V4_3, KafkaVersion.V4_4)
    ]
    assert found == [in_4_3, in_4_4]


def test_the_default_rule_is_only_of_resources_without_acls() -> None:
    who = subject("h", "User:a", kafka=KafkaVersion.V4_3)
    for acls, expected in [([], ALLOWED_BY_DEFAULT), ([_acl("User:b")], DENIED_BY_DEFAULT)]:
        assert decide(acls, who, Operation.READ, allow_everyone=True) == expected


def test_acls_are_in_javas_order_also_beyond_the_first_65536_characters() -> None:
    acls = [_acl("User:\uffff"), _acl("User:\U0001f600"), _acl("User:a", "\uffff"), _acl("User:a")]
    assert sorted_in_pattern(acls) == tuple(sorted(acls, key=order_in_pattern))
    assert sorted_in_pattern(acls)[2:] == (acls[1], acls[0])
