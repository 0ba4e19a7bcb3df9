"""An explanation in words: complete, one item per line, safe, and never cut."""

from __future__ import annotations

import io
import re

import pytest

from authorizer.analysis.explain.explain import explain
from authorizer.analysis.explain.kinds import NearMissKind
from authorizer.analysis.explain.near_misses import NearMiss
from authorizer.config import AuthorizerConfig
from authorizer.trace import Question
from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from metalog.ids import Uuid
from metalog.image.metadata import MetadataImage
from metalog.image.state.acls import AclsImage
from metalog.image.table import Table
from shell.output.output import Output
from shell.tasks.broker.broker_context import Context
from shell.tasks.command_target import ANY_CLUSTER
from shell.tasks.queries import Queries
from shell.views.explanation import near_text, render

READ_PAYMENTS = Question("User:app", Operation.READ, ResourceType.TOPIC, "payments", "10.0.0.1")


def acl(
    name: str = "payments",
    principal: str = "User:app",
    host: str = "*",
    operation: Operation = Operation.READ,
    *,
    pattern_type: PatternType = PatternType.LITERAL,
    permission_type: PermissionType = PermissionType.ALLOW,
) -> Acl:
    return Acl(ResourceType.TOPIC, name, pattern_type, principal, host, operation, permission_type)


class _FileQueries(Queries):
    """Queries on ACLs that come from no log."""

    command_target = ANY_CLUSTER

    def __init__(self, acls: list[Acl]) -> None:
        by_id = Table((Uuid(number.to_bytes(16, "big")), each) for number, each in enumerate(acls))
        self.image = MetadataImage(acls=AclsImage(by_id))
        self.context = Context(AuthorizerConfig(), ())

    def id_of(self, acl: Acl) -> Uuid | None:
        return next(iter(self.image.acls.ids(acl)), None)


def explained(acls: list[Acl], question: Question = READ_PAYMENTS, *, whole: bool = False) -> str:
    out = io.StringIO()
    output = Output(out, io.StringIO())
    explanation = explain(acls, AuthorizerConfig(), question)
    render(explanation, _FileQueries(acls), output, whole=whole)
    return out.getvalue()


@pytest.mark.parametrize("kind", NearMissKind)
def test_every_near_miss_can_be_said(kind: NearMissKind) -> None:
    miss = NearMiss(kind, None, acl(host="::1"), acl())
    said = near_text(miss, READ_PAYMENTS)
    assert said
    assert "{" not in said


def test_the_nearest_miss_and_what_to_type_come_before_the_evidence() -> None:
    text = explained([acl(host="10.0.0.2"), acl(principal="User:other")])
    sections = re.findall(r"^(\w+(?: \w+)?) +", text, re.MULTILINE)
    assert sections == ["DENIED", "why", "near miss", "to allow", "considered"]
    assert "its host is 10.0.0.2, not 10.0.0.1" in text
    assert "--add --allow-principal User:app --allow-host 10.0.0.1 --operation Read" in text


def test_each_candidate_says_in_what_it_differs() -> None:
    lines = explained(
        [
            acl(host="10.0.0.2"),
            acl(principal="User:b", operation=Operation.WRITE),
            acl(permission_type=PermissionType.DENY),
            acl(),
        ]
    ).splitlines()
    table = [line.split("  ")[-1] for line in lines if re.match(r" +\d  ", line)]
    assert sorted(table) == [
        "decides",
        "matches, but the DENY overrides it",
        "other host",
        "other principal, operation",
    ]


def test_long_lists_are_shortened_unless_all_is_asked_for() -> None:
    many = [acl(principal=f"User:{number:03}", operation=Operation.WRITE) for number in range(99)]
    assert "… and 88 more with more differences (--all)" in explained([*many, acl(host="h")])
    whole = explained([*many, acl(host="h")], whole=True)
    assert whole.count("User:0") >= 99
    assert "(--all)" not in whole


def test_names_cannot_reach_the_terminal() -> None:
    question = READ_PAYMENTS._replace(resource_name="pay\x1b[2Jments", principal="User:\u202ea")
    text = explained([acl(name="pay\x1b[2J", pattern_type=PatternType.PREFIXED)], question)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert '"pay\\u001b[2Jments"' in text
