"""If no Kafka version is configured: says that the other version would answer differently.

This module must not know how an answer is found.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from metalog.hosts.host_block import host_block
from metalog.text.plurals import counted
from shell.tasks.acl_words import sentence
from shell.tasks.plans.audit import acls_of_difference

if TYPE_CHECKING:
    from authorizer.engine.decide import Decision
    from authorizer.kafka_version import KafkaVersion
    from authorizer.trace import Question
    from metalog.acl import Acl
    from shell.output.output import Output
    from shell.tasks.plans.planned import Planned
    from shell.tasks.queries import Queries
    from shell.tasks.questions import QuestionGroup


def say_other_answers(questions: Iterable[Question], queries: Queries, output: Output) -> None:
    """Print one line on all ``questions`` that the other Kafka version answers differently."""
    other = queries.of_other_kafka
    if other is None:
        return
    listed = list(questions)
    turned: list[tuple[Decision, Decision]] = []
    for question in listed:
        decision, other_decision = queries.decide(question), other.decide(question)
        if decision.result is not other_decision.result:
            turned.append((decision, other_decision))
    if not turned:
        return
    decision, other_decision = turned[0]
    which = other_decision.result.value
    if len(listed) > 1:
        which = f"{counted(len(turned), 'question')} differently, the first with {which}"
    kafka = queries.context.config.kafka
    _say(kafka, f"would answer {which}{_because(kafka, other_decision.acl, decision.acl)}", output)


def say_other_result(acls: Iterable[Acl | None], kafka: KafkaVersion, output: Output) -> None:
    """Print one line that the other Kafka version gives another result. ``acls`` decide."""
    _say(kafka, f"would answer differently{_because(kafka, *acls)}", output)


def say_other_plan(made: Planned, groups: Iterable[QuestionGroup], output: Output) -> None:
    """Print one line if the plan affects any request differently under the other Kafka version.
    The search begins with ``groups``."""
    other = made.of_other_kafka
    if other is None:
        return
    acls = list(acls_of_difference(made, other, groups))
    if acls:
        say_other_result(acls, made.config.kafka, output)


def _because(kafka: KafkaVersion, *acls: Acl | None) -> str:
    acl = _with_block(*acls)
    if acl is None:
        return ""
    if kafka.other.matches_blocks or host_block(acl.host) is None:
        return f", by {sentence(acl)}"
    return f", because it compares hosts as text: {sentence(acl)}"


def _say(kafka: KafkaVersion, would: str, output: Output) -> None:
    other = kafka.other.value
    output.note(
        f"Kafka {other} {would}; Kafka {kafka.value} is assumed; name the version with --kafka"
    )


def _with_block(*acls: Acl | None) -> Acl | None:
    """Prefers an ACL whose host is a CIDR block, because only one Kafka version matches blocks."""
    listed = [acl for acl in acls if acl is not None]
    blocks = (acl for acl in listed if host_block(acl.host) is not None)
    return next(blocks, listed[0] if listed else None)
