"""The cost of an analysis grows with the ACLs and the answer, not with their square. The test
counts executed lines of Python on ACLs that once took a minute, at one size and at twice that
size."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import date
from functools import partial
from types import FrameType
from typing import Any

import pytest

from authorizer.analysis.access.access import access
from authorizer.analysis.access.who_can import who_can
from authorizer.analysis.explain.explain import explain
from authorizer.analysis.lint.checks import CHECKS
from authorizer.analysis.lint.finding import Check, Finding, LintSubject
from authorizer.config import AuthorizerConfig
from authorizer.trace import Question
from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType

TOPIC, READ, WRITE = ResourceType.TOPIC, Operation.READ, Operation.WRITE
CONFIG = AuthorizerConfig(frozenset({"User:root"}), False)
OPEN = AuthorizerConfig(frozenset({"User:root"}), True)
SIZE = 120
TWICE = 2.6
"""The allowed growth for twice the ACLs; a quadratic cost would be four."""

GRANT = Acl(TOPIC, "t", PatternType.LITERAL, "User:a", "*", READ, PermissionType.ALLOW)
DENY = GRANT._replace(permission_type=PermissionType.DENY)


def _hosts(count: int) -> list[str]:
    return [f"10.0.{number >> 8}.{number & 255}" for number in range(count)]


def _prefixed(acl: Acl, name: str) -> Acl:
    return acl._replace(resource_name=name, pattern_type=PatternType.PREFIXED)


SHAPES: dict[str, Callable[[int], list[Acl]]] = {
    "hosts": lambda n: [GRANT._replace(host=host) for host in _hosts(n)],
    "denied hosts": lambda n: [GRANT, *(DENY._replace(host=host) for host in _hosts(n))],
    "hosts of everybody": lambda n: [
        *(GRANT._replace(principal="User:*", host=host) for host in _hosts(n)),
        *(GRANT._replace(principal=f"User:{number}") for number in range(n)),
    ],
    "denied hosts of everybody": lambda n: [
        *(DENY._replace(principal="User:*", host=host) for host in _hosts(n)),
        *(GRANT._replace(principal=f"User:{number}") for number in range(n)),
    ],
    "hosts with a wildcard each": lambda n: [
        *(GRANT._replace(resource_name="*", host=host) for host in _hosts(n)),
        *(GRANT._replace(resource_name=f"t{number}") for number in range(n)),
        GRANT._replace(resource_name="*"),
    ],
    "nested": lambda n: [_prefixed(GRANT, "a" * length) for length in range(1, n + 1)],
    "nested, every other denied": lambda n: [
        _prefixed(DENY if length % 2 else GRANT, "a" * length) for length in range(n, 0, -1)
    ],
    "nested, with denies below": lambda n: [
        *(_prefixed(GRANT, "a" * length) for length in range(1, n + 1)),
        *(_prefixed(DENY, "a" * length) for length in range(n + 1, n + 5)),
    ],
    "one principal": lambda n: [GRANT._replace(resource_name=f"t{i}") for i in range(n)],
    "principals": lambda n: [GRANT._replace(principal=f"User:{i}") for i in range(n)],
    "denies": lambda n: [
        GRANT._replace(resource_name="*"),
        *(DENY._replace(resource_name=f"t{number}") for number in range(n)),
    ],
    "prefixes, and others denied": lambda n: [
        *(_prefixed(GRANT, f"t{number}.") for number in range(n)),
        *(_prefixed(DENY, f"u{number}.") for number in range(n)),
    ],
}


def _steps(work: Callable[[], Any]) -> int:
    count = 0

    def local(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return local

    before = sys.gettrace()
    sys.settrace(lambda *_: local)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def _analyses(acls: list[Acl]) -> Iterator[tuple[str, Callable[[], Any]]]:
    longest = max((acl.resource_name for acl in acls), key=len)
    name = longest if longest.startswith("aa") else "t"
    names = {TOPIC: sorted({name, "t1", "u", *(acl.resource_name for acl in acls[:50])})}
    asked = Question("User:a", READ, TOPIC, name)
    yield "who-can", lambda: who_can(acls, CONFIG, READ, TOPIC, name)
    yield "access", lambda: access(acls, CONFIG, "User:a", names)
    yield "access of another", lambda: access(acls, OPEN, "User:zz", names)
    yield "explain", lambda: explain(acls, OPEN, asked)
    yield "explain a near miss", lambda: explain(acls, OPEN, asked._replace(operation=WRITE))
    other = asked._replace(principal="User:zz", host="10.0.0.1")
    yield "explain another's", lambda: explain(acls, CONFIG, other)
    today = date(2026, 1, 1)
    topics = names[TOPIC]
    subject = LintSubject(tuple(acls), CONFIG, today, is_log=True, topics=topics, users=["a", "zz"])
    for check in CHECKS:
        yield f"lint {check.id}", partial(_found, check, subject)


def _found(check: Check, subject: LintSubject) -> list[Finding]:
    return list(check.find(subject))


@pytest.mark.once
@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_acls_cost_about_twice_the_steps(shape: str) -> None:
    small, large = (list(_analyses(SHAPES[shape](size))) for size in (SIZE, 2 * SIZE))
    for (what, work), (_, twice) in zip(small, large, strict=True):
        once = _steps(work)
        assert _steps(twice) <= max(once * TWICE, once + 2_000), (shape, what, once)
