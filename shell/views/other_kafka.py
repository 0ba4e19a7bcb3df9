"""Says that another Kafka would answer otherwise, where nobody said which one decides.

This module must not know how an answer is found.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from metalog.host_block import host_block
from metalog.plurals import counted
from shell.tasks.acl_words import sentence

if TYPE_CHECKING:
    from authorizer.engine.decide import Decision
    from authorizer.trace import Question
    from metalog.acl import Acl
    from shell.output.output import Output
    from shell.tasks.queries import Queries


def say_other_answer(question: Question, judge: Queries, output: Output) -> None:
    """One line where the other Kafka answers ``question`` otherwise."""
    say_other_answers([question], judge, output)


def say_other_answers(questions: Iterable[Question], judge: Queries, output: Output) -> None:
    """One line for all of ``questions`` that the other Kafka answers otherwise."""
    other = judge.of_other_kafka
    if other is None:
        return
    listed = list(questions)
    turned: list[tuple[Decision, Decision]] = []
    for question in listed:
        here, there = judge.decide(question), other.decide(question)
        if here.result is not there.result:
            turned.append((here, there))
    if not turned:
        return
    here, there = turned[0]
    which = there.result.value
    if len(listed) > 1:
        which = f"{counted(len(turned), 'question')} otherwise, the first of them {which}"
    _say(judge, f"would answer {which}{_because(judge, there.acl, here.acl)}", output)


def say_other_result(acls: Iterable[Acl], judge: Queries, output: Output) -> None:
    """One line where the other Kafka's result differs; ``acls`` are those in which it does."""
    _say(judge, f"would answer otherwise{_because(judge, *acls)}", output)


def _because(judge: Queries, *acls: Acl | None) -> str:
    """By which of ``acls`` the other Kafka answers otherwise, or without which."""
    acl = _with_block(*acls)
    if acl is None:
        return ""
    if judge.context.config.kafka.other.matches_blocks or host_block(acl.host) is None:
        return f", by {sentence(acl)}"
    return f", since it compares hosts as text: {sentence(acl)}"


def _say(judge: Queries, would: str, output: Output) -> None:
    here = judge.context.config.kafka
    output.note(
        f"Kafka {here.other.value} {would}; taken for Kafka {here.value} by metadata.version, "
        f"--kafka {here.other.value} decides as the other"
    )


def _with_block(*acls: Acl | None) -> Acl | None:
    """The first whose host is a block, which only one Kafka matches."""
    listed = [acl for acl in acls if acl is not None]
    blocks = (acl for acl in listed if host_block(acl.host) is not None)
    return next(blocks, listed[0] if listed else None)
