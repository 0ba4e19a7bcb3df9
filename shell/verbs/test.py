"""``metalog test SOURCE FILES``: holds the ACLs against expectations in files.

Exit code 0: all are met, 1: some are not, 2: no answer. This module must not know how files
are read.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from itertools import islice
from typing import Any, Final, NamedTuple

from authorizer.analysis.commands import quoted
from authorizer.analysis.expectations import Outcome, hold
from authorizer.trace import Question
from metalog.plurals import counted, plural
from metalog.visible_text import safe, shown
from shell.arguments.expectations import Expected, read_expectations
from shell.context import add_config, add_source
from shell.inputs.queries import judge_of
from shell.output.output import Output
from shell.tasks.acl_words import sentence
from shell.tasks.queries import Queries
from shell.views.explanation import asked_from, because, resource_said
from shell.views.other_kafka import say_other_answers

USAGE: Final = "SOURCE FILE… [options]"
FORMATS: Final = ("text", "json", "github", "junit")
PAGED: Final = True
EPILOG: Final = """\
metalog test /var/kafka/metadata expectations.yaml --config server.properties
metalog test acls/ expectations/ -o github          before the ACLs are applied

FILE is YAML, or a folder of it:
  allow:
    - {principal: User:billing, operation: Read, resource: topic:payments, host: 10.0.4.12}
  deny:
    - {principal: User:contractor, operation: All, resource: [topic:payments, group:billing]}

Exit code: 0 all expectations are met, 1 some are not, 2 no answer."""
_ASKED_ABOUT: Final = 100
"""So many names are looked for among those that are known; each costs a pass over the ACLs."""


class ExpectationResult(NamedTuple):
    expected: Expected
    outcome: Outcome

    @property
    def question(self) -> Question:
        return self.outcome.expectation.question


def configure(parser: ArgumentParser) -> None:
    add_source(parser)
    parser.add_argument_group("expectations").add_argument(
        "files", nargs="+", metavar="FILE", help="YAML, or a folder of it"
    )
    add_config(parser)


def run(arguments: Namespace, output: Output) -> int:
    expected = read_expectations(arguments.files)
    expectations = [each.expectation for each in expected]
    judge = judge_of(
        arguments,
        output,
        questions=(each.question for each in expectations),
        pointed_out=[each.question for each in expectations if not each.allowed],
    )
    outcomes = hold(expectations, judge.decide)
    held = [ExpectationResult(*pair) for pair in zip(expected, outcomes, strict=True)]
    failed = [each for each in held if not each.outcome.is_met]
    _point_out_unknown(held, judge, output)
    say_other_answers((each.expectation.question for each in expected), judge, output)
    if output.is_text:
        _print(held, failed, judge, arguments, output)
    elif output.format == "json":
        for each in held:
            output.record(_as_json(each, judge))
    elif output.format == "github":
        _print_annotations(failed, output)
    else:
        _print_junit(held, output)
    return 1 if failed else 0


def _point_out_unknown(held: Iterable[ExpectationResult], judge: Queries, output: Output) -> None:
    """A DENY is easily expected of a name that nobody has: then it says nothing."""
    first: dict[tuple[object, ...], ExpectationResult] = {}
    for each in held:
        if not each.expected.expectation.allowed:
            question = each.question
            key = question.principal, question.resource_type, question.resource_name
            first.setdefault(key, each)
    said: set[object] = set()
    for each in islice(first.values(), _ASKED_ABOUT):
        for unknown in judge.unknown(each.question):
            if unknown not in said:
                said.add(unknown)
                output.note(f"{each.expected.place}: {unknown}")


def _print(
    held: list[ExpectationResult],
    failed: list[ExpectationResult],
    judge: Queries,
    arguments: Namespace,
    output: Output,
) -> None:
    for each in failed:
        comment = each.expected.comment
        remark = "" if comment is None else f"  {output.paint(safe(comment), 'faint')}"
        output.line(f"{output.paint(_asked(each.question), 'strong')}{remark}")
        output.line(f"  {safe(str(each.expected.place))}: {_expected_said(each)}")
        output.line(f"  {because(each.question, judge.trace(each.question))}")
        output.line(f"  {output.paint(_explain(each.question, arguments), 'faint')}")
    number = len(held)
    if failed:
        are = plural(len(failed), "is", "are")
        output.line(f"{len(failed):,} of {counted(number, 'expectation')} {are} not met.")
    else:
        met = counted(number, "expectation is", "expectations are")
        output.line(f"All {met} met." if number > 1 else "It is met.")


def _asked(question: Question) -> str:
    return (
        f"{shown(question.principal)} {question.operation.name} on {resource_said(question)} "
        f"from {asked_from(question)}"
    )


def _expected_said(each: ExpectationResult) -> str:
    expectation, decision = each.outcome
    wanted = "ALLOWED" if expectation.allowed else "DENIED"
    if bool(decision.result) is expectation.allowed:
        return f"is {wanted} as expected, but by {decision.rule}, not {expectation.rule}"
    return f"expected {wanted}, is {decision.result.value}"


def _explain(question: Question, arguments: Namespace) -> str:
    resource = f"{question.resource_type.name.lower()}:{question.resource_name}"
    host = "" if question.host is None else f" --host {quoted(question.host)}"
    kafka = "" if arguments.kafka is None else f" --kafka {quoted(arguments.kafka)}"
    return (
        f"metalog explain {quoted(arguments.source)} {quoted(question.principal)} "
        f"{question.operation.name} {quoted(resource)}{host}{kafka}"
    )


def _as_json(each: ExpectationResult, judge: Queries) -> dict[str, Any]:
    expectation, decision = each.outcome
    return judge.answer_json(each.question, decision) | {
        "expected": "ALLOWED" if expectation.allowed else "DENIED",
        "expectedRule": expectation.rule,
        "met": each.outcome.is_met,
        "file": each.expected.place.file,
        "line": each.expected.place.line,
        "comment": each.expected.comment,
    }


def _print_annotations(failed: Iterable[ExpectationResult], output: Output) -> None:
    from shell.output.ci_reports import annotation

    for each in failed:
        message = f"{_asked(each.question)}: {_expected_said(each)}{_by(each)}"
        output.line(annotation("error", "metalog test", message, *each.expected.place))


def _print_junit(held: Iterable[ExpectationResult], output: Output) -> None:
    from shell.output.ci_reports import Case, print_junit

    cases = []
    for each in held:
        place = each.expected.place
        failure = f"{place}: {_expected_said(each)}{_by(each)}"
        cases.append(Case(_asked(each.question), () if each.outcome.is_met else (failure,)))
    print_junit("metalog test", cases, output)


def _by(each: ExpectationResult) -> str:
    decision = each.outcome.decision
    if decision.acl is not None:
        return f" by {sentence(decision.acl)}"
    is_said = bool(decision.result) is each.outcome.expectation.allowed
    return "" if is_said else f" ({decision.rule})"
