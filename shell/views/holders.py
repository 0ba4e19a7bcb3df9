"""Prints the principals that may do something, and by which ACL.

This module must not know how the principals are found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from authorizer.analysis.access.hosts import HostAnswer
from authorizer.analysis.access.who_can import Holder, WhoCan
from authorizer.analysis.explain.json import acl_json
from metalog.acl import WILDCARD_PRINCIPAL, Acl
from metalog.text.visible_text import shown
from shell.output.output import Cell, Output
from shell.tasks.acl_words import result_word, sentence
from shell.views.explanation import resource_text

if TYPE_CHECKING:
    from authorizer.trace import Question
    from shell.tasks.queries import Queries

_HOSTS_SHOWN: Final = 3


def print_holders(
    question: Question, answer: WhoCan, super_users: Sequence[str], output: Output
) -> None:
    """A principal that may do the same as everyone, by the same ACLs, has no line of its own."""
    *named, everyone = answer.holders
    may = [holder for holder in named if holder.may and holder._replace(principal=None) != everyone]
    may += [everyone] if everyone.may else []
    what = output.paint(f"{question.operation.name} on {resource_text(question)}", "strong")
    where = "" if question.host is None else f" from {shown(question.host)}"
    if answer.by_default:
        output.line(f"Everyone may {what}{where}: no ACL reaches the resource (DefaultAllow).")
    elif may:
        output.line(f"{what}{where} is allowed to")
        rows = (row for holder in may for row in _rows(holder, question))
        output.aligned(rows, indent="  ")
    else:
        but = " but super users" if super_users else ""
        output.line(f"Nobody{but} may {what}{where}.")
    denied = [holder for holder in answer.holders if holder.is_overridden]
    if denied:
        output.line("denied, though an ALLOW matches")
        rows = ([_name(holder), _by(holder)] for holder in denied)
        output.aligned(rows, indent="  ")
    if super_users:
        output.line(f"super users may do everything: {', '.join(map(shown, super_users))}")


def _rows(holder: Holder, question: Question) -> Iterator[list[Cell | str]]:
    principal = _name(holder)
    if holder.allowed:
        denied = _hosts(holder.hosts)
        where = f"from any host but {denied}" if denied else "from any host"
        yield [principal, where, _by(holder)] if question.host is None else [principal, _by(holder)]
        return
    by_acl: dict[Acl, list[HostAnswer]] = {}
    for answer in holder.hosts:
        if answer.allowed:
            by_acl.setdefault(answer.acl, []).append(answer)
    for acl, answers in by_acl.items():
        denied = _hosts(answer for answer in holder.hosts if not answer.allowed)
        where = f"from {_hosts(answers)}{f' but {denied}' if denied else ''}"
        yield [principal, where, Cell(sentence(acl), "faint")]


def _name(holder: Holder) -> Cell:
    who = "everyone else" if holder.principal is None else shown(holder.principal)
    return Cell(who, "strong")


def _by(holder: Holder) -> Cell:
    return Cell("" if holder.acl is None else sentence(holder.acl), "faint")


def _hosts(answers: Iterable[HostAnswer]) -> str:
    listed = list(answers)
    more = len(listed) - _HOSTS_SHOWN
    text = ", ".join(shown(answer.host) for answer in listed[:_HOSTS_SHOWN])
    return f"{text} and {more:,} more" if more > 0 else text


def differing_acls(one: WhoCan, other: WhoCan) -> list[Acl]:
    """The ACLs that decide in only one answer."""
    acls = [
        {acl: None for each in found.holders for acl in (each.acl, *(by.acl for by in each.hosts))}
        for found in (one, other)
    ]
    return [
        acl
        for acl in (*acls[0], *acls[1])
        if acl is not None and (acl in acls[0]) != (acl in acls[1])
    ]


def holder_records(
    question: Question, found: WhoCan, super_users: Sequence[str], queries: Queries
) -> Iterator[dict[str, Any]]:
    rule = "DefaultAllow" if found.by_default else "MatchingAcl"
    fields = {
        "operation": question.operation.name,
        "resourceType": question.resource_type.name,
        "resourceName": question.resource_name,
        "host": question.host,
    }
    for principal in super_users:
        yield {
            "principal": principal,
            **fields,
            "result": "ALLOWED",
            "rule": "SuperUser",
            "acl": None,
            "hosts": [],
            "kafkaVersion": queries.context.config.kafka.value,
            "assumed": list(queries.context.assumed),
        }
    for holder in found.holders:
        yield {
            "principal": holder.principal or WILDCARD_PRINCIPAL,
            **fields,
            "result": result_word(holder.allowed),
            "rule": "DefaultDeny" if holder.acl is None and not found.by_default else rule,
            "acl": None if holder.acl is None else acl_json(holder.acl, queries.id_of),
            "hosts": [
                {
                    "host": answer.host,
                    "result": result_word(answer.allowed),
                    "acl": acl_json(answer.acl, queries.id_of),
                }
                for answer in holder.hosts
            ],
            "kafkaVersion": queries.context.config.kafka.value,
            "assumed": list(queries.context.assumed),
        }
