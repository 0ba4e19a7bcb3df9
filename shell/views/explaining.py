"""Explains a question, a checklist or many questions.

This module must not know where the arguments come from, nor how an explanation is found.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from metalog.acl import ResourceType
from metalog.text.plurals import counted
from shell.arguments.question import add_question, read_question
from shell.inputs.batch_questions import BatchQuestions, asks_many
from shell.inputs.checklist import asks_checklist, read_checklist
from shell.output.output import Output
from shell.tasks.broker.broker_context import ALLOW_EVERYONE_KEY, SUPER_USERS_KEY
from shell.tasks.checklist import Checklist
from shell.tasks.queries import Queries
from shell.tasks.questions import ParsedQuestion, QuestionGroup, lines_of
from shell.views.checklist import answer_checklist
from shell.views.explain_commands import checklist_command
from shell.views.explanation import differing_answer, point_out, render, section
from shell.views.other_kafka import say_other_answers

if TYPE_CHECKING:
    from authorizer.analysis.explain.explain import Explanation
    from authorizer.audit.line import AuditLine
    from authorizer.trace import Question

_FENCE: Final = "~~~~"


def add_explaining(parser: ArgumentParser) -> None:
    add_question(parser)
    parser.add_argument_group("output").add_argument(
        "--all", action="store_true", help="print long lists in full"
    )


def explain(
    arguments: Namespace, queries_for: Callable[[Sequence[AuditLine]], Queries], output: Output
) -> int:
    """Returns the exit code: 2 if a line is not a question.

    ``queries_for`` is called with the audit lines.
    """
    if asks_many(arguments):
        many = BatchQuestions(arguments)
        groups = many.groups(output)
        queries = queries_for(lines_of(groups))
        return _explain_many(many, groups, queries, arguments, output)
    if asks_checklist(arguments):
        checklist = read_checklist(arguments)
        _explain_checklist(checklist, queries_for(()), output)
        return 0
    question = read_question(arguments)
    _explain(question, queries_for(question.lines), arguments, output)
    return 0


def _explain_checklist(checklist: Checklist, queries: Queries, output: Output) -> None:
    from authorizer.analysis.explain.json import remedy_json
    from shell.tasks.checklist import checklist_remedy
    from shell.views.checklist import checklist_remedy_lines

    remedy = checklist_remedy(checklist, queries)
    if not output.is_text:
        record = (
            None
            if remedy is None
            else remedy_json(remedy, queries.id_of, queries.command_target.as_json)
        )
        answer_checklist(checklist, queries, output, {"remedy": record})
        return
    is_denied = answer_checklist(checklist, queries, output)
    if remedy is not None:
        section("to allow", checklist_remedy_lines(remedy, queries, output), output)
    elif is_denied:
        section(
            "to allow", ["kafka-acls has no commands that make the whole checklist pass"], output
        )


def _explain(
    question: ParsedQuestion, queries: Queries, arguments: Namespace, output: Output
) -> None:
    explanation = queries.explain(question.question, request=question.request)
    point_out(
        question,
        explanation.unknown,
        explanation.trace.allowed,
        output,
        suggests_at=queries.suggests_at,
    )
    say_other_answers([question.question], queries, output)
    if output.format == "json":
        unknown = [name.as_json() for name in explanation.unknown]
        output.record(_record(explanation, queries) | {"unknown": unknown})
    else:
        _print(explanation, queries, arguments, output)


def _explain_many(
    many: BatchQuestions,
    groups: Iterable[QuestionGroup],
    queries: Queries,
    arguments: Namespace,
    output: Output,
) -> int:
    questions: list[Question] = []
    for group in groups:
        explanation = queries.explain(
            group.parsed.question, is_alone=False, request=group.parsed.request
        )
        if queries.of_other_kafka is not None:
            questions.append(group.parsed.question)
        if output.format == "json":
            output.record(_record(explanation, queries) | group.as_json())
            continue
        times = "once" if group.times == 1 else counted(group.times, "time")
        then = differing_answer(group.parsed, explanation.trace.allowed)
        header = f"--- {times}, first in line {group.line}" + (f"; {then}" if then else "")
        output.line(output.paint(header, "faint"))
        _print(explanation, queries, arguments, output)
        output.line()
    say_other_answers(questions, queries, output)
    return 2 if many.bad else 0


def _record(explanation: Explanation, queries: Queries) -> dict[str, Any]:
    from authorizer.analysis.explain.json import to_json

    as_json = queries.command_target.as_json
    return to_json(explanation, queries.id_of, as_json) | queries.extent_json()


def _print(
    explanation: Explanation, queries: Queries, arguments: Namespace, output: Output
) -> None:
    """In Markdown, a code block keeps the columns aligned."""
    if output.format == "markdown":
        output.line(_FENCE)
    checklists = _checklist_commands(explanation.question, queries, arguments)
    render(explanation, queries, output, whole=arguments.all, checklists=checklists)
    if output.format == "markdown":
        output.line(_FENCE)


def _checklist_commands(question: Question, queries: Queries, arguments: Namespace) -> list[str]:
    if question.resource_type is not ResourceType.TOPIC:
        return []
    arguments = _with_assumed_settings(arguments, queries)
    clients = ("--consumer", "--producer")
    return [checklist_command(question, client, arguments) for client in clients]


def _with_assumed_settings(arguments: Namespace, queries: Queries) -> Namespace:
    context = queries.context
    settings = dict(setting.split("=", 1) for setting in context.assumed)
    if settings.get(ALLOW_EVERYONE_KEY) == "true":
        arguments = Namespace(**{**vars(arguments), "allow_everyone": True})
    if settings.get(SUPER_USERS_KEY):
        arguments = Namespace(**{**vars(arguments), "super_users": settings[SUPER_USERS_KEY]})
    return arguments
