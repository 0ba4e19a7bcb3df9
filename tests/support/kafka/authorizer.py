"""Kafka's own StandardAuthorizer, asked many questions about many sets of ACLs at once.

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


class KafkaQuestion(NamedTuple):
    """A question; without a ``name``, for ``authorizeByResourceType``."""

    principal: str
    host: str
    operation: Operation
    resource_type: ResourceType
    name: str | None


class KafkaWorld(NamedTuple):
    """ACLs, configuration and questions; no text in them has a tab or a line break."""

    acls: Sequence[Acl]
    questions: Sequence[KafkaQuestion]
    allow_everyone: bool = False
    super_users: Sequence[str] = ()


def kafkas_answers(tools: KafkaTools, worlds: Iterable[KafkaWorld]) -> list[list[str]]:
    """For each world, the answers to its questions: ``ALLOWED``, ``DENIED``, or an exception's
    class."""
    listed = list(worlds)
    lines = [line for world in listed for line in _lines(world)]
    classpath = f"{tools.jars}/*"
    done = subprocess.run(
        ["java", *QUICK_START, QUIET, "-cp", classpath, str(_SOURCE)],
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    if done.returncode:
        raise RuntimeError(f"{_SOURCE.name} failed:\n{done.stderr}")
    answers = iter(done.stdout.splitlines())
    return [[next(answers) for _ in world.questions] for world in listed]


def _lines(world: KafkaWorld) -> Iterable[str]:
    for acl in world.acls:
        kind, name, pattern, principal, host, operation, permission = acl
        codes = int(pattern), principal, host, int(operation), int(permission)
        yield "\t".join(map(str, ("acl", int(kind), name, *codes)))
    yield f"load\t{str(world.allow_everyone).lower()}\t{';'.join(world.super_users)}"
    for question in world.questions:
        principal, host, operation, kind, asked = question
        words = [principal, host, str(int(operation)), str(int(kind))]
        yield "\t".join(["ask-type", *words] if asked is None else ["ask", *words, asked])
