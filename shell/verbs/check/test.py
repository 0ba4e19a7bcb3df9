"""``metalog test SOURCE FILES``: tests the ACLs against expectations in files.

This module must not know how files are read.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from itertools import islice
from typing import Any, Final, NamedTuple

from authorizer.analysis.changes.expectations import Outcome, outcomes
from authorizer.trace import Question
from metalog.text.plurals import counted, plural
from metalog.text.visible_text import safe, shown
from shell.arguments.yaml_files.expectations import Expected, read_expectations
from shell.context import add_config, add_source
from shell.inputs.queries import queries_of
from shell.output.output import Output
from shell.tasks.acl_words import result_word, sentence
from shell.tasks.proof.proofs import ClaimOutcome, StatedClaim, proofs
from shell.tasks.queries import Queries
from shell.views.explain_commands import explain_command
from shell.views.explanation import because, host_text, resource_text
from shell.views.other_kafka import say_other_answers
from shell.views.proofs import (
    broken_text,
    claim_text,
    point_out_unknown,
    print_proofs,
    proof_json,
    say_other_proofs,
)

USAGE: Final = "SOURCE FILE… [options]"
FORMATS: Final = ("text", "json", "github", "junit")
PAGED: Final = True
EPILOG: Final = """\
metalog test /var/kafka/metadata expectations.yaml --config server.properties
metalog test acls/ expectations/ -o github          before the ACLs are applied

FILE is a YAML file, or a folder of YAML files:
  allow:
    - {principal: User:billing, operation: Read, resource: topic:payments, host: 10.0.4.12}
  deny:
    - {principal: User:contractor, operation: All, resource: [topic:payments, group:billing]}
    - {principal: any except [User:kyc], operation: Read, resource: "topic:pii-*"}
  only:
    - {principals: [User:app], operation: Write, resource: topic:payments}
An entry under only or never, or with the word any, a CIDR block, or a * at the end of a resource,
is a claim, which is proven or broken as by metalog prove.

Exit code: 0 all expectations are met, 1 some are not, 2 no answer."""
_MOST_LOOKED_UP: Final = 100
"""At most this many questions, because each look-up is a pass over the ACLs."""


class ExpectationResult(NamedTuple):
    expected: Expected
    outcome: Outcome

    @property
    def question(self) -> Question:
        return self.outcome.expectation.question


def configure(parser: ArgumentParser) -> None:
    add_source(parser)
    parser.add_argument_group("expectations").add_argument(
        "files", nargs="+", metavar="FILE", help="a YAML file, or a folder of YAML files"
    )
    add_config(parser)


def run(arguments: Namespace, output: Output) -> int:
    read = read_expectations(arguments.files)
    expected = [each for each in read if isinstance(each, Expected)]
    claims = [each for each in read if isinstance(each, StatedClaim)]
    expectations = [each.expectation for each in expected]
    queries = queries_of(
        arguments,
        output,
        questions=None if claims else (each.question for each in expectations),
        check_names_of=[each.question for each in expectations if not each.allowed],
    )
    decided = outcomes(expectations, queries.decide)
    results = [ExpectationResult(*pair) for pair in zip(expected, decided, strict=True)]
    proved = proofs(claims, queries)
    failed = [each for each in results if not each.outcome.is_met]
    broken = [each for each in proved if not each.result.is_proven]
    _point_out_unknown(results, queries, output)
    point_out_unknown(claims, queries, output)
    say_other_answers((each.expectation.question for each in expected), queries, output)
    say_other_proofs(proved, queries, output)
    if output.is_text:
        _print(failed, queries, arguments, output)
        print_proofs(broken, queries, arguments, output)
        _print_summary(len(read), len(failed) + len(broken), output)
    elif output.format == "json":
        for each in results:
            output.record(_as_json(each, queries))
        for proof in proved:
            output.record(proof_json(proof, queries, arguments))
    elif output.format == "github":
        _print_annotations(failed, broken, output)
    else:
        _print_junit(results, proved, output)
    return 1 if failed or broken else 0


def _point_out_unknown(
    results: Iterable[ExpectationResult], queries: Queries, output: Output
) -> None:
    """A denial for a misspelt name proves nothing."""
    first: dict[tuple[object, ...], ExpectationResult] = {}
    for each in results:
        if not each.expected.expectation.allowed:
            question = each.question
            key = question.principal, question.resource_type, question.resource_name
            first.setdefault(key, each)
    named: set[object] = set()
    for each in islice(first.values(), _MOST_LOOKED_UP):
        for unknown in queries.unknown(each.question):
            if unknown not in named:
                named.add(unknown)
                output.note(f"{each.expected.position}: {unknown}")


def _print(
    failed: list[ExpectationResult], queries: Queries, arguments: Namespace, output: Output
) -> None:
    for each in failed:
        comment = each.expected.comment
        remark = "" if comment is None else f"  {output.paint(safe(comment), 'faint')}"
        output.line(f"{output.paint(_question_text(each.question), 'strong')}{remark}")
        output.line(f"  {safe(str(each.expected.position))}: {_expected_text(each)}")
        output.line(f"  {because(each.question, queries.trace(each.question))}")
        output.line(f"  {output.paint(explain_command(each.question, arguments), 'faint')}")


def _print_summary(number: int, failed: int, output: Output) -> None:
    if failed:
        are = plural(failed, "is", "are")
        output.line(f"{failed:,} of {counted(number, 'expectation')} {are} not met.")
    else:
        met = counted(number, "expectation is", "expectations are")
        output.line(f"All {met} met." if number > 1 else f"{met} met.")


def _question_text(question: Question) -> str:
    return (
        f"{shown(question.principal)} {question.operation.name} on {resource_text(question)} "
        f"from {host_text(question.host)}"
    )


def _expected_text(each: ExpectationResult) -> str:
    expectation, decision = each.outcome
    wanted = result_word(expectation.allowed)
    if bool(decision.result) is expectation.allowed:
        return f"is {wanted} as expected, but by {decision.rule}, not {expectation.rule}"
    return f"expected {wanted}, is {decision.result.value}"


def _as_json(each: ExpectationResult, queries: Queries) -> dict[str, Any]:
    expectation, decision = each.outcome
    return queries.answer_json(each.question, decision) | {
        "expected": result_word(expectation.allowed),
        "expectedRule": expectation.rule,
        "met": each.outcome.is_met,
        "file": each.expected.position.file,
        "line": each.expected.position.line,
        "comment": each.expected.comment,
    }


def _print_annotations(
    failed: Iterable[ExpectationResult], broken: Iterable[ClaimOutcome], output: Output
) -> None:
    from shell.output.ci_reports import annotation

    for each in failed:
        message = f"{_question_text(each.question)}: {_expected_text(each)}{_by(each)}"
        output.line(annotation("error", "metalog test", message, *each.expected.position))
    for proof in broken:
        message = f"{claim_text(proof.stated)}: {broken_text(proof)}"
        output.line(annotation("error", "metalog test", message, *proof.stated.position))


def _print_junit(
    results: Iterable[ExpectationResult], proved: Iterable[ClaimOutcome], output: Output
) -> None:
    from shell.output.ci_reports import Case, print_junit

    cases = []
    for each in results:
        position = each.expected.position
        failure = f"{position}: {_expected_text(each)}{_by(each)}"
        cases.append(Case(_question_text(each.question), () if each.outcome.is_met else (failure,)))
    for proof in proved:
        failure = f"{proof.stated.position}: {broken_text(proof)}"
        cases.append(Case(claim_text(proof.stated), () if proof.result.is_proven else (failure,)))
    print_junit("metalog test", cases, output)


def _by(each: ExpectationResult) -> str:
    decision = each.outcome.decision
    if decision.acl is not None:
        return f" by {sentence(decision.acl)}"
    is_as_expected = bool(decision.result) is each.outcome.expectation.allowed
    return "" if is_as_expected else f" ({decision.rule})"
