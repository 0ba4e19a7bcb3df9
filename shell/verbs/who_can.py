"""``metalog who-can SOURCE OPERATION TYPE:NAME``: who may do this to that, and by which ACL.

This module must not know how it is found.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from typing import Any, Final

from authorizer.insight.hosts import HostAnswer
from authorizer.insight.json import acl_json
from authorizer.insight.who_can import Holder, WhoCan, who_can
from authorizer.trace import Question
from metalog.acl import WILDCARD_PRINCIPAL, Acl
from shell.acls import sentence
from shell.context import add_config, add_source
from shell.explanation import resource_said
from shell.judge import Judge, judge_of
from shell.output import Cell, Output
from shell.question import as_java_writes
from shell.safe import shown
from shell.words import parse_operation, parse_resource

USAGE: Final = "SOURCE OPERATION TYPE:NAME [options]"
FORMATS: Final = ("text", "json")
PAGED: Final = True
EPILOG: Final = """\
metalog who-can /var/kafka/metadata Write topic:payments --config server.properties
metalog who-can SOURCE Alter cluster                    who can change the ACLs

Exit code: 0 somebody may, 1 nobody but super users, 2 no answer."""
_HOSTS_SHOWN: Final = 3


def configure(parser: ArgumentParser) -> None:
    add_source(parser)
    asked = parser.add_argument_group("question")
    asked.add_argument("operation", metavar="OPERATION", help="in any case")
    asked.add_argument("resource", metavar="TYPE:NAME", help="topic:payments, or cluster alone")
    asked.add_argument(
        "--host", metavar="ADDRESS", help="from this address only (default: from anywhere)"
    )
    add_config(parser)


def run(arguments: Namespace, output: Output) -> int:
    host = as_java_writes(arguments.host)
    operation, resource = parse_operation(arguments.operation), parse_resource(arguments.resource)
    question = Question(WILDCARD_PRINCIPAL, operation, *resource, host)
    judge = judge_of(arguments, output)
    judge.check_ready(question)
    found = who_can(
        judge.image.acls.by_id.values(), judge.context.config, operation, *resource, host
    )
    for unknown in judge.unknown(question):
        if unknown.what != "principal":
            output.note(str(unknown))
    super_users = sorted(judge.context.config.super_users)
    if output.is_text:
        _print(question, found, super_users, output)
    else:
        for record in _records(question, found, super_users, judge):
            output.record(record)
    return 0 if any(holder.may for holder in found.holders) else 1


def _print(question: Question, found: WhoCan, super_users: list[str], output: Output) -> None:
    *named, everyone = found.holders
    may = [each for each in named if each.may and each._replace(principal=None) != everyone]
    may += [everyone] if everyone.may else []
    what = output.paint(f"{question.operation.name} on {resource_said(question)}", "strong")
    where = "" if question.host is None else f" from {shown(question.host)}"
    if found.by_default:
        output.line(f"Everyone may {what}{where}: no ACL reaches it (DefaultAllow).")
    elif may:
        output.line(f"{what}{where} is allowed to")
        rows = (row for holder in may for row in _rows(holder, question))
        output.aligned(rows, indent="  ")
    else:
        but = " but super users" if super_users else ""
        output.line(f"Nobody{but} may {what}{where}.")
    denied = [holder for holder in found.holders if holder.is_overridden]
    if denied:
        output.line("denied, though an ALLOW matches")
        output.aligned((_denied_row(holder) for holder in denied), indent="  ")
    if super_users:
        output.line(f"super users may do everything: {', '.join(map(shown, super_users))}")


def _rows(holder: Holder, question: Question) -> Iterator[list[Cell | str]]:
    """The principal with the hosts from which it may, and the ACLs that say so."""
    who = Cell(_who(holder), "strong")
    if holder.allowed:
        denied = _hosts(holder.hosts)
        where = f"from any host but {denied}" if denied else "from any host"
        by = Cell("" if holder.acl is None else sentence(holder.acl), "faint")
        yield [who, where, by] if question.host is None else [who, by]
        return
    by_acl: dict[Acl, list[HostAnswer]] = {}
    for answer in holder.hosts:
        if answer.allowed:
            by_acl.setdefault(answer.acl, []).append(answer)
    for acl, answers in by_acl.items():
        yield [who, f"from {_hosts(answers)}", Cell(sentence(acl), "faint")]


def _denied_row(holder: Holder) -> list[Cell | str]:
    allowed = _hosts([answer for answer in holder.hosts if answer.allowed])
    return [
        Cell(_who(holder), "strong"),
        Cell("" if holder.acl is None else sentence(holder.acl), "faint"),
        f"but not from {allowed}" if allowed else "",
    ]


def _who(holder: Holder) -> str:
    return "everyone else" if holder.principal is None else shown(holder.principal)


def _hosts(answers: Iterable[HostAnswer]) -> str:
    listed = list(answers)
    more = len(listed) - _HOSTS_SHOWN
    said = ", ".join(shown(answer.host) for answer in listed[:_HOSTS_SHOWN])
    return f"{said} and {more:,} more" if more > 0 else said


def _records(
    question: Question, found: WhoCan, super_users: list[str], judge: Judge
) -> Iterator[dict[str, Any]]:
    rule = "DefaultAllow" if found.by_default else "MatchingAcl"
    asked = {
        "operation": question.operation.name,
        "resourceType": question.resource_type.name,
        "resourceName": question.resource_name,
        "host": question.host,
    }
    for principal in super_users:
        yield {
            "principal": principal,
            **asked,
            "result": "ALLOWED",
            "rule": "SuperUser",
            "acl": None,
            "hosts": [],
            "assumed": list(judge.context.assumed),
        }
    for holder in found.holders:
        yield {
            "principal": holder.principal or WILDCARD_PRINCIPAL,
            **asked,
            "result": _result(holder.allowed),
            "rule": "DefaultDeny" if holder.acl is None and not found.by_default else rule,
            "acl": None if holder.acl is None else acl_json(holder.acl, judge.id_of),
            "hosts": [
                {
                    "host": answer.host,
                    "result": _result(answer.allowed),
                    "acl": acl_json(answer.acl, judge.id_of),
                }
                for answer in holder.hosts
            ],
            "assumed": list(judge.context.assumed),
        }


def _result(allowed: bool) -> str:
    return "ALLOWED" if allowed else "DENIED"
