"""Kafka's own StandardAuthorizer: many questions about many sets of ACLs in one call.

One Java process answers all of them, since only its start is expensive. If Kafka throws an
exception, the answer is the name of its class. This module must not know how ours decides.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.support.kafka.tools import QUICK_START, QUIET

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from authorizer import Acl, Operation, ResourceType
    from tests.support.kafka.tools import KafkaTools

_SOURCE = Path(__file__).parent / "java" / "KafkaAuthorizer.java"
_WITH_RULES = ("-Drules=true", "-Dorg.slf4j.simpleLogger.log.kafka.authorizer.logger=debug")
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


class KafkaQuestion(NamedTuple):
    """A question; without a ``name``, for ``authorizeByResourceType``."""

    principal: str
    host: str
    operation: Operation
    resource_type: ResourceType
    name: str | None


class KafkaWorld(NamedTuple):
    """ACLs, configuration and questions."""

    acls: Sequence[Acl]
    questions: Sequence[KafkaQuestion]
    allow_everyone: bool = False
    super_users: Sequence[str] = ()


class Script:
    """What KafkaAuthorizer.java reads: worlds of ACLs, names and sessions, by number."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.begin()

    def begin(self) -> None:
        """Begin another set of ACLs."""
        self.lines.append("end")
        self._numbers: dict[tuple[str, ...], int] = {}
        self._counts: dict[str, int] = {}

    def acl(self, acl: Acl) -> int:
        kind, name, pattern, principal, host, operation, permission = acl
        texts = str(int(kind)), name, str(int(pattern)), principal, host
        return self._number("acl", *texts, str(int(operation)), str(int(permission)))

    def name(self, name: str) -> int:
        return self._number("name", name)

    def session(self, principal: str, host: str) -> int:
        return self._number("session", principal, host)

    def load(
        self, acls: Iterable[int], *, allow_everyone: bool, super_users: Sequence[str]
    ) -> None:
        users = ";".join(super_users).translate(_ESCAPES)
        numbers = ",".join(map(str, acls))
        self.lines.append(f"load\t{str(allow_everyone).lower()}\t{users}\t{numbers}")

    def ask(
        self, session: int, operation: Operation, resource_type: ResourceType, name: int | None
    ) -> None:
        words = f"{session}\t{operation:d}\t{resource_type:d}"
        self.lines.append(f"ask-type\t{words}" if name is None else f"ask\t{words}\t{name}")

    def _number(self, *words: str) -> int:
        number = self._numbers.get(words)
        if number is None:
            kind = words[0]
            number = self._numbers[words] = self._counts.get(kind, 0)
            self._counts[kind] = number + 1
            self.lines.append("\t".join([word.translate(_ESCAPES) for word in words]))
        return number


def kafkas_answers(tools: KafkaTools, worlds: Iterable[KafkaWorld]) -> list[list[str]]:
    """For each world, the answers to its questions: ``ALLOWED``, ``DENIED``, or an exception's
    class."""
    listed, script = list(worlds), Script()
    for world in listed:
        script.begin()
        script.load(
            dict.fromkeys(map(script.acl, world.acls)),
            allow_everyone=world.allow_everyone,
            super_users=world.super_users,
        )
        for principal, host, operation, kind, name in world.questions:
            session = script.session(principal, host)
            script.ask(session, operation, kind, None if name is None else script.name(name))
    answers = iter(answers_to(tools, script))
    return [[next(answers) for _ in world.questions] for world in listed]


def answers_to(tools: KafkaTools, script: Script, *, rules: bool = False) -> list[str]:
    """A line for each question: the result, and with ``rules`` a tab and the rule of Kafka's audit
    line, which is the number of an ACL or a name such as ``DefaultDeny``."""
    given = [QUIET, *(_WITH_RULES if rules else ())]
    done = subprocess.run(
        ["java", *QUICK_START, *given, "-cp", f"{tools.jars}/*", str(_SOURCE)],
        input="".join([f"{line}\n" for line in script.lines]),
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    if done.returncode:
        raise RuntimeError(f"{_SOURCE.name} failed:\n{done.stderr}")
    return done.stdout.split("\n")[:-1]
