"""Every entry point compares ACLs with Java's text of the host, however it is spelled."""

from __future__ import annotations

import pytest

from authorizer import (
    Acl,
    Action,
    AuthorizerConfig,
    Operation,
    PatternType,
    PermissionType,
    RequestContext,
    ResourceType,
    StandardAuthorizer,
    topic,
)
from authorizer.audit.line import format_line
from authorizer.compat.kip11 import Resource, Session, SimpleAclAuthorizer
from authorizer.engine.bulk import BulkDecider, RequestColumns
from authorizer.engine.decide import AuthorizationResult
from authorizer.engine.index import AclIndex
from metalog.ids import Uuid

READ = Action(Operation.READ, topic("pay"))


def acl(permission: PermissionType, host: str) -> Acl:
    return Acl(
        ResourceType.TOPIC, "pay", PatternType.LITERAL, "User:app", host, Operation.READ, permission
    )


SPELLINGS = pytest.mark.parametrize(
    ("denied", "host"),
    [
        ("10.0.0.9", "::ffff:10.0.0.9"),
        ("10.0.0.9", "::FFFF:a00:9"),
        ("0:0:0:0:0:0:0:1", "::1"),
        ("0:0:0:0:0:0:0:1", "0::0001"),
        ("2001:db8:0:0:0:0:0:a", "2001:DB8::A"),
        ("fe80:0:0:0:0:0:0:1%4", "fe80::1%4"),
    ],
)


@SPELLINGS
def test_a_deny_holds_for_each_spelling_of_its_host(denied: str, host: str) -> None:
    acls = [acl(PermissionType.ALLOW, "*"), acl(PermissionType.DENY, denied)]
    authorizer = StandardAuthorizer.from_acls(acls)
    bulk = BulkDecider(AclIndex.of(acls), AuthorizerConfig())
    kip_11 = SimpleAclAuthorizer()
    kip_11.initialize({})
    by_id = {Uuid(bytes([place] * 16)): each for place, each in enumerate(acls)}
    kip_11.standard.load_snapshot(by_id)
    kip_11.standard.complete_initial_load()

    def answers(asked: str) -> list[bool]:
        context = RequestContext("User:app", asked)
        by_type = authorizer.authorize_by_resource_type(context, Operation.READ, ResourceType.TOPIC)
        columns = RequestColumns(["User:app"], [asked], ["READ"], ["TOPIC"], ["pay"])
        return [
            authorizer.is_allowed(context, READ),
            authorizer.authorize(context, [READ])[0] is AuthorizationResult.ALLOWED,
            authorizer.authorize(context, [READ, READ])[1] is AuthorizationResult.ALLOWED,
            bool(authorizer.decide(context, READ).result),
            by_type is AuthorizationResult.ALLOWED,
            *bulk.allowed(columns),
            kip_11.authorize(Session("User:app", asked), "READ", Resource("TOPIC", "pay")),
        ]

    assert not any(answers(host))
    assert all(answers("10.0.0.8"))


@SPELLINGS
def test_an_audit_line_has_kafkas_text_of_the_host(denied: str, host: str) -> None:
    context = RequestContext("User:app", host)
    line = format_line(context, READ, StandardAuthorizer.from_acls([]).decide(context, READ))
    assert f" from host = {denied} on resource" in line


@pytest.mark.parametrize("host", ["", "h", "10.0.0.0/8", "::/0", "a:b:c", "\0", "1::2::3"])
def test_a_text_that_is_not_an_address_stays_as_it_is(host: str) -> None:
    assert RequestContext("User:app", host).host == host
    allowed = StandardAuthorizer.from_acls([acl(PermissionType.ALLOW, host)])
    assert allowed.is_allowed(RequestContext("User:app", host), READ)


def test_the_context_of_a_sockets_peer() -> None:
    context = RequestContext.from_peer("User:app", ("fe80::1", 4711, 0, 4), "CLIENT", "Fetch")
    assert context == RequestContext("User:app", "fe80:0:0:0:0:0:0:1%4", "CLIENT", "Fetch")
