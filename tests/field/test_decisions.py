"""Faults of other authorizers, one test each: a wrong or slow decision must not happen here.
docs/reference/field-bugs.md describes each. A test's name begins with the number of the fault."""

from __future__ import annotations

import sys
from itertools import combinations
from types import FrameType
from typing import Any

import pytest

from authorizer import Action, Operation, RequestContext, ResourceType, StandardAuthorizer, topic
from authorizer.permissions.requests import actions
from metalog.acl import Acl
from metalog.ids import Uuid
from metalog.image import metadata
from metalog.image.delta import MetadataDelta
from metalog.image.manifest import NOTHING
from metalog.records.messages import RemoveTopicRecord, TopicRecord
from tests.support.worlds import spec
from tests.support.worlds.small_acls import BOB, allow, deny

BOB_FROM_1 = RequestContext(BOB, "10.0.0.1")
READ, WRITE, DESCRIBE = Operation.READ, Operation.WRITE, Operation.DESCRIBE


def may(authorizer: StandardAuthorizer, operation: Operation, name: str) -> bool:
    return authorizer.is_allowed(BOB_FROM_1, Action(operation, topic(name)))


def loaded(acls: list[Acl], **configured: str) -> StandardAuthorizer:
    authorizer = StandardAuthorizer.configured(configured)
    authorizer.load_snapshot(dict(enumerated(acls)))
    authorizer.complete_initial_load()
    return authorizer


def enumerated(acls: list[Acl]) -> list[tuple[Uuid, Acl]]:
    return [(Uuid(number.to_bytes(16, "big")), acl) for number, acl in enumerate(acls, 1)]


def test_cve_2024_27309_all_acls_of_a_resource_decide_after_one_is_removed() -> None:
    """For each subset of an ALLOW and DENYs of one resource, removed one by one."""
    acls = [
        allow("t"),
        deny("t", principal="User:*"),
        deny("t"),
        allow("t", WRITE),
        deny("t", WRITE),
    ]
    with_ids = enumerated(acls)
    for size in range(1, len(acls)):
        for removed in combinations(with_ids, size):
            authorizer = loaded(acls)
            for uuid, _ in removed:
                authorizer.remove_acl(uuid)
                may(authorizer, READ, "t")
            left = [acl for uuid, acl in with_ids if uuid not in {each for each, _ in removed}]
            for operation in (READ, WRITE, DESCRIBE):
                meant = spec.decide(
                    left, ({BOB}, "10.0.0.1"), operation, ResourceType.TOPIC, "t", False
                )
                assert may(authorizer, operation, "t") == bool(meant.result)


def test_cve_2018_17196_a_transactional_produce_needs_its_transactional_id() -> None:
    """A client with WRITE on the topic alone is refused a request that names a transaction."""
    authorizer = StandardAuthorizer.from_acls([allow("t", WRITE)])
    [of_topic] = actions("Produce", topics=["t"])
    of_id, _ = actions("Produce", topics=["t"], transactional_ids=["x"])
    assert authorizer.is_allowed(BOB_FROM_1, of_topic[0])
    assert not authorizer.is_allowed(BOB_FROM_1, of_id[0])


def test_kafka_14265_a_prefix_does_not_hide_a_shorter_one() -> None:
    """The names of Kafka's report: foobar, fooa and f. Any of them may be the needed one."""
    names = ["foobar", "fooa", "foo", "fo", "f"]
    for needed in ("foobar", "foo", "fo", "f"):
        acls = [
            allow(name, prefixed=True, principal=BOB if name == needed else "User:other")
            for name in names
        ]
        assert may(StandardAuthorizer.from_acls(acls), READ, "foobar"), needed
        denied = [
            allow("*"),
            *(each._replace(permission_type=deny("").permission_type) for each in acls),
        ]
        assert not may(StandardAuthorizer.from_acls(denied), READ, "foobar"), needed


@pytest.mark.parametrize("operation", [each for each in Operation if each > Operation.ALL])
def test_kafka_13697_all_stands_for_every_operation(operation: Operation) -> None:
    assert may(StandardAuthorizer.from_acls([allow("t", Operation.ALL)]), operation, "t")
    denied = [allow("t", operation), deny("t", Operation.ALL)]
    assert not may(StandardAuthorizer.from_acls(denied), operation, "t")


def test_kafka_13698_a_host_is_an_address_and_no_name_is_looked_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Kafka looked the client's name up; it still does so for a block such as ``xyz:1/64``."""
    for resolver in ("getaddrinfo", "gethostbyaddr", "gethostbyname", "getnameinfo"):
        monkeypatch.setattr(f"socket.{resolver}", lambda *_: pytest.fail("a name was looked up"))
    acls = [allow("by-address", host="127.0.0.1")]
    acls += [allow(f"by-{host}", host=host) for host in ("localhost", "xyz:1/64", "localhost/8")]
    authorizer = StandardAuthorizer.from_acls(acls, kafka_version="4.4")
    client = RequestContext(BOB, "127.0.0.1")
    allowed = [
        acl.resource_name
        for acl in acls
        if authorizer.is_allowed(client, Action(READ, topic(acl.resource_name)))
    ]
    assert allowed == ["by-address"]


def test_kafka_14435_a_resource_with_acls_of_others_is_not_open_to_everyone() -> None:
    opened = {"allow.everyone.if.no.acl.found": "true"}
    alices = allow("topic1", principal="User:alice")
    authorizer = loaded([alices], **opened)
    assert not may(authorizer, READ, "topic1")
    assert may(authorizer, READ, "topic2")
    assert not may(loaded([alices]), READ, "topic2")
    assert not may(
        loaded([allow("top", principal="User:alice", prefixed=True)], **opened), READ, "topic2"
    )
    assert not may(loaded([allow("*", principal="User:alice")], **opened), READ, "topic2")


def test_kafka_2700_acls_outlive_their_topic_and_hold_for_the_next_of_that_name() -> None:
    """As Kafka decided: ACLs may precede their topic. A replay must neither lose nor forget one."""
    authorizer = StandardAuthorizer.from_acls([allow("t")])
    image, uuid = metadata.EMPTY, Uuid((7).to_bytes(16, "big"))
    for record in (TopicRecord("t", uuid), RemoveTopicRecord(uuid)):
        delta = MetadataDelta(image)
        delta.replay(record)
        assert delta.acls is None
        image = delta.apply(NOTHING)
    assert may(authorizer, READ, "t")


def test_kafka_20667_acls_of_others_on_one_name_cost_a_decision_nothing() -> None:
    """Kafka walks all ACLs on the name, whatever their principals; the test counts executed
    lines."""

    def steps(others: int) -> int:
        acls = [allow("one", principal=f"User:user-{number}") for number in range(others)]
        authorizer = StandardAuthorizer.from_acls([allow("one"), *acls])
        may(authorizer, READ, "other")
        ran = 0

        def count(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal ran
            ran += 1
            return count

        before = sys.gettrace()
        sys.settrace(count)
        try:
            assert may(authorizer, READ, "one")
        finally:
            sys.settrace(before)
        return ran

    assert steps(3_000) <= 2 * steps(10) + 50


def test_fact_the_wildcard_reaches_no_longer_name_that_begins_with_it() -> None:
    """Kafka's own rule: ``*`` does not match ``*a``, nor does it hide ACLs that do."""
    authorizer = StandardAuthorizer.from_acls([allow("*"), allow("*b")])
    assert [may(authorizer, READ, name) for name in ("*", "a", "*a", "*b")] == [
        True, True, False, True,
    ]  # fmt: skip


def test_fact_a_session_of_the_name_of_everybody_is_answered() -> None:
    """Kafka's authorizer throws for the principal ``User:*``, and the request fails with it."""
    authorizer = StandardAuthorizer.from_acls([allow("t", principal="User:*"), deny("u")])
    everybody = RequestContext("User:*", "10.0.0.1")
    assert authorizer.is_allowed(everybody, Action(READ, topic("t")))
    assert not authorizer.is_allowed(everybody, Action(READ, topic("u")))


def test_fact_an_acl_whose_principal_has_no_colon_stops_no_decision() -> None:
    """Kafka's authorizer throws for each name that such an ACL is asked about."""
    nobodys = deny("t", principal="bob")
    authorizer = StandardAuthorizer.from_acls([nobodys, allow("t")], tolerant=True)
    assert may(authorizer, READ, "t")
    assert not may(authorizer, WRITE, "t")


def test_fact_names_that_sort_below_the_wildcard_end_and_are_decided() -> None:
    """Sets of such names made Kafka's authorizer loop forever."""
    low = ["!", "!!", "!a", "\x01", "\x01!", " ", "!\x01", "#", "$", "%", "&", "'", "("]
    acls = [allow(name, prefixed=bool(number % 2)) for number, name in enumerate(low)]
    acls += [deny(name, principal="User:other") for name in low]
    authorizer = StandardAuthorizer.from_acls([*acls, allow("*", WRITE)])
    for name in [*low, "!ab", "\x01!!", "('", "a"]:
        for operation in (READ, WRITE):
            meant = spec.decide(
                [*acls, allow("*", WRITE)],
                ({BOB}, "10.0.0.1"), operation, ResourceType.TOPIC, name, False,
            )  # fmt: skip
            assert may(authorizer, operation, name) == bool(meant.result), (operation, name)


def test_fact_one_acl_under_two_ids_is_loaded_and_stays_until_both_are_gone() -> None:
    """Kafka's snapshot load throws, and its authorizer keeps the old ACLs."""
    authorizer = loaded([allow("t"), allow("t"), allow("u")])
    assert may(authorizer, READ, "t")
    assert may(authorizer, READ, "u")
    (first, _), (second, _), _ = enumerated([allow("t"), allow("t"), allow("u")])
    authorizer.remove_acl(first)
    assert may(authorizer, READ, "t")
    authorizer.remove_acl(second)
    assert not may(authorizer, READ, "t")
