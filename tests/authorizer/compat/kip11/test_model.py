from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from authorizer.compat.kip11 import (
    ANONYMOUS,
    Acl,
    KafkaPrincipal,
    Operation,
    PatternType,
    PermissionType,
    Resource,
    ResourceType,
    anonymous,
)
from authorizer.compat.kip11.model import entries_of, principal_of, regrouped
from metalog.acl import Acl as Entry
from metalog.errors import InvalidRequest
from tests.support.worlds.kip11_acls import acls

TOPIC = Resource(ResourceType.TOPIC, "payments")


@given(acls)
def test_one_acl_comes_back_as_itself(acl: Acl) -> None:
    assert regrouped(entries_of([acl], TOPIC)) == {acl}


@given(st.lists(acls))
def test_several_mean_the_same_when_they_come_back(several: list[Acl]) -> None:
    entries = entries_of(several, TOPIC)
    assert entries_of(regrouped(entries), TOPIC) == entries
    assert len(regrouped(entries)) <= len(entries)


def test_an_acl_is_an_entry_for_each_combination() -> None:
    """KIP-11's own example, as its JSON has it."""
    acl = Acl({"user:alice", "group:kafka-devs"}, "ALLOW", {"host1", "host2"}, {"READ", "WRITE"})
    entries = entries_of([acl, acl], TOPIC)
    assert len(entries) == 8
    assert entries[0] == Entry(
        ResourceType.TOPIC,
        "payments",
        PatternType.LITERAL,
        "Group:kafka-devs",
        "host1",
        Operation.READ,
        PermissionType.ALLOW,
    )
    assert {entry.principal for entry in entries} == {"User:alice", "Group:kafka-devs"}


def test_old_words_are_read_as_todays() -> None:
    assert principal_of("user:alice") == KafkaPrincipal("User", "alice")
    assert principal_of(KafkaPrincipal("group", "g")) == KafkaPrincipal("Group", "g")
    assert principal_of("user:*") == KafkaPrincipal("User", "*")
    assert principal_of("Robot:r2") == KafkaPrincipal("Robot", "r2")
    assert Resource("CONSUMER_GROUP", "g") == Resource(ResourceType.GROUP, "g")
    assert Acl({"user:a"}, "DENY", {"*"}, {"ALL"}) == Acl(
        {KafkaPrincipal("User", "a")}, PermissionType.DENY, ["*"], [Operation.ALL]
    )


def test_who_did_not_say_who_they_are_is_anonymous() -> None:
    assert ANONYMOUS.name == "Anonymous"
    assert anonymous("10.0.0.1") == (ANONYMOUS, "10.0.0.1")


@pytest.mark.parametrize("pattern_type", ["ANY", "MATCH", "UNKNOWN", PatternType.MATCH])
def test_a_resource_is_no_filter(pattern_type: PatternType | str) -> None:
    with pytest.raises(InvalidRequest, match="a resource is LITERAL or PREFIXED"):
        Resource(ResourceType.TOPIC, "payments", pattern_type)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: Acl("user:a", "ALLOW", {"*"}, {"READ"}), "an ACL takes sets"),
        (lambda: Acl({"user:a"}, "ALLOW", "*", {"READ"}), "an ACL takes sets"),
        (lambda: Acl(set(), "ALLOW", {"*"}, {"READ"}), "at least"),
        (lambda: Acl({"user:a"}, "ALLOW", {"*"}, set()), "at least"),
        (lambda: Acl({"alice"}, "ALLOW", {"*"}, {"READ"}), "write it as User:alice"),
        (lambda: Acl({"user:a"}, "ALLOW", {"*"}, {"EDIT"}), "there is no Operation EDIT"),
        (lambda: Acl({"user:a"}, "MAYBE", {"*"}, {"READ"}), "there is no PermissionType MAYBE"),
        (lambda: Resource("TOPICS", "t"), "there is no ResourceType TOPICS"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: object, said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        wrong()  # type: ignore[operator]


def test_a_principal_without_a_type_that_a_log_holds_is_shown() -> None:
    [entry] = entries_of([Acl({"User:a"}, "ALLOW", {"*"}, {"READ"})], TOPIC)
    [acl] = regrouped([entry._replace(principal="alice")])
    assert acl.principals == {KafkaPrincipal("", "alice")}
