"""The differences of KIP-11's early draft."""

from __future__ import annotations

import pytest

from authorizer.compat.kip11 import (
    Acl,
    AuthorizationException,
    KafkaPrincipal,
    Operation,
    Resource,
    Session,
)
from authorizer.compat.kip11_draft import DRAFT, DraftAuthorizationException, acl, anonymous
from tests.support.worlds.kip11_acls import having, on_a_log

PAYMENTS = Resource("TOPIC", "payments")
ALICE, BOB = Session("alice", "host1"), Session("bob", "host1")


def test_what_has_no_acl_is_open_and_what_has_one_is_not() -> None:
    authorizer = having([(acl("alice", "ALLOW", {"*"}, {"READ"}), PAYMENTS)], rules=DRAFT)
    assert authorizer.authorize(anonymous("host1"), "WRITE", Resource("TOPIC", "orders"))
    assert authorizer.authorize(ALICE, "READ", PAYMENTS)
    assert not authorizer.authorize(BOB, "READ", PAYMENTS)


def test_its_words() -> None:
    """A bare name is a user, ``*:*`` is everybody, and EDIT is today's ALTER."""
    assert acl("*:*", "DENY", {"h"}, {"EDIT", "READ"}) == Acl(
        {"user:*"}, "DENY", {"h"}, {Operation.ALTER, Operation.READ}
    )
    assert acl("group:kafka", "ALLOW", {"*"}, {"ALL"}).principals == {("Group", "kafka")}
    with on_a_log({"kafka.superusers": "root"}, rules=DRAFT) as authorizer:
        authorizer.add_acls({acl("*:*", "ALLOW", {"*"}, {"EDIT"})}, PAYMENTS)
        assert authorizer.authorize(BOB, "EDIT", PAYMENTS)
        assert authorizer.authorize(BOB, "ALTER", PAYMENTS)
        assert not authorizer.authorize(BOB, "READ", PAYMENTS)
        assert authorizer.authorize(Session("root", "host1"), "READ", PAYMENTS)
        assert len(authorizer.get_acls(KafkaPrincipal("*", "*"))) == 1


def test_a_deny_counts_first_here_too() -> None:
    everybody = acl("*:*", "ALLOW", {"*"}, {"ALL"})
    deny = acl("bob", "DENY", {"host1"}, {"READ"})
    authorizer = having([(everybody, PAYMENTS), (deny, PAYMENTS)], rules=DRAFT)
    assert not authorizer.authorize(BOB, "READ", PAYMENTS)
    assert authorizer.authorize(Session("bob", "host2"), "READ", PAYMENTS)


def test_who_did_not_say_who_they_are() -> None:
    assert anonymous("h").principal == KafkaPrincipal("User", "Dr. Who?")


def test_what_is_raised_has_four_fields() -> None:
    authorizer = having([(acl("alice", "ALLOW", {"*"}, {"READ"}), PAYMENTS)], rules=DRAFT)
    with pytest.raises(AuthorizationException) as raised:
        authorizer.demand(BOB, "EDIT", PAYMENTS)
    error = raised.value
    assert isinstance(error, DraftAuthorizationException)
    assert (error.principal, error.operation, error.host, error.resource) == (
        "User:bob", Operation.ALTER,
        "host1", "payments",
    )  # fmt: skip
    assert str(error) == "User:bob is not authorized to ALTER payments from host1"
