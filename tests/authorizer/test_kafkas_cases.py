"""What Kafka's AuthorizerTest, BaseAuthorizerTest and StandardAuthorizerTest state: ACLs, questions
and answers, word by word, without a specification of ours. docs/reference/kafka-tests.md names the
cases."""

from __future__ import annotations

import logging
from collections.abc import Sequence

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
from authorizer.audit.line import LOGGER, TRACE
from metalog.ids import Uuid

ALL, READ, WRITE, DESCRIBE = Operation.ALL, Operation.READ, Operation.WRITE, Operation.DESCRIBE
CREATE, ALTER, DESCRIBE_CONFIGS = Operation.CREATE, Operation.ALTER, Operation.DESCRIBE_CONFIGS
GROUP, TOPIC, CLUSTER = ResourceType.GROUP, ResourceType.TOPIC, ResourceType.CLUSTER
TRANSACTIONAL_ID = ResourceType.TRANSACTIONAL_ID
HOST_1, HOST_2 = "192.168.1.1", "192.168.1.2"
NAMED = [each for each in Operation if each >= ALL]
IMPLIED_BY_ALLOW = {
    ALL: NAMED,
    READ: [DESCRIBE],
    WRITE: [DESCRIBE],
    Operation.DELETE: [DESCRIBE],
    ALTER: [DESCRIBE],
    Operation.ALTER_CONFIGS: [DESCRIBE_CONFIGS],
}


def acl(text: str) -> Acl:
    """Of a line such as ``ALLOW User:alice READ TOPIC foo*`` or ``… TOPIC foo from 10.0.0.1``; a
    ``*`` behind a name makes it a prefix."""
    told, _, host = text.partition(" from ")
    permission, principal, operation, kind, name = told.split()
    is_prefix = name.endswith("*") and name != "*"
    return Acl(
        ResourceType[kind],
        name.removesuffix("*") if is_prefix else name,
        PatternType.PREFIXED if is_prefix else PatternType.LITERAL,
        principal,
        host or "*",
        Operation[operation],
        PermissionType[permission],
    )


def authorizer_of(*acls: str, everyone: bool = False) -> StandardAuthorizer:
    return StandardAuthorizer.from_acls(
        [acl(each) for each in acls],
        super_users=["User:superuser1", "User:superuser2"],
        allow_everyone=everyone,
    )


def may(
    authorizer: StandardAuthorizer,
    principal: str,
    operation: Operation,
    name: str,
    *,
    host: str = HOST_1,
    kind: ResourceType = TOPIC,
) -> bool:
    return authorizer.is_allowed(
        RequestContext(principal, host), Action(operation, ResourcePattern(kind, name))
    )


def may_any(
    authorizer: StandardAuthorizer, who: str, operation: Operation, kind: ResourceType = TOPIC
) -> bool:
    """``who`` is a principal, or one ``@`` a host."""
    principal, _, host = who.partition("@")
    context = RequestContext(principal, host or HOST_1)
    return bool(authorizer.authorize_by_resource_type(context, operation, kind))


def test_users_hosts_and_operations() -> None:
    authorizer = authorizer_of(
        f"ALLOW User:alice READ TOPIC t from {HOST_1}",
        f"ALLOW User:alice READ TOPIC t from {HOST_2}",
        f"DENY User:alice READ TOPIC t from {HOST_1}",
        f"ALLOW User:alice WRITE TOPIC t from {HOST_1}",
        "ALLOW User:alice DESCRIBE TOPIC t",
        "ALLOW User:rob READ TOPIC t",
        "ALLOW User:batman WRITE TOPIC t",
    )
    allowed = {HOST_1: [WRITE, DESCRIBE], HOST_2: [READ, DESCRIBE]}
    for host, operations in allowed.items():
        for operation in (READ, WRITE, DESCRIBE, ALTER):
            expected = operation in operations
            assert may(authorizer, "User:alice", operation, "t", host=host) is expected
    assert may(authorizer, "User:rob", READ, "t")
    assert may(authorizer, "User:rob", DESCRIBE, "t")
    assert may(authorizer, "User:batman", WRITE, "t")
    assert may(authorizer, "User:batman", DESCRIBE, "t")


def test_the_empty_name_is_a_name() -> None:
    """Only the wildcard reaches it, since no ACL may name it."""
    assert not may(authorizer_of(), "User:alice", READ, "", kind=GROUP)
    wildcard = authorizer_of("ALLOW User:alice READ GROUP *")
    assert may(wildcard, "User:alice", READ, "", kind=GROUP)
    assert not may(wildcard, "User:alice", READ, "")


@pytest.mark.parametrize("held", NAMED)
def test_what_an_operation_implies(held: Operation) -> None:
    """An ALLOW implies others, a DENY none but itself, and ALL all."""
    allow = f"ALLOW User:alice {held.name} CLUSTER kafka-cluster"
    deny = f"DENY User:alice {held.name} CLUSTER kafka-cluster"
    everything = "ALLOW User:alice ALL CLUSTER kafka-cluster"
    by_allow, by_deny = authorizer_of(allow), authorizer_of(deny, everything)
    implied = [held, *IMPLIED_BY_ALLOW.get(held, [])]
    for asked in NAMED:
        cluster = (asked, "kafka-cluster")
        assert may(by_allow, "User:alice", *cluster, kind=CLUSTER) is (asked in implied), asked
        is_denied = held in (ALL, asked)
        assert may(by_deny, "User:alice", *cluster, kind=CLUSTER) is not is_denied, asked


def test_everybody_a_deny_and_super_users() -> None:
    everybody = "ALLOW User:* ALL TOPIC t"
    assert may(authorizer_of(everybody), "User:random", READ, "t", host="192.0.4.4")
    denied = authorizer_of(everybody, f"DENY User:alice ALL TOPIC t from {HOST_1}")
    assert not may(denied, "User:alice", READ, "t")
    assert may(denied, "User:alice", READ, "t", host=HOST_2)
    closed = authorizer_of("DENY User:* ALL TOPIC t")
    assert may(closed, "User:superuser1", READ, "t")
    assert may(closed, "User:superuser2", READ, "t")
    assert not may(closed, "User:superuser3", READ, "t")


def test_the_wildcard_name() -> None:
    assert not may(authorizer_of(), "User:alice", READ, "t")
    read = f"ALLOW User:alice READ TOPIC * from {HOST_1}"
    assert may(authorizer_of(read), "User:alice", READ, "t")
    write = f"ALLOW User:alice WRITE TOPIC t from {HOST_1}"
    deny = f"DENY User:alice WRITE TOPIC * from {HOST_1}"
    assert may(authorizer_of(read, write), "User:alice", WRITE, "t")
    assert not may(authorizer_of(read, write, deny), "User:alice", WRITE, "t")


def test_prefixes() -> None:
    """Prefixes around a name, before and behind it in every order, do not hide one of its own."""
    around = [
        *("a_other", "a_other*", "foo-1*", "foo-2-zzz*", "fooo-1*", "fo-1*", "fop-1*", "fon-1*"),
        *("fon-*", "z_other*", "z_other"),
    ]
    denies = [f"DENY User:alice READ TOPIC {each}" for each in around]
    authorizer = authorizer_of(*denies, "ALLOW User:alice READ TOPIC foo*")
    assert may(authorizer, "User:alice", READ, "foo-3")
    assert not may(authorizer, "User:alice", READ, "foo-1")
    one_letter = authorizer_of("ALLOW User:alice READ TOPIC f", "ALLOW User:alice READ TOPIC _*")
    for name, expected in {"f": True, "foo": False, "_foo": True, "_": True, "foo_": False}.items():
        assert may(one_letter, "User:alice", READ, name) is expected, name
    report = authorizer_of(
        "ALLOW User:alice ALL TOPIC fooa*", "ALLOW User:bob ALL TOPIC foobar",
        "ALLOW User:bob ALL TOPIC f*",
    )  # fmt: skip
    assert may(report, "User:bob", WRITE, "foobarr")
    assert not may(report, "User:bob", READ, "goobar")
    assert may(report, "User:bob", READ, "fooa")
    assert may(report, "User:alice", DESCRIBE, "fooa")
    assert not may(report, "User:alice", WRITE, "bar")


def test_all_operations_in_a_deny_beside_an_allow_of_a_prefix() -> None:
    denied = authorizer_of(
        "DENY User:alice ALL TOPIC foo", "ALLOW User:alice READ TOPIC foo*",
        "DENY User:* ALL TOPIC foo", "ALLOW User:* DESCRIBE TOPIC foo*",
    )  # fmt: skip
    for principal in ("User:alice", "User:bob"):
        assert not may(denied, principal, WRITE, "foo")
        assert not may(denied, principal, READ, "foo")
        assert not may(denied, principal, DESCRIBE, "foo")
    assert may(denied, "User:alice", READ, "foobar")
    assert may(denied, "User:bob", DESCRIBE, "foobar")
    assert not may(denied, "User:bob", READ, "foobar")


def test_a_resource_without_acls_is_open_if_the_configuration_says_so() -> None:
    other = "ALLOW User:Alice READ TOPIC topic1"
    for everyone in (False, True):
        authorizer = authorizer_of(other, everyone=everyone)
        assert not may(authorizer, "User:Bob", READ, "topic1")
        assert may(authorizer, "User:Bob", READ, "topic2") is everyone
        assert may_any(authorizer_of(everyone=everyone), "User:Bob", WRITE) is everyone


Step = tuple[str, str, bool]
"""An ACL that is added, or removed if it is there; who then asks; and the answer."""
PREFIXES: Sequence[Step] = [
    ("ALLOW User:user1 READ GROUP abcde*", "User:user1", True),
    ("DENY User:user1 READ GROUP abcd*", "User:user1", False),
    ("ALLOW User:user1 READ GROUP abc*", "User:user1", True),
    ("DENY User:user1 READ GROUP a*", "User:user1", False),
    ("ALLOW User:user1 READ GROUP ab*", "User:user1", False),
]
WILDCARD: Sequence[Step] = [
    ("ALLOW User:user1 READ GROUP hello*", "User:user1", True),
    ("DENY User:user1 READ GROUP *", "User:user1", False),
    ("ALLOW User:user1 READ GROUP *", "User:user1", False),
    ("ALLOW User:user1 READ GROUP aloha", "User:user1", False),
]
OPERATIONS: Sequence[Step] = [
    ("DENY User:user1 WRITE TOPIC one", "User:user1", False),
    ("ALLOW User:user1 ALL TOPIC one", "User:user1", True),
    ("DENY User:user1 ALL TOPIC one", "User:user1", False),
]
HOSTS: Sequence[Step] = [
    (f"ALLOW User:user1 READ TOPIC one from {HOST_1}", f"User:user1@{HOST_1}", True),
    ("DENY User:user1 READ TOPIC one", f"User:user1@{HOST_1}", False),
    (f"DENY User:user1 READ TOPIC two from {HOST_1}", f"User:user1@{HOST_2}", False),
    ("ALLOW User:user1 READ TOPIC two", f"User:user1@{HOST_2}", True),
    ("DENY User:user1 READ TOPIC two", f"User:user1@{HOST_2}", False),
]
PRINCIPALS: Sequence[Step] = [
    ("ALLOW User:user1 READ TOPIC one", "User:user1", True),
    ("DENY User:* READ TOPIC one", "User:user1", False),
    ("DENY User:user1 READ TOPIC two", "User:user2", False),
    ("ALLOW User:* READ TOPIC two", "User:user2", True),
    ("DENY User:* READ TOPIC two", "User:user2", False),
]
AGAIN: Sequence[Step] = [
    ("ALLOW User:user1 READ TOPIC one", "User:user1", True),
    *[("DENY User:user1 READ TOPIC one", "User:user1", each % 2 == 1) for each in range(10)],
    ("ALLOW User:user1 READ TOPIC one", "User:user1", False),
] * 3


@pytest.mark.parametrize("steps", [PREFIXES, WILDCARD, OPERATIONS, HOSTS, PRINCIPALS, AGAIN])
def test_by_resource_type_a_deny_dominates_what_it_covers(steps: Sequence[Step]) -> None:
    kind = acl(steps[0][0]).resource_type
    ids = {text: Uuid(number.to_bytes(16, "big")) for number, (text, _, _) in enumerate(steps, 1)}
    authorizer, held = authorizer_of(), set[str]()
    assert not may_any(authorizer, "User:user1", READ, kind)
    for text, who, expected in steps:
        if text in held:
            authorizer.remove_acl(ids[text])
        else:
            authorizer.add_acl(ids[text], acl(text))
        held ^= {text}
        assert may_any(authorizer, who, READ, kind) is expected, held


def test_by_resource_type_a_deny_of_others_dominates_nothing() -> None:
    authorizer = authorizer_of(
        f"DENY User:user1 READ TOPIC one from {HOST_1}",
        f"DENY User:user2 READ TOPIC one from {HOST_1}",
        f"DENY User:user1 WRITE TOPIC one from {HOST_2}",
        f"DENY User:user2 READ TOPIC one from {HOST_2}",
        f"ALLOW User:user1 READ TOPIC one from {HOST_2}",
        f"DENY User:user1 READ TOPIC two from {HOST_2}",
        f"DENY User:user1 READ GROUP s* from {HOST_2}",
    )
    for kind in (TOPIC, GROUP, TRANSACTIONAL_ID, CLUSTER):
        assert not may_any(authorizer, f"User:user1@{HOST_1}", READ, kind)
    assert may_any(authorizer, f"User:user1@{HOST_2}", READ)


def test_by_resource_type_super_users_have_access() -> None:
    kinds = {TOPIC: "*", GROUP: "*", TRANSACTIONAL_ID: "*", CLUSTER: "kafka-cluster"}
    authorizer = authorizer_of(*(f"DENY User:* ALL {kind.name} {kinds[kind]}" for kind in kinds))
    for kind in kinds:
        assert may_any(authorizer, "User:superuser1", READ, kind)
        assert not may_any(authorizer, "User:alice", READ, kind)


MANY = [
    "ALLOW User:* READ TOPIC green2", "ALLOW User:bob READ TOPIC green*",
    "ALLOW User:bob READ TOPIC betamax4", "ALLOW User:bob READ TOPIC betamax",
    "ALLOW User:* READ TOPIC beta*", "ALLOW User:* READ TOPIC alpha*",
    "DENY User:bob READ TOPIC alp*", "ALLOW User:bob WRITE GROUP *",
    "DENY User:* WRITE GROUP wheel",
]  # fmt: skip


def test_many_acls() -> None:
    authorizer = authorizer_of(*MANY)
    assert may(authorizer, "User:bob", READ, "green1")
    assert not may(authorizer, "User:bob", WRITE, "wheel", kind=GROUP)
    assert not may(authorizer, "User:bob", READ, "alpha")
    assert may(authorizer, "User:bob", WRITE, "arbitrary", kind=GROUP)
    assert not may(authorizer, "User:bob", READ, "ala")


@pytest.mark.parametrize("is_logged", [True, False])
@pytest.mark.parametrize(
    ("name", "level", "ending"),
    [
        ("alpha", logging.INFO, "alp, patternType=PREFIXED, principal=User:bob, host=*, operation=READ, permissionType=DENY])"),  # noqa: E501
        ("green1", logging.DEBUG, "green, patternType=PREFIXED, principal=User:bob, host=*, operation=READ, permissionType=ALLOW])"),  # noqa: E501
    ],
)  # fmt: skip
def test_the_audit_line_of_a_decision(
    name: str, level: int, ending: str, *, is_logged: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """At TRACE, if the action is not to be logged. The ACL is written as by Kafka 4.3.1."""
    action = Action(READ, ResourcePattern(TOPIC, name), 1, is_logged, is_logged)
    with caplog.at_level(TRACE, logger=LOGGER):
        authorizer_of(*MANY).authorize(
            RequestContext("User:bob", "127.0.0.1", request_name="Fetch"), [action]
        )
    verdict = "Denied" if level == logging.INFO else "Allowed"
    assert [(each.levelno, each.getMessage()) for each in caplog.records] == [
        (
            level if is_logged else TRACE,
            f"Principal = User:bob is {verdict} operation = READ from host = 127.0.0.1 on resource "
            f"= Topic:LITERAL:{name} for request = Fetch with resourceRefCount = 1 based on rule "
            f"MatchingAcl(acl=StandardAcl[resourceType=TOPIC, resourceName={ending}",
        )
    ]
