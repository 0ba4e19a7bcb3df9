"""``metalog can SOURCE QUESTION``: yes or no, and the rule or ACL that decides.

This module must not know why an ACL does not match; ``explain`` does.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from typing import Final

from authorizer.analysis.access.hosts import changing_hosts
from authorizer.engine.decide import Decision
from authorizer.trace import Question
from metalog.text.visible_text import shown
from shell.arguments.question import add_question, read_question
from shell.context import add_config, add_source
from shell.inputs.batch_questions import BatchQuestions, asks_many
from shell.inputs.checklist import asks_checklist, read_checklist
from shell.inputs.queries import queries_of
from shell.output.output import Cell, Output
from shell.tasks.acl_words import result_word, sentence
from shell.tasks.queries import Queries
from shell.tasks.questions import ParsedQuestion, QuestionGroup, lines_of
from shell.views.checklist import answer_checklist
from shell.views.explain_commands import command_as_typed
from shell.views.explanation import (
    because,
    differing_answer,
    headline,
    host_text,
    line_remark,
    point_out,
    resource_text,
    result_cell,
)
from shell.views.other_kafka import say_other_answers

USAGE: Final = "SOURCE QUESTION [options]"
FORMATS: Final = ("text", "json")
PAGED: Final = False
EPILOG: Final = """\
metalog can /var/kafka/metadata User:app Write topic:payments --host 10.0.0.7
metalog can SOURCE 'Principal = User:app is Denied operation = WRITE from host = …'
metalog can SOURCE User:app --consumer --topic payments --group billing
metalog can SOURCE --audit kafka-authorizer.log

Exit code: 0 allowed, 1 denied, 2 no answer. For many questions: 1 if at least one is denied, 2 if
at least one has no answer."""


def configure(parser: ArgumentParser) -> None:
    add_source(parser)
    add_question(parser)
    add_config(parser)


def run(arguments: Namespace, output: Output) -> int:
    if asks_many(arguments):
        many = BatchQuestions(arguments)
        groups = many.groups(output)
        questions = (each.parsed.question for each in groups) if isinstance(groups, list) else None
        queries = queries_of(arguments, output, lines_of(groups), questions)
        return _answer_many(many, groups, queries, output)
    if asks_checklist(arguments):
        checklist = read_checklist(arguments)
        code = answer_checklist(checklist, queries_of(arguments, output), output)
        if code and output.is_text:
            _print_next(arguments, None, output)
        return code
    parsed = read_question(arguments)
    question_list = [parsed.question]
    queries = queries_of(arguments, output, parsed.lines, question_list, question_list)
    code = _answer(parsed, queries, output)
    if code and output.is_text:
        _print_next(arguments, parsed.question, output)
    return code


def _answer(parsed: ParsedQuestion, queries: Queries, output: Output) -> int:
    question = parsed.question
    traced = queries.trace(question)
    hosts = changing_hosts(traced, queries.context.config.kafka) if question.host is None else ()
    unknown = queries.unknown(question)
    point_out(parsed, unknown, traced.allowed, output, suggests_at=queries.suggests_at)
    say_other_answers([question], queries, output)
    if output.is_text:
        output.prose(headline(question, traced.allowed, output))
        output.prose(because(question, traced))
        for answer in hosts:
            result = result_word(answer.allowed)
            output.prose(f"From {shown(answer.host)} it is {result}: {sentence(answer.acl)}.")
    else:
        record = queries.answer_json(question, traced.decision)
        record["hosts"] = [
            {"host": answer.host, "result": result_word(answer.allowed)} for answer in hosts
        ]
        record["unknown"] = [each.as_json() for each in unknown]
        output.record(record)
    return 0 if traced.allowed else 1


def _print_next(arguments: Namespace, question: Question | None, output: Output) -> None:
    """The printed command has a question from stdin in place of ``-``."""
    words = list(arguments.typed)
    if question is not None and arguments.question == ["-"]:
        at = words.index("-")
        kind = question.resource_type.name.lower().replace("_", "-")
        resource = f"{kind}:{question.resource_name}"
        host = () if question.host is None else ("--host", question.host)
        words[at : at + 1] = [question.principal, question.operation.name, resource, *host]
    output.line()
    output.line("why, and how to allow it:")
    output.line(f"  {output.paint(command_as_typed(words), 'strong')}")


def _answer_many(
    many: BatchQuestions, groups: Iterable[QuestionGroup], queries: Queries, output: Output
) -> int:
    denied = False
    questions: list[Question] = []

    def answered() -> Iterator[tuple[QuestionGroup, Decision]]:
        nonlocal denied
        for group in groups:
            decision = queries.decide(group.parsed.question)
            denied = denied or not decision.result
            if queries.of_other_kafka is not None:
                questions.append(group.parsed.question)
            yield group, decision

    if output.is_text:
        output.aligned(_row(group, decision, many.is_audit) for group, decision in answered())
    else:
        for group, decision in answered():
            output.record(queries.answer_json(group.parsed.question, decision) | group.as_json())
    say_other_answers(questions, queries, output)
    return 2 if many.bad else 1 if denied else 0


def _row(group: QuestionGroup, decision: Decision, is_audit: bool) -> list[Cell | str]:
    question = group.parsed.question
    allowed = bool(decision.result)
    remarks = (differing_answer(group.parsed, allowed), line_remark(group.parsed))
    return [
        *([f"{group.times:>6,}"] if is_audit else ()),
        result_cell(allowed),
        shown(question.principal),
        f"{question.operation.name} on {resource_text(question)}",
        f"from {host_text(question.host)}",
        *([Cell(", ".join(filter(None, remarks)), "warn")] if is_audit else ()),
        Cell(decision.rule if decision.acl is None else sentence(decision.acl), "faint"),
    ]
