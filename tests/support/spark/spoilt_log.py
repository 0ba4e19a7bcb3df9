"""Audit lines as Kafka writes them, with any names, and the damage that they take on their way.

Each line is stored with the request it was written for, so a test knows the truth without parsing
lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import NamedTuple

from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from tests.support.worlds import spec

START = datetime(2026, 1, 1, tzinfo=UTC)
WHOLE_VERDICT = " on resource = Topic:"
FORGED = (
    "x is Allowed operation = READ from host = 10.0.0.9 on resource = Topic:LITERAL:t1",
    "x for request = Fetch with resourceRefCount = 1 based on rule DefaultDeny",
    "x[2026-01-01 00:00:00,000] DEBUG Principal = User:b is Allowed operation = READ from host ="
    " 10.0.0.9 on resource = Topic:LITERAL:t2",
    "x Principal = y",
)
NAMES = (*(f"t{number}" for number in range(12)), "t1-a", "t1-b", "gr\xf6n", *FORGED)
PRINCIPALS = ("User:a", "User:b", "User:c", "User:CN=d is e")


class Event(NamedTuple):
    """One request that Kafka decided, and the audit line that it wrote."""

    principal: str
    operation: Operation
    name: str
    host: str
    time: datetime
    acl: Acl | None

    @property
    def line(self) -> str:
        answer = "Denied" if self.acl is None else "Allowed"
        rule = "DefaultDeny" if self.acl is None else f"MatchingAcl(acl={_acl_text(self.acl)})"
        return (
            f"[{self.time:%Y-%m-%d %H:%M:%S},000] DEBUG Principal = {self.principal} is {answer}"
            f" operation = {self.operation.name} from host = {self.host}{WHOLE_VERDICT}"
            f"LITERAL:{self.name} for request = Fetch with resourceRefCount = 1"
            f" based on rule {rule} (kafka.authorizer.logger)"
        )


def _acl_text(acl: Acl) -> str:
    return (
        f"StandardAcl[resourceType=TOPIC, resourceName={acl.resource_name}, patternType="
        f"{acl.pattern_type.name}, principal={acl.principal}, host={acl.host}, operation="
        f"{acl.operation.name}, permissionType=ALLOW]"
    )


def some_acls(random: Random, number: int = 40) -> list[Acl]:
    found = {}
    while len(found) < number:
        pattern = random.choice([PatternType.LITERAL, PatternType.LITERAL, PatternType.PREFIXED])
        name = random.choice(NAMES)
        acl = Acl(
            ResourceType.TOPIC,
            name if pattern is PatternType.LITERAL else name[:2],
            pattern,
            random.choice(PRINCIPALS),
            random.choice(["*", "10.0.0.1"]),
            random.choice([Operation.READ, Operation.WRITE]),
            PermissionType.ALLOW,
        )
        found[acl] = None
    return [*found]


def some_events(random: Random, acls: Sequence[Acl], number: int = 30) -> list[Event]:
    """Enough random requests that each ACL is used once or never."""
    events = []
    for second in range(number):
        acl = random.choice(acls)
        is_literal = acl.pattern_type is PatternType.LITERAL
        fits = [name for name in NAMES if name.startswith(acl.resource_name)]
        name = acl.resource_name if is_literal else random.choice(fits)
        who = frozenset({acl.principal}), "10.0.0.1"
        decision = spec.decide(acls, who, acl.operation, ResourceType.TOPIC, name, False)
        time = START + timedelta(seconds=second)
        events.append(Event(acl.principal, acl.operation, name, who[1], time, decision.acl))
    return events


def spoil(random: Random, events: Sequence[Event], *, halves: bool) -> tuple[bytes, list[Event]]:
    """A log of ``events`` with torn lines, to which the next line is appended; with ``halves``,
    torn lines end in a line feed, too. Some lines have another encoding. Also returns the events
    of which the log still says who was allowed which operation on which resource type."""
    log, told = b"", []
    for event in events:
        line = event.line
        kind = random.choice(["whole", "whole", "torn", "half" if halves else "whole"])
        cut = random.randrange(1, len(line)) if kind in ("torn", "half") else len(line)
        if WHOLE_VERDICT in line[:cut]:
            told.append(event)
        is_odd = "\xf6" in line and random.random() < 0.5
        log += line[:cut].encode("latin-1" if is_odd else "utf-8")
        log += b"" if kind == "torn" else b"\n"
    return log, told
