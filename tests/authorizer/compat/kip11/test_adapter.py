"""KIP-11 authorizers behind KIP-504's interface give the same answers."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from authorizer import Action, AuthorizationResult, RequestContext, StandardAuthorizer, topic
from authorizer.compat.kip11 import (
    Acl,
    AuthorizationException,
    Authorizer,
    Operation,
    PermissionType,
    Resource,
    ResourceType,
    Session,
)
from metalog.acl import IMPLIED_BY, AclFilter, PatternType
from metalog.acl import Acl as Entry
from metalog.errors import InvalidRequest
from tests.support.worlds.kip11_acls import (
    HOSTS,
    NAMES,
    OPERATIONS,
    PRINCIPALS,
    Attached,
    attached,
    having,
    on_a_log,
)

sessions = st.builds(Session, st.sampled_from(PRINCIPALS[:2]), st.sampled_from(HOSTS[:2]))
READ = Entry(
    ResourceType.TOPIC,
    "payments",
    PatternType.LITERAL,
    "User:alice",
    "*",
    Operation.READ,
    PermissionType.ALLOW,
)


@given(attached, sessions, st.sampled_from(OPERATIONS), st.sampled_from(NAMES))
def test_it_answers_as_the_one_behind_it(
    given: Attached, session: Session, operation: Operation, name: str
) -> None:
    authorizer = having(given)
    context = RequestContext(session.principal, session.host)
    [result] = authorizer.as_todays().authorize(context, [Action(operation, topic(name))])
    expected = authorizer.authorize(session, operation, Resource("TOPIC", name))
    assert (result is AuthorizationResult.ALLOWED) is expected


@given(attached, sessions, st.sampled_from([*OPERATIONS]))
def test_by_resource_type_as_todays_where_nothing_is_implied(
    given: Attached, session: Session, operation: Operation
) -> None:
    authorizer = having(given)
    context = RequestContext(session.principal, session.host)
    if operation in IMPLIED_BY:
        operation = Operation.WRITE
    standard: StandardAuthorizer = authorizer.standard
    asked = (context, operation, ResourceType.TOPIC)
    result = authorizer.as_todays().authorize_by_resource_type(*asked)
    assert result is standard.authorize_by_resource_type(*asked)


@pytest.mark.parametrize(
    ("denied", "is_allowed"),
    [
        (Resource("TOPIC", "payments"), False),
        (Resource("TOPIC", "pay", "PREFIXED"), False),
        (Resource("TOPIC", "payments", "PREFIXED"), False),
        (Resource("TOPIC", "*"), False),
        (Resource("TOPIC", "payments-eu"), True),
        (Resource("GROUP", "payments"), True),
    ],
)
def test_a_deny_takes_a_pattern_away_where_it_covers_it(denied: Resource, is_allowed: bool) -> None:
    allow, deny = (Acl({"User:alice"}, word, {"*"}, {"WRITE"}) for word in ("ALLOW", "DENY"))
    authorizer = having([(allow, Resource("TOPIC", "payments")), (deny, denied)])
    asked = (RequestContext("User:alice", "h"), Operation.WRITE, ResourceType.TOPIC)
    assert bool(authorizer.as_todays().authorize_by_resource_type(*asked)) is is_allowed


def test_acls_are_changed_and_listed_through_it() -> None:
    with on_a_log() as authorizer:
        todays = authorizer.as_todays()
        context = RequestContext("User:admin", "h")
        [created] = todays.create_acls(context, [READ])  # type: ignore[attr-defined]
        assert not created.result(60)
        assert list(todays.acls()) == [READ]
        assert todays.acl_count() == 1
        [deleted] = todays.delete_acls(context, [AclFilter()])  # type: ignore[attr-defined]
        assert deleted.result(60).deleted == [READ]


def test_it_writes_kafkas_audit_line(caplog: pytest.LogCaptureFixture) -> None:
    todays = having([]).as_todays()
    with caplog.at_level(logging.INFO, "kafka.authorizer.logger"):
        todays.authorize(
            RequestContext("User:eve", "10.0.0.9", "", "Fetch"),
            [Action(Operation.READ, topic("payments"))],
        )
    assert [record.getMessage() for record in caplog.records] == [
        "Principal = User:eve is Denied operation = READ from host = 10.0.0.9 on resource = "
        "Topic:LITERAL:payments for request = Fetch with resourceRefCount = 1 based on rule "
        "DefaultDeny"
    ]


class Own(Authorizer):
    """A custom authorizer: allows READ to alice, and otherwise returns something other than a
    bool."""

    def authorize(self, session: Session, operation: Operation | str, resource: Resource) -> bool:
        if str(session.principal) == "User:alice" and operation is Operation.READ:
            return True
        return "no"  # type: ignore[return-value]


def test_an_authorizer_of_ones_own_is_asked_and_denies_what_it_does_not_know() -> None:
    todays = Own().as_todays()
    opened = todays.start({"A": "", "B": ""})
    assert all(future.done() for future in opened.values())
    alice = RequestContext("User:alice", "h")
    actions = [Action(operation, topic("t")) for operation in (Operation.READ, Operation.WRITE)]
    assert list(todays.authorize(alice, actions)) == [
        AuthorizationResult.ALLOWED,
        AuthorizationResult.DENIED,
    ]
    with pytest.raises(AuthorizationException):
        Own().demand(Session("User:alice", "h"), Operation.WRITE, Resource("TOPIC", "t"))
    asked = (alice, Operation.READ, ResourceType.TOPIC)
    assert todays.authorize_by_resource_type(*asked) is AuthorizationResult.DENIED
    with pytest.raises(InvalidRequest, match="cannot list ACLs by a filter"):
        todays.acls()
    several = RequestContext("User:alice", "h", additional_principals=["Group:banned"])
    with pytest.raises(InvalidRequest, match="one principal"):
        todays.authorize(several, actions)
