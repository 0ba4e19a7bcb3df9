"""Audit lines with every odd name that Kafka allows, in every form and layout, and their damage.

Unlike ``spoilt_log``, names have line feeds, quotes, NULs and characters of several bytes. The
lines are of several Kafkas in one file, in JSON or not. Files begin with a byte order mark, end
lines as Windows does, or are packed in several gzip members. Our own writer is not used.
"""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final, NamedTuple

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
KINDS: Final = {"Topic": "TOPIC", "Group": "GROUP", "TransactionalId": "TRANSACTIONAL_ID"}
OPERATIONS: Final = {
    "Topic": ("READ", "WRITE", "DESCRIBE_CONFIGS"),
    "Group": ("READ", "DELETE"),
    "TransactionalId": ("WRITE", "DESCRIBE"),
}
_TIME: Final = len('{"@timestamp": "2026-01-01T00:00:00.000Z')
_TAIL: Final = " for request = Fetch with resourceRefCount = 1"
NAMES: Final = {
    "Topic": ("t1", "t1-a", "orders", "__consumer_offsets", "a.b_c"),
    "Group": (
        "my group", 'it\'s "q"', "grün", "話題 🙂", "cafe\u0301", "a\nb", "a\n\nb", "x\ry", "x\r",
        "tab\ty", "a = b", f"a{_TAIL}", "LITERAL:z", "", "*",
        "x is Allowed operation = READ from host = 10.0.0.9 on resource = Group:LITERAL:g",
        '{"a":1}', "\\u000a", "\u2028sep", "z" * 66_000, " lead", "trail ",
    ),
    "TransactionalId": ("tx", "tx 1 (kafka.authorizer.logger)", "y" * 70_000),
}  # fmt: skip
PRINCIPALS: Final = (
    "User:a", "User:CN=d is e", 'User:CN=x,O="A, B"', "User:grün", "User:*", "User:Principal = y",
)  # fmt: skip
HOSTS: Final = ("10.0.0.1", "10.0.0.77", "2001:db8:0:0:0:0:0:1")
LAYOUTS: Final = ("log4j", "plain", "json", "ASCII", "docker")
DAMAGES: Final = ("none", "none", "none", "torn", "half", "never written", "twice")


class OddEvent(NamedTuple):
    """A request, as Kafka of ``form`` logged it."""

    time: datetime
    kind: str
    name: str
    operation: str
    principal: str
    host: str
    is_allowed: bool
    form: str

    @property
    def question(self) -> tuple[str, str, str, str, str]:
        """As in the columns of ``requests``."""
        return self.principal, self.host, self.operation, KINDS[self.kind], self.name

    def line(self, layout: str) -> str:
        time = f"{self.time:%Y-%m-%d %H:%M:%S},{self.time.microsecond // 1000:03}"
        level = "DEBUG" if self.is_allowed else "INFO"
        if layout == "docker":
            return json.dumps({"log": f"{self.line('json')}\n", "stream": "stdout"})
        if layout in ("json", "ASCII"):
            stamp = time.replace(" ", "T").replace(",", ".")
            fields = {"@timestamp": f"{stamp}Z", "level": level, "message": self._text()}
            return json.dumps(fields, ensure_ascii=layout == "ASCII")
        if layout == "plain":
            return f"{time} {level} {self._text()}"
        return f"[{time}] {level} {self._text()} (kafka.authorizer.logger)"

    @property
    def verdict(self) -> bytes:
        return f" on resource = {self.kind}:".encode()

    def _text(self) -> str:
        result = "Allowed" if self.is_allowed else "Denied"
        is_modern = self.form in ("3.3", "4.0")
        words = "".join(word.capitalize() for word in self.operation.split("_"))
        asked = f"operation = {self.operation}" if is_modern else f"Operation = {words}"
        text = f"Principal = {self.principal} is {result} {asked} from host = {self.host}"
        text += f" on resource = {self.kind}:LITERAL:{self.name}"
        if self.form != "2.0":
            text += _TAIL
        return text + (f" based on rule {self._rule()}" if is_modern else "")

    def _rule(self) -> str:
        if not self.is_allowed:
            return "DefaultDeny"
        begin, end = "[]" if self.form == "4.0" else "()"
        return (
            f"MatchingAcl(acl=StandardAcl{begin}resourceType={KINDS[self.kind]},"
            f" resourceName={self.name}, patternType=LITERAL, principal={self.principal}, host=*,"
            f" operation={self.operation}, permissionType=ALLOW{end})"
        )


def odd_events(random: Random, number: int, forms: tuple[str, ...]) -> list[OddEvent]:
    events = []
    for second in range(number):
        kind = random.choice([*KINDS])
        time = START + timedelta(seconds=second, milliseconds=random.randrange(1000))
        name, operation = random.choice(NAMES[kind]), random.choice(OPERATIONS[kind])
        who = random.choice(PRINCIPALS), random.choice(HOSTS), random.random() < 0.6
        events.append(OddEvent(time, kind, name, operation, *who, random.choice(forms)))
    return events


def damaged(random: Random, events: list[OddEvent], layout: str) -> tuple[bytes, list[OddEvent]]:
    """A log of ``events``, and the events of which it still says who was allowed or denied which
    operation on which resource type. Each part of a line is longer than its time, since less could
    be a name's end."""
    end = random.choice([b"\n", b"\n", b"\r\n"])
    log, told = random.choice([b"", b"", b"\xef\xbb\xbf"]), []
    for event in events:
        line, damage = event.line(layout).encode(), random.choice(DAMAGES)
        if damage in ("torn", "half"):
            line = line[: random.randrange(_TIME, random.choice([len(line), min(len(line), 600)]))]
        if event.verdict in line:
            told.append(event)
        if damage == "never written":
            line = b"\0" * random.randrange(1, 4096) + line
        if damage == "twice":
            line += line[random.randrange(len(line)) :]
        log += line if damage == "torn" else line + end
    return log, told


def in_members(random: Random, log: bytes) -> bytes:
    """``log`` in three gzip members, divided anywhere."""
    first, second = sorted(random.randrange(len(log)) for _ in range(2))
    return b"".join(map(gzip.compress, (log[:first], log[first:second], log[second:])))
